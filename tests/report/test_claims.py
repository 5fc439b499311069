"""Cards for the paper's claims, on records whose truth is known."""

from pathlib import Path

import numpy as np
import pytest
from made_up import Losses, made_up, saved

from vbmle.report import claims, verdicts, write


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


def test_the_page_shows_them_and_writes_them_down(tmp_path: Path):
    page = write(saved(tmp_path, made_up(losses(25), name="paper")), pictures=False).read_text()
    assert '<span class="badge holds">holds</span>' in page
    assert [verdict.claim for verdict in verdicts.read(tmp_path)][:2] == ["regret", "spread"]
    assert (tmp_path / "tables" / "claim-regret.csv").is_file()
    assert (tmp_path / "figures" / "claim-regret.tex").is_file()


def test_other_experiments_have_none(tmp_path: Path):
    assert claims.cards(tmp_path, [made_up(losses(3), name="mine")], []) == []
