"""The report: figures, tables and a page, made from records alone."""

from __future__ import annotations

from pathlib import Path


def write(folder: Path, pictures: bool = True, jobs: int = 1) -> Path:
    """Make DIR/figures, DIR/tables and DIR/report.html from the records in DIR; returns the page.

    pictures : also draw PDF and PNG, which takes a second for each figure; CSV and LaTeX are always written.
    jobs : the processes that draw, if there is enough to draw.
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

    found = sorted(load(folder), key=lambda results: texts.sorting_key(results.experiment.name))
    looks = styles.assign(agent for results in found for agent in results.experiment.agents)
    families = groupby(found, lambda results: texts.family(results.experiment.name))
    sections = [section.build(list(family)) for _, family in families]
    for made in sections:
        if made.tables:
            tables.show(made.tables[0].rows, tables.REGRET, f"{made.text.title}: regret")
    across, told = [world for _, world in who_wins.worlds_of(sections)], verdicts.verdicts(found)
    asked = [*claims.cards(folder, found, told), *([card] if (card := exploring.card(across)) else [])]
    charts = [chart for made in sections for chart in made.charts]
    charts += [chart for chart in (who_wins.chart(sections), *(card.chart for card in asked)) if chart]
    listed = [table for made in sections for table in made.tables]
    listed += [table for card in asked for table in card.tables]
    exports.write(charts, listed, folder, looks, jobs if pictures else 0)
    if told:
        decides = [card.answer for card in asked if card.key == "decides"]
        verdicts.write(folder, told, *decides)
    return page.write(sections, looks, folder / "report.html", asked, pictures)
