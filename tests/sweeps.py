"""Small experiments that the tests of sweeps share."""

import io
import sqlite3
from collections.abc import Iterable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import numpy as np

from vbmle.experiments import record_file
from vbmle.experiments.playing import Played
from vbmle.experiments.progress import Lines
from vbmle.experiments.record_file import DamagedError
from vbmle.experiments.records import Record
from vbmle.experiments.run import Summary, run
from vbmle.experiments.spec import Choice, Experiment, Trial
from vbmle.experiments.store import Store, Task

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


def keep(folder: Path, experiment: Experiment, records: Iterable[Record], code: str | None = None) -> Path:
    """Write records of an experiment; returns the folder."""
    with record_file.writing(folder) as file:
        store = Store(file, experiment, code)
        store.begin()
        for record in records:
            store.write(Task(record.trial), Played(record.columns, dict(record.facts), 0, None))
    return folder


def filled(folder: Path, experiment: Experiment) -> Path:
    """A folder with a record of every trial."""
    return keep(folder, experiment, map(fake, experiment.all_trials()))


def found(folder: Path, experiment: Experiment, code: str | None = None) -> dict[str, Record]:
    """The records that there are of an experiment, by the names of their trials; damaged ones are left out."""
    records = {}
    with record_file.reading(folder) as file:
        store = Store(file, experiment, code)
        for trial in experiment.all_trials():
            with suppress(DamagedError):
                record = store.read(trial)
                if record is not None:
                    records[trial.name] = record
    return records


def missing(folder: Path, experiment: Experiment) -> tuple[list[Trial], list[str]]:
    """What a run would do, and say."""
    with record_file.reading(folder) as file:
        return Store(file, experiment).missing()


def damage(folder: Path, trial: Trial, column: str = "columns", value: object = b"not a record") -> None:
    """Put something else into the row of a trial."""
    with closing(sqlite3.connect(folder / record_file.NAME)) as database, database:
        where = (value, trial.experiment, trial.world, trial.agent, trial.index)
        database.execute(
            f"UPDATE records SET {column} = ? WHERE experiment = ? AND world = ? AND agent = ? AND trial = ?",
            where,
        )


def count(folder: Path) -> int:
    """How many records there are by now, while a run goes on."""
    path = folder / record_file.NAME
    if not path.exists():
        return 0
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as database:
            return int(database.execute("SELECT count(*) FROM records").fetchone()[0])
    except sqlite3.OperationalError:  # its tables are being made
        return 0


def same(one: Record, two: Record) -> None:
    """Two records of a trial agree in all but the timings, bit by bit."""
    assert one.trial == two.trial
    assert one.facts == two.facts
    assert list(one.columns) == list(two.columns)
    for name, column in one.results.items():
        np.testing.assert_array_equal(column, two.results[name])
