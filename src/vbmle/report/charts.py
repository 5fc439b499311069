"""Figures as data: what is drawn on paper (figures.py) and on the page (page.js) comes from here.

This module has the charts with a panel for each world: regret against the step and trial by trial, distance to the
truth, error of the maximum likelihood estimate. Those across worlds are in charts_across.py.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from vbmle.common.validation import Floats, Ints
from vbmle.experiments.spec import folder_name
from vbmle.report import statistics
from vbmle.report.comparisons import SAME_REGRET
from vbmle.report.tables import text
from vbmle.report.world_runs import Runs, WorldRuns
from vbmle.theory import bounds

POINTS = 120
"""Steps at which curves are drawn: more cannot be seen."""

CROWD = 6
"""More agents than this are drawn with paler bands and without their medians, which nobody could follow."""

BANDS = "Lines are means over the trials, with 95% bootstrap bands of the mean."
MEDIANS = " Thin lines are medians."
DOTS = (
    "A dot is one trial, a bar the mean; the same height within a row is the same world with the same luck."
)
REGRET = (
    "Regret is what was lost against the best policy, in units of reward; all agents meet the same worlds with the "
    "same luck."
)
"""What every caption of regret says."""

APART = 30.0
"""Regret gets a logarithmic axis where the worst agent loses this many times what the middle one does."""

DELTA, RIDGE = 0.1, 1.0
"""The paper's, for its bound."""


@dataclass(frozen=True, eq=False)
class Series:
    """One line, or one row of dots."""

    agent: str
    """Decides the look; "" for what is no agent's, such as a bound."""
    name: str
    x: Floats
    y: Floats
    low: Floats | None = None
    high: Floats | None = None
    median: Floats | None = None
    """A second, thin line."""
    faint: bool = False
    """Drawn thin and dotted: beside another line of the same agent."""
    worlds: Sequence[str] = ()
    """The world that each point belongs to, where points belong to worlds."""
    parts: Mapping[str, Floats] | None = None
    """By world: what `y` (or `x`, in a forest) is the mean of, where it is a mean over worlds."""
    sure: Floats | None = None
    """In a matrix: 1 where the difference to the best is sure."""


@dataclass(frozen=True, eq=False)
class Panel:
    """One pair of axes.

    form : "lines" (with bands), "points" (joined, with error bars), "strip" (a row of dots per agent, x is what each
    lost, y its trial), "forest" (a row per agent: an estimate with its interval), "scatter" (dots alone) or "matrix" (a
    row per agent, a column per world: the loss relative to the best).
    """

    form: str
    title: str
    x_label: str
    y_label: str
    series: Sequence[Series]
    x_scale: str = "linear"
    y_scale: str = "linear"
    mark: float | None = None
    """A vertical line to compare with."""
    world: str = ""
    """The world it belongs to; "" if to all."""
    x_range: tuple[float, float] | None = None
    """The ends of a forest's axis; by default 0 and 1, or what is there on a logarithmic one."""


@dataclass(frozen=True, eq=False)
class Chart:
    """A figure: panels side by side under one caption."""

    stem: str
    """The name of its files."""
    kind: str
    title: str
    note: str
    """What is particular to this figure; the page says once what holds for all of them."""
    caption: str
    """Stands alone: what a paper prints below it."""
    panels: Sequence[Panel]


def stem(*parts: str) -> str:
    return "-".join(folder_name(part) for part in parts if part)


def thin(count: int, points: int = POINTS) -> Ints:
    """Indices of at most `points` of `count` recorded steps, first and last included."""
    return np.unique(np.linspace(0, count - 1, points).astype(int))


def curve(agent: str, name: str, runs: Runs, column: str = "regret", faint: bool = False) -> Series:
    """Mean and its band, and the median, of a column against the step."""
    shown = thin(len(runs.steps))
    values = runs.columns[column][:, shown]
    low, high = statistics.mean_band(values, resamples=statistics.FEWER)
    steps, mean = runs.steps[shown].astype(float), values.mean(axis=0)
    return Series(agent, name, steps, mean, low, high, np.median(values, axis=0), faint)


def named(agent: str, runs: Runs, world: WorldRuns) -> str:
    """The agent, with its number of trials where some are missing."""
    count = len(runs.trials)
    return agent if count == world.expected(agent) else f"{agent} ({count} trial{'s' if count > 1 else ''})"


# Regret


def _scale(world: WorldRuns) -> str:
    means = np.array([runs.final.mean() for runs in world.agents.values()])
    losers = means[means > SAME_REGRET]
    return "symlog" if len(losers) and losers.max() > APART * np.median(losers) else "linear"


def chosen(world: WorldRuns, agents: Sequence[str]) -> dict[str, Runs]:
    """The agents that are drawn; all for an empty choice."""
    return {agent: runs for agent, runs in world.agents.items() if not agents or agent in agents}


def sizes(worlds: Sequence[WorldRuns]) -> str:
    """Where and how long, in one line for a caption."""
    return "; ".join(f"{world.label}: {world.size}, {_trials(world)}" for world in worlds)


def _trials(world: WorldRuns) -> str:
    return f"{world.planned} trial{'s' if world.planned > 1 else ''} of {world.horizon} steps"


def regret(worlds: Sequence[WorldRuns], name: str, agents: Sequence[str] = ()) -> Chart | None:
    """The mean with its band, and the median where few agents are shown: a few trials make the mean."""
    panels = []
    for world in worlds:
        shown = chosen(world, agents)
        lines = [curve(agent, named(agent, runs, world), runs) for agent, runs in shown.items()]
        if len(lines) > 1 or (lines and not agents):
            panels.append(
                Panel(
                    "lines",
                    world.label,
                    "step t",
                    "regret (units of reward)",
                    lines,
                    y_scale=_scale(world),
                    world=world.label,
                )
            )
    if not panels:
        return None
    few = len(panels[0].series) <= CROWD
    note = f"{sizes(worlds)}."
    caption = f"Cumulative regret step by step. {BANDS}{MEDIANS if few else ''} {REGRET} {note}"
    return Chart(stem(name, "regret"), "regret", "Regret step by step", note, caption, panels)


def trials(worlds: Sequence[WorldRuns], name: str) -> Chart | None:
    """What each trial lost in the end: the reason why means and medians differ."""
    panels = [
        Panel(
            "strip",
            world.label,
            f"regret at t = {world.horizon} (log scale)",
            "",
            [
                Series(agent, strip_name(agent, runs), runs.final, runs.trials.astype(float))
                for agent, runs in world.agents.items()
            ],
            x_scale="symlog",
            world=world.label,
        )
        for world in worlds
    ]
    caption = f"What each trial lost in the end. {DOTS} {REGRET} {sizes(worlds)}."
    return Chart(stem(name, "trials"), "trials", "Trial by trial", "", caption, panels) if panels else None


def strip_name(agent: str, runs: Runs) -> str:
    """The agent, and how often it lost nothing: dots at 0 lie on top of each other."""
    return f"{agent}, {int((runs.final < SAME_REGRET).sum())} of {len(runs.final)} at 0"


# Distance to the truth (Figure 2a)


def distance(worlds: Sequence[WorldRuns], name: str) -> Chart | None:
    """|theta_t - theta*|^2; for agents with one theta per (s,a) the least and the mean over (s,a)."""
    panels, several = [], False
    for world in worlds:
        series: list[Series] = []
        for agent, runs in world.agents.items():
            if "distance" not in runs.columns:
                continue
            mean = runs.columns.get("distance_mean")
            both = mean is not None and bool(np.any(np.abs(mean - runs.columns["distance"]) > SAME_REGRET))
            label = named(agent, runs, world)
            series.append(curve(agent, f"{label}, least over (s,a)" if both else label, runs, "distance"))
            if both:
                series.append(curve(agent, f"{label}, mean over (s,a)", runs, "distance_mean", faint=True))
            several = several or both
        if series:
            y_label = "squared distance |θ_t - θ*|²"
            panels.append(
                Panel("lines", world.label, "step t", y_label, series, y_scale="log", world=world.label)
            )
    if not panels:
        return None
    more = " An agent with one θ per (s,a) has two lines: the least and the mean distance." if several else ""
    caption = (
        f"Squared distance of the estimate from the true parameter, log scale. {BANDS} {sizes(worlds)}.{more}"
    )
    note = more.strip()
    return Chart(stem(name, "distance"), "distance", "Distance to the truth", note, caption, panels)


# Error of the maximum likelihood estimate (Figure 2b)


def bound(steps: Floats, dimension: int, p_min: float) -> Floats:
    """beta_t of the paper's Theorem 1, with L^2 = d for features in [0, 1]."""
    return bounds.beta(steps, dimension, RIDGE, p_min, math.sqrt(dimension), DELTA)


def mle_error(worlds: Sequence[WorldRuns], name: str) -> Chart | None:
    """|theta* - theta_MLE|^2 in the norm of A_t, below the paper's bound where a p_min is known."""
    panels, told = [], []
    for world in worlds:
        series = [
            curve(agent, named(agent, runs, world), runs, "mle_error")
            for agent, runs in world.agents.items()
            if "mle_error" in runs.columns
        ]
        if series:
            how, limit = _bounded(world, series)
            told.append(f"{world.label}: {how}")
            label = "|θ* - θ_MLE|², norm of A_t"
            lines = [*series, *limit]
            panels.append(
                Panel("lines", world.label, "step t", label, lines, y_scale="log", world=world.label)
            )
    if not panels:
        return None
    note = " ".join(told)
    title = "Error of the maximum likelihood estimate"
    caption = f"{title} along each agent's path, log scale. {note} {BANDS} {sizes(worlds)}."
    return Chart(stem(name, "mle-error"), "mle_error", title, note, caption, panels)


def _bounded(world: WorldRuns, series: Sequence[Series]) -> tuple[str, list[Series]]:
    """What is to be said of the paper's bound, and the bound as a line where there is one."""
    p_min = world.p_min
    if p_min <= 0.0:
        return (
            "the paper's bound β_t divides by p_min², and p_min = 0 makes it infinite: it is not drawn.",
            [],
        )
    steps = series[0].x
    limit = bound(steps, int(world.facts["dimension"]), p_min)
    highest = max(float(line.y[-1]) for line in series)
    times = f"{limit[-1] / highest:.2g}" if highest > 0 else "infinitely many"
    told = (
        f"the bound β_t, with p_min = {text(p_min)}, the smallest positive transition probability (median over the "
        f"trials), is {times} times as large as what was measured at t = {world.horizon}."
    )
    return told, [Series("", "the paper's bound β_t", steps, limit)]
