"""What makes a world hard: measures of every world beside the regret of agents there.

The measures are those of `vbmle.experiments.world_measures`, the regret that of the records. How the two go together is
told by their rank correlation, which heavy tails do not disturb.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from vbmle.common.statistics import SAME_REGRET, Interval
from vbmle.common.validation import Floats
from vbmle.experiments import world_measures
from vbmle.paper.suite import LIKELIHOOD, UCLK, VBMLE
from vbmle.plot.panels import Panel, Series
from vbmle.report import significance
from vbmle.report.charts import REGRET, Chart
from vbmle.report.runs import WorldRuns
from vbmle.report.sections import Card, Run
from vbmle.report.tables import Row, Table, column, text

EXPERIMENT = "paper"
AGENTS = (VBMLE, LIKELIHOOD, UCLK)
"""Whose regret is explained."""

MEASURES = {
    "optimistic_loss": "what following the most optimistic policy costs",
    "optimistic_share": "share of states where the optimistic policy is wrong",
    "optimistic_information": "information per step about the optimistic model",
    "likely_loss": "what following the likeliest model costs before any data",
    "likely_information": "information per step about that model",
    "least_gap": "least value gap",
    "inverse_gaps": "sum of reciprocal gaps",
    "value_norm": "value norm",
    "diameter": "diameter",
}
"""By name: what an axis or a sentence calls it."""

FEWEST_SHARED_WORLDS = 10
"""Worlds below which nothing is said."""


@dataclass(frozen=True)
class CorrelationRow(Row):
    """How a measure of worlds goes with the regret of an agent."""

    world: str = column("world")
    agent: str = column("agent")
    measure: str = column("measure")
    worlds: int = column("worlds")
    correlation: Interval = column("rank correlation")


@dataclass(frozen=True, eq=False)
class Worlds:
    """The worlds of one label: measures and losses by trial, all arrays of the same length."""

    label: str
    measures: Mapping[str, Floats]
    losses: Mapping[str, Floats]

    @property
    def count(self) -> int:
        return len(next(iter(self.losses.values())))


def worlds(run: Run) -> list[Worlds]:
    """What is known of the paper's worlds: those that are measured and that all explained agents have met."""
    rows = world_measures.read(run.folder, EXPERIMENT)
    made = [_worlds(world, rows) for world in run.worlds(EXPERIMENT)]
    return [one for one in made if one is not None]


def _worlds(world: WorldRuns, rows: world_measures.ByWorld) -> Worlds | None:
    agents = [agent for agent in AGENTS if agent in world.agents]
    met = [set(world.agents[agent].trials.tolist()) for agent in agents]
    measured = {trial for label, trial in rows if label == world.label}
    shared = (
        np.array(sorted(measured.intersection(*met)), dtype=np.int64) if met else np.zeros(0, dtype=np.int64)
    )
    if len(shared) < FEWEST_SHARED_WORLDS:
        return None
    table = {name: np.array([rows[world.label, int(t)][name] for t in shared]) for name in MEASURES}
    return Worlds(world.label, table, {agent: world.agents[agent].at(shared) for agent in agents})


def rows(found: Sequence[Worlds]) -> list[CorrelationRow]:
    """A row for each world, measure and agent."""
    made = []
    for one in found:
        for agent, lost in one.losses.items():
            for name, called in MEASURES.items():
                known = ~np.isnan(one.measures[name])
                r = significance.rank_correlation(one.measures[name][known], lost[known])
                made.append(CorrelationRow(one.label, agent, called, int(known.sum()), r))
    return made


def sentence(found: Sequence[Worlds]) -> str:
    """Which measure goes with the regret of each agent most; "" where there is nothing to say."""
    if not found:
        return ""
    one, parts = found[0], []
    for top in _best_predictors(one):
        measure = top.measure if top.measure.startswith("what ") else f"the {top.measure}"
        parts.append(f"that of {top.agent} by {measure} ({text(top.correlation)})")
    if not parts:
        return ""
    said = f"At {one.label}, over {one.count} worlds, regret is best predicted as follows (rank correlation)"
    return f"{said}: {'; '.join(parts)}.{_fooled(one)}"


def _best_predictors(one: Worlds) -> list[CorrelationRow]:
    """For each agent the measure with the largest rank correlation."""
    known = [row for row in rows([one]) if row.correlation.known]
    by_agent = [[row for row in known if row.agent == agent] for agent in one.losses]
    return [max(here, key=lambda row: abs(row.correlation.value)) for here in by_agent if here]


def _fooled(one: Worlds) -> str:
    """How often the optimistic policy is wrong where UCLK has regret, and where it has none."""
    if UCLK not in one.losses:
        return ""
    lost, wrong = one.losses[UCLK] > 1.0, one.measures["optimistic_loss"] > SAME_REGRET
    if not lost.any() or lost.all():
        return ""
    return (
        f" The most optimistic policy is not the best one in {wrong[lost].mean():.0%} of the {int(lost.sum())} worlds "
        f"where UCLK's regret exceeds 1, and in {wrong[~lost].mean():.0%} of the others."
    )


def card(run: Run) -> Card | None:
    """Which measures of a world go with regret there; None where worlds were not measured."""
    found = worlds(run)
    if not found:
        return None
    one = found[0]
    named = {called: name for name, called in MEASURES.items()}
    panels = [
        Panel(
            "scatter",
            "",
            called,
            "regret (units of reward)",
            [Series(agent, agent, one.measures[named[called]], lost) for agent, lost in one.losses.items()],
            y_scale="symlog",
            world=one.label,
        )
        for called in dict.fromkeys(row.measure for row in _best_predictors(one))
    ]
    note = f"A dot is one of the {one.count} worlds at {one.label}."
    caption = f"Regret in a world against measures of that world. {note} {REGRET}"
    chart = Chart("decides", "decides", "What decides", note, caption, panels) if panels else None
    title, told = "Rank correlations of measures and regret", sentence(found)
    table = Table("decides", title, "", f"{title}. {told}", rows(found))
    return Card("decides", "What makes a world hard?", told, chart, tables=[table], chapter="matters")
