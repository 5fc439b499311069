"""Cards for the paper's claims, on records whose truth is known."""

from pathlib import Path

import numpy as np
import pytest
from made_up import Losses, made_up, saved

from vbmle.report import claims, verdicts, write
from vbmle.report.tables import Row


def losses(count: int) -> Losses:
    """UCLK loses ten more than VBMLE in every world."""
    chance = np.random.default_rng(0).exponential(size=count)
    found: Losses = {}
    for world in ("(3,2)", "(5,4)"):
        found[world, "VBMLE"] = [float(x) for x in chance]
        found[world, "UCLK"] = [float(x) + 10.0 for x in chance]
    return found


def test_each_claim_has_a_card_with_its_verdict_and_an_interval_for_each_world(tmp_path: Path):
    results = made_up(losses(25), name="paper")
    given = verdicts.verdicts([results])
    found = {card.key: card for card in claims.cards(tmp_path, [results], given)}
    told = {f"claim-{verdict.claim}": verdict for verdict in given}
    assert list(found) == list(told)
    card = found["claim-regret"]
    assert (card.question, card.outcome) == ("Regret against UCLK", "holds")
    assert card.answer == told["claim-regret"].sentence
    assert card.chart is not None
    (panel,) = card.chart.panels
    assert panel.mark == 0.0
    assert [line.name for line in panel.series] == ["(3,2), UCLK", "(5,4), UCLK"]
    assert [float(line.x[0]) for line in panel.series] == pytest.approx([10.0, 10.0])
    assert panel.x_range is not None
    assert panel.x_range[0] <= 0.0 < 10.0 <= panel.x_range[1]


def test_growth_is_drawn_over_the_last_tenfold_of_steps_alone():
    row: Row = {"world": "w", "agent": "a", "worlds": 40, "theorem": 0.5, "low": 0.1, "high": 0.9}
    details = [
        row | {"in": "T", "to": to, "exponent": exponent} for to, exponent in ((1000, 0.5), (100, 0.7))
    ]
    details.append(row | {"in": "d", "to": 32, "exponent": 0.8})
    numbers = (0.5, 0.1, 0.9)
    verdict = verdicts.Verdict("growth", "Growth", "open", "So.", *numbers, "exponent of T", 40, details)
    (card,) = claims.cards(Path(), [], [verdict])
    assert card.chart is not None
    (panel,) = card.chart.panels
    assert [(line.name, float(line.x[0])) for line in panel.series] == [("w, a, T", 0.5), ("w, a, d", 0.8)]


def test_ratios_far_apart_have_a_logarithmic_axis():
    row: Row = {"world": "w", "UCLK's": "nearest", "worlds": 20, "low": 10.0, "high": 900.0}
    for ratio, scale in ((20.0, "linear"), (300.0, "symlog")):
        found = verdicts.Verdict(
            "distance", "Distance", "holds", "So.", ratio, 10.0, 900.0, "ratio", 20, [row | {"ratio": ratio}]
        )
        (card,) = claims.cards(Path(), [], [found])
        assert card.chart is not None
        assert card.chart.panels[0].x_scale == scale


def test_the_page_shows_them_and_writes_them_down(tmp_path: Path):
    page = write(saved(tmp_path, made_up(losses(25), name="paper")), pictures=False).read_text()
    assert '<span class="badge holds">holds</span>' in page
    assert [verdict.claim for verdict in verdicts.read(tmp_path)][:2] == ["regret", "spread"]
    assert (tmp_path / "tables" / "claim-regret.csv").is_file()
    assert (tmp_path / "figures" / "claim-regret.tex").is_file()


def test_other_experiments_have_none(tmp_path: Path):
    assert claims.cards(tmp_path, [made_up(losses(3), name="mine")], []) == []
