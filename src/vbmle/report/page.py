"""One self-contained page: who wins where, a card for each question, and what was run. No network.

The words and charts come from sections, the HTML from templates/, which escape every label.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vbmle.common.validation import Floats
from vbmle.report import page_ending, summary, tables, who_wins
from vbmle.report.cards import Card, Table
from vbmle.report.charts import POINTS, Chart, Panel, Series, thin
from vbmle.report.section import Section
from vbmle.report.styles import LEVELS, Style
from vbmle.report.swatches import swatches
from vbmle.report.tables import Row
from vbmle.report.words import count

if TYPE_CHECKING:
    from jinja2 import Environment

LARGEST = 4_000_000
"""Bytes of a page; curves get fewer points until it fits."""

WORDS = ("world", "agent", "against", "parameter", "rival", "measure", "choice", "in")
"""Columns of words; all others are of numbers."""

FORMATS = (("pdf", "PDF"), ("png", "PNG"), ("csv", "CSV"), ("tex", "LaTeX"))
"""Endings of the files beside the page, and what they are called."""

BROAD = 3
"""Panels from which on a card takes the whole width."""

TALL = 22
"""Rows of dots from which on it does too."""


def write(
    sections: Sequence[Section],
    styles: Mapping[str, Style],
    path: Path,
    first: Sequence[Card] = (),
    pictures: bool = True,
) -> Path:
    """Write the page: `first` are the cards before those of the sections; with `pictures` it links to PDF and PNG."""
    cards = [*first, *(card for section in sections for card in section.cards)]
    charts = [chart for card in cards for chart in ([card.chart] if card.chart else []) + list(card.more)]
    told = _told(sections, cards, styles)
    told["numbers"] = {chart.stem: number for number, chart in enumerate(charts)}
    template = _environment(FORMATS if pictures else FORMATS[2:]).get_template("page.html")
    for points in (POINTS, 90, 60, 45, 30):
        content = template.render(**told, data=_safe(_data(charts, styles, points)))
        if len(content.encode()) < LARGEST:
            break
    path.write_text(content, encoding="utf-8")
    return path


def _told(sections: Sequence[Section], cards: Sequence[Card], styles: Mapping[str, Style]) -> dict[str, Any]:
    """What the template is filled with, but for the figures."""
    columns = who_wins.worlds_of(sections)
    worlds = [world for _, world in columns] or [world for section in sections for world in section.worlds]
    assets = files("vbmle.report") / "assets"
    style, plotly, *scripts = (
        (assets / name).read_text(encoding="utf-8")
        for name in ("page.css", "plotly-basic.min.js", "figures.js", "page.js")
    )
    return {
        "title": title(sections),
        "sentences": summary.top(worlds),
        "warnings": summary.warnings([world for section in sections for world in section.worlds]),
        "who": who_wins.build(sections),
        "levels": _levels(),
        "files": "who-wins",
        "cards": cards,
        "agents": list(styles),
        "worlds": list(dict.fromkeys(world.label for section in sections for world in section.worlds)),
        "words": WORDS,
        "runs": [page_ending.build(results) for section in sections for results in section.results],
        "swatches": _safe(swatches(styles)),
        "style": _safe(style),
        "plotly": _safe(plotly),
        "script": _safe("".join(scripts)),
    }


def title(sections: Sequence[Section]) -> str:
    """What this run is called: by its spec, or by its first experiment and how many more there are."""
    if not sections:
        return "A report without an experiment"
    first = sections[0].text
    if first.page or len(sections) == 1:
        return first.page or first.title
    return f"{first.title}, and {count(len(sections) - 1, 'more experiment')}"


def _levels() -> list[str]:
    ends = [f"{end:g}" for end in LEVELS]
    between = [f"{low} to {high}" for low, high in pairwise(ends)]
    return [f"up to {ends[0]}", *between, f"above {ends[-1]}"]


# The template engine


def _environment(formats: Sequence[tuple[str, str]]) -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("vbmle.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals.update(
        legend=_legend, shown=_view, wide=_wide, about=_about, rows=who_wins.ROWS, formats=formats
    )
    return made


def _safe(text: str) -> Any:
    """Text of ours that goes into the page as it is."""
    from markupsafe import Markup

    return Markup(text)


def _legend(chart: Chart) -> list[Series]:
    """One entry for each name, for figures whose lines are not named at their side."""
    names: dict[str, Series] = {}
    for panel in chart.panels:
        if panel.form in ("lines", "points", "scatter"):
            names |= {line.name: line for line in panel.series}
    return list(names.values())


def _wide(card: Card) -> bool:
    panels = card.chart.panels if card.chart else ()
    return len(panels) >= BROAD or any(len(p.series) > TALL for p in panels if p.form in ("strip", "forest"))


def _about(card: Card) -> str:
    """What is folded away, in a few words."""
    parts = [count(len(card.more), "figure")] if card.more else []
    parts += [count(len(card.tables), "table")] if card.tables else []
    return " and ".join(parts)


# Tables


@dataclass(frozen=True)
class CellView:
    """A cell as the template shows it."""

    shown: str
    interval: str
    value: str | None
    """What it is sorted by, where that is a number."""
    words: bool


@dataclass(frozen=True)
class RowView:
    id: str
    first: bool
    """Whether a new group begins."""
    marks: Sequence[tuple[str, str]]
    """What the filters go by."""
    cells: Sequence[CellView]


@dataclass(frozen=True)
class TableView:
    columns: Sequence[str]
    headings: Mapping[str, str]
    rows: Sequence[RowView]


def _view(table: Table) -> TableView:
    """A table as the template shows it: an interval stands below its estimate, in the same cell."""
    rows = table.shown
    present = tables.present(table.headings, rows)
    columns = [key for key in present if not key.endswith("_interval")]
    name, _, kind = table.stem.rpartition("-")
    found, last = [], None
    for number, row in enumerate(rows):
        group = row.get("world", row.get("parameter"))
        marks = [(key, str(row[key])) for key in ("world", "agent", "against") if key in row]
        cells = [_cell(row, key, f"{key}_interval" in present) for key in columns]
        address = f"{name}-{number}" if kind == "regret" else ""
        found.append(RowView(address, group != last, marks, cells))
        last = group
    return TableView(columns, present, found)


def _cell(row: Row, key: str, with_interval: bool) -> CellView:
    interval = tables.cell(row, f"{key}_interval") if with_interval else "-"
    value = row.get(key)
    known = isinstance(value, int | float) and value == value
    number = f"{value:.5g}" if known else None
    return CellView(tables.cell(row, key), "" if interval == "-" else interval, number, key in WORDS)


# What is drawn by figures.js


def _data(charts: Sequence[Chart], styles: Mapping[str, Style], points: int) -> str:
    """Everything that is drawn, as JSON that cannot end the script element it stands in."""
    looks = {agent: {"color": s.color, "dash": s.dash, "marker": s.marker} for agent, s in styles.items()}
    content = {
        "agents": looks,
        "charts": [[_panel_data(chart.kind, panel, points) for panel in chart.panels] for chart in charts],
    }
    return json.dumps(content, separators=(",", ":")).replace("<", "\\u003c")


def _panel_data(kind: str, panel: Panel, points: int) -> dict[str, Any]:
    axes: list[list[float | None]] = []
    series = []
    for line in panel.series:
        shown = thin(len(line.x), points) if panel.form == "lines" else np.arange(len(line.x))
        x = _numbers(line.x[shown])
        if x not in axes:
            axes.append(x)
        entry: dict[str, Any] = {"agent": line.agent, "name": line.name, "x": axes.index(x)}
        for name in ("y", "low", "high", "median"):
            values = getattr(line, name)
            if values is not None and np.isfinite(values).any():
                entry[name] = _numbers(values[shown])
        if line.parts:
            cut = shown if panel.form == "lines" else slice(None)
            entry["parts"] = {world: _numbers(values[cut]) for world, values in line.parts.items()}
        entry |= {"worlds": list(line.worlds)} if line.worlds else {}
        series.append(entry | ({"faint": True} if line.faint else {}))
    return {
        **{"kind": kind, "form": panel.form, "xLabel": panel.x_label, "yLabel": panel.y_label},
        **{
            "xScale": panel.x_scale,
            "xRange": panel.x_range,
            "yScale": panel.y_scale,
            "mark": panel.mark,
            "xs": axes,
            "series": series,
        },
    }


def _numbers(values: Floats) -> list[float | None]:
    """Four digits, whole numbers in full; null for what is no number."""
    found: list[float | None] = []
    for value in values.tolist():
        if not np.isfinite(value):
            found.append(None)
        elif value == round(value) and abs(value) < 1e9:
            found.append(int(value))
        else:
            found.append(float(f"{value:.4g}"))
    return found
