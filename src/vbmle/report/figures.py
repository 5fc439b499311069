"""Charts on paper: PNG and PDF, one family of figures for reports and documentation."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from vbmle.report.charts import CROWD, Chart, Panel, Series
from vbmle.report.styles import GREY, LEVEL_COLORS, LEVELS, Style, Styles

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LOWEST_POWER = -3
"""The least power of ten that an axis of regret resolves; below it lies 0."""

DPI = 160
WIDTHS = (5.2, 8.0, 10.0)
"""Inches across, by the number of panels side by side."""

PANEL = 2.7
"""Inches down, of a panel with two axes."""

WORLDS_ACROSS = 14
"""Worlds up to which they are the columns of a matrix."""

LEGEND_LINE = 0.73
"""Inches that an entry of a legend takes for its line and the space around it."""

IN_ROWS = ("strip", "forest")
"""Forms with a row for each name."""

ROOM, LETTER, LARGE_LETTER = 1.9, 0.066, 0.08
"""Inches that such a panel needs beside its names, and those of a letter in a name and in the label of an axis."""

TICKS = 4
"""Powers of ten that are named on the axis of such a panel."""

LEGENDS = ("lines", "points", "scatter")
"""Forms whose lines are named below the figure, not at their side."""

NOBODY = Style(GREY, "dash", "circle")


def write(chart: Chart, folder: Path, styles: Styles) -> None:
    """Draw a chart into a folder."""
    figure = draw(chart, styles)
    layout = figure.get_layout_engine()
    if layout is not None:
        layout.execute(figure)  # laid out once, not once more for each format
        figure.set_layout_engine(None)
    figure.savefig(folder / f"{chart.stem}.png", dpi=DPI)
    figure.savefig(folder / f"{chart.stem}.pdf", metadata={"CreationDate": None})


def draw(chart: Chart, styles: Styles) -> Figure:
    """The figure of one chart: panels side by side, in rows of up to three."""
    from matplotlib.figure import Figure

    panels = chart.panels
    down, across, width = _format(panels)
    tallest = max(_height(panel) for panel in panels)
    names = dict.fromkeys(line.name for p in panels for line in p.series if p.form in LEGENDS)
    below = _legend_height(list(names), width)
    figure = Figure(figsize=(width, down * tallest + below), layout="constrained")
    all_axes = figure.subplots(down, across, squeeze=False).ravel()
    for axes, panel in zip(all_axes, panels, strict=False):
        _panel(axes, panel, styles)
    for axes in all_axes[len(panels) :]:
        axes.set_visible(False)
    _legend(figure)
    return figure


def sheet(count: int, height: float = PANEL) -> tuple[Figure, list[Axes]]:
    """A figure of so many empty panels, for what is drawn by hand; `finish` gives it the look of the others."""
    from matplotlib.figure import Figure

    down, across = _grid(count)
    figure = Figure(figsize=(WIDTHS[across - 1], down * height), layout="constrained")
    return figure, list(figure.subplots(down, across, squeeze=False).ravel()[:count])


def finish(figure: Figure, path: str | Path) -> None:
    """Frame the panels of a sheet, name its lines below it, and write it."""
    for axes in figure.axes:
        _frame(axes, "y")
        axes.set_title(axes.get_title(), fontsize="medium")
    names = dict.fromkeys(name for axes in figure.axes for name in axes.get_legend_handles_labels()[1])
    width, height = figure.get_size_inches()
    figure.set_size_inches(width, height + _legend_height(list(names), width))
    _legend(figure)
    figure.savefig(path, dpi=DPI)


def _format(panels: Sequence[Panel]) -> tuple[int, int, float]:
    """Rows and columns of panels, and inches across: names at the side of a panel must leave room for it."""
    down, across = _grid(len(panels))
    if panels[0].form == "matrix":
        return down, across, _matrix_width(panels[0])
    if panels[0].form not in IN_ROWS:
        return down, across, WIDTHS[across - 1]
    names = LETTER * max(len(line.name) for panel in panels for line in panel.series)
    while across > 1 and WIDTHS[2] / across - names < ROOM:
        across -= 1
    narrow = WIDTHS[across - 1] / across - names < ROOM
    return math.ceil(len(panels) / across), across, WIDTHS[2] if narrow else WIDTHS[across - 1]


def _grid(count: int) -> tuple[int, int]:
    """Rows and columns of so many panels."""
    across = min(count, 3) if count != 4 else 2
    return math.ceil(count / across), across


def _frame(axes: Axes, grid: Literal["x", "y"]) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis=grid, alpha=0.25)


def _legend_height(names: Sequence[str], width: float) -> float:
    return 0.25 * math.ceil(len(names) / _columns(names, width)) if len(names) > 1 else 0.0


def _height(panel: Panel) -> float:
    """Inches."""
    if panel.form in IN_ROWS:
        return 0.9 + max(len({line.name for line in panel.series}), 3) * (
            0.3 if panel.form == "strip" else 0.24
        )
    if panel.form == "matrix":
        rows, columns = _sides(panel)
        return 0.4 + 0.28 * len(rows) + min(0.075 * max(map(len, columns)), 1.6)
    return PANEL


def _matrix_width(panel: Panel) -> float:
    rows, columns = _sides(panel)
    return 1.2 + 0.085 * max(map(len, rows)) + 0.46 * len(columns)


def _sides(panel: Panel) -> tuple[Sequence[str], Sequence[str]]:
    """Rows and columns of a matrix: agents and worlds, or the other way round where the page would be too narrow."""
    agents, worlds = [line.name for line in panel.series], panel.series[0].worlds
    return (worlds, agents) if len(worlds) > WORLDS_ACROSS else (agents, worlds)


def _columns(names: Sequence[str], width: float) -> int:
    """Of the legend: as many as fit, up to three or four; each is as wide as its longest name."""
    for columns in range(min(3 if width < 7 else 4, len(names)), 1, -1):
        parts = np.array_split(np.array([len(name) for name in names]), columns)
        if sum(LEGEND_LINE + LETTER * part.max() for part in parts) <= width:
            return columns
    return 1


def _legend(figure: Figure) -> None:
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
            ncols=_columns(list(entries), figure.get_figwidth()),
            frameon=False,
            fontsize="small",
            handlelength=3.5,
        )


def _panel(axes: Axes, panel: Panel, styles: Styles) -> None:
    axes.set_title(panel.title, fontsize="medium")
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
    axes.set(xlabel=_wrapped(panel.x_label, axes), ylabel=panel.y_label)
    if in_rows:
        axes.xaxis.label.set_fontsize("small")
        axes.tick_params(axis="x", labelsize="small")
    _frame(axes, "x" if in_rows else "y")
    if in_rows:
        axes.set_yticks(range(len(names)), names, fontsize="small")
        axes.set_ylim(len(names) - 0.4, -0.6)
    if panel.form == "forest" and panel.x_scale == "linear":
        low, high = panel.x_range or (0.0, 1.0)
        axes.set_xlim(low - 0.02 * (high - low), high + 0.02 * (high - low))
    if panel.mark is not None:
        axes.axvline(panel.mark, color="0.4", linewidth=1, linestyle=":")
    _scales(axes, panel)


def _wrapped(label: str, axes: Axes) -> str:
    """The label of an axis in lines that are no longer than the axis has room for."""
    figure, grid = axes.get_figure(), axes.get_gridspec()
    if figure is None or grid is None or not label:
        return label
    inches = figure.bbox.width / figure.dpi / grid.ncols
    return textwrap.fill(label, round(0.85 * inches / LARGE_LETTER), break_long_words=False)


def _matrix(axes: Axes, panel: Panel) -> None:
    """Agents against worlds: the ratio as colour and number, filled where that is decided."""
    rows, columns = _sides(panel)
    turned = len(rows) != len(panel.series) or rows is panel.series[0].worlds
    for number, line in enumerate(panel.series):
        for other, ratio in enumerate(line.y):
            if np.isfinite(ratio):
                at = (number, other) if turned else (other, number)
                decided = line.decided is None or bool(line.decided[other])
                _square(axes, at, float(ratio), line.shown[other], decided)
    axes.set_xticks(range(len(columns)), columns, rotation=40, ha="left", fontsize=8)
    axes.xaxis.tick_top()
    axes.set_yticks(range(len(rows)), rows, fontsize=9)
    axes.set_xlim(-0.5, len(columns) - 0.5)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def _square(axes: Axes, at: tuple[int, int], ratio: float, shown: str, decided: bool) -> None:
    """A cell: a ground of the ratio's colour, or an outline of it."""
    from matplotlib.patches import Rectangle

    ground, ink = LEVEL_COLORS[int(np.searchsorted(LEVELS, ratio))]
    column, row = at
    corner, color = (column - 0.46, row - 0.44), ground if decided else "none"
    axes.add_patch(Rectangle(corner, 0.92, 0.88, facecolor=color, edgecolor=ground, linewidth=1.2))
    axes.text(column, row, shown, ha="center", va="center", fontsize=8, color=ink if decided else "black")


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
        linewidth=1.4 if line.faint else 2.2,
        label=line.name,
    )
    if line.median is not None and not line.faint and among <= CROWD:
        axes.plot(line.x, line.median, color=style.color, linestyle=dash, linewidth=0.9)


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
        markersize=5,
        capsize=2,
        linewidth=1.8,
        elinewidth=1.0,
        label=line.name,
    )
    if line.median is not None and among <= CROWD:
        axes.plot(line.x, line.median, color=style.color, linestyle=style.line, linewidth=0.9)


def _scatter(axes: Axes, line: Series, style: Style, among: int) -> None:
    axes.plot(
        line.x,
        line.y,
        style.symbol,
        color=style.color,
        markersize=3.5,
        alpha=0.55,
        markeredgewidth=0,
        label=line.name,
    )


def _strip(axes: Axes, line: Series, style: Style, number: int) -> None:
    # Golden-ratio places: spread out, and the same for the same trial, which can so be followed across agents.
    across = number + 0.56 * ((line.y * 0.618034) % 1.0 - 0.5)
    axes.plot(line.x, across, style.symbol, color=style.color, markersize=4.5, alpha=0.6, markeredgewidth=0)
    axes.plot([line.x.mean()] * 2, [number - 0.36, number + 0.36], color=style.color, linewidth=2.5)


def _forest(axes: Axes, line: Series, style: Style, number: int) -> None:
    """What is faint is drawn hollow, a little above what is not."""
    height = number - 0.17 if line.faint else number
    if line.low is not None and line.high is not None:
        axes.plot(
            [line.low[0], line.high[0]], [height] * 2, color=style.color, linewidth=1.2 if line.faint else 2
        )
    fill = "white" if line.faint else style.color
    axes.plot(line.x, [height], style.symbol, color=style.color, markerfacecolor=fill, markersize=6)


def _scales(axes: Axes, panel: Panel) -> None:
    if panel.x_scale == "log":
        axes.set_xscale("log")
        ticks = sorted({x for line in panel.series for x in line.x.tolist()})
        if panel.form == "points" and len(ticks) <= 8:
            axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
            axes.minorticks_off()
    if panel.x_scale == "symlog":
        ends = [line.x if line.high is None or panel.form != "forest" else line.high for line in panel.series]
        _from_nothing(axes, float(np.nanmax([np.nanmax(end) for end in ends])), "x")
    if panel.y_scale == "log":
        axes.set_yscale("log")
    if panel.y_scale == "symlog":
        tops = [line.y if line.high is None else np.fmax(line.high, line.y) for line in panel.series]
        _from_nothing(axes, max(float(top.max()) for top in tops), "y")
    if panel.y_scale == "linear" and panel.form == "lines":
        # a curve at 0 is not hidden by the axis, and nothing at all has a scale too
        top = max(axes.get_ylim()[1], 10.0**LOWEST_POWER)
        axes.set_ylim(-0.02 * top, top)


def _from_nothing(axes: Axes, highest: float, which: str) -> None:
    """A logarithmic axis that has a place for 0."""
    lowest = max(math.floor(math.log10(highest / 1000.0)) if highest > 0.0 else -99, LOWEST_POWER)
    linear, top = 10.0**lowest, max(3.0 * highest, 10.0 ** (lowest + 1))
    getattr(axes, f"set_{which}scale")("symlog", linthresh=linear, linscale=0.5)
    getattr(axes, f"set_{which}lim")(-0.3 * linear, top)
    powers = [10.0**power for power in range(lowest, math.floor(math.log10(top)) + 1)]
    if which == "x" and len(powers) > TICKS:  # side by side, more of them would run into each other
        powers = powers[:0:-1][:: math.ceil((len(powers) - 1) / TICKS)][::-1]
    getattr(axes, f"set_{which}ticks")([0.0, *powers], ["0", *(f"{power:g}" for power in powers)])
    axes.minorticks_off()
