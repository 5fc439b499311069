"""Small experiments that the tests of sweeps share."""

import io
from pathlib import Path
from typing import Any

import numpy as np

from vbmle.experiments.progress import Lines
from vbmle.experiments.records import Record
from vbmle.experiments.run import Summary, run
from vbmle.experiments.spec import Choice, Experiment, Trial
from vbmle.experiments.store import Store

NETWORK = Choice("random_network", {"states": 3, "actions": 2, "dimension": 2})
PLAIN = Choice("MaximumLikelihood")


def small(**changes: Any) -> Experiment:
    """A tiny experiment, with these fields changed."""
    fields: dict[str, Any] = {
        "name": "small",
        "worlds": {"net": NETWORK, "trap": Choice("closed_loop_trap")},
        "agents": {"plain": PLAIN},
        "trials": 1,
        "horizon": 4,
    }
    return Experiment(**(fields | changes))


def go(experiment: Experiment, folder: Path, jobs: int = 1) -> tuple[Summary, str]:
    """Run it; the summary, and what was said."""
    said = io.StringIO()
    return run(experiment, folder, jobs, Lines(said)), said.getvalue()


def fake(trial: Trial) -> Record:
    """A record without a run."""
    regret = np.cumsum(np.random.default_rng(trial.chance).random(trial.horizon))
    facts = {"states": 3, "actions": 2, "dimension": 2}
    rows = trial.steps - 1
    return Record(trial, {"regret": regret[rows], "seconds": np.full(len(rows), 1e-3)}, facts)


def filled(folder: Path, experiment: Experiment) -> Store:
    """A store with a record of every trial."""
    store = Store(folder, experiment)
    store.begin()
    for trial in experiment.all_trials():
        store.write(fake(trial))
    return store


def same(one: Record, two: Record) -> None:
    """Two records of a trial agree in all but the timings, bit by bit."""
    assert one.trial == two.trial
    assert one.facts == two.facts
    assert list(one.columns) == list(two.columns)
    for name, column in one.results.items():
        np.testing.assert_array_equal(column, two.results[name])
