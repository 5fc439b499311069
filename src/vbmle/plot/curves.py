"""Pictures of runs: regret with bands, paired differences, the league of agents, a measure against a swept setting.

Runs are histories, one or several for each agent, or records: the frame of `vbmle.read_records`, or anything that has
one as `records`, such as a `vbmle.Sweep`. Bands and intervals are those of the report: 95%, from six trials on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from vbmle.common import statistics
from vbmle.common.validation import Floats, Ints, nearest
from vbmle.plot.panels import Panel, Series, draw_panel
from vbmle.plot.stage import legend, stage
from vbmle.plot.styles import Styles, assign
from vbmle.simulation import History

if TYPE_CHECKING:
    import polars
    from matplotlib.axes import Axes

Runs = Any
"""A History, several of them, either by agent, a frame of records, or something that has one as `records`."""

FLOOR = 0.002
"""Of the worst agent's mean: below it all agents of a world count as equally good."""

MOST_TICKS = 8
"""Values of a setting that are all named on the axis."""

AXIS = {"regret": "cumulative regret", "step": "step t"}


@dataclass(frozen=True, eq=False)
class Curves:
    """What one agent did in one world: rows are trials."""

    trials: Ints
    steps: Ints
    values: Floats
    """(trials, steps)."""
    kind: str
    """What the agent is, which decides its colour."""

    def at(self, trials: Ints) -> Floats:
        """The last column, for these trials."""
        return np.asarray(self.values[np.searchsorted(self.trials, trials), -1])


def regret(runs: Runs, ax: Axes | None = None, *, world: str | None = None, measure: str = "regret") -> Axes:
    """Mean regret over steps, with a 95% band over seeds.

    Parameters
    ----------
    runs : histories or records
        A `vbmle.History`, a list of them (one agent), a dict of either by agent, records, or a `vbmle.Sweep`.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.
    world : str, optional
        The label of a world, where the records have several.
    measure : str, default "regret"
        What is drawn over steps: any column of records, or a metric of histories.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    ValueError
        If the records have several worlds and none is named, or no such measure.

    Examples
    --------
    >>> import vbmle
    >>> world = vbmle.worlds.riverswim(length=6)
    >>> runs = vbmle.simulate_many(vbmle.VBMLE, world, horizon=50, seeds=range(8), jobs=1)
    >>> vbmle.plot.regret({"VBMLE": runs}).get_ylabel()
    'cumulative regret'
    """
    found = _in_world(_curves(runs, measure), world)
    lines = [_line(label, curves) for label, curves in found.items()]
    panel = Panel("lines", world or "", AXIS["step"], AXIS.get(measure, measure), lines)
    with stage(ax) as axes:
        draw_panel(axes, panel, _styles(found))
        legend(axes)
    return axes


def comparison(runs: Runs, agent: str, against: str, ax: Axes | None = None) -> Axes:
    """The mean paired difference of final regret in each world, with a 95% interval; below 0 `agent` is better.

    Parameters
    ----------
    runs : histories by agent, or records
        As for `regret`; trials with the same number, or histories in the same place, are paired.
    agent : str
        The label of an agent.
    against : str
        The label of another.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    ValueError
        If there is no such agent, or the two have no trial in common.

    Examples
    --------
    >>> import vbmle
    >>> world = vbmle.worlds.riverswim(length=6)
    >>> agents = {"VBMLE": vbmle.VBMLE, "greedy": vbmle.MaximumLikelihood}
    >>> runs = {name: vbmle.simulate_many(a, world, 50, seeds=range(8), jobs=1) for name, a in agents.items()}
    >>> vbmle.plot.comparison(runs, "VBMLE", "greedy").get_xlabel()
    'regret of VBMLE minus greedy'
    """
    found = _curves(runs, "regret")
    rows = [_difference(label, agents, agent, against) for label, agents in found.items()]
    ends = np.concatenate([np.concatenate([row.x, row.low, row.high]) for row in rows if row.low is not None])
    low, high = float(np.nanmin(np.append(ends, 0.0))), float(np.nanmax(np.append(ends, 0.0)))
    reach = (low, high) if high > low else (-1.0, 1.0)
    title = f"regret of {agent} minus {against}"
    panel = Panel("forest", "", title, "", rows, mark=0.0, x_range=reach)
    with stage(ax, (4.2, 1.2 + 0.3 * len(rows))) as axes:
        draw_panel(axes, panel, _styles(next(iter(found.values()))))
    return axes


def league(runs: Runs, ax: Axes | None = None) -> Axes:
    """Mean final regret of each agent in each world, as a multiple of the best agent's there: 1 is best.

    Parameters
    ----------
    runs : records, or histories by agent
        As for `regret`.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import vbmle
    >>> world = vbmle.worlds.riverswim(length=6)
    >>> agents = {"VBMLE": vbmle.VBMLE, "random": vbmle.Random}
    >>> runs = {name: vbmle.simulate_many(a, world, 50, seeds=range(6), jobs=1) for name, a in agents.items()}
    >>> len(vbmle.plot.league(runs).texts)
    2
    """
    found = _curves(runs, "regret")
    worlds, agents = list(found), list(dict.fromkeys(label for one in found.values() for label in one))
    means = np.array([[_mean(found[world].get(label)) for world in worlds] for label in agents])
    held = np.maximum(means, FLOOR * np.nanmax(means, axis=0) + np.finfo(float).tiny)
    ratios = held / np.nanmin(held, axis=0)
    rows = [
        Series(
            label,
            label,
            np.arange(len(worlds), dtype=float),
            row,
            worlds=worlds,
            shown=[f"{ratio:.3g}" for ratio in row],
        )
        for label, row in zip(agents, ratios, strict=True)
    ]
    panel = Panel("matrix", "", "", "", rows)
    with stage(ax, (1.8 + 0.55 * len(worlds), 1.1 + 0.3 * len(agents))) as axes:
        draw_panel(axes, panel, {})
    return axes


def sweep(
    records: Runs, setting: str, ax: Axes | None = None, *, measure: str = "regret", world: str | None = None
) -> Axes:
    """A measure at the last step against a setting that was swept, with 95% intervals: the sensitivity plot.

    Parameters
    ----------
    records : frame of records, or a Sweep
        With a column for the setting.
    setting : str
        A setting of worlds or of agents that was swept, such as "length" or "bias_scale"; `world_...` or `agent_...`
        where both have it.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.
    measure : str, default "regret"
        What is drawn: any column of records.
    world : str, optional
        The label of a world, where a setting of agents was swept in several.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    ValueError
        If there is no such setting or measure, it is no number, or several worlds would be mixed.

    Examples
    --------
    >>> import vbmle
    >>> worlds = {"river": {"world": "riverswim", "length": {"sweep": [4, 5]}}}
    >>> sweep = vbmle.Sweep(worlds=worlds, agents=["VBMLE"], trials=6, horizon=50)
    >>> vbmle.plot.sweep(sweep.run(), "length").get_xlabel()  # doctest: +SKIP
    'length'
    """
    table = _last(_frame(records), measure, world)
    column = _setting(table, setting)
    of_agents = column.startswith("agent_")
    if of_agents and table["world"].n_unique() > 1:
        raise ValueError(
            f"records have several worlds; world needs one of {', '.join(_unique(table, 'world'))}"
        )
    name = "agent_name" if of_agents else "agent"
    known = table.drop_nulls(column)
    lines = [
        _sensitivity(label, known.filter(known[name] == label), column, measure)
        for label in _unique(known, name)
    ]
    values = np.unique(np.concatenate([line.x for line in lines]))
    far = bool(values.min() > 0.0 and values.max() >= 20.0 * values.min())
    title = f"{measure} after {int(table['step'].to_numpy().max())} steps"
    panel = Panel("points", world or "", column.partition("_")[2], title, lines, "log" if far else "linear")
    with stage(ax) as axes:
        draw_panel(axes, panel, assign(line.agent for line in lines))
        if len(values) <= MOST_TICKS:
            axes.set_xticks(values, [f"{value:g}" for value in values])
        legend(axes)
    return axes


def _line(label: str, curves: Curves) -> Series:
    low, high = statistics.mean_band(curves.values)
    known = len(curves.values) >= statistics.FEWEST
    ends = (low, high) if known else (None, None)
    return Series(label, label, curves.steps.astype(float), curves.values.mean(axis=0), *ends)


def _difference(world: str, agents: Mapping[str, Curves], agent: str, against: str) -> Series:
    for label in (agent, against):
        if label not in agents:
            where = f" in {world}" if world else ""
            raise ValueError(f"unknown agent {label!r}{where}{nearest(label, agents, 'Known agents')}")
    one, two = agents[agent], agents[against]
    shared = np.intersect1d(one.trials, two.trials)
    if not len(shared):
        raise ValueError(f"{agent} and {against} have no trial in common; paired differences need one")
    gaps = one.at(shared) - two.at(shared)
    ends = statistics.hall(gaps) if len(gaps) >= statistics.FEWEST else (np.nan, np.nan)
    low, high = (np.array([end]) for end in ends)
    return Series(agent, world or "", np.array([gaps.mean()]), np.zeros(1), low, high)


def _sensitivity(label: str, part: polars.DataFrame, column: str, measure: str) -> Series:
    """Mean and interval for each value of the setting."""
    values = np.unique(part[column].to_numpy().astype(float))
    found = [statistics.mean_interval(part.filter(part[column] == v)[measure].to_numpy()) for v in values]
    mean, low, high = (np.array([getattr(one, end) for one in found]) for end in ("value", "low", "high"))
    return Series(label, label, values, mean, low, high)


def _mean(curves: Curves | None) -> float:
    return np.nan if curves is None else float(curves.values[:, -1].mean())


def _styles(agents: Mapping[str, Curves]) -> Styles:
    return assign(agents, {label: curves.kind for label, curves in agents.items()})


def _in_world(found: Mapping[str, Mapping[str, Curves]], world: str | None) -> Mapping[str, Curves]:
    """The agents of the world that is named, or of the only one."""
    if world is None and len(found) == 1:
        return next(iter(found.values()))
    if world is None or world not in found:
        given = "the runs have several worlds" if world is None else f"there is no world {world!r}"
        raise ValueError(f"{given}; world needs one of {', '.join(found)}")
    return found[world]


def _curves(runs: Runs, measure: str) -> dict[str, dict[str, Curves]]:
    """What every agent did, by world and agent; histories are in a world without a name."""
    if hasattr(runs, "records") or hasattr(runs, "group_by"):
        return _of_frame(_frame(runs), measure)
    by_agent = runs if isinstance(runs, Mapping) else {"": runs}
    return {"": {str(label): _of_histories(str(label), given, measure) for label, given in by_agent.items()}}


def _of_histories(label: str, given: History | Iterable[History], measure: str) -> Curves:
    listed = [given] if isinstance(given, History) else list(given)
    if not listed or not all(isinstance(one, History) for one in listed):
        raise ValueError("runs need to be histories, several of them, either by agent, or records")
    length = min(len(one.states) for one in listed)
    rows = [_measured(one, measure)[:length] for one in listed]
    return Curves(np.arange(len(rows)), listed[0].begun + np.arange(1, length + 1), np.array(rows), label)


def _measured(history: History, measure: str) -> Floats:
    if measure in history.metrics:
        return history.metrics[measure]
    found = getattr(history, measure, None)
    if not isinstance(found, np.ndarray):
        known = ["regret", "seconds", "distance", *history.metrics]
        raise ValueError(
            f"unknown measure {measure!r} of histories{nearest(measure, known, 'Known measures')}"
        )
    return found


def _frame(runs: Runs) -> polars.DataFrame:
    table: polars.DataFrame = runs.records if hasattr(runs, "records") else runs
    return table


def _of_frame(table: polars.DataFrame, measure: str) -> dict[str, dict[str, Curves]]:
    _require_measure(table, measure)
    found: dict[str, dict[str, Curves]] = {}
    for (world, agent), part in table.group_by("world", "agent", maintain_order=True):
        rows = part.pivot(on="step", index="trial", values=measure).sort("trial").drop_nulls()
        steps = np.array([int(name) for name in rows.columns[1:]])
        values, kind = rows[:, 1:].to_numpy(), str(part["agent_name"][0])
        found.setdefault(str(world), {})[str(agent)] = Curves(rows["trial"].to_numpy(), steps, values, kind)
    return found


def _require_measure(table: polars.DataFrame, measure: str) -> None:
    if measure not in table.columns or not table[measure].dtype.is_numeric():
        known = [name for name in table.columns if table[name].dtype.is_float() and "_" not in name]
        raise ValueError(f"unknown measure {measure!r} of records{nearest(measure, known, 'Known measures')}")


def _last(table: polars.DataFrame, measure: str, world: str | None) -> polars.DataFrame:
    """The last row of every trial."""
    _require_measure(table, measure)
    if world is not None:
        if world not in _unique(table, "world"):
            known = nearest(world, _unique(table, "world"), "Known worlds")
            raise ValueError(f"unknown world {world!r}{known}")
        table = table.filter(world=world)
    return table.filter(table["step"] == table["step"].max())


def _unique(table: polars.DataFrame, column: str) -> Sequence[str]:
    return [str(value) for value in table[column].unique(maintain_order=True)]


def _setting(table: polars.DataFrame, setting: str) -> str:
    """The column of a setting that was swept."""
    known = [
        name for name in table.columns if name.partition("_")[0] in ("world", "agent") and name[5:6] == "_"
    ]
    known = [name for name in known if table[name].dtype.is_numeric()]
    fitting = [name for name in known if setting in (name, name.partition("_")[2])]
    if len(fitting) != 1:
        short = [name.partition("_")[2] for name in known] if not fitting else []
        given = "no number" if not fitting else "a setting of both"
        options = nearest(setting, [*short, *known], "Numbers that differ")
        raise ValueError(f"setting is {setting!r}, {given}{options}")
    return fitting[0]
