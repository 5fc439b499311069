"""The report: figures, tables and a page, made from records alone. `vbmle.report.sections` says how to add to it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vbmle.experiments.compute import Workers
    from vbmle.plot.styles import Styles
    from vbmle.report.drawing import Drawing
    from vbmle.report.runs import Part
    from vbmle.report.sections import Run, Section, Sections


PAGE = "report.html"


def write(folder: Path, pictures: bool = True, workers: Workers | None = None) -> Path:
    """Make DIR/figures, DIR/tables and DIR/report.html from the records in DIR; returns the page.

    pictures : also draw PDF and PNG, which takes a second for each figure; CSV and LaTeX are always written.
    workers : the processes that draw; without them it is done here.
    """
    from vbmle.report import runs
    from vbmle.report.drawing import Drawing
    from vbmle.report.sections import Run

    parts = runs.read(folder)
    added = _added(parts, folder)
    run = Run(folder, parts, {name: text for sections in added for name, text in sections.texts.items()})
    with Drawing(workers) as drawing:
        return _write(run, added, drawing if pictures else None)


def is_current(folder: Path) -> bool:
    """Whether the page is there, and younger than the records and than the package, which has all that makes it."""
    from vbmle.experiments import record_file

    page, package = folder / PAGE, Path(__file__).parents[1]
    if not page.exists():
        return False
    made_of = [
        *folder.glob(f"{record_file.NAME}*"),
        *(path for path in package.rglob("*.*") if path.suffix != ".pyc"),
    ]
    return max(path.stat().st_mtime_ns for path in made_of) <= page.stat().st_mtime_ns


def _added(parts: Sequence[Part], folder: Path) -> list[Sections]:
    """What the specs name to add to the report."""
    from importlib import import_module

    from vbmle.experiments import InputError, own_parts
    from vbmle.report.sections import Sections

    own_parts.look_in(Path.cwd(), folder, folder.resolve().parent)
    found = []
    for name in dict.fromkeys(part.experiment.sections for part in parts if part.experiment.sections):
        module, _, attribute = name.partition(":")
        own_parts.require_allowed("sections", name)
        try:
            added = getattr(import_module(module), attribute)
        except (ImportError, AttributeError, ValueError) as error:
            raise InputError(
                f"{folder}: its report needs {name!r}, and that cannot be imported ({error})"
            ) from None
        if not isinstance(added, Sections):
            raise InputError(f"{folder}: {name!r} is a {type(added).__name__}; it needs a Sections")
        found.append(added)
    return found


def _write(run: Run, added: Sequence[Sections], drawing: Drawing | None) -> Path:
    """Everything but the pictures, which are drawn meanwhile."""
    from vbmle.plot import styles
    from vbmle.report import exploring, exports, page, tables, who_wins
    from vbmle.report.sections import folded_into

    agents = {
        label: choice.name
        for part in sorted(run.parts, key=run.place)
        for label, choice in part.experiment.agents.items()
    }
    looks = styles.assign(agents, agents)
    sections = _sections(run, looks, drawing)
    worlds = [world for _, world in who_wins.worlds_of(sections)]
    own = [card for one in added for card in one.cards(run)]
    held = {made.text.into: made for made in sections if made.text.into in {card.key for card in own}}
    asked = [folded_into(card, held[card.key]) if card.key in held else card for card in own]
    asked += [card] if (card := exploring.card(worlds)) else []
    charts = [
        chart for chart in (who_wins.chart(sections), *(c for card in own for c in card.charts)) if chart
    ]
    charts += asked[-1].charts if asked[len(own) :] else []
    exports.write(charts, [table for card in own for table in card.tables], run.folder, looks, drawing)
    for made in sections:
        tables.show(tables.regret(made.worlds), f"{made.text.title}: regret")
    cards = [*asked, *(card for made in sections if made not in held.values() for card in made.cards)]
    return page.write(sections, looks, run.folder / PAGE, cards, drawing is not None)


def _sections(run: Run, looks: Styles, drawing: Drawing | None) -> list[Section]:
    """A section for each family of experiments; its pictures are drawn while the next is worked out."""
    from itertools import groupby

    from vbmle.report import exports, sections

    found = []
    ordered = sorted(run.parts, key=run.place)
    for family, parts in groupby(ordered, lambda part: run.family(part.experiment.name)):
        made = sections.build(list(parts), run.text(family), family)
        exports.write(made.charts, made.tables, run.folder, looks, drawing)
        found.append(made)
    return found
