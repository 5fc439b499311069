"""The report: figures, tables and a page, made from records alone."""

from __future__ import annotations

from pathlib import Path


def write(folder: Path) -> Path:
    """Make DIR/figures, DIR/tables and DIR/report.html from the records in DIR; returns the page."""
    from vbmle.experiments.store import load
    from vbmle.report import figures, page, section, silent_choices, styles, tables, texts, verdicts

    found = sorted(load(folder), key=lambda results: texts.place(results.experiment.name))
    looks = styles.assign(agent for results in found for agent in results.experiment.agents)
    sections = []
    for results in found:
        made = section.build(results)
        figures.write(made.charts, folder / "figures", looks)
        for table in made.tables:
            tables.write(table.rows, folder / "tables" / table.file)
        tables.show(made.tables[0].rows, tables.REGRET, f"Regret after {results.experiment.horizon} steps")
        sections.append(made)
    if claims := verdicts.verdicts(found):
        verdicts.write(folder, claims)
    if spreads := silent_choices.of(found):
        tables.write(spreads, folder / "tables" / "choices-spread.csv")
    return page.write(sections, looks, folder / "report.html")
