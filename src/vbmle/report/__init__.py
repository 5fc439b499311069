"""The report: figures, tables and a page, made from records alone."""

from __future__ import annotations

from pathlib import Path


def write(folder: Path) -> Path:
    """Make DIR/figures, DIR/tables and DIR/report.html from the records in DIR; returns the page."""
    from vbmle.experiments.store import load
    from vbmle.report import data, figures, page, tables

    sections = []
    for results in load(folder):
        worlds = data.by_world(results)
        pictures = figures.write(worlds, folder / "figures", results.experiment.name)
        regret, pairs = tables.regret(worlds), tables.pairs(worlds)
        tables.write(regret, folder / "tables" / f"{results.experiment.name}-regret.csv")
        tables.write(pairs, folder / "tables" / f"{results.experiment.name}-pairs.csv")
        tables.show(regret, tables.REGRET, f"Regret after {results.experiment.horizon} steps")
        sections.append(page.Section(results, worlds, pictures, regret, pairs))
    return page.write(sections, folder / "report.html")
