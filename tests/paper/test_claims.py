"""Cards for the paper's claims, on records whose truth is known."""

from pathlib import Path

import numpy as np
import pytest
from made_up import Losses, made_up, saved

from vbmle.common.statistics import Interval
from vbmle.experiments.records import Results
from vbmle.paper import claims
from vbmle.paper.claims import DistanceRow, Verdict
from vbmle.paper.sections import cards
from vbmle.paper.suite import SECTIONS
from vbmle.report import runs, write
from vbmle.report.charts import row
from vbmle.report.sections import Run


def losses(count: int) -> Losses:
    """UCLK loses ten more than VBMLE in every world."""
    chance = np.random.default_rng(0).exponential(size=count)
    found: Losses = {}
    for world in ("(3,2)", "(5,4)"):
        found[world, "VBMLE"] = [float(x) for x in chance]
        found[world, "UCLK"] = [float(x) + 10.0 for x in chance]
    return found


def paper(count: int) -> Results:
    return made_up(losses(count), name="paper", reference="VBMLE", sections=SECTIONS)


def test_each_claim_has_a_card_with_its_verdict_and_an_interval_for_each_world(tmp_path: Path):
    run = Run(tmp_path, [runs.arranged(paper(25))])
    told = {f"claim-{verdict.claim}": verdict for verdict in claims.verdicts(run)}
    found = {card.key: card for card in cards(run)}
    assert list(found) == ["items", *told]
    card = found["claim-regret"]
    assert (card.question, card.outcome) == ("VBMLE has lower regret than UCLK", "holds")
    assert card.answer == told["claim-regret"].sentence
    assert card.chart is not None
    (panel,) = card.chart.panels
    assert panel.mark == 0.0
    assert [line.name for line in panel.series] == ["(3,2)", "(5,4)"]
    assert [float(line.x[0]) for line in panel.series] == pytest.approx([10.0, 10.0])
    assert panel.x_range is not None
    assert panel.x_range[0] <= 0.0 < 10.0 <= panel.x_range[1]


def test_ratios_far_apart_have_a_logarithmic_axis():
    for ratio, scale in ((20.0, "linear"), (300.0, "symlog")):
        estimate = Interval(ratio, 10.0, 900.0)
        table = [DistanceRow("w", "nearest", 20, estimate)]
        drawn = [row("UCLK", "w", estimate, "w")]
        words = ("distance", "Distance", "holds", "So.")
        (card,) = (claims.card(Verdict(*words, estimate, "ratio", 20, table, drawn, "ratio", 1.0)),)
        assert card.chart is not None
        assert card.chart.panels[0].x_scale == scale


def test_the_page_shows_them_and_writes_them_down(tmp_path: Path):
    page = write(saved(tmp_path, paper(25)), pictures=False).read_text()
    assert '<span class="badge holds"><span aria-hidden="true">✓</span> holds</span>' in page
    assert [line.split(":")[0] for line in claims.lines(tmp_path)][:2] == [
        "VBMLE has lower regret than UCLK",
        "VBMLE's regret varies ten times less than UCLK's",
    ]
    assert (tmp_path / "tables" / "claim-regret.csv").is_file()
    assert (tmp_path / "figures" / "claim-regret.tex").is_file()


def test_other_experiments_have_none(tmp_path: Path):
    assert cards(Run(tmp_path, [runs.arranged(made_up(losses(3), name="mine"))])) == []
