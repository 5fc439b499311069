"""Charts across the worlds of an experiment: along a parameter, profiles, who beats whom, and cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from vbmle.common.validation import Floats
from vbmle.report import charts, comparisons, statistics, world_runs
from vbmle.report.charts import Chart, Panel, Series, stem
from vbmle.report.tables import text
from vbmle.report.texts import Text
from vbmle.report.world_runs import Runs, Sweep, WorldRuns

TAUS = np.geomspace(1e-4, 2.0, 50)
WIDE_AXIS = 8.0
"""An axis whose values span more than this factor is logarithmic."""

WIDE_REGRET = 30.0
"""The same for regret, whose differences near 0 matter less."""

SIZES = {"states": "states S", "actions": "actions A", "dimension": "dimension d"}


def build(worlds: Sequence[WorldRuns], kinds: Sequence[str], told: Text) -> list[Chart]:
    """All charts of an experiment, in the order of `kinds`."""
    single: dict[str, Callable[[WorldRuns], Chart | None]] = {
        "regret": charts.regret,
        "distance": charts.distance,
        "mle_error": charts.mle_error,
    }
    several: dict[str, Callable[[Sequence[WorldRuns]], Chart | None]] = {
        "profile": profile,
        "improvement": improvement,
        "cost": cost,
    }
    found: list[Chart | None] = []
    for kind in kinds:
        if kind in single:
            found += [single[kind](world) for world in worlds]
        elif kind == "parameter":
            found += [along(sweep) for sweep in world_runs.sweeps(worlds, told.parameter)]
        elif worlds:
            found.append(several[kind](worlds))
    return [chart for chart in found if chart is not None]


def agents_of(worlds: Sequence[WorldRuns]) -> list[str]:
    """Every agent with a record, in order of appearance."""
    return list(dict.fromkeys(agent for world in worlds for agent in world.agents))


def _scale(values: Sequence[float] | Floats, factor: float) -> str:
    low, high = float(np.min(values)), float(np.max(values))
    return "log" if low > 0.0 and high > factor * low else "linear"


def _points(agent: str, x: Sequence[float], samples: Sequence[Floats]) -> Series:
    """Means with their intervals, and medians."""
    intervals = [statistics.mean_interval(values) for values in samples]
    low, high = np.array([i.low for i in intervals]), np.array([i.high for i in intervals])
    means, medians = np.array([i.value for i in intervals]), np.array([np.median(v) for v in samples])
    return Series(agent, agent, np.array(x, dtype=float), means, low, high, medians)


def along(sweep: Sweep) -> Chart:
    """Regret in the end against the parameter that was varied."""
    name, series = sweep.parameter, []
    for agent in agents_of(sweep.worlds):
        here = [(v, w) for v, w in zip(sweep.values, sweep.worlds, strict=True) if agent in w.agents]
        series.append(_points(agent, [value for value, _ in here], [w.agents[agent].final for _, w in here]))
    heights = np.concatenate([line.y for line in series])
    scale = "symlog" if np.max(heights) > WIDE_REGRET * max(np.min(heights), 1e-12) else "linear"
    horizon = sweep.worlds[0].horizon
    panel = Panel(
        "points",
        charts.over(len(series)).replace("band", "interval"),
        name,
        f"regret at t = {horizon} (units of reward)",
        series,
        _scale(sweep.values, WIDE_AXIS),
        scale,
    )
    fixed = ", ".join(f"{key} = {value}" for key, value in sweep.fixed.items())
    caption = (
        f"Regret after {horizon} steps against {name}{f', at {fixed}' if fixed else ''}. Bars are 95% intervals of "
        f"the mean, the thin line joins the medians."
    )
    first = sweep.worlds[0]
    return Chart(
        stem(first.experiment, "against", name, *_apart(sweep)),
        "parameter",
        "",
        f"Regret against {name}",
        caption,
        [panel],
    )


def _apart(sweep: Sweep) -> list[str]:
    """What tells the files of two sweeps over the same parameter apart."""
    made = sweep.worlds[0].choice
    return [made.name if made else "", *(f"{key}={value}" for key, value in sweep.fixed.items())]


# Across all worlds


def scale_of(world: WorldRuns) -> float:
    """What regret in a world is measured by: the mean of Random where it was run, otherwise of the worst agent."""
    means = {agent: float(runs.final.mean()) for agent, runs in world.agents.items()}
    return next((mean for agent, mean in means.items() if agent.lower() == "random"), max(means.values()))


def profile(worlds: Sequence[WorldRuns]) -> Chart | None:
    """The share of runs that lost at most a share tau of the world's scale."""
    series = []
    for agent in agents_of(worlds):
        if all(agent in world.agents for world in worlds):
            lost = [world.agents[agent].final for world in worlds]
            share, low, high = comparisons.profile(lost, [scale_of(world) for world in worlds], TAUS)
            series.append(Series(agent, agent, TAUS, share, low, high))
    if not series:
        return None
    with_random = all(any(agent.lower() == "random" for agent in world.agents) for world in worlds)
    by = f"{'Random' if with_random else 'the worst agent'} loses there on average"
    panel = Panel(
        "lines",
        "higher is better; 95% bands",
        "τ: regret as a share of the world's scale",
        "share of runs ≤ τ",
        series,
        "log",
    )
    caption = (
        f"Performance profile over {len(worlds)} worlds: the share of runs whose final regret is at most τ times what "
        f"{by}. Worlds weigh the same. Agents that lack a world are left out."
    )
    experiment = worlds[0].experiment
    return Chart(
        stem(experiment, "profile"), "profile", "", "Performance profiles across worlds", caption, [panel]
    )


def improvement(worlds: Sequence[WorldRuns]) -> Chart | None:
    """How likely the first agent is to lose less than each other one, over all worlds."""
    first = agents_of(worlds)[0]
    rows = []
    for other in agents_of(worlds)[1:]:
        both = [w for w in worlds if {first, other} <= set(w.agents) and len(w.shared(first, other))]
        if both:
            ours, theirs = zip(*(world.paired(first, other) for world in both), strict=True)
            found = comparisons.improvement(ours, theirs)
            ends = np.array([found.low]), np.array([found.high])
            rows.append(Series(other, f"than {other}", np.array([found.value]), np.array([0.0]), *ends))
    if not rows:
        return None
    title = f"P({first} loses less)"
    panel = Panel(
        "forest", "95% intervals; 0.5 is a coin", f"probability that {first} loses less", "", rows, mark=0.5
    )
    caption = (
        f"The probability that {first} loses less than each other agent in the same world with the same luck, a tie "
        f"counted half, over {len(worlds)} worlds of equal weight."
    )
    experiment = worlds[0].experiment
    return Chart(stem(experiment, "improvement"), "improvement", "", title, caption, [panel])


# Cost


def cost(worlds: Sequence[WorldRuns]) -> Chart | None:
    """Seconds per step against S, A and d, each where the other two stand still; otherwise against all together."""
    panels = []
    for key, label in SIZES.items():
        series: list[Series] = []
        for group in _standing_still(worlds, key):
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
    caption = (
        "Seconds per step of each agent, mean over the trials with its 95% interval, both axes logarithmic. Timings "
        "are of this machine and of whatever else it was doing."
    )
    return Chart(
        stem(worlds[0].experiment, "cost"), "cost", "", "Seconds per step against size", caption, panels
    )


def _standing_still(worlds: Sequence[WorldRuns], key: str) -> list[list[WorldRuns]]:
    """Worlds that differ in one size only, by increasing size."""
    groups: dict[str, list[WorldRuns]] = {}
    for world in worlds:
        kind = world.choice.name if world.choice else ""
        rest = text(kind) + "".join(f" {world.facts[other]}" for other in SIZES if other != key)
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
        lines.append(_points(agent, [size for size, _ in here], [runs.seconds_per_step for _, runs in here]))
    return lines


def _cost_panel(label: str, series: Sequence[Series]) -> Panel:
    return Panel(
        "points",
        charts.over(len({line.agent for line in series})).replace("band", "interval"),
        label,
        "seconds per step",
        series,
        "log",
        "log",
    )
