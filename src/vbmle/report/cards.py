"""A card of the page, and the tables in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from vbmle.report.charts import Chart
from vbmle.report.tables import Row


@dataclass(frozen=True, eq=False)
class Table:
    """A table of the page and its files."""

    stem: str
    title: str
    note: str
    caption: str
    """Stands alone."""
    headings: Mapping[str, str]
    rows: Sequence[Row]
    """All of them, as in the file."""
    first_only: str = ""
    """If not empty, the page shows only the rows of this agent."""

    @property
    def shown(self) -> list[Row]:
        return [row for row in self.rows if not self.first_only or row["agent"] == self.first_only]


@dataclass(frozen=True, eq=False)
class Card:
    """A question, the sentence that answers it, and one figure; the rest is folded away."""

    key: str
    question: str
    answer: str
    chart: Chart | None
    lead: str = ""
    notes: Sequence[str] = ()
    more: Sequence[Chart] = ()
    tables: Sequence[Table] = ()
    outcome: str = ""
    """Of a claim: holds, does not hold, or open."""
