"""Figures and tables as files for a paper: each as PDF, PNG, CSV and LaTeX, under the same name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from vbmle.report import figures, latex, table_pictures, tables
from vbmle.report.cards import Table
from vbmle.report.charts import Chart
from vbmle.report.drawing import Drawing
from vbmle.report.page import WORDS
from vbmle.report.styles import Style
from vbmle.report.tables import Row


def write(
    charts: Sequence[Chart],
    listed: Sequence[Table],
    folder: Path,
    styles: Mapping[str, Style],
    drawing: Drawing | None = None,
) -> None:
    """Write every chart into DIR/figures and every table into DIR/tables; PDF and PNG are left to `drawing`, if any."""
    for name in ("figures", "tables"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    for chart in charts:
        base = folder / "figures" / chart.stem
        if drawing is not None:
            drawing.add(partial(figures.write, chart, folder / "figures", styles))
        tables.write(numbers(chart), base.with_name(f"{chart.stem}.csv"))
        base.with_name(f"{chart.stem}.tex").write_text(latex.figure(chart.stem, chart.caption), "utf-8")
    for table in listed:
        base = folder / "tables" / table.stem
        if drawing is not None:
            drawing.add(partial(table_pictures.write, table.shown, table.headings, WORDS, base))
        tables.write(table.rows, base.with_name(f"{table.stem}.csv"))
        content = latex.table(table.shown, table.headings, WORDS, table.caption, table.stem)
        base.with_name(f"{table.stem}.tex").write_text(content, "utf-8")


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
