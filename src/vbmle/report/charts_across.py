"""Charts across the worlds of an experiment: along a parameter, profiles, who beats whom, and cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from vbmle.common.validation import Floats
from vbmle.report import charts, charts_tuned, comparisons, statistics, world_runs
from vbmle.report.charts import Chart, Panel, Series, stem
from vbmle.report.tables import text
from vbmle.report.words import listed
from vbmle.report.world_runs import Runs, Sweep, WorldRuns

TAUS = np.geomspace(1e-4, 2.0, 50)
WIDE_AXIS = 8.0
"""An axis whose values span more than this factor is logarithmic."""

WIDE_REGRET = 30.0
"""The same for regret, whose differences near 0 matter less."""

SIZES = {"states": "states S", "actions": "actions A", "dimension": "dimension d"}


def build(worlds: Sequence[WorldRuns], kinds: Sequence[str], name: str, parameter: str | None) -> list[Chart]:
    """All charts of a section, in the order of `kinds`; `name` begins the names of their files."""
    makers: dict[str, Callable[[Sequence[WorldRuns], str], Chart | None]] = {
        "regret": charts.regret,
        "trials": charts.trials,
        "distance": charts.distance,
        "mle_error": charts.mle_error,
        "profile": profile,
        "improvement": improvement,
        "cost": cost,
        "tuned": charts_tuned.build,
    }
    found: list[Chart | None] = []
    for kind in kinds:
        if kind == "parameter":
            found += [along(sweep, name) for sweep in world_runs.sweeps(worlds, parameter)]
        elif worlds:
            found.append(makers[kind](worlds, name))
    return [chart for chart in found if chart is not None]


def agents_of(worlds: Sequence[WorldRuns]) -> list[str]:
    """Every agent with a record, in order of appearance."""
    return list(dict.fromkeys(agent for world in worlds for agent in world.agents))


def _scale(values: Sequence[float] | Floats, factor: float) -> str:
    low, high = float(np.min(values)), float(np.max(values))
    return "log" if low > 0.0 and high > factor * low else "linear"


def _points(agent: str, x: Sequence[float], samples: Sequence[Floats], worlds: Sequence[str]) -> Series:
    """Means with their intervals, and medians: a point for each world."""
    intervals = [statistics.mean_interval(values) for values in samples]
    low, high = np.array([i.low for i in intervals]), np.array([i.high for i in intervals])
    means, medians = np.array([i.value for i in intervals]), np.array([np.median(v) for v in samples])
    return Series(agent, agent, np.array(x, dtype=float), means, low, high, medians, worlds=worlds)


def along(sweep: Sweep, name: str) -> Chart:
    """Regret in the end against the parameter that was varied."""
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
        _scale(sweep.values, WIDE_AXIS),
        scale,
    )
    fixed = ", ".join(f"{key} = {value}" for key, value in sweep.fixed.items())
    note = f"Regret after {horizon} steps against {parameter}{f', at {fixed}' if fixed else ''}."
    few = len(series) <= charts.CROWD
    caption = (
        f"{note} Bars are 95% bootstrap intervals of the mean over {sweep.worlds[0].planned} trials"
        f"{'; the thin line joins the medians' if few else ''}. {charts.REGRET}"
    )
    title = f"Regret against {parameter}"
    return Chart(stem(name, "against", parameter, *_apart(sweep)), "parameter", title, note, caption, [panel])


def _apart(sweep: Sweep) -> list[str]:
    """What tells the files of two sweeps over the same parameter apart."""
    made = sweep.worlds[0].choice
    return [made.name if made else "", *(f"{key}={value}" for key, value in sweep.fixed.items())]


# Across all worlds


def profile(worlds: Sequence[WorldRuns], name: str) -> Chart | None:
    """The share of runs that lost at most a share tau of the world's scale."""
    series = []
    for agent in agents_of(worlds):
        if all(agent in world.agents for world in worlds):
            lost = [world.agents[agent].final for world in worlds]
            scales = [world.scale for world in worlds]
            share, low, high = comparisons.profile(lost, scales, TAUS)
            parts = {
                world.label: comparisons.share_kept(values, scale, TAUS)
                for world, values, scale in zip(worlds, lost, scales, strict=True)
            }
            series.append(Series(agent, agent, TAUS, share, low, high, parts=parts))
    if not series:
        return None
    with_random = all(any(agent.lower() == "random" for agent in world.agents) for world in worlds)
    by = f"{'Random' if with_random else 'the worst agent'} loses there on average"
    panel = Panel(
        "lines", "", "τ: regret as a share of the world's scale", "share of runs ≤ τ", series, "log"
    )
    note = f"Over {listed([world.label for world in worlds])}."
    caption = (
        f"Performance profiles: the share of runs that lost at most τ times what {by}; higher is better. {note} Worlds "
        f"weigh the same; bands are 95% intervals."
    )
    return Chart(stem(name, "profile"), "profile", "Performance profiles", note, caption, [panel])


def improvement(worlds: Sequence[WorldRuns], name: str) -> Chart | None:
    """How likely the first agent is to lose less than each other one, over all worlds."""
    first = agents_of(worlds)[0]
    rows = []
    for other in agents_of(worlds)[1:]:
        both = [w for w in worlds if {first, other} <= set(w.agents) and len(w.shared(first, other))]
        if both:
            found = likelier(both, first, other)
            ends = np.array([found.low]), np.array([found.high])
            parts = {
                world.label: np.array([comparisons.share_improved(*world.paired(first, other))])
                for world in both
            }
            point = np.array([found.value]), np.array([0.0])
            rows.append(Series(other, f"than {other}", *point, *ends, parts=parts))
    if not rows:
        return None
    title = f"P({first} loses less)"
    panel = Panel("forest", "", f"probability that {first} loses less", "", rows, mark=0.5)
    note = f"Worlds of equal weight: {listed([world.label for world in worlds])}."
    caption = (
        f"The probability that {first} loses less than each other agent in the same world with the same luck, with "
        f"95% intervals; 0.5 is a coin toss, and a tie counts half. {note}"
    )
    return Chart(stem(name, "improvement"), "improvement", title, note, caption, [panel])


def likelier(worlds: Sequence[WorldRuns], one: str, two: str) -> statistics.Interval:
    """The probability that one agent loses less than another, over worlds that have both."""
    ours, theirs = zip(*(world.paired(one, two) for world in worlds), strict=True)
    return comparisons.improvement(ours, theirs)


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
    note = "Both axes are logarithmic; timings are of this machine and of whatever else it was doing."
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
