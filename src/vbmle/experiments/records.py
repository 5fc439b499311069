"""What a run has left to read: the one module through which reports see records.

    for results in records.load(folder):          # an experiment, and the records there are of it
        for record in results.records:            # a finished trial
            record.trial.world, record.trial.agent, record.trial.index
            record.steps, record.columns["regret"], record.facts["states"]

How records are kept is the business of `vbmle.experiments.store`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from vbmle.common.files import field
from vbmle.common.validation import Floats, Ints
from vbmle.experiments import InputError
from vbmle.experiments.spec import Experiment, Trial

if TYPE_CHECKING:
    from vbmle.experiments.recent import Recent

TIMINGS = ("seconds",)
"""Columns that differ from run to run: no comparison reads them."""


@dataclass(frozen=True, eq=False)
class Record:
    """One finished trial: columns of equal length, and what is known about them."""

    trial: Trial
    columns: dict[str, Floats]
    facts: Mapping[str, float]
    """States, actions and dimension of the world, and its smallest probability above 0, `p_min_true`."""
    code: str | None = None
    """The version of the sources that made it, if not this process."""
    about: dict[str, str] | None = None
    """Versions and machine that made it, if not these."""

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
    """Why files in the folder are not among the records, one line each."""


def load(folder: Path, recent: Recent | None = None) -> list[Results]:
    """Every experiment that a folder holds; records that this process wrote, in `recent`, are not read again."""
    notes = sorted((folder / "records").glob("*/experiment.json"))
    found = [_results(folder, note, recent) for note in notes]
    if not found:
        raise InputError(
            f"{folder}: there are no records (no {folder / 'records' / '*' / 'experiment.json'})"
        )
    return found


def _results(folder: Path, path: Path, recent: Recent | None) -> Results:
    from vbmle.experiments.store import FOREIGN, OLD, DamagedError, ForeignError, OldError, Store

    try:
        note = json.loads(path.read_bytes())
        experiment = msgspec.convert(note["experiment"], Experiment)
        store = Store(folder, experiment, field(note, "code", str), recent)
        facts = {str(name): str(value) for name, value in field(note, "about", dict).items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"{path}: it does not describe an experiment ({error})") from None
    records, left_out, old = [], [], 0
    foreign = set(store.home.glob("*/*/trial-*.parquet"))
    for trial in experiment.all_trials():
        file = store.path(trial)
        if file in foreign:
            try:
                records.append(store.read(trial))
            except OldError:
                old += 1
            except ForeignError:
                continue
            except DamagedError as error:
                left_out.append(str(error))
            foreign.remove(file)
    if old:
        left_out.append(f"records in {OLD}: {old}; run again to make them anew")
    if foreign:
        left_out.append(f"records with {FOREIGN}: {len(foreign)}")
    return Results(experiment, records, facts, left_out)
