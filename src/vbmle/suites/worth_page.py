"""A card for reports of worlds with candidates: what learning is worth there, and what each way of learning earns.

    sections = "vbmle.suites.worth_page:sections"          # in SPEC.toml

The numbers come from the models of the worlds (`vbmle.worth`), not from the records: they say what there was to gain.
"""

from __future__ import annotations

from dataclasses import dataclass

from vbmle.common.statistics import Interval
from vbmle.experiments.playing import make_world
from vbmle.report.sections import Card, Run, Sections
from vbmle.report.tables import Row, Table, column
from vbmle.value_of_learning import Worth, worth

RUNS = 2000
TITLE = "What learning is worth"
CAPTION = (
    f"{TITLE}, in the units of the rewards: expected discounted sums from the first state on, averaged over the prior. "
    "Share of the possible: of the Bayes-optimal controller's value, by its upper bound. Brackets are bounds "
    "where nothing is simulated, and 95% intervals elsewhere."
)


@dataclass(frozen=True)
class Way(Row):
    """One way of dealing with the candidates of a world."""

    world: str = column("world")
    way: str = column("way")
    value: Interval = column("earns")
    share: float = column("share of the possible")


def cards(run: Run) -> list[Card]:
    """One card, if a world of the run has candidates; of worlds that are drawn anew in each trial, the first."""
    first = {trial.world: trial for part in run.parts for trial in reversed(part.experiment.all_trials())}
    models = {label: make_world(trial).mdp for label, trial in first.items()}
    found = {label: worth(mdp, runs=RUNS) for label, mdp in models.items() if mdp.domain == "vertices"}
    if not found:
        return []
    answer = " ".join(f"{label}: {one.sentence}" for label, one in found.items())
    rows = [row for label, one in found.items() for row in ways(label, one)]
    return [
        Card("worth", "What is learning worth?", answer, tables=[Table("worth", TITLE, "", CAPTION, rows)])
    ]


def ways(label: str, found: Worth) -> list[Way]:
    """The rows of a world."""
    best = found.bayes[1]
    return [
        Way(label, words, value, value.value / best if best > 0.0 else float("nan"))
        for words, value in found.rows()
    ]


sections = Sections(cards=cards)
