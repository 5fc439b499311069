"""What can be measured of every world that an experiment drew, to be set beside the regret of agents there.

A row for each world label and trial, in the file of the records: `vbmle.hardness`, the least gap, and the lure of the
first belief (`vbmle.theory.lure`). Rows that are there, and were made by the code of now, are kept.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import numpy as np

from vbmle.experiments import playing, record_file
from vbmle.experiments.compute import Lost, Workers
from vbmle.experiments.record_file import Measured
from vbmle.experiments.resume_key import code_version
from vbmle.experiments.run import Failure, Watcher
from vbmle.experiments.spec import Experiment, Trial
from vbmle.model.world import World
from vbmle.planning import planner
from vbmle.theory.hardness import TIED_GAP, hardness
from vbmle.theory.lure import lure

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
    waiting = missing(experiment, folder, most)
    if not waiting:
        return []
    failures: list[Failure] = []
    watcher.begin("what decides", {EVERYONE: len(waiting)}, {EVERYONE: 0})
    with record_file.writing(folder) as file, workers:
        for trial, result in workers.results(measure, waiting):
            if isinstance(result, Lost):
                result = Failure(trial, result.message)
            if isinstance(result, Failure):
                failures.append(result)
            else:
                text = json.dumps(result)
                file.add_world(experiment.name, Measured(trial.world, trial.index, code_version(), text))
            watcher.finished(EVERYONE)
    return failures


def missing(experiment: Experiment, folder: Path, most: Mapping[str, int]) -> list[Trial]:
    """A trial of the first agent for each world that has a record of it and was not measured by this code."""
    agent, code = next(iter(experiment.agents)), code_version()
    with record_file.reading(folder) as file:
        known = {(one.world, one.trial) for one in file.worlds(experiment.name) if one.code == code}
        drawn = {row.place[1:4] for row in file.rows(experiment.name)}
    return [
        trial
        for trial in experiment.all_trials()
        if trial.agent == agent
        and trial.index < most.get(trial.world, 0)
        and (trial.world, agent, trial.index) in drawn
        and (trial.world, trial.index) not in known
    ]


def measure(trial: Trial) -> Measures | Failure:
    """One world, in a worker: whatever it raises is its result."""
    try:
        return measures(playing.make_world(trial))
    except Exception as error:
        return Failure(trial, f"{type(error).__name__}: {error}")


def read(folder: Path, experiment: str) -> ByWorld:
    """What is kept; nothing where there are no records."""
    if not (folder / record_file.NAME).exists():
        return {}
    with record_file.reading(folder) as file:
        return {(one.world, one.trial): json.loads(one.measures) for one in file.worlds(experiment)}
