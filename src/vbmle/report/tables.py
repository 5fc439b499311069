"""Tables: as data, as CSV, and on the terminal."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np

from vbmle.report import published, statistics
from vbmle.report.data import Runs, WorldRuns

Value = str | int | float | None
Row = dict[str, Value]

# What is shown of a table: column and heading. A column "x_interval" stands for x_low and x_high.
REGRET = {
    "world": "world",
    "agent": "agent",
    "trials": "trials",
    "mean": "mean",
    "mean_interval": "95% interval",
    "std": "std",
    "median": "median",
    "iqm": "IQM",
    "seconds_per_step": "s/step",
    "published_std": "published std (t=500)",
    "published_seconds_per_step": "published s/step",
}
PAIRS = {
    "world": "world",
    "agent": "agent",
    "against": "against",
    "trials": "trials",
    "difference": "mean difference",
    "difference_interval": "95% interval",
    "less": "lost less in",
    "same": "same in",
    "more": "lost more in",
}
WIDE = 110
"""Columns of a terminal that shows every column of a table."""

DISPENSABLE = ("trials", "mean_interval", "difference_interval")

SAME = 1e-9
"""Regrets that differ by less are called the same."""


def regret(worlds: Sequence[WorldRuns]) -> list[Row]:
    """Regret after the last step and time per step, beside what the paper prints."""
    rows = []
    for world in worlds:
        printed = published.of_world(world.experiment, world.label)
        rows += [_regret_row(world.label, agent, runs, printed) for agent, runs in world.agents.items()]
        others = [agent for agent in printed if agent not in world.agents]
        rows += [_published_row(world.label, agent, printed) for agent in others]
    return rows


def _regret_row(world: str, agent: str, runs: Runs, printed: Mapping[str, published.Published]) -> Row:
    mean = statistics.mean_interval(runs.final)
    return _published_row(world, agent, printed) | {
        "trials": len(runs.trials),
        "mean": mean.mean,
        "mean_low": mean.low,
        "mean_high": mean.high,
        "std": statistics.std(runs.final),
        "median": float(np.median(runs.final)),
        "iqm": statistics.iqm(runs.final),
        "seconds_per_step": float(runs.seconds.mean()),
    }


def _published_row(world: str, agent: str, printed: Mapping[str, published.Published]) -> Row:
    figures = printed.get(agent, published.Published(None, None))
    return {
        **{"world": world, "agent": agent, "trials": None, "mean": None, "mean_low": None, "mean_high": None},
        **{"std": None, "median": None, "iqm": None, "seconds_per_step": None},
        "published_std": figures.std,
        "published_seconds_per_step": figures.seconds_per_step,
    }


def pairs(worlds: Sequence[WorldRuns]) -> list[Row]:
    """Differences of final regret between agents on the same worlds with the same luck."""
    rows = []
    for world in worlds:
        for one, two in combinations(world.agents, 2):
            shared = world.shared(one, two)
            if len(shared):
                labels: Row = {"world": world.label, "agent": one, "against": two}
                rows.append(labels | _difference(world, one, two))
    return rows


def _difference(world: WorldRuns, one: str, two: str) -> Row:
    shared = world.shared(one, two)
    difference = world.agents[one].at(shared) - world.agents[two].at(shared)
    mean = statistics.mean_interval(difference)
    return {
        "trials": len(shared),
        "difference": mean.mean,
        "difference_low": mean.low,
        "difference_high": mean.high,
        "less": int((difference < -SAME).sum()),
        "same": int((abs(difference) <= SAME).sum()),
        "more": int((difference > SAME).sum()),
    }


def write(rows: Sequence[Row], path: Path) -> None:
    """Rows as CSV, numbers in full; an empty field where there is none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]) if rows else ["world"])
        writer.writeheader()
        writer.writerows(rows)


def text(value: Value) -> str:
    """A number for reading: three significant digits, '-' where there is none."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    if isinstance(value, float):
        if value == 0.0 or abs(value) < 1e-12:
            return "0"
        digits = max(0, 2 - math.floor(math.log10(abs(value))))
        return f"{value:.{min(digits, 7)}f}" if abs(value) >= 1e-4 else f"{value:.2e}"
    return str(value)


def cell(row: Row, column: str) -> str:
    """What is shown of a row in a column."""
    name = column.removesuffix("_interval")
    if name == column:
        return text(row[column])
    low, high = text(row[f"{name}_low"]), text(row[f"{name}_high"])
    return low if low == high == "-" else f"{low} to {high}"


def show(rows: Sequence[Row], headings: Mapping[str, str], title: str) -> None:
    """Print rows to the terminal, grouped by world; a narrow one does without the columns that say least."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    if not rows:
        return
    console = Console()
    if not console.is_terminal:  # a file or a pipe has no width
        console = Console(width=WIDE + 60)
    narrow = console.width < WIDE
    left_out = {"world", *DISPENSABLE} if narrow else {"world"}
    shown = {key: heading for key, heading in headings.items() if key not in left_out}
    table = Table(title=title, box=SIMPLE_HEAD, pad_edge=False, padding=(0, 0 if narrow else 1, 0, 0))
    for key, heading in shown.items():
        longest = max(len(part) for part in [*heading.split(), *(cell(row, key) for row in rows)])
        table.add_column(heading, justify="left" if key in ("agent", "against") else "right", width=longest)
    last = None
    for row in rows:
        if row["world"] != last:
            table.add_section()
            table.add_row(Text(cell(row, "world"), style="bold"))
        last = row["world"]
        table.add_row(*(Text(cell(row, key)) for key in shown))  # as it is: labels may hold brackets
    console.print(table)
