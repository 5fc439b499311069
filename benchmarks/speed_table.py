"""Rows of the table: a figure, the target beside it, and whether it was met. A miss is never hidden."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from vbmle.common.files import harmless, whole_or_absent

MET, MISSED, REPORTED = "met", "missed", "reported"
COLOURS = {MET: "green", MISSED: "bold red", REPORTED: "dim"}
SIGNS = {
    "times": "",
    "share": "%",
    "seconds": " s",
    "exponent": "",
    "microseconds": " µs",
    "milliseconds": " ms",
    "per second": " /s",
}
UNITS = tuple(SIGNS)


@dataclass(frozen=True)
class Target:
    """A bound from below (">=") or from above ("<=")."""

    sense: str
    bound: float

    def met_by(self, value: float) -> bool:
        """Whether the value is on the right side; NaN is not."""
        return value >= self.bound if self.sense == ">=" else value <= self.bound


def at_least(bound: float) -> Target:
    return Target(">=", bound)


def at_most(bound: float) -> Target:
    return Target("<=", bound)


@dataclass(frozen=True)
class Row:
    """One figure. `unit` says what it counts, `details` what it was made from."""

    section: str
    measure: str
    case: str
    value: float
    unit: str = "times"
    target: Target | None = None
    details: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.unit not in UNITS:
            raise ValueError(f"unit is {self.unit!r}; it needs one of {', '.join(UNITS)}")

    @property
    def verdict(self) -> str:
        if self.target is None:
            return REPORTED
        return MET if self.target.met_by(self.value) else MISSED

    @property
    def figure(self) -> str:
        """The value as it is printed: rounded, but never to the other side of its target."""
        if self.unit == "share":
            text = _beside(100.0 * self.value, 100.0 * self.target.bound if self.target else None)
        else:
            text = _beside(self.value, self.target.bound if self.target else None)
        return text + SIGNS[self.unit]

    @property
    def aim(self) -> str:
        """The target as it is printed."""
        if self.target is None:
            return ""
        share = self.unit == "share"
        return f"{self.target.sense} {self.target.bound * (100 if share else 1):g}{'%' if share else ''}"

    def as_dict(self) -> dict[str, Any]:
        target = asdict(self.target) if self.target else None
        return asdict(self) | {"target": target, "verdict": self.verdict}


def _beside(value: float, bound: float | None) -> str:
    """Three digits, or as many as show on which side of the bound the value is."""
    for digits in range(3, 16):
        text = f"{value:.{digits}g}"
        shown = float(text)
        if bound is None or ((shown > bound) == (value > bound) and (shown < bound) == (value < bound)):
            break
    number = float(text)
    return f"{number:.0f}" if math.isfinite(number) and abs(number) >= 1000 else text


def as_table(rows: Sequence[Row], title: str = "") -> Table:
    """For a terminal: what is measured, then line by line for what, the figure, its target and the verdict."""
    table = Table(title=title, title_justify="left")
    table.add_column("measure and case", overflow="fold")
    for name in ("figure", "target"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for k, row in enumerate(rows):
        before, after = rows[max(k - 1, 0)], rows[min(k + 1, len(rows) - 1)]
        if k == 0 or before.measure != row.measure:
            table.add_row(Text(row.measure, style="bold"))
        verdict = Text(row.verdict, style=COLOURS[row.verdict])
        table.add_row(
            Text(f"  {row.case}"), row.figure, row.aim, verdict, end_section=after.section != row.section
        )
    return table


def as_markdown(rows: Sequence[Row]) -> str:
    """The same table for a page, a table for each section."""
    lines: list[str] = []
    for k, row in enumerate(rows):
        if k == 0 or rows[k - 1].section != row.section:
            lines += ["", "| Measure | Case | Figure | Target | |", "|---|---|---:|---:|---|"]
        first = k == 0 or rows[k - 1].measure != row.measure
        measure = row.measure.replace("|", "\\|") if first else ""
        verdict = f"**{row.verdict}**" if row.verdict == MISSED else row.verdict
        lines.append(f"| {measure} | {row.case} | {row.figure} | {row.aim} | {verdict} |")
    return "\n".join(lines[1:]) + "\n"


def write(folder: Path, rows: Sequence[Row], about: dict[str, Any]) -> None:
    """bench.json with everything, bench.csv and bench.md with the table; written aside first and then renamed."""
    missed = sum(row.verdict == MISSED for row in rows)
    document = {"about": about, "missed": missed, "rows": [row.as_dict() for row in rows]}
    _write(folder / "bench.json", json.dumps(document, indent=1, allow_nan=False) + "\n")
    _write(folder / "bench.md", as_markdown(rows))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["section", "measure", "case", "value", "unit", "target", "verdict"])
    for row in rows:
        figures = [repr(row.value), row.unit, row.aim, row.verdict]
        writer.writerow([harmless(cell) for cell in (row.section, row.measure, row.case, *figures)])
    _write(folder / "bench.csv", text.getvalue())


def _write(path: Path, text: str) -> None:
    with whole_or_absent(path) as aside:
        aside.write_text(text, encoding="utf-8")
