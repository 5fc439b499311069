"""The chart of the comparison: every agent in every world, with default settings and tuned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from vbmle.experiments.suites.compare import AGENTS, SUFFIX
from vbmle.report import statistics
from vbmle.report.charts import REGRET, Chart, Panel, Series, sizes, stem
from vbmle.report.statistics import Interval
from vbmle.report.world_runs import WorldRuns

NOTE = "Hollow: default settings. Filled: tuned on other seeds. Least regret on top."


class Losses(NamedTuple):
    """Mean regret of one agent in one world."""

    untuned: Interval
    tuned: Interval | None


def build(worlds: Sequence[WorldRuns], name: str) -> Chart | None:
    """A panel for each world; None where no agent was tuned."""
    panels = [panel(world.label, world.horizon, losses(world)) for world in worlds if losses(world)]
    if not any(SUFFIX in agent for world in worlds for agent in world.agents):
        return None
    caption = f"Mean regret of every agent with 95% bootstrap intervals, logarithmic. {NOTE} {REGRET} {sizes(worlds)}."
    return Chart(stem(name, "tuned"), "tuned", "Default and tuned", NOTE, caption, panels)


def losses(world: WorldRuns) -> dict[str, Losses]:
    """By agent, in the order of the comparison."""
    found = {}
    for label in AGENTS:
        if label in world.agents:
            other = world.agents.get(label + SUFFIX)
            tuned = statistics.mean_interval(other.final) if other else None
            found[label] = Losses(statistics.mean_interval(world.agents[label].final), tuned)
    return found


def panel(world: str, horizon: int, found: Mapping[str, Losses]) -> Panel:
    """One row for each agent, the one that lost least (tuned, where it was) on top."""
    ordered = sorted(found, key=lambda label: (found[label].tuned or found[label].untuned).value)
    rows = []
    for label in ordered:
        rows.append(_row(label, found[label].untuned, faint=True))
        tuned = found[label].tuned
        if tuned is not None:
            rows.append(_row(label, tuned, faint=False))
    title = f"regret at t = {horizon}, log scale"
    return Panel("forest", world, title, "", rows, x_scale="symlog", world=world)


def _row(label: str, found: Interval, faint: bool) -> Series:
    ends = (np.array([found.low]), np.array([found.high]))
    return Series(label, label, np.array([found.value]), np.zeros(1), *ends, faint=faint)
