"""A picture of a world: its grid, its map, its curve or its graph, with the best policy and what it is worth.

Worlds that say what their states stand for (`vbmle.worlds.labels`) are drawn so: panels with arrows are grids to
walk on, with the value as colour; other panels with two axes are maps of the best action beside the value; panels
with one row are curves. Others are graphs: states on a circle, the best action's transitions as arrows. Values are in
the units of the world's reward.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vbmle.common.validation import Floats, Ints
from vbmle.model.world import World
from vbmle.planning import planner
from vbmle.plot.styles import BLUE, GREEN, INK, ORANGE, PINK, RED, SKY, YELLOW
from vbmle.worlds.labels import Labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

# Text and place say the same again.
ACTION_COLOURS = (BLUE, ORANGE, GREEN, PINK, RED, SKY, YELLOW, INK)
VALUE_COLOURS = "cividis"
MOST_NODES = 40
"""A graph of more states than this cannot be read: it becomes a curve over the numbers of the states."""

LEAST_DRAWN = 0.02
"""Transitions less likely than this are left out of a graph."""

ENDS = ("H", "G", "goal", "cliff")
"""Marks of places where nothing is decided."""

LARGE_GRID = 12
"""Grids with more columns than this have no numbers in their cells."""


def write(world: World, title: str, path: str | Path) -> None:
    """Draw a world into a file; its ending says in which format."""
    draw(world, title).savefig(path, dpi=150)


def draw(world: World, title: str) -> Figure:
    """The picture of a world under its hidden theta."""
    found = planner.plan(world.mdp, world.theta)
    V = found.value
    labels: Labels | None = getattr(world, "labels", None)
    if labels is None and world.mdp.num_states <= MOST_NODES:
        figure = _figure(6.4, 6.6)
        graph(figure.subplots(), world, V, found.policy)
    else:
        shown = labels or Labels(
            {"": np.arange(world.mdp.num_states)[None, :]},
            world.mdp.names.actions or tuple(f"action {a}" for a in range(world.mdp.num_actions)),
            x="state",
        )
        kind = (
            _grids if shown.glyphs else (_curve if all(len(p) == 1 for p in shown.panels.values()) else _maps)
        )
        figure = kind(shown, V, found.policy)
    size = f"{world.mdp.num_states} states, {world.mdp.num_actions} actions, d = {world.mdp.dimension}"
    figure.suptitle(f"{title}: best policy and value\n{size}, discount {world.mdp.discount:g}", fontsize=11)
    return figure


def _figure(width: float, height: float) -> Figure:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def _grids(labels: Labels, V: Floats, policy: Ints) -> Figure:
    """A grid per panel: value as colour, the best action as an arrow, the place's mark in the corner."""
    rows, columns = next(iter(labels.panels.values())).shape
    scale = min(0.95, 10.0 / columns)
    figure = _figure(max(6.5, scale * columns * len(labels.panels) + 1.2), max(3.2, scale * rows + 1.2))
    axes = figure.subplots(1, len(labels.panels), squeeze=False)[0]
    V = _without_walls(labels, V)
    shown = V[np.concatenate([grid.ravel() for grid in labels.panels.values()])]
    low, high = float(np.nanmin(shown)), float(np.nanmax(shown))
    for axis, (title, grid) in zip(axes, labels.panels.items(), strict=True):
        image = _grid(axis, grid, labels, (V, policy), (low, high))
        axis.set(title=title)
    figure.colorbar(image, ax=axes.tolist(), label=f"value ({labels.unit})", shrink=0.8)
    return figure


def _without_walls(labels: Labels, V: Floats) -> Floats:
    """NaN where nobody ever stands: the value there would wash out all others."""
    walls = [state for state, mark in (labels.marks or {}).items() if mark == "cliff"]
    V = V.copy()
    V[walls] = np.nan
    return V


def _grid(
    axis: Axes, grid: Ints, labels: Labels, shown: tuple[Floats, Ints], ends: tuple[float, float]
) -> AxesImage:
    """Value as colour, the best action as an arrow; -1 in the grid is no state."""
    V, policy = shown
    (rows, columns), (low, high) = grid.shape, ends
    image = axis.imshow(np.where(grid >= 0, V[grid], np.nan), cmap=VALUE_COLOURS, vmin=low, vmax=high)
    axis.set(xticks=[], yticks=[], facecolor="0.25")
    axis.set_xticks(np.arange(columns + 1) - 0.5, minor=True)
    axis.set_yticks(np.arange(rows + 1) - 0.5, minor=True)
    axis.grid(which="minor", color="white", linewidth=1)
    axis.tick_params(which="minor", length=0)
    for (row, column), state in np.ndenumerate(grid):
        if state < 0:
            continue
        bright = V[state] - low > 0.6 * (high - low)
        mark = (labels.marks or {}).get(int(state), "")
        glyph = "" if mark in ENDS else labels.glyphs[policy[state]]
        number = f"{V[state]:.3g}" if columns <= LARGE_GRID and np.isfinite(V[state]) else ""
        _cell(axis, (column, row), (mark, glyph, number), "black" if bright else "white")
    return image


def on_axes(axis: Axes, world: World, plan: planner.Plan) -> None:
    """The same on one pair of axes: panels side by side, and of what is no grid and no graph the value as a curve."""
    labels: Labels | None = getattr(world, "labels", None)
    V, policy, names = plan.value, plan.policy, world.mdp.names
    if labels is None and world.mdp.num_states <= MOST_NODES:
        graph(axis, world, V, policy)
    elif labels is not None and labels.glyphs:
        grid = _side_by_side(list(labels.panels.values()))
        V = _without_walls(labels, V)
        image = _grid(axis, grid, labels, (V, policy), (float(np.nanmin(V)), float(np.nanmax(V))))
        axis.figure.colorbar(image, ax=axis, label=f"value ({labels.unit})", shrink=0.8)
    else:
        actions = labels.actions if labels else names.actions
        _value_curve(axis, V, policy, actions or [f"action {a}" for a in range(world.mdp.num_actions)])


def _side_by_side(panels: Sequence[Ints]) -> Ints:
    """Grids of equal height in one, a column of -1 between two."""
    between = np.full((len(panels[0]), 1), -1)
    parts = [part for panel in panels for part in (between, panel)]
    return np.hstack(parts[1:])


def _value_curve(axis: Axes, V: Floats, policy: Ints, actions: Sequence[str]) -> None:
    """The value as a line over the numbers of states, a dot for each in the colour of the best action."""
    axis.plot(V, color="0.6", linewidth=1, zorder=1)
    for action in np.unique(policy).tolist():
        at = np.nonzero(policy == action)[0]
        colour = ACTION_COLOURS[action % len(ACTION_COLOURS)]
        axis.scatter(at, V[at], s=10, color=colour, label=actions[action], zorder=2)
    axis.set(xlabel="state", ylabel="value (units of reward)")
    axis.legend(frameon=False, fontsize="small", title="best action")


def _cell(axis: Axes, at: tuple[int, int], texts: tuple[str, str, str], colour: str) -> None:
    """The mark of a place in its corner, the arrow in the middle, the value below."""
    mark, glyph, number = texts
    x, y = at
    centre: dict[str, Any] = {"ha": "center", "va": "center", "color": colour}
    axis.text(x, y - 0.08, glyph, fontsize=15 if len(glyph) == 1 else 8, **centre)
    axis.text(x, y + 0.34, number, fontsize=7, **centre)
    axis.text(x - 0.45, y - 0.42, mark, fontsize=8, ha="left", va="top", color=colour)


def _curve(labels: Labels, V: Floats, policy: Ints) -> Figure:
    """The best action as coloured steps and the value as a line, over one quantity."""
    figure = _figure(7.5, 5.0)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=[1, 1])
    (states,) = next(iter(labels.panels.values()))
    x = np.arange(len(states))
    above.plot(x, V[states], color="black", linewidth=2)
    above.set(ylabel=f"value ({labels.unit})")
    above.grid(alpha=0.3)
    played = sorted(set(policy[states].tolist()))
    for action in played:
        at = x[policy[states] == action]
        below.bar(
            at,
            0.8,
            width=1.0,
            bottom=played.index(action) - 0.4,
            color=ACTION_COLOURS[action % len(ACTION_COLOURS)],
        )
    below.set_yticks(range(len(played)), [labels.actions[action] for action in played])
    below.set(xlabel=labels.x, ylabel="best action", xlim=(-0.5, len(x) - 0.5))
    below.grid(axis="x", alpha=0.3)
    return figure


def _maps(labels: Labels, V: Floats, policy: Ints) -> Figure:
    """For each panel a map of the best action beside one of the value; its last row is the least of y."""
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Patch

    figure = _figure(11.0, 4.2 * len(labels.panels))
    axes = figure.subplots(len(labels.panels), 2, squeeze=False)
    colours = ListedColormap([ACTION_COLOURS[a % len(ACTION_COLOURS)] for a in range(len(labels.actions))])
    for (left, right), (title, grid) in zip(axes, labels.panels.items(), strict=True):
        left.imshow(policy[grid], cmap=colours, vmin=-0.5, vmax=len(labels.actions) - 0.5, aspect="auto")
        image = right.imshow(V[grid], cmap=VALUE_COLOURS, aspect="auto")
        figure.colorbar(image, ax=right, label=f"value ({labels.unit})")
        rows, columns = grid.shape
        marks = np.unique(np.linspace(0, rows - 1, min(rows, 8)).astype(int))
        days = np.unique(np.linspace(0, columns - 1, min(columns, 11)).astype(int))
        for axis, what in ((left, "best action"), (right, "value")):
            axis.set(title=f"{title} {what}".strip(), xlabel=labels.x, ylabel=labels.y)
            axis.set_yticks(marks, (rows - marks).tolist())
            axis.set_xticks(days, (days + 1).tolist())
    played = sorted({int(policy[state]) for grid in labels.panels.values() for state in grid.ravel()})
    handles = [Patch(color=ACTION_COLOURS[a % len(ACTION_COLOURS)], label=labels.actions[a]) for a in played]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(played), frameon=False)
    return figure


def graph(axis: Axes, world: World, V: Floats, policy: Ints) -> None:
    """States on a circle, arrows as wide as transitions are likely."""
    mdp, count, names = world.mdp, world.mdp.num_states, world.mdp.names
    angle = np.pi - 2.0 * np.pi * np.arange(count) / count  # from the left, clockwise
    place = np.column_stack([np.cos(angle), np.sin(angle)])
    p = mdp.transitions.probabilities(world.theta)
    for state in range(count):
        row = state * mdp.num_actions + int(policy[state])
        for i in range(mdp.transitions.indptr[row], mdp.transitions.indptr[row + 1]):
            to = int(mdp.transitions.successor[i])
            if p[i] >= LEAST_DRAWN:
                _arrow(axis, place[state], place[to], float(p[i]), loop=to == state)
    dots = axis.scatter(
        place[:, 0],
        place[:, 1],
        c=V,
        cmap=VALUE_COLOURS,
        s=1500 if count <= 12 else 500,
        zorder=3,
        edgecolors="black",
    )
    bright = (V - V.min()) / ((V.max() - V.min()) or 1.0) > 0.6
    for state in range(count):
        chosen = names.actions[policy[state]] if names.actions else f"a={policy[state]}"
        text = f"{names.state(state)}\n{chosen}" if count <= 12 else names.state(state)
        colour = "black" if bright[state] else "white"
        axis.text(
            float(place[state, 0]),
            float(place[state, 1]),
            text,
            ha="center",
            va="center",
            color=colour,
            zorder=4,
            fontsize=9,
        )
    axis.figure.colorbar(dots, ax=axis, label="value (units of reward)", shrink=0.7)
    axis.set(xlim=(-1.5, 1.5), ylim=(-1.5, 1.5), aspect="equal")
    axis.set_axis_off()


def _arrow(axis: Axes, start: Floats, end: Floats, p: float, loop: bool) -> None:
    """A bent arrow with its probability, or a ring outside for staying."""
    from matplotlib.patches import Circle, FancyArrowPatch

    if loop:
        ring = start * 1.18
        axis.add_patch(Circle(tuple(ring), 0.12, fill=False, color="0.45", linewidth=0.5 + 2.5 * p))
        where = start * 1.4
    else:
        style: dict[str, Any] = {
            "arrowstyle": "-|>",
            "mutation_scale": 14,
            "connectionstyle": "arc3,rad=0.18",
        }
        room: dict[str, Any] = {"shrinkA": 20, "shrinkB": 20, "linewidth": 0.5 + 2.5 * p, "color": "0.45"}
        axis.add_patch(FancyArrowPatch(tuple(start), tuple(end), **style, **room))
        step = end - start
        where = start + 0.5 * step + 0.09 * np.array([step[1], -step[0]])
    box = {"facecolor": "white", "edgecolor": "none", "pad": 0.6, "alpha": 0.8}
    axis.text(
        float(where[0]), float(where[1]), f"{p:.2g}", fontsize=8, ha="center", va="center", bbox=box, zorder=2
    )
