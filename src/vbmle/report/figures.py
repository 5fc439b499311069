"""Charts on paper: PNG and PDF."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vbmle.report.charts import CROWD, Chart, Panel, Series
from vbmle.report.styles import GREY, Style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LOWEST_POWER = -3
"""The least power of ten that an axis of regret resolves; below it lies 0."""

NOBODY = Style(GREY, "dash", "circle")
Styles = Mapping[str, Style]


def write(charts: Sequence[Chart], folder: Path, styles: Styles) -> None:
    """Draw every chart into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for chart in charts:
        figure = draw(chart, styles)
        figure.savefig(folder / f"{chart.stem}.png", dpi=160)
        figure.savefig(folder / f"{chart.stem}.pdf", metadata={"CreationDate": None})


def draw(chart: Chart, styles: Styles) -> Figure:
    """The figure of one chart."""
    from matplotlib.figure import Figure

    shown = dict.fromkeys(
        line.agent for panel in chart.panels for line in panel.series if panel.form in ("lines", "points")
    )
    rows = max([len(p.series) for p in chart.panels if p.form in ("strip", "forest")], default=0)
    height = max(3.4, 1.2 + 0.3 * rows) + 0.25 * math.ceil((len(shown) + 2) / 5)
    width = 9.0 if len(chart.panels) > 1 else 6.0
    figure = Figure(figsize=(width if len(chart.panels) < 3 else 11.0, height), layout="constrained")
    ratios = [2 if panel.form == "strip" else 3 for panel in chart.panels]
    places = figure.subplots(1, len(chart.panels), width_ratios=ratios, squeeze=False)[0]
    for axes, panel in zip(places, chart.panels, strict=True):
        _panel(axes, panel, styles)
    figure.suptitle(chart.title, fontsize="large")
    _legend(figure)
    return figure


def _legend(figure: Figure) -> None:
    """One entry for each name, below all panels."""
    entries: dict[str, Any] = {}
    for axes in figure.axes:
        for handle, name in zip(*axes.get_legend_handles_labels(), strict=True):
            entries.setdefault(name, handle)
    if entries:
        figure.legend(
            list(entries.values()),
            list(entries),
            loc="outside lower center",
            ncols=min(len(entries), 4 if figure.get_figwidth() > 7 else 3),
            frameon=False,
            fontsize="small",
            handlelength=3.5,
        )


def _panel(axes: Axes, panel: Panel, styles: Styles) -> None:
    for number, line in enumerate(panel.series):
        style = styles.get(line.agent, NOBODY)
        draw_one = {"lines": _line, "points": _points, "strip": _strip, "forest": _forest}[panel.form]
        draw_one(axes, line, style, number if panel.form in ("strip", "forest") else len(panel.series))
    axes.set_title(panel.title, fontsize="small")
    axes.set(xlabel=panel.x_label, ylabel=panel.y_label)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="x" if panel.form in ("strip", "forest") else "y", alpha=0.25)
    if panel.form in ("strip", "forest"):
        axes.set_yticks(range(len(panel.series)), [line.name for line in panel.series], fontsize="small")
        axes.set_ylim(len(panel.series) - 0.4, -0.6)
    if panel.form == "forest":
        axes.set_xlim(-0.02, 1.02)
    if panel.mark is not None:
        axes.axvline(panel.mark, color="0.4", linewidth=1, linestyle=":")
    _scales(axes, panel)


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


def _strip(axes: Axes, line: Series, style: Style, number: int) -> None:
    # Golden-ratio places: spread out, and the same for the same trial, which can so be followed across agents.
    across = number + 0.56 * ((line.y * 0.618034) % 1.0 - 0.5)
    axes.plot(line.x, across, style.symbol, color=style.color, markersize=4.5, alpha=0.6, markeredgewidth=0)
    axes.plot([line.x.mean()] * 2, [number - 0.36, number + 0.36], color=style.color, linewidth=2.5)


def _forest(axes: Axes, line: Series, style: Style, number: int) -> None:
    if line.low is not None and line.high is not None:
        axes.plot([line.low[0], line.high[0]], [number] * 2, color=style.color, linewidth=2)
    axes.plot(line.x, [number], style.symbol, color=style.color, markersize=7)


def _scales(axes: Axes, panel: Panel) -> None:
    if panel.x_scale == "log":
        axes.set_xscale("log")
        ticks = sorted({x for line in panel.series for x in line.x.tolist()})
        if panel.form == "points" and len(ticks) <= 8:
            axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
            axes.minorticks_off()
    if panel.x_scale == "symlog":
        _from_nothing(axes, max(float(line.x.max()) for line in panel.series), "x")
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
    getattr(axes, f"set_{which}ticks")([0.0, *powers], ["0", *(f"{power:g}" for power in powers)])
    axes.minorticks_off()
