"""Figures and tables as files for a paper: each as PDF, PNG, CSV and LaTeX, under the same name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from vbmle.plot.styles import Style
from vbmle.report import figures, latex, table_pictures, tables
from vbmle.report.charts import Chart
from vbmle.report.drawing import Drawing
from vbmle.report.tables import Table


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
        tables.write_plain(numbers(chart), base.with_name(f"{chart.stem}.csv"))
        included = latex.figure(chart.stem, chart.caption, figures.is_wide(chart))
        base.with_name(f"{chart.stem}.tex").write_text(included, "utf-8")
    for table in listed:
        base = folder / "tables" / table.stem
        if drawing is not None:
            drawing.add(partial(table_pictures.write, table.shown, base))
        tables.write(table.rows, base.with_name(f"{table.stem}.csv"))
        base.with_name(f"{table.stem}.tex").write_text(latex.table(table), "utf-8")


def numbers(chart: Chart) -> list[dict[str, str | float | None]]:
    """What a chart draws, a row for each point."""
    rows: list[dict[str, str | float | None]] = []
    for panel in chart.panels:
        for line in panel.series:
            for n in range(len(line.x)):
                row: dict[str, str | float | None] = {
                    "panel": panel.title or chart.title,
                    "agent": line.agent,
                }
                row |= {"name": line.name, "world": line.worlds[n] if line.worlds else panel.world}
                row |= {"x": float(line.x[n])}
                row |= {name: float(values[n]) for name, values in line.values().items()}
                rows.append(row)
    return rows
