"""What a run has left to read: the one module through which reports and frames see records.

    for results in records.load(folder):          # an experiment, and the records there are of it
        for record in results.records:            # a finished trial
            record.trial.world, record.trial.agent, record.trial.index
            record.steps, record.columns["regret"], record.facts["states"]

How records are kept is the business of `vbmle.experiments.record_file`, and what is run of
`vbmle.experiments.store`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np

from vbmle.common.validation import Floats, Ints
from vbmle.experiments import InputError, record_file
from vbmle.experiments.record_file import DamagedError, Noted, RecordFile, Row
from vbmle.experiments.spec import Experiment, Trial

TIMINGS = ("seconds",)
"""Columns that differ from run to run: no comparison reads them."""

FOREIGN = "other settings, or made by another version of the code"

Cell = tuple[str, str, int]
"""World, agent and trial: there may be records of it with several horizons, settings and versions of the code."""


@dataclass(frozen=True, eq=False)
class Record:
    """One finished trial: columns of equal length, and what is known about them."""

    trial: Trial
    columns: dict[str, Floats]
    facts: Mapping[str, float]
    """States, actions and dimension of the world, and its smallest probability above 0, `p_min_true`."""

    @property
    def steps(self) -> Ints:
        """The steps that the rows of the columns belong to, from 1."""
        return self.trial.steps

    @property
    def results(self) -> dict[str, Floats]:
        """The columns that are the same in every run of the trial."""
        return {name: column for name, column in self.columns.items() if name not in TIMINGS}


@dataclass(frozen=True, eq=False)
class Results:
    """An experiment and the records there are of it, for the report."""

    experiment: Experiment
    records: list[Record]
    about: dict[str, str]
    """Versions and machine."""
    left_out: list[str]
    """Why rows of the file are not among the records, one line each."""


class Kept:
    """The rows that a file has of an experiment, read whole, in one query."""

    def __init__(self, file: RecordFile, experiment: str) -> None:
        self.rows = file.rows(experiment)
        self._cells: dict[Cell, list[Row]] = {}
        for row in self.rows:
            self._cells.setdefault(row.place[1:4], []).append(row)

    def of(self, trial: Trial, code: str) -> list[Row]:
        """The rows of a trial, the shortest run first."""
        found = self._cells.get((trial.world, trial.agent, trial.index), [])
        key = trial.key(code) if found else ""
        return sorted((row for row in found if row.place.key == key), key=lambda row: row.place.horizon)


def holding(trial: Trial, rows: Sequence[Row]) -> Row | None:
    """Of the rows of a trial, the one that it can be read from: its own, or a longer one that has all its steps."""
    for row in rows:
        horizon = row.place.horizon
        if horizon == trial.horizon:
            return row
        if horizon > trial.horizon and np.isin(trial.steps, trial.record.at(horizon)).all():
            return row
    return None


def record_of(trial: Trial, row: Row) -> Record:
    """What a row says of a trial; DamagedError where it is not what was written, or has other steps."""
    notes, columns = row.content()
    steps, facts = columns.pop("step", np.zeros(0)), notes.get("facts")
    if not np.array_equal(steps[: len(trial.steps)], trial.steps) or not isinstance(facts, dict):
        raise DamagedError(f"the record of {trial.name} has other steps than were asked for")
    return Record(trial, {name: column[: len(trial.steps)] for name, column in columns.items()}, facts)


def load(folder: Path) -> list[Results]:
    """Every experiment that a folder holds."""
    with record_file.reading(folder) as file:
        found = [_results(file, noted) for noted in file.experiments()]
    if not found:
        raise InputError(f"{folder}: there are no records (no experiment in {folder / record_file.NAME})")
    return found


def experiment_of(file: RecordFile, noted: Noted) -> Experiment:
    """The spec of an experiment, as it was last run."""
    try:
        return msgspec.json.decode(noted.spec, type=Experiment)
    except (ValueError, TypeError, RecursionError) as error:
        raise InputError(f"{file.path}: {noted.name[:40]!r} is no experiment ({error})") from None


def _results(file: RecordFile, noted: Noted) -> Results:
    experiment, kept = experiment_of(file, noted), Kept(file, noted.name)
    records, left_out, ours = [], [], 0
    for trial in experiment.all_trials():
        rows = kept.of(trial, noted.code)
        ours += len(rows)
        row = holding(trial, rows)
        try:
            records += [] if row is None else [record_of(trial, row)]
        except DamagedError as error:
            left_out.append(f"{error}; run again to make it anew")
    if len(kept.rows) > ours:
        left_out.append(f"records with {FOREIGN}: {len(kept.rows) - ours}")
    return Results(experiment, records, _about(noted), left_out)


def _about(noted: Noted) -> dict[str, str]:
    """Versions and machine; nothing where that cannot be read."""
    try:
        return {str(name): str(value) for name, value in json.loads(noted.about).items()}
    except (ValueError, AttributeError, RecursionError):
        return {}
