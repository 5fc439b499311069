"""Tables: what their rows are, and their form as data, as CSV and on the terminal; latex.py and
table_pictures.py have the others.

A row is a small frozen dataclass. Its fields are the columns, in their order: the type says what a column holds (words,
a number, an estimate with its interval), `column` what it is called.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import combinations
from pathlib import Path
from typing import Any

from vbmle.common import statistics
from vbmle.common.files import harmless
from vbmle.common.statistics import Interval
from vbmle.report import leaders, runs, significance
from vbmle.report.leaders import Place
from vbmle.report.runs import Runs, WorldRuns

Value = str | int | float | Interval | None


def column(heading: str, *, shown: bool = True, words: bool | None = None) -> Any:
    """A field of a row: what its column is called, and whether it is shown (it is in the CSV file in any case).

    Words are set left, numbers right; words=False sets a text right, where it stands for a number.
    """
    return field(metadata={"heading": heading, "shown": shown, "words": words})


@dataclass(frozen=True)
class Row:
    """A row of a table: subclasses, frozen dataclasses too, say what its columns are."""


@dataclass(frozen=True)
class Column:
    """A column that is shown."""

    name: str
    heading: str
    words: bool
    intervals: bool
    """Whether some of its estimates have an interval."""


@dataclass(frozen=True, eq=False)
class Table:
    """A table of the page and its files."""

    stem: str
    """The name of its files."""
    title: str
    note: str
    caption: str
    """Stands alone."""
    rows: Sequence[Row]
    """All of them, as in the file: of one class, which says what its columns are."""
    only_against: str = ""
    """If not empty, the page shows only the rows that compare with this agent."""

    @property
    def shown(self) -> list[Row]:
        return [
            row
            for row in self.rows
            if not self.only_against or getattr(row, "against", "") == self.only_against
        ]


# The tables of every experiment


@dataclass(frozen=True)
class RegretRow(Row):
    """Regret after the last step of one agent in one world, how far behind the best, growth and time per step."""

    world: str = column("world")
    agent: str = column("agent")
    trials: int = column("trials")
    mean: Interval = column("mean")
    ratio: float | None = column("times the best")
    behind: Interval | None = column("behind the best")
    std: float = column("std")
    median: Interval = column("median")
    iqm: Interval = column("IQM")
    exponent: Interval = column("growth exponent")
    seconds_per_step: float = column("s/step")
    trouble: int | None = column("failed steps")


@dataclass(frozen=True)
class PairRow(Row):
    """Two agents in one world, on the same trials: differences are agent minus the other."""

    world: str = column("world")
    agent: str = column("agent")
    against: str = column("against")
    trials: int = column("trials")
    difference: Interval = column("mean difference")
    less: int = column("lower regret in")
    same: int = column("same in")
    more: int = column("higher in")
    improvement: Interval = column("P(lower regret)")


@dataclass(frozen=True)
class TrendRow(Row):
    """How the regret of an agent grows with a setting of the world."""

    parameter: str = column("parameter")
    worlds: str = column("worlds")
    agent: str = column("agent")
    exponent: Interval = column("exponent")


def regret(worlds: Sequence[WorldRuns]) -> list[RegretRow]:
    """A row for each world and agent."""
    rows = []
    for world in worlds:
        places = leaders.places(world)
        rows += [
            regret_row(world.label, agent, found, places.get(agent)) for agent, found in world.agents.items()
        ]
    return rows


def regret_row(world: str, agent: str, found: Runs, place: Place | None) -> RegretRow:
    """`place` is None for an agent that is there to be measured by, or has too few trials. There is no ratio to a best
    agent with next to no regret: it would be one to the floor."""
    return RegretRow(
        world=world,
        agent=agent,
        trials=len(found.trials),
        mean=statistics.mean_interval(found.final),
        ratio=place.ratio if place and not place.below_floor else None,
        behind=place.behind.found if place and place.behind else None,
        std=statistics.std(found.final),
        median=statistics.median_interval(found.final),
        iqm=statistics.iqm_interval(found.final),
        exponent=statistics.growth(found.steps, found.regret),
        seconds_per_step=float(found.seconds_per_step.mean()),
        trouble=found.trouble or None,
    )


def pairs(worlds: Sequence[WorldRuns]) -> list[PairRow]:
    """Every two agents on the same trials; the reference, where there is one, is the other in each of its pairs."""
    rows = []
    for world in worlds:
        order = sorted(world.agents, key=lambda agent: agent != world.reference)
        for against, agent in combinations(order, 2):
            found = significance.difference(world, agent, against)
            if found is not None:
                rows.append(_pair(world, found))
    return rows


def _pair(world: WorldRuns, found: significance.Difference) -> PairRow:
    ours, theirs = world.paired(found.agent, found.against)
    return PairRow(
        world.label,
        found.agent,
        found.against,
        found.trials,
        found.found,
        *significance.outcomes(ours - theirs),
        significance.probability([world], found.agent, found.against),
    )


def trends(worlds: Sequence[WorldRuns], parameter: str | None = None) -> list[TrendRow]:
    """The exponent of mean final regret in each parameter that was varied alone, for every agent."""
    rows = []
    for sweep in runs.sweeps(worlds, parameter):
        labels = ", ".join(world.label for world in sweep.worlds)
        for agent in sweep.worlds[0].agents:
            if all(agent in world.agents for world in sweep.worlds):
                lost = [world.agents[agent].final for world in sweep.worlds]
                rows.append(TrendRow(sweep.parameter, labels, agent, statistics.trend(sweep.values, lost)))
    return rows


# How rows are written


def present(rows: Sequence[Row]) -> list[Column]:
    """The columns that are shown: those that have a value in some row."""
    found = []
    for part in fields(rows[0]) if rows else ():
        values = [getattr(row, part.name) for row in rows]
        if part.metadata["shown"] and any(text(value) not in ("-", "") for value in values):
            words = part.metadata["words"]
            left = any(isinstance(value, str) for value in values) if words is None else words
            with_ends = any(isinstance(value, Interval) and value.known for value in values)
            found.append(Column(part.name, part.metadata["heading"], left, with_ends))
    return found


def text(value: Value) -> str:
    """A number for reading: three significant digits, '-' where there is none; of an estimate, without its interval."""
    if isinstance(value, Interval):
        value = value.value
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    if isinstance(value, float):
        if value == 0.0 or abs(value) < 1e-12:
            return "0"
        digits = max(0, 2 - math.floor(math.log10(abs(value))))
        return f"{value:.{min(digits, 7)}f}" if abs(value) >= 1e-4 else f"{value:.2e}"
    return str(value)


def ends(value: Value) -> str:
    """The interval of an estimate, for reading; "" where there is none."""
    known = isinstance(value, Interval) and value.known
    return f"{text(value.low)} to {text(value.high)}" if known and isinstance(value, Interval) else ""


def bracketed(value: Value) -> str:
    """An estimate with its interval in brackets."""
    return text(value) + (f" [{ends(value).replace(' to ', ', ')}]" if ends(value) else "")


def pads(cells: Sequence[str], words: bool = False) -> list[str]:
    """What is missing behind each number of a column for all decimal points to stand below each other."""
    behind = [_behind(cell) for cell in cells]
    longest = max((len(end) for end in behind if end is not None), default=0)
    if words:
        longest = 0
    full = "." + "0" * (longest - 1)
    return [full[len(end) :] if end is not None and longest else "" for end in behind]


def _behind(cell: str) -> str | None:
    """The decimal point of a number and what follows; None of what is none."""
    found = re.fullmatch(r"-?[\d,]+(\.\d+)?", cell)
    return None if found is None else found[1] or ""


def plain(row: Row) -> dict[str, str | int | float | None]:
    """A row as plain values: an estimate as x, x_low and x_high."""
    found: dict[str, str | int | float | None] = {}
    for part in fields(row):
        value = getattr(row, part.name)
        if isinstance(value, Interval):
            found |= {part.name: value.value, f"{part.name}_low": value.low, f"{part.name}_high": value.high}
        else:
            found[part.name] = value
    return found


def write(rows: Sequence[Row], path: Path) -> None:
    """Rows as CSV, numbers in full; an empty field where there is none. Columns without any value are left out."""
    write_plain([plain(row) for row in rows], path)


def write_plain(rows: Sequence[Mapping[str, str | int | float | None]], path: Path) -> None:
    """The same from plain values."""
    path.parent.mkdir(parents=True, exist_ok=True)
    names = dict.fromkeys(key for row in rows for key in row)
    columns = [key for key in names if any(_known(row.get(key)) for row in rows)] if rows else ["world"]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore")
        writer.writeheader()
        writer.writerows({name: harmless(cell) for name, cell in row.items()} for row in rows)


def _known(value: str | int | float | None) -> bool:
    return value not in (None, "") and not (isinstance(value, float) and math.isnan(value))


# On the terminal

WIDE_TERMINAL = 110
"""Columns of a terminal that shows every column of a table."""

DISPENSABLE = ("trials", "ratio", "behind", "exponent")
"""What a narrow terminal does without; it also does without intervals."""

WITH_ENDS = ("mean", "difference", "improvement")
"""Whose intervals a wide one shows; the page is wider."""


def show(rows: Sequence[RegretRow], title: str) -> None:
    """Print rows to the terminal, grouped by world; a narrow one does without the columns that say least."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table as Printed
    from rich.text import Text

    if not rows:
        return
    console = Console()
    if not console.is_terminal:  # a file or a pipe has no width
        console = Console(width=WIDE_TERMINAL + 60)
    narrow = console.width < WIDE_TERMINAL
    left_out = {"world", *DISPENSABLE} if narrow else {"world"}
    shown = [one for one in present(rows) if one.name not in left_out]

    def cell(row: Row, one: Column) -> str:
        value = getattr(row, one.name)
        return text(value) if narrow or one.name not in WITH_ENDS else bracketed(value)

    table = Printed(title=title, box=SIMPLE_HEAD, pad_edge=False, padding=(0, 0 if narrow else 1, 0, 0))
    for one in shown:
        longest = max(len(part) for part in [*one.heading.split(), *(cell(row, one) for row in rows)])
        table.add_column(one.heading, justify="left" if one.words else "right", width=longest)
    last = None
    for row in rows:
        if row.world != last:
            table.add_section()
            table.add_row(Text(text(row.world), style="bold"))
        last = row.world
        table.add_row(*(Text(cell(row, one)) for one in shown))  # as it is: labels may hold brackets
    console.print(table)
