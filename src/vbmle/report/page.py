"""One self-contained page: a summary in plain words, figures, tables, and what was run. No network."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from vbmle.common.validation import Floats
from vbmle.experiments.spec import Experiment
from vbmle.report import page_ending, tables
from vbmle.report.charts import POINTS, Chart, Panel, Series, thin
from vbmle.report.section import Section, Table
from vbmle.report.styles import Style
from vbmle.report.swatches import legend, swatches
from vbmle.report.tables import Row

TITLE = "Regret of value-biased maximum likelihood"
LARGEST = 4_000_000
"""Bytes of a page; curves get fewer points until it fits."""

WORDS = ("world", "agent", "against", "parameter", "worlds")
HEADINGS = {
    "regret": "Regret step by step",
    "parameter": "Regret against a parameter",
    "profile": "Across all worlds",
    "improvement": "",  # stands below the profile
    "distance": "Distance to the truth",
    "mle_error": "Error of the maximum likelihood estimate",
    "cost": "Cost per step",
}


def write(sections: Sequence[Section], styles: Mapping[str, Style], path: Path) -> Path:
    """Write the page."""
    charts = [chart for section in sections for chart in section.charts]
    body = _body(sections, styles)
    for points in (POINTS, 90, 60, 45, 30):
        content = _page(body, _data(charts, styles, points))
        if len(content.encode()) < LARGEST:
            break
    path.write_text(content, encoding="utf-8")
    return path


def _page(body: str, data: str) -> str:
    assets = files("vbmle.report") / "assets"
    style, script, plotly = (
        (assets / name).read_text(encoding="utf-8") for name in ("page.css", "page.js", "plotly-basic.min.js")
    )
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{TITLE}</title>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<link rel="icon" href="data:,">\n<style>\n{style}</style>\n</head>\n<body>\n{body}\n'
        f'<script type="application/json" id="data">{data}</script>\n'
        f"<script>{plotly}</script>\n<script>\n{script}</script>\n</body>\n</html>\n"
    )


# What is drawn by page.js


def _data(charts: Sequence[Chart], styles: Mapping[str, Style], points: int) -> str:
    """Everything that page.js draws, as JSON that cannot end the script element it stands in."""
    looks = {agent: {"color": s.color, "dash": s.dash, "marker": s.marker} for agent, s in styles.items()}
    content = {
        "agents": looks,
        "charts": [[_panel_data(chart.kind, panel, points) for panel in chart.panels] for chart in charts],
    }
    return json.dumps(content, separators=(",", ":")).replace("<", "\\u003c")


def _panel_data(kind: str, panel: Panel, points: int) -> dict[str, Any]:
    places: list[list[float | None]] = []
    series = []
    for line in panel.series:
        shown = thin(len(line.x), points) if panel.form == "lines" else np.arange(len(line.x))
        x = _numbers(line.x[shown])
        if x not in places:
            places.append(x)
        entry: dict[str, Any] = {"agent": line.agent, "name": line.name, "x": places.index(x)}
        for name in ("y", "low", "high", "median"):
            values = getattr(line, name)
            if values is not None and np.isfinite(values).any():
                entry[name] = _numbers(values[shown])
        series.append(entry | ({"faint": True} if line.faint else {}))
    return {
        **{"kind": kind, "form": panel.form, "xLabel": panel.x_label, "yLabel": panel.y_label},
        **{
            "xScale": panel.x_scale,
            "yScale": panel.y_scale,
            "mark": panel.mark,
            "xs": places,
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


# The page


def _body(sections: Sequence[Section], styles: Mapping[str, Style]) -> str:
    told, entries = [], []
    for section in sections:
        lines = "".join(f"<li>{escape(line)}</li>" for line in section.headline)
        link = f'<a href="#{escape(section.key)}">{escape(section.text.title)}</a>'
        told.append(f"<h3>{link}</h3><ul>{lines}</ul>")
        entries.append(f"<li>{link}</li>")
    number = 0
    parts = []
    for section in sections:
        parts.append(_section(section, styles, number))
        number += len(section.charts)
    return "\n".join(
        [
            swatches(styles),
            '<a class="skip" href="#main">Skip to the results</a>',
            f"<header><h1>{TITLE}</h1>",
            '<p class="note">Regret is what was lost against the best policy: exact, without sampling noise, in units '
            "of reward; less is better. Agents meet the same worlds with the same luck, so differences are paired. "
            "Intervals are 95% bootstrap intervals. “Surely” means that such an interval excludes 0, one comparison "
            "at a time.</p></header>",
            f'<section class="summary" aria-labelledby="short"><h2 id="short">In short</h2>{"".join(told)}</section>',
            f'<nav aria-label="Contents"><ul>{"".join(entries)}<li><a href="#run">What was run</a></li></ul></nav>',
            _bar(styles),
            f'<main id="main">{"".join(parts)}',
            f"{page_ending.html(sections)}</main>",
        ]
    )


def _bar(styles: Mapping[str, Style]) -> str:
    """Filter and scale; hidden until the script is there to answer."""
    boxes = "".join(
        f'<label><input type="checkbox" checked value="{escape(agent)}" name="agent">{legend(number)}'
        f"{escape(agent)}</label>"
        for number, agent in enumerate(styles)
    )
    return (
        '<form class="bar" id="bar" hidden aria-label="Filter">'
        '<details><summary>Agents: <span id="count">all</span></summary>'
        f'<fieldset class="boxes"><legend>Show these agents</legend>{boxes}'
        '<span><button type="button" data-all="agent">All</button> '
        '<button type="button" data-none="agent">None</button></span></fieldset></details>'
        '<label>Regret axis <select id="scale"><option value="auto">automatic</option>'
        '<option value="linear">linear</option>'
        '<option value="log">logarithmic</option></select></label></form>'
    )


def _section(section: Section, styles: Mapping[str, Style], number: int) -> str:
    """One experiment; its charts are numbered from `number`."""
    experiment, key = section.results.experiment, escape(section.key)
    told = "".join(f"<li>{escape(line)}</li>" for line in section.sentences)
    parts = [
        f'<section class="experiment" id="{key}"><h2>{escape(section.text.title)}</h2>',
        f"<p>{escape(section.text.lead)}</p>" if section.text.lead else "",
        f'<p class="note">{escape(_setting(experiment))}</p><ul class="told">{told}</ul>',
        _worlds(section),
    ]
    heading = None
    for place, chart in enumerate(section.charts):
        if chart.kind != heading and HEADINGS[chart.kind]:
            parts.append(f"<h3>{HEADINGS[chart.kind]}</h3>")
        heading = chart.kind
        parts.append(_figure(chart, number + place, list(styles)))
    parts += [_table(table) for table in section.tables if table.rows]
    return "\n".join([*parts, "</section>"])


def _setting(experiment: Experiment) -> str:
    return (
        f"{_count(len(experiment.agents), 'agent')}, {_count(len(experiment.worlds), 'world')}, "
        f"{_count(experiment.trials, 'trial')} of {experiment.horizon} steps for each agent in each world."
    )


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def _worlds(section: Section) -> str:
    if len(section.worlds) < 2:
        return ""
    boxes = "".join(
        f'<label><input type="checkbox" checked name="world" value="{escape(world.label)}">'
        f"{escape(world.label)}</label>"
        for world in section.worlds
    )
    return (
        f'<form class="worlds" hidden aria-label="Worlds"><details><summary>Worlds: <span>all</span></summary>'
        f'<fieldset class="boxes"><legend>Show these worlds</legend>{boxes}<span><button type="button" '
        'data-all="world">All</button> <button type="button" data-none="world">None</button></span>'
        "</fieldset></details></form>"
    )


def _figure(chart: Chart, number: int, agents: Sequence[str]) -> str:
    panels: list[str] = []
    names: dict[str, Series] = {}
    for place, panel in enumerate(chart.panels):
        words = escape(
            f"{chart.title}, {panel.title}: {panel.x_label}{', ' if panel.y_label else ''}{panel.y_label}"
        )
        panels.append(
            f'<div class="axes {panel.form}"><p class="over">{escape(panel.title)}</p><div class="panel" tabindex="0" '
            f'role="img" aria-label="{words}" data-chart="{number}" data-panel="{place}"></div></div>'
        )
        if panel.form in ("lines", "points"):
            names |= {line.name: line for line in panel.series}
    entries = "".join(
        f'<li data-agent="{escape(line.agent)}">'
        f"{legend(agents.index(line.agent) if line.agent else None, line.faint)}{escape(name)}</li>"
        for name, line in names.items()
    )
    links = " · ".join(
        f'<a href="figures/{escape(chart.stem)}.{kind}">{kind.upper()}</a>' for kind in ("png", "pdf")
    )
    world = f' data-world="{escape(chart.world)}"' if chart.world else ""
    return (
        f'<figure id="figure-{number}"{world} data-kind="{chart.kind}"><h4>{escape(chart.title)}</h4>'
        f'<div class="grid">{"".join(panels)}</div>'
        f'<noscript><img src="figures/{escape(chart.stem)}.png" alt=""></noscript>'
        f"{f'<ul class=legend>{entries}</ul>' if entries else ''}"
        f"<figcaption>{escape(chart.caption)} {links}</figcaption></figure>"
    )


def _table(table: Table) -> str:
    """Sortable; an interval stands below its estimate, in the same cell."""
    headings = {key: text for key, text in table.headings.items() if not key.endswith("_interval")}
    kind = {key: ' class="words"' if key in WORDS else "" for key in headings}
    head = "".join(f'<th scope="col"{kind[key]}>{escape(text)}</th>' for key, text in headings.items())
    rows = [row for row in table.rows if not table.first_only or row["agent"] == table.first_only]
    lines, last = [], None
    for row in rows:
        marks = "".join(
            f' data-{key}="{escape(str(row[key]))}"' for key in ("world", "agent", "against") if key in row
        )
        cells = "".join(f"<td{kind[key]}{_value(row[key])}>{_cell(row, key, table)}</td>" for key in headings)
        group = row.get("world", row.get("parameter"))
        lines.append(f"<tr{'' if group == last else ' class=first'}{marks}>{cells}</tr>")
        last = group
    title = escape(table.title)
    below = " Below an estimate: its 95% interval." if len(headings) < len(table.headings) else ""
    return (
        f'<h3>{title}</h3><div class="wide" role="region" tabindex="0" aria-label="{title}"><table class="sortable">'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table></div>"
        f'<p class="note">{escape(table.note)}{below} <a href="tables/{escape(table.file)}">CSV</a></p>'
    )


def _cell(row: Row, key: str, table: Table) -> str:
    shown = escape(tables.cell(row, key))
    if f"{key}_interval" not in table.headings:
        return shown
    interval = tables.cell(row, f"{key}_interval")
    return shown if interval == "-" else f"{shown}<small>{interval}</small>"


def _value(value: tables.Value) -> str:
    """What a cell is sorted by, where that is a number."""
    known = isinstance(value, int | float) and value == value
    return f' data-value="{value:.5g}"' if known else ""
