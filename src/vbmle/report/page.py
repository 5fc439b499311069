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

from vbmle.common.statistics import FEWEST, Interval
from vbmle.common.validation import Floats
from vbmle.experiments.behind import FLOOR
from vbmle.experiments.spec import Trial
from vbmle.plot.mathematics import for_page
from vbmle.plot.panels import Panel, Series
from vbmle.plot.styles import LEVELS, Style
from vbmle.report import latex, summary, tables, who_wins
from vbmle.report.charts import POINTS, Chart, thin
from vbmle.report.runs import Part
from vbmle.report.sections import CHAPTERS, Card, Section
from vbmle.report.swatches import swatches
from vbmle.report.tables import Column, Row, Table, Value
from vbmle.report.words import count

if TYPE_CHECKING:
    from jinja2 import Environment

LARGEST = 4_000_000
"""Bytes of a page; curves get fewer points until it fits."""

FORMATS = (("pdf", "PDF"), ("png", "PNG"), ("csv", "CSV"), ("tex", "LaTeX"))
"""Endings of the files beside the page, and what they are called."""

MARKS = {"holds": "✓", "does not hold": "✗", "undecided": "?"}
"""Of the outcome of a claim."""

BROAD = 3
"""Panels from which on a card takes the whole width."""

TALL = 22
"""Rows of dots from which on it does too."""


def write(
    sections: Sequence[Section],
    styles: Mapping[str, Style],
    path: Path,
    cards: Sequence[Card],
    pictures: bool = True,
) -> Path:
    """Write the page with its cards, by chapter; with `pictures` it links to PDF and PNG."""
    drawn = [chart for card in cards for chart in card.charts]
    told = _told(sections, cards, styles)
    told["numbers"] = {chart.stem: number for number, chart in enumerate(drawn)}
    template = _environment(FORMATS if pictures else FORMATS[2:]).get_template("page.html")
    for points in (POINTS, 90, 60, 45, 30):
        content = template.render(**told, data=_safe(_data(drawn, styles, points)))
        if len(content.encode()) < LARGEST:
            break
    path.write_text(content, encoding="utf-8")
    return path


def _told(sections: Sequence[Section], cards: Sequence[Card], styles: Mapping[str, Style]) -> dict[str, Any]:
    """What the template is filled with, but for the figures."""
    every = [world for section in sections for world in section.worlds]
    worlds = [world for _, world in who_wins.worlds_of(sections)] or every
    assets = files("vbmle.report") / "assets"
    style, plotly, *scripts = (
        (assets / name).read_text(encoding="utf-8")
        for name in ("page.css", "plotly-basic.min.js", "figures.js", "page.js")
    )
    return {
        "title": title(sections),
        "sentences": summary.top(worlds),
        "warnings": summary.warnings(every),
        "who": who_wins.build(sections),
        "levels": _levels(),
        "floor": f"{FLOOR:.1%}",
        "files": "who-wins",
        "chapters": _chapters(cards),
        "agents": list(styles),
        "worlds": list(dict.fromkeys(world.label for world in every)),
        "runs": [_ran(part) for section in sections for part in section.parts],
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
    made.filters["maths"] = lambda text: _safe(for_page(text))
    made.globals.update(legend=_legend, shown=_view, about=_about, formats=formats, marks=MARKS)
    made.globals.update(rows=who_wins.ROWS, fewest=FEWEST)
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


def _chapters(cards: Sequence[Card]) -> list[tuple[str, str, list[tuple[Card, bool]]]]:
    """Key, name and cards of each chapter; a card takes the whole width where it asks for that, or has no neighbour."""
    found = []
    for key, name in CHAPTERS.items():
        here = [card for card in cards if card.chapter == key]
        placed: list[tuple[Card, bool]] = []
        waiting = False  # whether the last card has room beside it
        for card in here:
            broad = _wide(card)
            if broad and waiting:
                placed[-1] = (placed[-1][0], True)
            waiting = not broad and not waiting
            placed.append((card, broad))
        if waiting:
            placed[-1] = (placed[-1][0], True)
        if placed:
            found.append((f"chapter-{key}", name, placed))
    return found


def _wide(card: Card) -> bool:
    if card.items:
        return True
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
    pad: str
    """What is missing behind it for decimal points to stand below each other."""
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
    latex: str
    """For each part of the table in LaTeX: the heading of its group and its line, as JSON."""


@dataclass(frozen=True)
class TableView:
    columns: Sequence[Column]
    rows: Sequence[RowView]
    latex: str
    """What stands above and below the lines of each part, as JSON."""


def _view(table: Table) -> TableView:
    """A table as the template shows it: an interval stands below its estimate, in the same cell."""
    columns = tables.present(table.shown)
    name, _, kind = table.stem.rpartition("-")
    parts = latex.parts(table)
    pads = [
        tables.pads([tables.text(getattr(row, column.name)) for row in table.shown], column.words)
        for column in columns
    ]
    found, last = [], None
    for number, row in enumerate(table.shown):
        group = getattr(row, "world", getattr(row, "parameter", None))
        address = f"{name}-{number}" if kind == "regret" else ""
        cells = [
            _cell(getattr(row, column.name), column.words, pad[number])
            for column, pad in zip(columns, pads, strict=True)
        ]
        lines = json.dumps([(part.groups[number], part.rows[number]) for part in parts])
        found.append(RowView(address, group != last, _marks(row), cells, lines))
        last = group
    return TableView(columns, found, json.dumps([(part.head, part.foot) for part in parts]))


def _marks(row: Row) -> list[tuple[str, str]]:
    return [(key, str(getattr(row, key))) for key in ("world", "agent", "against") if hasattr(row, key)]


def _cell(value: Value, words: bool, pad: str) -> CellView:
    number = value.value if isinstance(value, Interval) else value
    known = isinstance(number, int | float) and number == number
    return CellView(tables.text(value), pad, tables.ends(value), f"{number:.5g}" if known else None, words)


# The end of the page: the spec, versions, machine and seeds, and where the records are


@dataclass(frozen=True)
class Ran:
    """What the end of the page says of one experiment."""

    name: str
    count: str
    entries: Sequence[tuple[str, str]]
    records: Sequence[tuple[str, str, Sequence[int]]]
    """World, agent, and the trials that have a record."""
    seeds: Sequence[tuple[str, str, str, str]]
    """World, trial, seed of the run and of the world."""

    @property
    def world_seeds(self) -> bool:
        """Whether any world was drawn by a seed of its own."""
        return any(seed[3] != "-" for seed in self.seeds)


def _ran(part: Part) -> Ran:
    experiment = part.experiment
    entries = [(f"world {label}", choice.call()) for label, choice in experiment.worlds.items()]
    entries += [(f"agent {label}", choice.call("mdp")) for label, choice in experiment.agents.items()]
    entries.append(("horizon", f"{experiment.horizon} steps"))
    about = dict(part.about)
    entries.append(("machine", about.pop("machine", "unknown")))
    entries.append(("versions", ", ".join(f"{name} {value}" for name, value in about.items())))
    if part.left_out:
        entries.append(("left out", "; ".join(part.left_out)))
    done = f"{len(part.trials)} of {len(experiment.all_trials())} trials"
    return Ran(experiment.name, done, entries, *_records(part))


def _records(part: Part) -> tuple[list[tuple[str, str, list[int]]], list[tuple[str, str, str, str]]]:
    """A line for each world and agent with its trials, and one for each world and trial with its seeds."""
    places = list(part.experiment.worlds)
    cells: dict[tuple[str, str], list[int]] = {}
    drawn: dict[tuple[str, int], Trial] = {}
    for trial in sorted(part.trials, key=lambda t: (places.index(t.world), t.index)):
        cells.setdefault((trial.world, trial.agent), []).append(trial.index)
        drawn.setdefault((trial.world, trial.index), trial)
    records = [(world, agent, trials) for (world, agent), trials in cells.items()]
    seeds = []
    for (world, index), trial in drawn.items():
        found = trial.seeds()
        seeds.append((world, str(index), str(found["chance"]), str(found.get("world", "-"))))
    return records, seeds


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
        for name, values in line.values().items():
            if np.isfinite(values).any():
                entry[name] = _numbers(values[shown])
        if line.parts:
            cut = shown if panel.form == "lines" else slice(None)
            entry["parts"] = {world: _numbers(values[cut]) for world, values in line.parts.items()}
        entry |= {"worlds": list(line.worlds)} if line.worlds else {}
        series.append(entry | ({"faint": True} if line.faint else {}))
    return {
        **{
            "kind": kind,
            "form": panel.form,
            "xLabel": for_page(panel.x_label),
            "yLabel": for_page(panel.y_label),
        },
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
