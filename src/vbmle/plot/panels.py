"""One pair of axes: lines with bands, joined points, rows of dots, estimates with intervals, and matrices.

`Series` and `Panel` are what is drawn, as data: the report's page draws them too (figures.js). `draw_panel` puts a
panel on axes of matplotlib, which is imported when it is used.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from vbmle.common.validation import Floats
from vbmle.plot.mathematics import for_matplotlib
from vbmle.plot.styles import GREY, LEVEL_COLORS, LEVELS, Style, Styles

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CROWD = 6
"""More agents than this are drawn with paler bands and without their medians, which nobody could follow."""

LOWEST_POWER = -3
"""The least power of ten that an axis of regret resolves; below it lies 0."""

WORLDS_ACROSS = 14
"""Worlds up to which they are the columns of a matrix."""

LEGEND_LINE = 0.6
"""Inches that an entry of a legend takes for its line and the space around it."""

BESIDE = 8
"""Curves up to which each is named at its end."""

IN_ROWS = ("strip", "forest")
"""Forms with a row for each name."""

TICKS = 4
"""Powers of ten that are named on the axis of such a panel."""

LETTER = 0.064
"""Inches of a letter."""

LEADER = 8.0
"""Points from the side of the axes to the names."""

LETTERS = 8.0
"""Points of a number in a cell of a matrix, where there is room."""

LINE = 10.0
"""Points from one name at the end of a curve to the next."""

NOBODY = Style(GREY, "dash", "circle")


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
    decided: Floats | None = None
    """In a matrix: 1 where the agent is the best, or significantly worse."""
    shown: Sequence[str] = ()
    """In a matrix: what stands in each cell."""

    def values(self) -> dict[str, Floats]:
        """What it has beside `x`, by name: what the page and the CSV file hold of it."""
        given = {name: getattr(self, name) for name in ("y", "low", "high", "median", "decided")}
        return {name: values for name, values in given.items() if values is not None}


@dataclass(frozen=True, eq=False)
class Panel:
    """One pair of axes.

    form : "lines" (with bands), "points" (joined, with error bars), "strip" (a row of dots per agent, x is what each
    lost, y its trial), "forest" (a row per agent: an estimate with its interval), "scatter" (dots alone) or "matrix" (a
    row per agent, a column per world: regret relative to the best).
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


def draw_panel(axes: Axes, panel: Panel, styles: Styles) -> None:
    axes.set_title(for_matplotlib(panel.title))
    if panel.form == "matrix":
        _matrix(axes, panel)
        return
    in_rows = panel.form in IN_ROWS
    names = list(dict.fromkeys(line.name for line in panel.series))
    draw_one = {"lines": _line, "points": _points, "strip": _strip, "forest": _forest, "scatter": _scatter}[
        panel.form
    ]
    for line in panel.series:
        style = styles.get(line.agent, NOBODY)
        draw_one(axes, line, style, names.index(line.name) if in_rows else len(panel.series))
    axes.set(xlabel=_wrapped(panel, axes), ylabel=for_matplotlib(panel.y_label))
    frame(axes, "x" if in_rows else "y")
    if in_rows:
        axes.set_yticks(range(len(names)), [for_matplotlib(name) for name in names])
        axes.set_ylim(len(names) - 0.4, -0.6)
    if panel.form == "forest" and panel.x_scale == "linear":
        low, high = panel.x_range or (0.0, 1.0)
        axes.set_xlim(low - 0.02 * (high - low), high + 0.02 * (high - low))
    if panel.mark is not None:
        axes.axvline(panel.mark, color="0.4", linewidth=1, linestyle=":")
    _scales(axes, panel)
    _plainly(axes)


def _wrapped(panel: Panel, axes: Axes) -> str:
    """The label below a panel in lines that are no longer than there is room."""
    figure, grid = axes.get_figure(), axes.get_gridspec()
    if figure is None or grid is None or not panel.x_label:
        return for_matplotlib(panel.x_label)
    inches = figure.bbox.width / figure.dpi / grid.ncols
    if panel.form in IN_ROWS:  # names at the side
        inches = max(inches - LETTER * max(len(line.name) for line in panel.series), 0.5 * inches)
    return for_matplotlib(textwrap.fill(panel.x_label, round(0.9 * inches / LETTER), break_long_words=False))


def _matrix(axes: Axes, panel: Panel) -> None:
    """Agents against worlds: the ratio as colour and number, filled where that is decided."""
    rows, columns = sides(panel)
    size = _size_of_cells(axes, rows, columns)
    turned = len(rows) != len(panel.series) or rows is panel.series[0].worlds
    for number, line in enumerate(panel.series):
        for other, ratio in enumerate(line.y):
            if np.isfinite(ratio):
                at = (number, other) if turned else (other, number)
                decided = line.decided is None or bool(line.decided[other])
                _square(axes, at, float(ratio), line.shown[other], decided, size)
    steep = size < LETTERS
    axes.set_xticks(
        range(len(columns)),
        [for_matplotlib(name) for name in columns],
        rotation=90 if steep else 40,
        ha="center" if steep else "left",
    )
    axes.xaxis.tick_top()
    axes.set_yticks(range(len(rows)), [for_matplotlib(name) for name in rows])
    axes.set_xlim(-0.5, len(columns) - 0.5)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def _size_of_cells(axes: Axes, rows: Sequence[str], columns: Sequence[str]) -> float:
    """Points of a number in a cell, so that four characters fit."""
    figure = axes.get_figure()
    inches = figure.bbox.width / figure.dpi if figure is not None else 5.0
    return min(LETTERS, 72.0 * (inches - LETTER * max(map(len, rows)) - 0.2) / len(columns) / 3.1)


def _square(axes: Axes, at: tuple[int, int], ratio: float, shown: str, decided: bool, size: float) -> None:
    """A cell: a ground of the ratio's colour, or an outline of it."""
    from matplotlib.patches import Rectangle

    ground, ink = LEVEL_COLORS[int(np.searchsorted(LEVELS, ratio))]
    column, row = at
    corner, color = (column - 0.46, row - 0.44), ground if decided else "none"
    axes.add_patch(Rectangle(corner, 0.92, 0.88, facecolor=color, edgecolor=ground, linewidth=1.2))
    axes.text(column, row, shown, ha="center", va="center", fontsize=size, color=ink if decided else "black")


def _line(axes: Axes, line: Series, style: Style, among: int) -> None:
    dash = ":" if line.faint else style.line
    if line.low is not None and line.high is not None:
        axes.fill_between(
            line.x,
            line.low,
            line.high,
            color=style.color,
            alpha=0.13 if among <= CROWD else 0.05,
            linewidth=0,
        )
    axes.plot(
        line.x,
        line.y,
        color=style.color,
        linestyle=dash,
        linewidth=1.0 if line.faint else 1.6,
        label=for_matplotlib(line.name),
    )
    if line.median is not None and not line.faint and among <= CROWD:
        axes.plot(line.x, line.median, color=style.color, linestyle=dash, linewidth=0.7)


def _points(axes: Axes, line: Series, style: Style, among: int) -> None:
    bars = None
    if line.low is not None and line.high is not None:
        bars = np.maximum(np.nan_to_num([line.y - line.low, line.high - line.y]), 0.0)
    axes.errorbar(
        line.x,
        line.y,
        bars,
        color=style.color,
        linestyle=style.line,
        marker=style.symbol,
        markersize=4,
        capsize=1.5,
        linewidth=1.4,
        elinewidth=0.8,
        label=for_matplotlib(line.name),
    )
    if line.median is not None and among <= CROWD:
        axes.plot(line.x, line.median, color=style.color, linestyle=style.line, linewidth=0.7)


def _scatter(axes: Axes, line: Series, style: Style, among: int) -> None:
    axes.plot(
        line.x,
        line.y,
        style.symbol,
        color=style.color,
        markersize=3,
        alpha=0.55,
        markeredgewidth=0,
        label=for_matplotlib(line.name),
    )


def _strip(axes: Axes, line: Series, style: Style, number: int) -> None:
    # Golden-ratio places: spread out, and the same for the same trial, which can so be followed across agents.
    across = number + 0.56 * ((line.y * 0.618034) % 1.0 - 0.5)
    axes.plot(line.x, across, style.symbol, color=style.color, markersize=3.5, alpha=0.6, markeredgewidth=0)
    axes.plot([line.x.mean()] * 2, [number - 0.36, number + 0.36], color=style.color, linewidth=2)


def _forest(axes: Axes, line: Series, style: Style, number: int) -> None:
    """What is faint is drawn hollow, a little above what is not."""
    height = number - 0.17 if line.faint else number
    if line.low is not None and line.high is not None:
        axes.plot(
            [line.low[0], line.high[0]], [height] * 2, color=style.color, linewidth=1.0 if line.faint else 1.6
        )
    fill = "white" if line.faint else style.color
    axes.plot(line.x, [height], style.symbol, color=style.color, markerfacecolor=fill, markersize=4.5)


def plain(value: float, place: int | None = None) -> str:
    """A tick as a number in full: 5,000 and 0.002; powers of ten only where that is longer than seven characters."""
    if value and not 1e-5 <= abs(value) < 1e7:
        power = math.floor(math.log10(abs(value)) + 1e-9)
        times = value / 10.0**power
        return f"{'' if abs(times - 1.0) < 1e-9 else f'{times:g} '}$10^{{{power}}}$"
    return f"{value:,.7f}".rstrip("0").rstrip(".").replace("-", "\N{MINUS SIGN}")


def _plainly(axes: Axes) -> None:
    """All ticks that have no names of their own."""
    from matplotlib.ticker import FixedLocator, FuncFormatter

    for axis in (axes.xaxis, axes.yaxis):
        if not isinstance(axis.get_major_locator(), FixedLocator):
            axis.set_major_formatter(FuncFormatter(plain))


def _scales(axes: Axes, panel: Panel) -> None:
    if panel.x_scale == "log":
        axes.set_xscale("log")
        ticks = sorted({x for line in panel.series for x in line.x.tolist()})
        if panel.form == "points" and len(ticks) <= 8:
            axes.set_xticks(ticks, [plain(tick) for tick in ticks])
            axes.minorticks_off()
    if panel.x_scale == "symlog":
        ends = [line.x if line.high is None or panel.form != "forest" else line.high for line in panel.series]
        from_nothing(axes, float(np.nanmax([np.nanmax(end) for end in ends])), "x")
    if panel.y_scale == "log":
        axes.set_yscale("log")
    if panel.y_scale == "symlog":
        tops = [line.y if line.high is None else np.fmax(line.high, line.y) for line in panel.series]
        from_nothing(axes, max(float(top.max()) for top in tops), "y")
    if panel.y_scale == "linear" and panel.form == "lines":
        # a curve at 0 is not hidden by the axis, and nothing at all has a scale too
        top = max(axes.get_ylim()[1], 10.0**LOWEST_POWER)
        axes.set_ylim(-0.02 * top, top)


def from_nothing(axes: Axes, highest: float, which: str) -> None:
    """A logarithmic axis that has a place for 0."""
    lowest = max(math.floor(math.log10(highest / 1000.0)) if highest > 0.0 else -99, LOWEST_POWER)
    linear, top = 10.0**lowest, max(3.0 * highest, 10.0 ** (lowest + 1))
    getattr(axes, f"set_{which}scale")("symlog", linthresh=linear, linscale=0.5)
    getattr(axes, f"set_{which}lim")(-0.3 * linear, top)
    powers = [10.0**power for power in range(lowest, math.floor(math.log10(top)) + 1)]
    if which == "x" and len(powers) > TICKS:  # side by side, more of them would run into each other
        powers = powers[:0:-1][:: math.ceil((len(powers) - 1) / TICKS)][::-1]
    getattr(axes, f"set_{which}ticks")([0.0, *powers], ["0", *(plain(power) for power in powers)])
    axes.minorticks_off()


def frame(axes: Axes, grid: Literal["x", "y"]) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis=grid, alpha=0.25)


def sides(panel: Panel) -> tuple[Sequence[str], Sequence[str]]:
    """Rows and columns of a matrix: agents and worlds, or the other way round where the page would be too narrow."""
    agents, worlds = [line.name for line in panel.series], panel.series[0].worlds
    return (worlds, agents) if len(worlds) > WORLDS_ACROSS else (agents, worlds)


def named_at_ends(panel: Panel) -> bool:
    """Whether its curves are named where they end, and not in a legend."""
    lines = [line for line in panel.series if np.isfinite(line.y).any()]
    names = {line.name for line in lines}
    return panel.form in ("lines", "points") and 1 < len(names) == len(lines) <= BESIDE


def name_ends(axes: Axes, panel: Panel, styles: Styles) -> None:
    """Name each curve where it ends; to be called when the axes have their final place."""
    from matplotlib.transforms import Affine2D

    figure = axes.get_figure()
    lines = [line for line in panel.series if np.isfinite(line.y).any()]
    if figure is None or not named_at_ends(panel):
        return
    box, points = axes.get_window_extent(), 72.0 / figure.dpi
    width, height = box.width * points, box.height * points
    to_axes = axes.transData + axes.transAxes.inverted()
    ends = []
    for line in lines:
        last = np.flatnonzero(np.isfinite(line.y))[-1]
        ends.append(to_axes.transform((line.x[last], line.y[last])))
    places = spread_out([float(end[1]) * height for end in ends], LINE, height)
    right = Affine2D().translate(2.0 * figure.dpi / 72.0, 0.0)
    for line, end, place in zip(lines, ends, places, strict=True):
        style, at = styles.get(line.agent, NOBODY), (1.0 + LEADER / width, place / height)
        axes.plot(
            *zip(end, at, strict=True), color=style.color, lw=0.8, transform=axes.transAxes, clip_on=False
        )
        axes.text(*at, for_matplotlib(line.name), va="center", transform=axes.transAxes + right)


def spread_out(places: Sequence[float], apart: float, height: float) -> list[float]:
    """The same places from 0 to a height, moved as little as it takes for neighbours to be some way apart."""
    order = sorted(range(len(places)), key=lambda n: places[n])
    blocks: list[tuple[float, list[int]]] = []  # the lowest place of a block, and who is in it
    for n in order:
        low, here = min(max(places[n], 0.0), height), [n]
        while blocks and low < blocks[-1][0] + apart * len(blocks[-1][1]):
            _, before = blocks.pop()
            here = before + here
            wanted = [min(max(places[k], 0.0), height) - apart * i for i, k in enumerate(here)]
            low = max(min(sum(wanted) / len(here), height - apart * (len(here) - 1)), 0.0)
        blocks.append((low, here))
    found = {k: low + apart * i for low, here in blocks for i, k in enumerate(here)}
    return [found[n] for n in range(len(places))]


def legend_columns(names: Sequence[str], width: float) -> int:
    """Of the legend: as many as fit, up to two or four; each is as wide as its longest name."""
    for columns in range(min(2 if width < 4 else 4, len(names)), 1, -1):
        parts = np.array_split(np.array([len(name) for name in names]), columns)
        if sum(LEGEND_LINE + LETTER * part.max() for part in parts) <= width:
            return columns
    return 1


def legend(figure: Figure) -> None:
    """One entry for each name, below all panels."""
    entries: dict[str, Any] = {}
    for axes in figure.axes:
        for handle, name in zip(*axes.get_legend_handles_labels(), strict=True):
            entries.setdefault(name, handle)
    if len(entries) > 1:
        figure.legend(
            list(entries.values()),
            list(entries),
            loc="outside lower center",
            ncols=legend_columns(list(entries), figure.get_figwidth()),
            frameon=False,
            fontsize=LETTERS,
            handlelength=3.0,
        )
