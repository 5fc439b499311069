"""The report: figures, tables and a page, made from records alone."""

from __future__ import annotations

from pathlib import Path


def write(folder: Path, pictures: bool = True) -> Path:
    """Make DIR/figures, DIR/tables and DIR/report.html from the records in DIR; returns the page.

    pictures : also draw PDF and PNG, which takes a second for each figure; CSV and LaTeX are always written.
    """
    from itertools import groupby

    from vbmle.experiments.store import load
    from vbmle.report import (
        claims,
        exploring,
        exports,
        page,
        section,
        styles,
        tables,
        texts,
        verdicts,
        who_wins,
    )

    found = sorted(load(folder), key=lambda results: texts.place(results.experiment.name))
    looks = styles.assign(agent for results in found for agent in results.experiment.agents)
    families = groupby(found, lambda results: texts.family(results.experiment.name))
    sections = [section.build(list(family)) for _, family in families]
    for made in sections:
        exports.write(made.charts, made.tables, folder, looks, pictures)
        if made.tables:
            tables.show(made.tables[0].rows, tables.REGRET, f"{made.text.title}: regret")
    across = [world for _, world in who_wins.worlds_of(sections)]
    asked = [*claims.cards(folder, found), *([card] if (card := exploring.card(across)) else [])]
    drawn = [who_wins.chart(sections), *(card.chart for card in asked)]
    listed = [table for card in asked for table in card.tables]
    exports.write([chart for chart in drawn if chart], listed, folder, looks, pictures)
    if told := verdicts.verdicts(found):
        verdicts.write(folder, told)
    return page.write(sections, looks, folder / "report.html", asked, pictures)
