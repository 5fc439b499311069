"""Figures as data: what is drawn on paper (figures.py) and on the page (figures.js) comes from here.

First the charts with a panel for each world: regret against the step and trial by trial, distance to the
truth, error of the
most likely estimate. Then those across worlds: along a parameter, profiles, who beats whom, and cost.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from vbmle.common import statistics
from vbmle.common.statistics import SAME_REGRET, Interval
from vbmle.common.validation import Floats, Ints
from vbmle.experiments.spec import folder_name
from vbmle.plot.panels import CROWD, Panel, Series
from vbmle.report import runs as arranged
from vbmle.report import significance
from vbmle.report.runs import Runs, Sweep, WorldRuns
from vbmle.report.tables import text
from vbmle.report.words import count, listed, several
from vbmle.theory import bounds

POINTS = 120
"""Steps at which curves are drawn: more cannot be seen."""

BANDS = "Lines are means over the trials, with 95% bootstrap bands of the mean."
MEDIANS = " Thin lines are medians."
DOTS = (
    "A dot is one trial, a bar the mean; the same height within a row is the same world with the same luck."
)
REGRET = (
    "Regret adds up, step by step, how much less the policy in force is worth than the best one "
    "from the state at hand, in "
    "units of reward; all agents meet the same worlds with the same luck."
)
"""What every caption of regret says."""

APART = 30.0
"""Regret gets a logarithmic axis where the worst agent has this many times the regret of the middle one."""

TAUS = np.geomspace(1e-4, 2.0, 50)
WIDE_AXIS = 8.0
"""An axis whose values span more than this factor is logarithmic."""

WIDE_REGRET = 30.0
"""The same for regret, whose differences near 0 matter less."""

SIZES = {"states": "states S", "actions": "actions A", "dimension": "dimension d"}

DELTA, RIDGE = 0.1, 1.0
"""The paper's, for its bound."""


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
    """As many as there are: some agents may have fewer."""
    numbers = [len(runs.trials) for runs in world.agents.values()]
    return f"{several(numbers)} trial{'s' if max(numbers) > 1 else ''} of {world.horizon} steps"


def regret(worlds: Sequence[WorldRuns], name: str, agents: Sequence[str] = ()) -> Chart | None:
    """The mean with its band, and the median where few agents are shown: a few trials make the mean."""
    panels = []
    of_these = [replace(world, agents=chosen(world, agents)) for world in worlds]
    for world in of_these:
        shown = world.agents
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
    note = f"{sizes([world for world in of_these if world.agents])}."
    caption = f"Cumulative regret step by step. {BANDS}{MEDIANS if few else ''} {REGRET} {note}"
    return Chart(stem(name, "regret"), "regret", "Regret step by step", note, caption, panels)


def trials(worlds: Sequence[WorldRuns], name: str) -> Chart | None:
    """The regret of each trial in the end: the reason why means and medians differ."""
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
    caption = f"The regret of each trial in the end. {DOTS} {REGRET} {sizes(worlds)}."
    return Chart(stem(name, "trials"), "trials", "Trial by trial", "", caption, panels) if panels else None


def strip_name(agent: str, runs: Runs) -> str:
    """The agent, and how often it had no regret: dots at 0 lie on top of each other."""
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


# Across worlds


def agents_of(worlds: Sequence[WorldRuns]) -> list[str]:
    """Every agent with a record, in order of appearance."""
    return list(dict.fromkeys(agent for world in worlds for agent in world.agents))


def _axis(values: Sequence[float] | Floats, factor: float) -> str:
    low, high = float(np.min(values)), float(np.max(values))
    return "log" if low > 0.0 and high > factor * low else "linear"


def _points(agent: str, x: Sequence[float], samples: Sequence[Floats], worlds: Sequence[str]) -> Series:
    """Means with their intervals, and medians: a point for each world."""
    intervals = [statistics.mean_interval(values) for values in samples]
    low, high = np.array([i.low for i in intervals]), np.array([i.high for i in intervals])
    means, medians = np.array([i.value for i in intervals]), np.array([np.median(v) for v in samples])
    return Series(agent, agent, np.array(x, dtype=float), means, low, high, medians, worlds=worlds)


def along(sweep: Sweep, name: str, apart: Sequence[str] = ()) -> Chart:
    """Regret in the end against the parameter that was varied; `apart` tells the files of two apart."""
    parameter, series = sweep.parameter, []
    for agent in agents_of(sweep.worlds):
        here = [(v, w) for v, w in zip(sweep.values, sweep.worlds, strict=True) if agent in w.agents]
        lost = [world.agents[agent].final for _, world in here]
        series.append(_points(agent, [v for v, _ in here], lost, [w.label for _, w in here]))
    heights = np.concatenate([line.y for line in series])
    scale = "symlog" if np.max(heights) > WIDE_REGRET * max(np.min(heights), 1e-12) else "linear"
    horizon = sweep.worlds[0].horizon
    panel = Panel(
        "points",
        "",
        parameter,
        f"regret at t = {horizon}",
        series,
        _axis(sweep.values, WIDE_AXIS),
        scale,
    )
    fixed = ", ".join(f"{key} = {value}" for key, value in sweep.fixed.items())
    note = f"Regret after {horizon} steps against {parameter}{f', at {fixed}' if fixed else ''}."
    few = len(series) <= CROWD
    caption = (
        f"{note} Bars are 95% bootstrap intervals of the mean over {count(sweep.worlds[0].planned, 'trial')}"
        f"{'; the thin line joins the medians' if few else ''}. {REGRET}"
    )
    title = f"Regret against {parameter}"
    return Chart(stem(name, "against", parameter, *apart), "parameter", title, note, caption, [panel])


def _all_along(sweeps: Sequence[Sweep], name: str) -> list[Chart]:
    """A chart for each; the names of their files say no more than it takes to tell them apart."""
    kinds = [sweep.worlds[0].choice.name if sweep.worlds[0].choice else "" for sweep in sweeps]
    fixed = [[f"{key}={value}" for key, value in sweep.fixed.items()] for sweep in sweeps]
    names = [sweep.parameter for sweep in sweeps]
    with_kind = list(zip(names, kinds, strict=True))
    made = []
    for sweep, kind, rest, both in zip(sweeps, kinds, fixed, with_kind, strict=True):
        apart = [kind] if names.count(sweep.parameter) > 1 else []
        made.append(along(sweep, name, [*apart, *(rest if with_kind.count(both) > 1 else [])]))
    return made


# Across all worlds


def profile(worlds: Sequence[WorldRuns], name: str) -> Chart | None:
    """The share of runs whose regret is at most tau times the world's scale."""
    series = []
    for agent in agents_of(worlds):
        if all(agent in world.agents for world in worlds):
            lost = [world.agents[agent].final for world in worlds]
            scales = [world.scale for world in worlds]
            share, low, high = statistics.profile(lost, scales, TAUS)
            parts = {
                world.label: statistics.share_kept(values, scale, TAUS)
                for world, values, scale in zip(worlds, lost, scales, strict=True)
            }
            series.append(Series(agent, agent, TAUS, share, low, high, parts=parts))
    if not series:
        return None
    with_chance = all(world.chance for world in worlds)
    by = f"the mean regret of {'the random policy' if with_chance else 'the worst agent'} there"
    panel = Panel(
        "lines", "", "τ: regret as a share of the world's scale", "share of runs ≤ τ", series, "log"
    )
    note = f"Over {listed([world.label for world in worlds])}."
    caption = (
        f"Performance profiles: the share of runs whose regret is at most τ times {by}; higher is better. {note} "
        f"Worlds weigh the same; bands are 95% intervals."
    )
    return Chart(stem(name, "profile"), "profile", "Performance profiles", note, caption, [panel])


def improvement(worlds: Sequence[WorldRuns], name: str) -> Chart | None:
    """How likely the reference is to have lower regret than each other agent, over all worlds that have both."""
    reference, rows = worlds[0].reference, []
    for other, found, both in rivals(worlds):
        parts = {w.label: np.array([significance.share_of_wins(w, reference, other)]) for w in both}
        rows.append(row(other, f"than {other}", found, parts=parts))
    if not rows:
        return None
    title = f"P({reference} has lower regret)"
    panel = Panel("forest", "", f"probability that {reference} has lower regret", "", rows, mark=0.5)
    note = f"Worlds of equal weight: {listed([world.label for world in worlds])}."
    caption = (
        f"The probability that {reference} has lower regret than each other agent in the same "
        "world with the same luck, "
        f"with 95% intervals; 0.5 is a coin toss, and a tie counts half. {note}"
    )
    return Chart(stem(name, "improvement"), "improvement", title, note, caption, [panel])


def rivals(worlds: Sequence[WorldRuns]) -> list[tuple[str, Interval, list[WorldRuns]]]:
    """Every other agent, how likely the reference is to have lower regret, and the worlds that have both."""
    found, reference = [], worlds[0].reference if worlds else ""
    for other in agents_of(worlds) if reference else ():
        both = [world for world in worlds if world.has(reference, other)]
        if other != reference and both:
            found.append((other, significance.probability(both, reference, other), both))
    return found


def row(
    agent: str,
    name: str,
    found: Interval,
    world: str = "",
    faint: bool = False,
    parts: Mapping[str, Floats] | None = None,
) -> Series:
    """A row of a forest: an estimate with its interval."""
    place, low, high = (np.array([end]) for end in (found.value, found.low, found.high))
    worlds = [world] if world else []
    return Series(agent, name, place, np.zeros(1), low, high, faint=faint, worlds=worlds, parts=parts)


# Cost


def cost(worlds: Sequence[WorldRuns], name: str) -> Chart | None:
    """Seconds per step against S, A and d, each where the other two stand still; otherwise against all together."""
    panels = []
    for key, label in SIZES.items():
        series: list[Series] = []
        for group in _standing_still(worlds, key, apart=True) or _standing_still(worlds, key):
            series += _cost_lines(group, [float(world.facts[key]) for world in group])
        if series:
            panels.append(_cost_panel(label, series))
    if not panels:
        numbers = [float(w.facts["states"] ** 2 * w.facts["actions"] * w.facts["dimension"]) for w in worlds]
        if len(set(numbers)) < 2:
            return None
        order = np.argsort(numbers, kind="stable")
        lines = _cost_lines([worlds[n] for n in order], [numbers[n] for n in order])
        panels = [_cost_panel("size of the features, S·A·S·d", lines)]
    note = "Both axes are logarithmic. Measured on this machine, which may have been busy."
    caption = f"Seconds per step of each agent, mean over the trials with its 95% interval. {note}"
    return Chart(stem(name, "cost"), "cost", "Seconds per step against size", note, caption, panels)


def _standing_still(worlds: Sequence[WorldRuns], key: str, apart: bool = False) -> list[list[WorldRuns]]:
    """Worlds that differ in one size only, by increasing size; `apart`: those of one experiment alone.

    Experiments that vary one size each share a world, which was timed in each of them: one line has it once.
    """
    groups: dict[str, list[WorldRuns]] = {}
    for world in worlds:
        kind = world.choice.name if world.choice else ""
        rest = (world.experiment if apart else "") + text(kind)
        rest += "".join(f" {world.facts[other]}" for other in SIZES if other != key)
        groups.setdefault(rest, []).append(world)
    ordered = [sorted(group, key=lambda world: int(world.facts[key])) for group in groups.values()]
    return [group for group in ordered if group[0].facts[key] != group[-1].facts[key]]


def _cost_lines(worlds: Sequence[WorldRuns], sizes: Sequence[float]) -> list[Series]:
    lines = []
    for agent in agents_of(worlds):
        here: list[tuple[float, Runs]] = [
            (size, world.agents[agent])
            for size, world in zip(sizes, worlds, strict=True)
            if agent in world.agents
        ]
        labels = [world.label for world in worlds if agent in world.agents]
        taken = [runs.seconds_per_step for _, runs in here]
        lines.append(_points(agent, [size for size, _ in here], taken, labels))
    return lines


def _cost_panel(label: str, series: Sequence[Series]) -> Panel:
    return Panel(
        "points",
        "",
        label,
        "seconds per step",
        series,
        "log",
        "log",
    )


def build(worlds: Sequence[WorldRuns], kinds: Sequence[str], name: str, parameter: str | None) -> list[Chart]:
    """All charts of a section, in the order of `kinds`; `name` begins the names of their files."""
    makers: dict[str, Callable[[Sequence[WorldRuns], str], Chart | None]] = {
        "regret": regret,
        "trials": trials,
        "distance": distance,
        "mle_error": mle_error,
        "profile": profile,
        "improvement": improvement,
        "cost": cost,
    }
    found: list[Chart | None] = []
    for kind in kinds:
        if kind == "parameter":
            found += _all_along(arranged.sweeps(worlds, parameter), name)
        elif worlds:
            found.append(makers[kind](worlds, name))
    return [chart for chart in found if chart is not None]
