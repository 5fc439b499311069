"""Figures as data: what is drawn on paper (figures.py) and on the page (page.js) comes from here.

This module has the charts of one world against the step: regret, distance to the truth, error of the maximum
likelihood estimate. Those across worlds are in charts_across.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
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


@dataclass(frozen=True, eq=False)
class Panel:
    """One pair of axes.

    form : "lines" (with bands), "points" (joined, with error bars), "strip" (a row of dots per agent, x is what each
    lost, y its trial) or "forest" (a row per agent: an estimate with its interval).
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


@dataclass(frozen=True, eq=False)
class Chart:
    """A figure: panels side by side under one caption."""

    stem: str
    """The name of its files."""
    kind: str
    world: str
    """The world it belongs to; "" if to all."""
    title: str
    caption: str
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


def over(agents: int) -> str:
    """What a panel of mean curves shows."""
    return "mean with 95% band" if agents > CROWD else "mean with 95% band; thin: median"


# Regret


def _scale(world: WorldRuns) -> str:
    means = np.array([runs.final.mean() for runs in world.agents.values()])
    losers = means[means > SAME_REGRET]
    return "symlog" if len(losers) and losers.max() > APART * np.median(losers) else "linear"


def regret(world: WorldRuns) -> Chart:
    """Left the mean with its band, and the median: a few worlds make the mean. Right the reason, trial by trial."""
    agents = world.agents.items()
    left = Panel(
        "lines",
        over(len(agents)),
        "step t",
        "cumulative regret (units of reward)",
        [curve(agent, named(agent, runs, world), runs) for agent, runs in agents],
        y_scale=_scale(world),
    )
    right = Panel(
        "strip",
        "a dot is one trial, a bar the mean",
        f"regret at t = {world.horizon} (log scale)",
        "",
        [
            Series(agent, strip_name(agent, runs), runs.final, runs.trials.astype(float))
            for agent, runs in agents
        ],
        x_scale="symlog",
    )
    caption = (
        f"{world.label}: {world.size}. Left: mean cumulative regret with the 95% interval of the mean, and the "
        f"median as a thin line{f' (where at most {CROWD} agents are shown)' if len(agents) > CROWD else ''}. Right: "
        f"what each trial lost in the end; the same height within a row is the same world with the same luck."
    )
    name = stem(world.experiment, world.label)
    return Chart(name, "regret", world.label, f"{world.label}: {world.size}", caption, [left, right])


def strip_name(agent: str, runs: Runs) -> str:
    """The agent, and how often it lost nothing: dots at 0 lie on top of each other."""
    return f"{agent}, {int((runs.final < SAME_REGRET).sum())} of {len(runs.final)} at 0"


# Distance to the truth (Figure 2a)


def distance(world: WorldRuns) -> Chart | None:
    """|theta_t - theta*|^2; for agents with one theta per (s,a) the least and the mean over (s,a)."""
    series, several = [], False
    for agent, runs in world.agents.items():
        if "distance" not in runs.columns:
            continue
        mean = runs.columns.get("distance_mean")
        both = mean is not None and bool(np.any(np.abs(mean - runs.columns["distance"]) > SAME_REGRET))
        name = named(agent, runs, world)
        series.append(curve(agent, f"{name}, least over (s,a)" if both else name, runs, "distance"))
        if both:
            series.append(curve(agent, f"{name}, mean over (s,a)", runs, "distance_mean", faint=True))
        several = several or both
    if not series:
        return None
    label = "squared distance |θ_t - θ*|²"
    panel = Panel("lines", over(len(series)), "step t", label, series, y_scale="log")
    more = " An agent with one θ per (s,a) has two lines: the least and the mean distance." if several else ""
    caption = f"{world.label}: squared distance of the estimate from the true parameter, log scale.{more}"
    return Chart(
        stem(world.experiment, world.label, "distance"),
        "distance",
        world.label,
        f"{world.label}: distance to the truth",
        caption,
        [panel],
    )


# Error of the maximum likelihood estimate (Figure 2b)


def bound(steps: Floats, dimension: int, p_min: float) -> Floats:
    """beta_t of the paper's Theorem 1, with L^2 = d for features in [0, 1]."""
    return bounds.beta(steps, dimension, RIDGE, p_min, math.sqrt(dimension), DELTA)


def mle_error(world: WorldRuns) -> Chart | None:
    """|theta* - theta_MLE|^2 in the norm of A_t, below the paper's bound where a p_min is known."""
    series = [
        curve(agent, named(agent, runs, world), runs, "mle_error")
        for agent, runs in world.agents.items()
        if "mle_error" in runs.columns
    ]
    if not series:
        return None
    p_min = world.p_min
    if p_min > 0.0:
        steps = series[0].x
        limit = bound(steps, int(world.facts["dimension"]), p_min)
        highest = max(float(line.y[-1]) for line in series)
        series.append(Series("", "the paper's bound β_t", steps, limit))
        how = (
            f"The bound β_t, here with p_min = {text(p_min)}, the smallest positive transition probability (median "
            f"over the trials), is {f'{limit[-1] / highest:.2g}' if highest > 0 else 'infinitely many'} times as large "
            f"as what was measured at t = {world.horizon}."
        )
    else:
        how = "The paper's bound β_t divides by p_min², and these worlds have p_min = 0: it is infinite, and not drawn."
    label = "|θ* - θ_MLE|² in the norm of A_t"
    panel = Panel("lines", over(len(series)), "step t", label, series, y_scale="log")
    caption = (
        f"{world.label}: error of the maximum likelihood estimate along each agent's path, log scale. {how}"
    )
    return Chart(
        stem(world.experiment, world.label, "mle-error"),
        "mle_error",
        world.label,
        f"{world.label}: error of the maximum likelihood estimate",
        caption,
        [panel],
    )
