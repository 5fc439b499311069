"""Charts on paper: PNG and PDF, one family of figures for reports and documentation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from vbmle.plot.panels import IN_ROWS, LETTER, Panel, draw_panel, frame, legend, legend_columns, sides
from vbmle.plot.styles import Styles
from vbmle.report.charts import Chart

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DPI = 160
WIDTHS = (5.2, 8.0, 10.0)
"""Inches across, by the number of panels side by side."""

PANEL = 2.7
"""Inches down, of a panel with two axes."""

ROOM = 1.9
"""Inches that such a panel needs beside its names."""

LEGENDS = ("lines", "points", "scatter")
"""Forms whose lines are named below the figure, not at their side."""


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
        draw_panel(axes, panel, styles)
    for axes in all_axes[len(panels) :]:
        axes.set_visible(False)
    legend(figure)
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
        frame(axes, "y")
        axes.set_title(axes.get_title(), fontsize="medium")
    names = dict.fromkeys(name for axes in figure.axes for name in axes.get_legend_handles_labels()[1])
    width, height = figure.get_size_inches()
    figure.set_size_inches(width, height + _legend_height(list(names), width))
    legend(figure)
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


def _legend_height(names: Sequence[str], width: float) -> float:
    return 0.25 * math.ceil(len(names) / legend_columns(names, width)) if len(names) > 1 else 0.0


def _height(panel: Panel) -> float:
    """Inches."""
    if panel.form in IN_ROWS:
        return 0.9 + max(len({line.name for line in panel.series}), 3) * (
            0.3 if panel.form == "strip" else 0.24
        )
    if panel.form == "matrix":
        rows, columns = sides(panel)
        return 0.4 + 0.28 * len(rows) + min(0.075 * max(map(len, columns)), 1.6)
    return PANEL


def _matrix_width(panel: Panel) -> float:
    rows, columns = sides(panel)
    return 1.2 + 0.085 * max(map(len, rows)) + 0.46 * len(columns)
