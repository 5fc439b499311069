"""What is kept of an experiment while it is run, and what there is still to run.

A trial that has a record, or the beginning of a longer one, is done. One that has a shorter record is gone on with from
where that ended. Records of other settings, or made by other code, stay where they are: nothing reads them until the
settings or the code are theirs again.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import msgspec
import numpy as np

from vbmle.experiments import records
from vbmle.experiments.playing import Played
from vbmle.experiments.record_file import DamagedError, Noted, Place, RecordFile, Row
from vbmle.experiments.records import Kept, Record
from vbmle.experiments.resume_key import code_version, version_of
from vbmle.experiments.spec import Experiment, Trial


@dataclass(frozen=True)
class Task:
    """A trial to be played, and what it goes on from, if a shorter run of it left that."""

    trial: Trial
    row: int = 0
    """The record of a shorter run that it continues, by its number in the file."""
    state: bytes | None = None
    """What that has left; None where it begins from the beginning."""


class Store:
    """The records of one experiment in a file that is open."""

    def __init__(self, file: RecordFile, experiment: Experiment, code: str | None = None) -> None:
        self.experiment = experiment
        self.code = code or code_version()
        self.file = file
        self._kept = Kept(file, experiment.name)

    @cached_property
    def _noted(self) -> Noted:
        spec = msgspec.json.encode(self.experiment).decode()
        return Noted(self.experiment.name, spec, self.code, json.dumps(about()))

    @property
    def is_begun(self) -> bool:
        """Whether this is what was run last."""
        return any(noted[:3] == self._noted[:3] for noted in self.file.experiments())

    def begin(self) -> None:
        """Write down what is about to be run, unless that is what was run last."""
        if not self.is_begun:
            self.file.note(self._noted)

    def read(self, trial: Trial) -> Record | None:
        """The record of a trial; None where there was none at the beginning, DamagedError where it is damaged."""
        row = records.holding(trial, self._kept.of(trial, self.code))
        return None if row is None else records.record_of(trial, row)

    def missing(self) -> tuple[list[Trial], list[str]]:
        """The trials without a record, and lines about what there is in place of one."""
        trials, lines = [], []
        for trial in self.experiment.all_trials():
            try:
                if self.read(trial) is not None:
                    continue
            except DamagedError as error:
                lines.append(f"{error}: it is run again")
            trials.append(trial)
        return trials, lines + self._in_place_of(trials)

    def _in_place_of(self, missing: Sequence[Trial]) -> list[str]:
        """Lines about what is there of trials that have no record."""
        shorter = [found for trial in missing if (found := self._shorter(trial))]
        whole = sum(self._resting(rows) is not None for rows in shorter)
        labels = {(trial.world, trial.agent, trial.index) for trial in missing}
        ours = sum(len(self._kept.of(trial, self.code)) for trial in missing)
        foreign = sum(row.place[1:4] in labels for row in self._kept.rows) - ours
        told = {
            f"records of fewer steps: {whole}; they are continued": whole,
            f"records of fewer steps: {len(shorter) - whole}; they are run from the beginning, since their agents "
            "could not be saved or would have taken too much space": len(shorter) - whole,
            f"records with {records.FOREIGN}: {foreign}; they are kept, and these trials run again": foreign,
        }
        return [line for line, count in told.items() if count]

    def _shorter(self, trial: Trial) -> list[Row]:
        """The records of fewer steps, the shortest first."""
        return [row for row in self._kept.of(trial, self.code) if row.place.horizon < trial.horizon]

    def _resting(self, shorter: Sequence[Row]) -> tuple[Row, bytes] | None:
        """The longest of them that can be continued, and what it goes on from."""
        for row in reversed(shorter):
            state = self.file.state(row)
            if state is not None and row.is_whole:
                return row, state
        return None

    def tasks(self, trials: Iterable[Trial]) -> Iterator[Task]:
        """What there is to play; what each goes on from is read when it is asked for."""
        for trial in trials:
            found = self._resting(self._shorter(trial))
            yield Task(trial) if found is None else Task(trial, found[0].id, found[1])

    def write(self, task: Task, played: Played, made_by: Mapping[str, str] | None = None) -> Record:
        """Keep what was played, joined to the shorter record that it continues; returns the record."""
        trial, columns, shorter = task.trial, played.columns, self._shorter(task.trial)
        if played.since:
            _, before = next(row for row in shorter if row.id == task.row).content()
            count = int(np.searchsorted(trial.steps, played.since, side="right"))
            columns = {name: np.append(before[name][:count], column) for name, column in columns.items()}
        place = Place(
            *(trial.experiment, trial.world, trial.agent, trial.index), trial.key(self.code), trial.horizon
        )
        notes = {
            "trial": msgspec.to_builtins(trial),
            "seeds": trial.seeds(),
            "facts": played.facts,
            "code": self.code,
            "about": dict(made_by or about()),
        }
        contained = [row for row in shorter if np.isin(trial.record.at(row.place.horizon), trial.steps).all()]
        self.file.add(
            place, notes, {"step": trial.steps.astype(np.float64), **columns}, played.state, contained
        )
        return Record(trial, columns, played.facts)


@cache
def about() -> dict[str, str]:
    """Versions and machine."""
    found = {name: version_of(name) for name in ("vbmle", "numpy", "scipy", "polars")}
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors"
    return found | {"python": platform.python_version(), "machine": machine}
