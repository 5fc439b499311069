"""The report: figures, tables and a page, made from records alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vbmle.experiments.compute import Workers
    from vbmle.experiments.records import Results
    from vbmle.report.drawing import Drawing
    from vbmle.report.section import Section
    from vbmle.report.styles import Style


PAGE = "report.html"


def write(folder: Path, pictures: bool = True, workers: Workers | None = None) -> Path:
    """Make DIR/figures, DIR/tables and DIR/report.html from the records in DIR; returns the page.

    pictures : also draw PDF and PNG, which takes a second for each figure; CSV and LaTeX are always written.
    workers : the processes that draw; without them it is done here.
    """
    from vbmle.experiments.records import load
    from vbmle.report import styles, texts
    from vbmle.report.drawing import Drawing

    found = sorted(load(folder), key=lambda results: texts.sorting_key(results.experiment.name))
    looks = styles.assign(agent for results in found for agent in results.experiment.agents)
    with Drawing(workers) as drawing:
        return _write(found, folder, looks, drawing if pictures else None)


def is_current(folder: Path) -> bool:
    """Whether the page is there, and younger than the records and than what makes it."""
    from vbmle.experiments import record_file

    page, code = folder / PAGE, Path(__file__).parent
    if not page.exists():
        return False
    made_of = [
        *folder.glob(f"{record_file.NAME}*"),
        *(path for path in code.rglob("*.*") if path.suffix != ".pyc"),
    ]
    return max(path.stat().st_mtime_ns for path in made_of) <= page.stat().st_mtime_ns


def _write(
    found: Sequence[Results], folder: Path, looks: Mapping[str, Style], drawing: Drawing | None
) -> Path:
    """Everything but the pictures, which are drawn meanwhile."""
    from vbmle.report import claims, exploring, exports, page, tables, verdicts, who_wins

    sections = _sections(found, folder, looks, drawing)
    across, told = [world for _, world in who_wins.worlds_of(sections)], verdicts.verdicts(found)
    asked = [*claims.cards(folder, found, told), *([card] if (card := exploring.card(across)) else [])]
    charts = [chart for chart in (who_wins.chart(sections), *(card.chart for card in asked)) if chart]
    exports.write(charts, [table for card in asked for table in card.tables], folder, looks, drawing)
    for made in sections:
        if made.tables:
            tables.show(made.tables[0].rows, tables.REGRET, f"{made.text.title}: regret")
    if told:
        decides = [card.answer for card in asked if card.key == "decides"]
        verdicts.write(folder, told, *decides)
    return page.write(sections, looks, folder / PAGE, asked, drawing is not None)


def _sections(
    found: Sequence[Results], folder: Path, looks: Mapping[str, Style], drawing: Drawing | None
) -> list[Section]:
    """A section for each family of experiments; its pictures are drawn while the next is worked out."""
    from itertools import groupby

    from vbmle.report import exports, section, texts

    sections = []
    for _, family in groupby(found, lambda results: texts.family(results.experiment.name)):
        made = section.build(list(family))
        exports.write(made.charts, made.tables, folder, looks, drawing)
        sections.append(made)
    return sections
