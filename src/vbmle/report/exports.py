"""Figures and tables as files for a paper: each as PDF, PNG, CSV and LaTeX, under the same name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import call
from pathlib import Path

from vbmle.experiments.compute import Lost, Workers
from vbmle.report import figures, latex, table_pictures, tables
from vbmle.report.cards import Table
from vbmle.report.charts import Chart
from vbmle.report.page import WORDS
from vbmle.report.styles import Style
from vbmle.report.tables import Row

SHARE = 12
"""Pictures that a process of its own is worth: it takes two seconds to start."""


def write(
    charts: Sequence[Chart],
    listed: Sequence[Table],
    folder: Path,
    styles: Mapping[str, Style],
    jobs: int = 1,
) -> None:
    """Write every chart into DIR/figures and every table into DIR/tables; PDF and PNG by `jobs` processes, 0: none."""
    for name in ("figures", "tables"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    pictures: list[Callable[[], None]] = []
    for chart in charts:
        base = folder / "figures" / chart.stem
        tables.write(numbers(chart), base.with_name(f"{chart.stem}.csv"))
        base.with_name(f"{chart.stem}.tex").write_text(latex.figure(chart.stem, chart.caption), "utf-8")
        pictures.append(partial(figures.write, chart, folder / "figures", styles))
    for table in listed:
        base = folder / "tables" / table.stem
        tables.write(table.rows, base.with_name(f"{table.stem}.csv"))
        content = latex.table(table.shown, table.headings, WORDS, table.caption, table.stem)
        base.with_name(f"{table.stem}.tex").write_text(content, "utf-8")
        pictures.append(partial(table_pictures.write, table.shown, table.headings, WORDS, base))
    if jobs:
        _draw(pictures, min(jobs, len(pictures) // SHARE))


def _draw(pictures: Sequence[Callable[[], None]], jobs: int) -> None:
    """Draw them all, in other processes if there are enough; what one of those failed to draw is drawn here."""
    if jobs < 2:
        left = list(pictures)
    else:
        with Workers(jobs) as workers:
            left = [task for task, result in workers.results(call, pictures) if isinstance(result, Lost)]
    for picture in left:
        picture()


def numbers(chart: Chart) -> list[Row]:
    """What a chart draws, a row for each point."""
    rows: list[Row] = []
    for panel in chart.panels:
        for line in panel.series:
            for n in range(len(line.x)):
                row: Row = {"panel": panel.title or chart.title, "agent": line.agent, "name": line.name}
                row |= {"world": line.worlds[n] if line.worlds else panel.world}
                row |= {"x": float(line.x[n]), "y": float(line.y[n])}
                for name in ("low", "high", "median", "sure"):
                    values = getattr(line, name)
                    row[name] = None if values is None else float(values[n])
                rows.append(row)
    return rows
