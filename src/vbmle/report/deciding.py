"""Which worlds make agents lose: measures of every world beside what was lost there.

The measures are those of `vbmle.experiments.world_measures`, the losses those of the records. How a measure goes with
a loss is told by their rank correlation, which heavy tails do not disturb; its interval is Fisher's, with the variance
(1 + r^2/2)/(n - 3) of Bonett and Wright (2000).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vbmle.common.validation import Floats
from vbmle.experiments import world_measures
from vbmle.experiments.records import Results
from vbmle.report.comparisons import SAME_REGRET
from vbmle.report.statistics import Interval
from vbmle.report.tables import Row, text
from vbmle.report.world_runs import WorldRuns, by_world

EXPERIMENT = "paper"
AGENTS = ("VBMLE", "maximum likelihood", "UCLK")
"""Whose losses are explained."""

MEASURES = {
    "optimistic_loss": "what the most optimistic policy loses",
    "optimistic_share": "share of states where the optimistic policy is wrong",
    "optimistic_information": "information per step about the optimistic model",
    "likely_loss": "what the policy of the likeliest model loses before any data",
    "likely_information": "information per step about that model",
    "least_gap": "least value gap",
    "inverse_gaps": "sum of reciprocal gaps",
    "value_norm": "value norm",
    "diameter": "diameter",
}
"""By name: what an axis or a sentence calls it."""

FEWEST_SHARED_WORLDS = 10
"""Worlds below which nothing is said."""

NORMAL = 1.959963984540054
"""The 97.5% quantile."""


@dataclass(frozen=True, eq=False)
class Worlds:
    """The worlds of one label: measures and losses by trial, all arrays of the same length."""

    label: str
    measures: Mapping[str, Floats]
    losses: Mapping[str, Floats]

    @property
    def count(self) -> int:
        return len(next(iter(self.losses.values())))


def worlds(folder: Path, results: Sequence[Results]) -> list[Worlds]:
    """What is known of the paper's worlds: those that are measured and that all explained agents have met."""
    own = [made for made in results if made.experiment.name == EXPERIMENT]
    if not own:
        return []
    rows = world_measures.read(folder, EXPERIMENT)
    made = [_worlds(world, rows) for world in by_world(own[0])]
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


def table(found: Sequence[Worlds]) -> list[Row]:
    """A row for each world, measure and agent: their rank correlation."""
    rows: list[Row] = []
    for one in found:
        for agent, lost in one.losses.items():
            for name, called in MEASURES.items():
                known = ~np.isnan(one.measures[name])
                r = rank_correlation(one.measures[name][known], lost[known])
                row: Row = {"world": one.label, "agent": agent, "measure": called, "worlds": int(known.sum())}
                rows.append(row | {"correlation": r.value, "low": r.low, "high": r.high})
    return rows


def sentence(found: Sequence[Worlds]) -> str:
    """Which measure goes with the loss of each agent most, with its interval; "" where there is nothing to say."""
    if not found:
        return ""
    one = found[0]
    rows = [row for row in table([one]) if not math.isnan(float(row["correlation"] or 0.0))]
    parts = []
    for agent in one.losses:
        here = [row for row in rows if row["agent"] == agent]
        if here:
            top = max(here, key=lambda row: abs(float(row["correlation"] or 0.0)))
            shown = f"{text(top['correlation'])} [{text(top['low'])}, {text(top['high'])}]"
            measure = str(top["measure"])
            named = measure if measure.startswith("what ") else f"the {measure}"
            parts.append(f"the loss of {agent} goes most with {named} (rank correlation {shown})")
    if not parts:
        return ""
    said = f"At {one.label}, over {one.count} worlds, {'; '.join(parts)}"
    return f"{said}.{_fooled(one)}"


def _fooled(one: Worlds) -> str:
    """How often the optimistic policy is wrong where UCLK loses, and where it does not."""
    if "UCLK" not in one.losses:
        return ""
    lost, wrong = one.losses["UCLK"] > 1.0, one.measures["optimistic_loss"] > SAME_REGRET
    if not lost.any() or lost.all():
        return ""
    return (
        f" The most optimistic policy is not the best one in {wrong[lost].mean():.0%} of the {int(lost.sum())} worlds "
        f"where UCLK loses more than 1, and in {wrong[~lost].mean():.0%} of the others."
    )


def rank_correlation(one: Floats, two: Floats) -> Interval:
    """Spearman's correlation with its 95% interval; NaN where one of them does not vary."""
    ranks = [_ranks(values) - (len(values) + 1) / 2.0 for values in (one, two)]
    sizes = [float(np.sqrt((rank**2).sum())) for rank in ranks]
    if len(one) < 4 or min(sizes) == 0.0:
        return Interval(math.nan, math.nan, math.nan)
    value = float(ranks[0] @ ranks[1]) / (sizes[0] * sizes[1])
    reach = NORMAL * math.sqrt((1.0 + value**2 / 2.0) / (len(one) - 3))
    middle = math.atanh(min(max(value, -1.0 + 1e-15), 1.0 - 1e-15))
    return Interval(value, math.tanh(middle - reach), math.tanh(middle + reach))


def _ranks(values: Floats) -> Floats:
    """From 1 on; equal values share the mean of theirs. (To load scipy.stats for this would take seconds.)"""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2.0)[places])
