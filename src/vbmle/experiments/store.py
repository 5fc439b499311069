"""What is kept of an experiment: one Parquet file per trial, and the spec beside them.

    DIR/records/<experiment>/experiment.json
    DIR/records/<experiment>/<world>/<agent>/trial-0003.parquet      step, regret, seconds, ...
    DIR/set-aside/...                                                what was damaged or made by other settings

Each file carries the fingerprint of all that its numbers depend on, the seeds, the versions and a checksum, and
is written under another name first: a file under its own name is complete. No comparison reads the timings.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import platform
from collections.abc import Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import polars as pl

from vbmle.common import parquet
from vbmle.common.files import whole_or_absent
from vbmle.experiments import InputError
from vbmle.experiments.recent import Recent
from vbmle.experiments.records import Record
from vbmle.experiments.resume_key import code_version, version_of
from vbmle.experiments.spec import Experiment, Trial, folder_name

FORMAT = "vbmle-record-3"
"""Since 2 there is a column `trouble`; since 3 the checksum covers all that is read."""

UNREADABLE = (
    *(pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError, KeyError),
    *(TypeError, AttributeError, RecursionError, MemoryError, OverflowError),
)
"""What reading a damaged file may raise."""

FOREIGN = "other settings, or made by another version of the code"
OLD = "the format of an earlier version of vbmle"

EARLIER = ("vbmle-record-1", "vbmle-record-2")


class DamagedError(ValueError):
    """A file that cannot be read, or whose numbers are not those that were written."""


class ForeignError(ValueError):
    """A record of something else."""


class OldError(ForeignError):
    """A record in a format that is no longer read."""


class Store:
    """The records of one experiment in a folder; those in `recent` are not read again."""

    def __init__(
        self, folder: Path, experiment: Experiment, code: str | None = None, recent: Recent | None = None
    ) -> None:
        self.folder = folder
        self.experiment = experiment
        self.code = code or code_version()
        self.home = folder / "records" / folder_name(experiment.name)
        self._recent = recent
        self._folders: dict[tuple[str, str], Path] = {}

    def path(self, trial: Trial) -> Path:
        key = trial.world, trial.agent
        if key not in self._folders:
            self._folders[key] = self.home / folder_name(trial.world) / folder_name(trial.agent)
        return self._folders[key] / f"trial-{trial.index:04d}.parquet"

    @cached_property
    def _digest(self) -> str:
        """Of the spec, which thousands of records name."""
        return self.experiment.digest()

    def begin(self) -> None:
        """Write down what is about to be run."""
        note = {
            "format": FORMAT,
            "code": self.code,
            "about": about(),
            "experiment": msgspec.to_builtins(self.experiment),
        }
        try:
            self.home.mkdir(parents=True, exist_ok=True)
            with whole_or_absent(self.home / "experiment.json") as aside:
                aside.write_text(json.dumps(note, indent=1), encoding="utf-8")
        except OSError as error:
            raise InputError(f"--out {self.folder}: cannot write there ({error.strerror})") from None

    def write(self, record: Record) -> None:
        """Keep a record: aside first, then under its name."""
        trial, path = record.trial, self.path(record.trial)
        meta = {
            "format": FORMAT,
            "spec": self._digest,
            "code": self.code,
            "fingerprint": trial.fingerprint(self.code),
            "trial": msgspec.to_builtins(trial),
            "seeds": trial.seeds(),
            "facts": record.facts,
            "about": record.about or about(),
            "checksum": _checksum(trial.steps, record.columns, record.facts),
        }
        path.parent.mkdir(parents=True, exist_ok=True)
        frame = pl.DataFrame({"step": trial.steps, **record.columns})
        # in memory first: after an interrupt a thread of polars may go on writing
        content = io.BytesIO()
        frame.write_parquet(content, metadata={"vbmle": json.dumps(meta)})
        with whole_or_absent(path) as aside:
            aside.write_bytes(content.getvalue())
        if self._recent is not None:
            self._recent.add(path, self.code, record)

    def read(self, trial: Trial) -> Record:
        """The record of a trial; DamagedError, ForeignError or OldError if what is there is not it."""
        path = self.path(trial)
        known = self._recent.get(path, self.code, trial) if self._recent else None
        if known is not None:
            return known
        try:
            frame, noted = parquet.read(path)
            meta = json.loads(noted["vbmle"])
            form, fingerprint, checksum = meta["format"], meta["fingerprint"], meta["checksum"]
            facts = _facts(meta["facts"])
            columns = {name: _numbers(frame[name]) for name in frame.columns if name != "step"}
            steps = _numbers(frame["step"])
            found = _checksum(steps, columns, facts)
        except UNREADABLE as error:
            raise DamagedError(f"{path} is damaged ({type(error).__name__})") from None
        if form != FORMAT and form in EARLIER:
            raise OldError(f"{path}: {OLD} ({form}, not {FORMAT})")
        if form != FORMAT or checksum != found:
            raise DamagedError(f"{path} is damaged (its numbers do not match their checksum)")
        if fingerprint != trial.fingerprint(self.code) or not np.array_equal(steps, trial.steps):
            raise ForeignError(f"{path}: {FOREIGN}")
        return Record(trial, columns, facts)

    def missing(self) -> tuple[list[Trial], list[str]]:
        """The trials without a record, and lines about what had to be set aside because it is not theirs."""
        trials, lines, foreign, old = [], [], 0, 0
        for trial in self.experiment.all_trials():
            if self.path(trial).exists():
                try:
                    self.read(trial)
                    continue
                except OldError:
                    old += 1
                except ForeignError:
                    foreign += 1
                except DamagedError as error:
                    lines.append(f"{error}: set aside and run again")
                self._set_aside(self.path(trial))
            trials.append(trial)
        for count, reason in ((old, f"in {OLD}"), (foreign, f"with {FOREIGN}")):
            if count:
                aside = self.folder / "set-aside"
                lines.append(f"records {reason}: {count}, set aside in {aside} and run again")
        return trials, lines

    def _set_aside(self, path: Path) -> None:
        """Move a file out of the way; nothing is overwritten."""
        target = self.folder / "set-aside" / path.relative_to(self.folder / "records")
        target.parent.mkdir(parents=True, exist_ok=True)
        count = 0
        while target.exists():
            count += 1
            target = target.with_name(f"{path.stem}-{count}{path.suffix}")
        os.replace(path, target)


@cache
def about() -> dict[str, str]:
    """Versions and machine."""
    found = {name: version_of(name) for name in ("vbmle", "numpy", "scipy", "polars")}
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors"
    return found | {"python": platform.python_version(), "machine": machine}


def _facts(given: Any) -> dict[str, float]:
    """What is known about a world: numbers by name."""
    if not isinstance(given, dict) or not all(type(value) in (int, float) for value in given.values()):
        raise ValueError("facts are no numbers by name")
    return given


def _numbers(column: pl.Series) -> Any:
    """A column of numbers, none of them missing."""
    if not column.dtype.is_numeric() or column.null_count():
        raise ValueError(f"the column {column.name} holds {column.dtype}")
    return column.to_numpy()


def _checksum(steps: Any, columns: Mapping[str, Any], facts: Mapping[str, float]) -> str:
    """Of all that is read."""
    total = hashlib.sha256(json.dumps(dict(facts), sort_keys=True).encode())
    for name, column in {"step": steps, **columns}.items():
        total.update(name.encode() + b"\0" + np.ascontiguousarray(column, dtype=np.float64).tobytes())
    return total.hexdigest()
