"""Records whose losses are made up: shared by the tests of reports."""

from pathlib import Path
from typing import Any

import numpy as np
from sweeps import keep

from vbmle.experiments.records import Record, Results
from vbmle.experiments.spec import Choice, Experiment
from vbmle.report import runs
from vbmle.report.runs import WorldRuns

Losses = dict[tuple[str, str], list[float | None]]


def experiment(losses: Losses, name: str = "made up", horizon: int = 6, **fields: Any) -> Experiment:
    """An experiment with the worlds and agents of `losses`; its agents explore, but for those that `roles` names."""
    roles = fields.pop("roles", {})
    worlds = {world: Choice("closed_loop_trap") for world, _ in losses}
    agents = {agent: Choice("VBMLE", role=roles.get(agent, "explorer")) for _, agent in losses}
    trials = max(len(values) for values in losses.values())
    return Experiment(name=name, worlds=worlds, agents=agents, trials=trials, horizon=horizon, **fields)


def made_up(losses: Losses, **settings: Any) -> Results:
    """Records whose final regret is given by (world, agent), None for a trial that is missing."""
    spec = experiment(losses, **settings)
    records = []
    for trial in spec.all_trials():
        known = losses.get((trial.world, trial.agent), [])
        loss = known[trial.index] if trial.index < len(known) else None
        if loss is not None:
            regret = loss * np.arange(1, trial.horizon + 1) / trial.horizon
            columns = {"regret": regret, "seconds": np.full(trial.horizon, 0.002)}
            records.append(Record(trial, columns, {"states": 3, "actions": 2, "dimension": 5}))
    return Results(spec, records, {"vbmle": "0"}, [])


def saved(folder: Path, results: Results) -> Path:
    """The same records on disk."""
    return keep(folder, results.experiment, results.records)


def worlds_of(losses: Losses, **settings: object) -> list[WorldRuns]:
    return runs.by_world(made_up(losses, **settings))
