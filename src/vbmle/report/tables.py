"""Tables: as data, as CSV, and on the terminal; latex.py and table_pictures.py have their other forms."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path

from vbmle.common.files import harmless
from vbmle.report import comparisons, leaders, published, statistics, world_runs
from vbmle.report.comparisons import SAME_REGRET
from vbmle.report.world_runs import Runs, WorldRuns

Value = str | int | float | None
Row = dict[str, Value]

# What is shown of a table: column and heading. A column "x_interval" stands for x_low and x_high.
REGRET = {
    "world": "world",
    "agent": "agent",
    "trials": "trials",
    "mean": "mean",
    "mean_interval": "95% interval",
    "ratio": "times the best",
    "behind": "behind the best",
    "behind_interval": "95% interval",
    "std": "std",
    "median": "median",
    "median_interval": "95% interval",
    "iqm": "IQM",
    "iqm_interval": "95% interval",
    "exponent": "growth exponent",
    "exponent_interval": "95% interval",
    "seconds_per_step": "s/step",
    "trouble": "decisions in trouble",
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
    "improvement": "P(loses less)",
    "improvement_interval": "95% interval",
}
TREND = {
    "parameter": "parameter",
    "worlds": "worlds",
    "agent": "agent",
    "exponent": "exponent",
    "exponent_interval": "95% interval",
}
WIDE_TERMINAL = 110
"""Columns of a terminal that shows every column of a table."""

DISPENSABLE = ("trials", "mean_interval", "difference_interval", "ratio", "behind", "exponent")
"""What a narrow terminal does without."""


def regret(worlds: Sequence[WorldRuns]) -> list[Row]:
    """Regret after the last step, how far behind the best, growth and time per step, beside what the paper prints."""
    rows = []
    for world in worlds:
        printed = published.of_world(world.experiment, world.label)
        places = leaders.places(world)
        for agent, runs in world.agents.items():
            rows.append(_regret_row(world.label, agent, runs, places.get(agent), printed))
        others = [agent for agent in printed if agent not in world.agents]
        rows += [_published_row(world.label, agent, printed) for agent in others]
    return rows


def labels(worlds: Sequence[WorldRuns]) -> list[Row]:
    """World and agent of every row of `regret`, in its order."""
    found: list[Row] = []
    for world in worlds:
        printed = published.of_world(world.experiment, world.label)
        agents = dict.fromkeys([*world.agents, *printed])
        found += [{"world": world.label, "agent": agent} for agent in agents]
    return found


def _regret_row(
    world: str,
    agent: str,
    runs: Runs,
    place: leaders.Place | None,
    printed: Mapping[str, published.Published],
) -> Row:
    row = _published_row(world, agent, printed) | {
        "trials": len(runs.trials),
        **_interval("mean", statistics.mean_interval(runs.final)),
        "std": statistics.std(runs.final),
        **_interval("median", statistics.median_interval(runs.final)),
        **_interval("iqm", statistics.iqm_interval(runs.final)),
        **_interval("exponent", comparisons.growth(runs.steps, runs.regret)),
        "seconds_per_step": float(runs.seconds_per_step.mean()),
        "trouble": runs.trouble or None,
    }
    return row | {"ratio": place.ratio, **_interval("behind", place.behind)} if place else row


def _interval(name: str, found: statistics.Interval) -> Row:
    return {name: found.value, f"{name}_low": found.low, f"{name}_high": found.high}


def _published_row(world: str, agent: str, printed: Mapping[str, published.Published]) -> Row:
    figures = printed.get(agent, published.Published(None, None))
    empty: list[str] = []
    for name in ("mean", "ratio", "behind", "std", "median", "iqm", "exponent"):
        empty += [name] if name in ("ratio", "std") else [name, f"{name}_low", f"{name}_high"]
    return {
        **{"world": world, "agent": agent, "trials": None},
        **dict.fromkeys([*empty, "seconds_per_step", "trouble"]),
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
    ours, theirs = world.paired(one, two)
    difference = ours - theirs
    return {
        "trials": len(difference),
        **_interval("difference", statistics.mean_interval(difference)),
        "less": int((difference < -SAME_REGRET).sum()),
        "same": int((abs(difference) <= SAME_REGRET).sum()),
        "more": int((difference > SAME_REGRET).sum()),
        **_interval("improvement", comparisons.improvement([ours], [theirs])),
    }


def trends(worlds: Sequence[WorldRuns], parameter: str | None = None) -> list[Row]:
    """The exponent of mean final regret in each parameter that was varied alone, for every agent."""
    rows: list[Row] = []
    for sweep in world_runs.sweeps(worlds, parameter):
        for agent in sweep.worlds[0].agents:
            if all(agent in world.agents for world in sweep.worlds):
                labels: Row = {
                    "parameter": sweep.parameter,
                    "worlds": ", ".join(world.label for world in sweep.worlds),
                    "agent": agent,
                }
                lost = [world.agents[agent].final for world in sweep.worlds]
                rows.append(labels | _interval("exponent", comparisons.trend(sweep.values, lost)))
    return rows


def write(rows: Sequence[Row], path: Path) -> None:
    """Rows as CSV, numbers in full; an empty field where there is none. Columns without any value are left out."""
    path.parent.mkdir(parents=True, exist_ok=True)
    columns = [key for key in rows[0] if any(_known(row.get(key)) for row in rows)] if rows else ["world"]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore")
        writer.writeheader()
        writer.writerows({name: harmless(cell) for name, cell in row.items()} for row in rows)


def _known(value: Value) -> bool:
    return value not in (None, "") and not (isinstance(value, float) and math.isnan(value))


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
        return text(row.get(column))
    low, high = text(row.get(f"{name}_low")), text(row.get(f"{name}_high"))
    return low if low == high == "-" else f"{low} to {high}"


def present(headings: Mapping[str, str], rows: Sequence[Row]) -> dict[str, str]:
    """The headings of the columns that have a value in some row."""
    return {
        key: text for key, text in headings.items() if any(cell(row, key) not in ("-", "") for row in rows)
    }


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
        console = Console(width=WIDE_TERMINAL + 60)
    narrow = console.width < WIDE_TERMINAL
    left_out = {"world", *DISPENSABLE} if narrow else {"world"}
    left_out |= {
        "median_interval",
        "iqm_interval",
        "behind_interval",
        "exponent_interval",
    }  # the page is wider
    shown = {key: text for key, text in present(headings, rows).items() if key not in left_out}
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
