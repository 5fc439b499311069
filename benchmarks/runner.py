"""The run: measure section by section, show the table, write it down."""

from __future__ import annotations

import gc
import os
import platform
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks import (
    certificates,
    discounts,
    large_models,
    overhead,
    paper_world,
    planning,
    quadratic_programs,
    rivals,
    scaling,
    service_load,
    tabular_steps,
    waiting,
)
from benchmarks.effort import FULL, QUICK, Effort
from benchmarks.speed_table import MISSED, Row, as_table, write
from vbmle.common.threads import ONE_THREAD

TITLE = "vbmle bench: ratios, measured in turn in one run"
TITLE_QUICK = "vbmle bench --quick: every row, but from too few steps to judge by"
PIPED_WIDTH = 120
"""Columns where no terminal says how many: no line of the table is folded."""
Tick = Callable[[], None]


def run(folder: Path, quick: bool = False) -> list[Row]:
    """Measure everything, print the table, and write bench.json and bench.csv into the folder."""
    effort, console = QUICK if quick else FULL, Console(stderr=True)
    gc.disable()  # no collection inside a timed step; there is one between jobs
    try:
        with progress(console, sum(units for _, units, _ in jobs(effort))) as (begin, tick):
            rows = measure(effort, begin, tick)
    finally:
        gc.enable()
    write(folder, rows, about(quick))
    screen = Console(width=None if sys.stdout.isatty() else PIPED_WIDTH)
    screen.print(as_table(rows, TITLE_QUICK if quick else TITLE))
    aimed = [row for row in rows if row.target is not None]
    met = sum(row.verdict != MISSED for row in aimed)
    console.print(f"{met} of {len(aimed)} targets met; see {folder / 'bench.json'}", soft_wrap=True)
    return rows


def jobs(effort: Effort) -> list[tuple[str, int, Callable[[Tick], Any]]]:
    """What there is to measure, in order: a label, its ticks, and the call."""
    found: list[tuple[str, int, Callable[[Tick], Any]]] = []
    for case in paper_world.CASES:
        found.append((case.name, effort.worlds, partial(paper_world.measure, case, effort)))
        work = partial(quadratic_programs.measure, case, effort)
        found.append((f"quadratic programs, {case.name}", 1, _ticking(work)))
    for name in tabular_steps.CASES:
        found.append((name, 1, _ticking(partial(tabular_steps.measure, name, effort))))
    for name in rivals.BASELINE:
        found.append((f"UCLK and cvxpy, {name}", 1, _ticking(partial(rivals.against_cvxpy, name, effort))))
    found.append(("UCLK, (15,4)", 1, _ticking(partial(rivals.large_world, effort))))
    for name in rivals.RECOMMENDED:
        found.append((f"recommended, {name}", 1, _ticking(partial(rivals.recommendation, name, effort))))
    for name in rivals.STEP_WORLDS:
        found.append((f"every agent, {name}", 1, _ticking(partial(rivals.every_agent, name, effort))))
    found.append(("growth with t", 1, _ticking(partial(scaling.in_time, effort))))
    for letter in scaling.GROWING_SIZES:
        found.append((f"growth with {letter}", 1, _ticking(partial(scaling.in_size, letter, effort))))
    for kind in discounts.MODEL_KINDS:
        found.append((f"first decisions, {kind}", 1, _ticking(partial(discounts.measure, kind, effort))))
    found.append(("memory", 1, _ticking(scaling.memory)))
    for domain in ("simplex", "polytope"):
        work = partial(large_models.updates, effort.large_states, effort, domain)
        found.append((f"large models, {domain}", 1, _ticking(work)))
    hard = partial(large_models.hard_run, effort.large_states, effort)
    found.append(("large models, rewards far away", 1, _ticking(hard)))
    found.append(("outside the core", 1, _ticking(partial(overhead.step_without_solves, effort))))
    found.append(("the service under load", 1, _ticking(partial(service_load.measure, effort))))
    found.append(("how long a person waits", 1, _ticking(partial(waiting.measure, effort))))
    found.append(("BLAS threads", 1, _ticking(partial(overhead.blas_threads, effort))))
    found += plans(effort)
    for kind in (*certificates.PROBLEM_KINDS, certificates.BEYOND):
        found.append((f"certificates: {kind}", 1, _ticking(partial(certificates.measure, kind, effort))))
    return found


def plans(effort: Effort) -> list[tuple[str, int, Callable[[Tick], Any]]]:
    """Those of planning beside other libraries."""
    found: list[tuple[str, int, Callable[[Tick], Any]]] = []
    for states in effort.sparse_sizes:
        found.append(
            (
                f"sparse planning, S={states}",
                1,
                _ticking(partial(large_models.sparse_planning, states, effort)),
            )
        )
    for states in effort.dense_sizes:
        found.append(
            (f"dense planning, S={states}", 1, _ticking(partial(large_models.dense_planning, states, effort)))
        )
    for kind in planning.KINDS:
        for states in effort.plan_sizes:
            work = partial(planning.measure, kind, states, effort)
            found.append((f"planning, {kind}, S={states}", 1, _ticking(work)))
    return found


def _ticking(job: Callable[[], Any]) -> Callable[[Tick], Any]:
    """A job that ticks once, when it is done."""

    def done(tick: Tick) -> Any:
        result = job()
        tick()
        return result

    return done


def measure(effort: Effort, begin: Callable[[str], None], tick: Tick) -> list[Row]:
    """All rows, those of one measure together."""
    results: dict[str, Any] = {}
    for label, _, job in jobs(effort):
        gc.collect()
        begin(label)
        results[label] = job(tick)
    prefix = "certificates: "
    rows = [row for label, part in results.items() if not label.startswith(prefix) for row in part]
    outcomes = {
        label.removeprefix(prefix): part for label, part in results.items() if label.startswith(prefix)
    }
    measures = list(dict.fromkeys((row.section, row.measure) for row in rows))
    rows.sort(key=lambda row: measures.index((row.section, row.measure)))
    return rows + certificates.summarise(outcomes)


@contextmanager
def progress(console: Console, total: int) -> Iterator[tuple[Callable[[str], None], Tick]]:
    """A bar on a terminal, a line per job elsewhere. It is drawn between jobs only, never by a thread."""
    if not console.is_terminal:
        yield lambda label: console.print(f"measuring {label}", highlight=False), lambda: None
        return
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=console, auto_refresh=False) as bar:
        task = bar.add_task("", total=total)

        def begin(label: str) -> None:
            bar.update(task, description=label, refresh=True)

        yield begin, lambda: bar.update(task, advance=1, refresh=True)


def about(quick: bool) -> dict[str, Any]:
    """Under what conditions the table was made."""
    packages = ("vbmle", "numpy", "scipy")
    return {
        "quick": quick,
        "threads": {name: os.environ.get(name, "") for name in ONE_THREAD},
        "python": platform.python_version(),
        "machine": platform.machine(),
        "processors": os.cpu_count(),
        "packages": {name: version(name) for name in packages},
        "units": "times are in seconds",
    }
