"""What can be measured of every world that an experiment drew, to be set beside what agents lose there.

    DIR/worlds.parquet    a row for each world label and trial: `vbmle.hardness`, the least gap, and the lure of the
                          first belief (`vbmle.theory.lure`)

Rows that are there, and were made by the code of now, are kept.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
import polars as pl

from vbmle.common import parquet
from vbmle.common.files import whole_or_absent
from vbmle.experiments import playing
from vbmle.experiments.compute import Lost, Workers
from vbmle.experiments.resume_key import code_version
from vbmle.experiments.run import Failure, Watcher
from vbmle.experiments.spec import Experiment, Trial
from vbmle.experiments.store import UNREADABLE, Store
from vbmle.model.world import World
from vbmle.planning import planner
from vbmle.theory.hardness import TIED_GAP, hardness
from vbmle.theory.lure import lure

FILE = "worlds.parquet"
SAVE_EVERY = 100
Measures = dict[str, float]
ByWorld = dict[tuple[str, int], Measures]
"""By world label and trial."""

EVERYONE = "worlds"
"""What progress is told by: no agent takes part."""


def measures(world: World) -> Measures:
    """All numbers of one world."""
    plan, mdp = planner.plan(world.mdp, world.theta), world.mdp
    gaps = (plan.V[:, None] - plan.Q)[mdp.allowed]
    wide = gaps[gaps > TIED_GAP / (1.0 - mdp.discount)]
    least = mdp.reward_scale * float(wide.min()) if len(wide) else np.nan
    return {**asdict(hardness(world)), "least_gap": least, **asdict(lure(world))}


def run(
    experiment: Experiment, folder: Path, workers: Workers, watcher: Watcher, most: Mapping[str, int]
) -> list[Failure]:
    """Measure the worlds that have records, at most so many of each label and none of others; returns what failed."""
    known, failures = read(folder, code_version()), []
    waiting = [trial for trial in _drawn(experiment, folder, most) if (trial.world, trial.index) not in known]
    if waiting:
        watcher.begin("what decides", {EVERYONE: len(waiting)}, {EVERYONE: 0})
        with workers:
            for done, (trial, result) in enumerate(workers.results(measure, waiting), start=1):
                if isinstance(result, Lost):
                    result = Failure(trial, result.message)
                if isinstance(result, Failure):
                    failures.append(result)
                else:
                    known[trial.world, trial.index] = result
                if done % SAVE_EVERY == 0 or done == len(waiting):
                    write(folder, known)
                watcher.finished(EVERYONE)
    return failures


def measure(trial: Trial) -> Measures | Failure:
    """One world, in a worker: whatever it raises is its result."""
    try:
        return measures(playing.make_world(trial))
    except Exception as error:
        return Failure(trial, f"{type(error).__name__}: {error}")


def _drawn(experiment: Experiment, folder: Path, most: Mapping[str, int]) -> Iterator[Trial]:
    """One trial for each world that was drawn and has a record of the first agent."""
    store, agent = Store(folder, experiment), next(iter(experiment.agents))
    for trial in experiment.all_trials():
        if trial.agent == agent and trial.index < most.get(trial.world, 0) and store.path(trial).exists():
            yield trial


def write(folder: Path, known: ByWorld) -> None:
    """All of them, in the order of worlds and trials."""
    ordered = sorted(known.items())
    table: list[dict[str, object]] = [
        {"world": world, "trial": trial, "code": code_version(), **found} for (world, trial), found in ordered
    ]
    content = io.BytesIO()
    pl.DataFrame(table).write_parquet(content)
    with whole_or_absent(folder / FILE) as aside:
        aside.write_bytes(content.getvalue())


def read(folder: Path, code: str | None = None) -> ByWorld:
    """What is kept, of one version of the code where it is named; nothing where nothing can be read."""
    try:
        table = parquet.read(folder / FILE).frame
        if code is not None:
            table = table.filter(pl.col("code") == code)
        kept: Sequence[dict[str, object]] = table.to_dicts()
        return {(str(row.pop("world")), int(str(row.pop("trial")))): _numbers(row) for row in kept}
    except UNREADABLE:
        return {}


def _numbers(row: dict[str, object]) -> Measures:
    return {name: float(str(value)) for name, value in row.items() if name != "code"}
