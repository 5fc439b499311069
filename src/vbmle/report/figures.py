"""Charts on paper: PNG and PDF, one family of figures for reports and documentation."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from vbmle.plot.mathematics import for_matplotlib
from vbmle.plot.panels import (
    BESIDE,
    IN_ROWS,
    LEGEND_LINE,
    LETTER,
    Panel,
    draw_panel,
    frame,
    legend,
    legend_columns,
    name_ends,
    named_at_ends,
    sides,
)
from vbmle.plot.styles import PRINT, Style, Styles
from vbmle.report.charts import Chart

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DPI = 200
POINT = 1.0 / 72.27
"""Inches of a point of TeX."""

NARROW, WIDE = 239.0 * POINT, 397.0 * POINT
"""Inches across: a column of two, for one panel; and the only column of a page, for several."""

PANEL = 1.75
"""Inches down, of a panel with two axes."""

ROOM = 1.0
"""Inches that a panel needs beside its names."""

TICKS = 0.5
"""Inches of the label and ticks at the side of a panel with two axes."""

LEGENDS = ("lines", "points", "scatter")
"""Forms whose lines are named at their ends or below the figure, not at the side."""

SMALL = 0.75
"""Inches down, of one of many small panels."""

FAINT = Style("#b4b4b4", "solid", "circle")
"""Of the other curves behind one of small multiples."""

MULTIPLES = 5
"""Panels up to which those of many curves become small multiples, a row for each curve."""


def write(chart: Chart, folder: Path, styles: Styles) -> None:
    """Draw a chart into a folder."""
    from matplotlib import rc_context

    with rc_context(PRINT):
        figure = draw(chart, styles)
        figure.savefig(folder / f"{chart.stem}.png", dpi=DPI)
        figure.savefig(folder / f"{chart.stem}.pdf", metadata={"CreationDate": None})


def is_wide(chart: Chart) -> bool:
    """Whether its figure is made for the whole width of a page."""
    return _in_multiples(chart.panels) or _format(chart.panels)[2] > NARROW


def draw(chart: Chart, styles: Styles) -> Figure:
    """The figure of one chart: panels side by side, in rows of up to three."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(PRINT):
        if _in_multiples(chart.panels):
            return _multiples(chart.panels, styles)
        panels = chart.panels
        down, across, width = _format(panels)
        tallest = max(_height(panel) for panel in panels)
        below = _legend_height(_below(panels), width)
        figure = Figure(figsize=(width, down * tallest + below), layout="constrained")
        all_axes = figure.subplots(down, across, squeeze=False).ravel()
        for axes, panel in zip(all_axes, panels, strict=False):
            draw_panel(axes, panel, styles)
        for axes in all_axes[len(panels) :]:
            axes.set_visible(False)
        if _below(panels):
            legend(figure)
        _lay_out(figure, list(zip(all_axes, panels, strict=False)), styles)
    return figure


def _lay_out(figure: Figure, drawn: Sequence[tuple[Axes, Panel]], styles: Styles) -> None:
    """Find the places of the axes once, with room for the names at the ends of curves, and put those there."""
    holders = []
    for axes, panel in drawn:
        if named_at_ends(panel):  # an invisible name keeps the room
            longest = max((line.name for line in panel.series), key=len)
            holders.append(axes.text(1.0, 0.5, f"    {longest}", alpha=0.0, transform=axes.transAxes))
    layout = figure.get_layout_engine()
    if layout is not None:
        layout.execute(figure)
        figure.set_layout_engine(None)
    for holder in holders:
        holder.remove()
    for axes, panel in drawn:
        name_ends(axes, panel, styles)


def _below(panels: Sequence[Panel]) -> list[str]:
    """What a legend names: curves that are not named at their ends."""
    shown = [panel for panel in panels if panel.form in LEGENDS and not named_at_ends(panel)]
    return list(dict.fromkeys(line.name for panel in shown for line in panel.series))


# Small multiples


def _in_multiples(panels: Sequence[Panel]) -> bool:
    crowded = any(panel.form == "lines" and len(panel.series) > BESIDE for panel in panels)
    return crowded and len(panels) <= MULTIPLES


def _multiples(panels: Sequence[Panel], styles: Styles) -> Figure:
    """A row for each curve and a column for each panel; for one panel as many beside each other as fit. The other
    curves stand behind each, in grey."""
    from matplotlib.figure import Figure

    names = list(dict.fromkeys(line.name for panel in panels for line in panel.series))
    across = len(panels) if len(panels) > 1 else 4
    cells = [(name, panel) for name in names for panel in panels]
    down = math.ceil(len(cells) / across)
    figure = Figure(figsize=(WIDE, 0.5 + SMALL * down), layout="constrained")
    grid = figure.subplots(
        down, across, squeeze=False, sharex="col", sharey="col" if len(panels) > 1 else "all"
    )
    for number, (axes, (name, panel)) in enumerate(zip(grid.ravel(), cells, strict=False)):
        _one_of_many(axes, panel, name, styles)
        first, top = number % across == 0, number < across
        axes.set_title(textwrap.fill(axes.get_title(), 16) if top and len(panels) > 1 else "")
        axes.set_ylabel("")
        axes.set_xlabel(axes.get_xlabel() if number >= len(cells) - across else "")
        if len(panels) == 1 or first:
            axes.text(0.03, 0.97, for_matplotlib(name), va="top", transform=axes.transAxes, fontsize=7)
    for axes in grid.ravel()[len(cells) :]:
        axes.set_visible(False)
    figure.supylabel(for_matplotlib(panels[0].y_label), fontsize=8)
    _lay_out(figure, [], styles)
    return figure


def _one_of_many(axes: Axes, panel: Panel, name: str, styles: Styles) -> None:
    lines = [
        line if line.name == name else replace(line, agent="", low=None, high=None, median=None)
        for line in panel.series
    ]
    lines.sort(key=lambda line: line.name == name)
    draw_panel(axes, replace(panel, series=lines), {**styles, "": FAINT})


def sheet(count: int, height: float = 2.2) -> tuple[Figure, list[Axes]]:
    """A figure of so many empty panels, for what is drawn by hand; `finish` gives it the look of the others."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    down, across = _grid(count)
    with rc_context(PRINT):
        figure = Figure(figsize=(WIDE, down * height), layout="constrained")
        return figure, list(figure.subplots(down, across, squeeze=False).ravel()[:count])


def finish(figure: Figure, path: str | Path) -> None:
    """Frame the panels of a sheet, name its lines below it, and write it."""
    from matplotlib import rc_context

    with rc_context(PRINT):
        for axes in figure.axes:
            frame(axes, "y")
            for text in (axes.title, axes.xaxis.label, axes.yaxis.label):
                text.set_fontsize(PRINT["font.size"])
        names = dict.fromkeys(name for axes in figure.axes for name in axes.get_legend_handles_labels()[1])
        width, height = figure.get_size_inches()
        figure.set_size_inches(width, height + _legend_height(list(names), width))
        legend(figure)
        figure.savefig(path, dpi=DPI)


def _format(panels: Sequence[Panel]) -> tuple[int, int, float]:
    """Rows and columns of panels, and inches across: names at the side of a panel must leave room for it."""
    down, across = _grid(len(panels))
    if panels[0].form == "matrix":
        return down, across, min(max(_matrix_width(panels[0]), NARROW), WIDE)
    beside = [panel for panel in panels if panel.form in IN_ROWS or named_at_ends(panel)]
    names = LETTER * max((len(line.name) for panel in beside for line in panel.series), default=0)
    taken = names + (0.0 if panels[0].form in IN_ROWS else TICKS)
    while across > 1 and WIDE / across - taken < ROOM:
        across -= 1
    entry = LEGEND_LINE + LETTER * max(map(len, _below(panels)), default=0)
    narrow = len(panels) == 1 and NARROW - taken >= ROOM and entry < NARROW
    return math.ceil(len(panels) / across), across, NARROW if narrow else WIDE


def _grid(count: int) -> tuple[int, int]:
    """Rows and columns of so many panels."""
    across = min(count, 3) if count != 4 else 2
    return math.ceil(count / across), across


def _legend_height(names: Sequence[str], width: float) -> float:
    return 0.18 * math.ceil(len(names) / legend_columns(names, width)) if len(names) > 1 else 0.0


def _height(panel: Panel) -> float:
    """Inches."""
    if panel.form in IN_ROWS:
        return 0.65 + 0.2 * max(len({line.name for line in panel.series}), 3)
    if panel.form == "matrix":
        rows, columns = sides(panel)
        return 0.3 + 0.2 * len(rows) + min(LETTER * max(map(len, columns)), 1.6)
    return PANEL


def _matrix_width(panel: Panel) -> float:
    rows, columns = sides(panel)
    return 0.3 + LETTER * max(map(len, rows)) + 0.42 * len(columns)
