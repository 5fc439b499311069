"""The file that holds the records of a folder: DIR/records.sqlite, SQLite, written by one process.

    experiments   a row for each: its spec as it was last run, by which code, versions and machine
    records       a row for each trial: what it is of, what is known about it, its columns packed into one blob, and
                  what a longer run would go on from (`vbmle.experiments.continuing`)
    worlds        a row for each world that was measured (`vbmle.experiments.world_measures`)

A row is there as a whole or not at all, whatever ends the process, and others may read meanwhile. While a run writes
there are records.sqlite-wal and -shm beside the file; when it ends, the file is alone. A blob of columns holds 64-bit
floating-point numbers (little-endian), one column after the other in the order of `names`, compressed by zlib; a
checksum covers all that is read of a row.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from vbmle.common.validation import Floats
from vbmle.experiments import InputError

NAME = "records.sqlite"
FORMAT = 1
"""Of the file, its user_version: a file of another format is refused."""

BUSY_SECONDS = 60.0
"""How long those that read and the one that writes wait for each other."""

NUMBER = np.dtype("<f8")

SCHEMA = """
CREATE TABLE experiments (
    name TEXT PRIMARY KEY, spec TEXT NOT NULL, code TEXT NOT NULL, about TEXT NOT NULL, checksum BLOB NOT NULL
);
CREATE TABLE records (
    id INTEGER PRIMARY KEY,
    experiment TEXT NOT NULL, world TEXT NOT NULL, agent TEXT NOT NULL, trial INTEGER NOT NULL,
    key TEXT NOT NULL, horizon INTEGER NOT NULL,
    notes TEXT NOT NULL, names TEXT NOT NULL, columns BLOB NOT NULL, checksum BLOB NOT NULL, state BLOB,
    UNIQUE (experiment, world, agent, trial, key, horizon)
);
CREATE TABLE worlds (
    experiment TEXT NOT NULL, world TEXT NOT NULL, trial INTEGER NOT NULL, code TEXT NOT NULL, measures TEXT NOT NULL,
    checksum BLOB NOT NULL, PRIMARY KEY (experiment, world, trial)
);
"""
READ = "experiment, world, agent, trial, key, horizon, id, notes, names, columns, checksum"
WRITTEN = "experiment, world, agent, trial, key, horizon, notes, names, columns, checksum, state"

UNREADABLE = (sqlite3.Error, UnicodeError)
"""What SQLite raises about a file: its own errors, or one about the text of such an error."""


REMEDY = "put back a copy of it, or move it away and run again"


class DamagedError(ValueError):
    """A row whose content is not what was written."""


class Place(NamedTuple):
    """What a record is of: no two records have the same."""

    experiment: str
    world: str
    agent: str
    trial: int
    key: str
    """A hash of all that decides its numbers, but for the horizon."""
    horizon: int


class Row(NamedTuple):
    """A record as it is kept."""

    place: Place
    id: int
    notes: str
    """What is known about it, as JSON."""
    names: str
    """Of its columns, as JSON."""
    columns: bytes
    checksum: bytes

    @property
    def is_whole(self) -> bool:
        """Whether it is what was written."""
        written = isinstance(self.columns, bytes)
        return written and self.checksum == checksum(*self.place, self.notes, self.names, packed=self.columns)

    def content(self) -> tuple[dict[str, Any], dict[str, Floats]]:
        """The notes, and the columns by name; DamagedError where they are not what was written."""
        try:
            if not self.is_whole:
                raise ValueError
            names = json.loads(self.names)
            most = len(names) * self.place.horizon * NUMBER.itemsize
            table = np.frombuffer(_unpacked(self.columns, most), NUMBER).reshape(len(names), -1)
            return json.loads(self.notes), dict(zip(names, table, strict=True))
        except (ValueError, TypeError, zlib.error):
            where = "{}, world {}, agent {}, trial {}".format(*self.place)
            raise DamagedError(f"the record of {where} is damaged") from None


class Noted(NamedTuple):
    """What is known of an experiment."""

    name: str
    spec: str
    """As JSON."""
    code: str
    """The version of the sources that it was last run with."""
    about: str
    """Versions and machine, as JSON."""


class Measured(NamedTuple):
    """A world that was measured."""

    world: str
    trial: int
    code: str
    measures: str
    """Numbers by name, as JSON."""


def checksum(*values: str | int, packed: bytes = b"") -> bytes:
    """Of all that is read of a row."""
    return hashlib.sha256(json.dumps(values, default=repr).encode() + packed).digest()


def _unpacked(packed: bytes, most: int) -> bytes:
    """What was compressed; ValueError where it would be more than so many bytes."""
    reader = zlib.decompressobj()
    found = reader.decompress(packed, most + 1)
    if not reader.eof:
        raise ValueError(f"it would swell to more than {most} bytes")
    return found


class RecordFile:
    """A file of records that is open. What is wrong with it is an InputError in one line; a full disk is an OSError."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection

    def rows(self, experiment: str) -> list[Row]:
        """All records of an experiment."""
        found = self._read(f"SELECT {READ} FROM records WHERE experiment = ?", experiment)
        return [Row(Place(*row[:6]), *row[6:]) for row in found]

    def state(self, row: Row) -> bytes | None:
        """What a longer run of a record goes on from; None where it was not kept."""
        ((state,),) = self._read("SELECT state FROM records WHERE id = ?", row.id) or [(None,)]
        return state if isinstance(state, bytes) else None

    def experiments(self) -> list[Noted]:
        """All that have been run here."""
        rows = self._read("SELECT name, spec, code, about, checksum FROM experiments ORDER BY name")
        for *values, found in rows:
            if found != checksum(*values):
                raise InputError(f"{self.path} is damaged (the spec of {str(values[0])[:40]!r}); {REMEDY}")
        return [Noted(*row[:-1]) for row in rows]

    def worlds(self, experiment: str) -> list[Measured]:
        """The worlds of an experiment that were measured, but for damaged rows."""
        query = "SELECT world, trial, code, measures, checksum FROM worlds WHERE experiment = ?"
        rows = self._read(f"{query} ORDER BY world, trial", experiment)
        return [Measured(*values) for *values, found in rows if found == checksum(experiment, *values)]

    def note(self, noted: Noted) -> None:
        """Write down what is about to be run."""
        with self._writes():
            values = (*noted, checksum(*noted))
            self._connection.execute("INSERT OR REPLACE INTO experiments VALUES (?, ?, ?, ?, ?)", values)

    def add(
        self,
        place: Place,
        notes: Mapping[str, Any],
        columns: Mapping[str, Floats],
        state: bytes | None = None,
        instead_of: Iterable[Row] = (),
    ) -> None:
        """Keep a record, on disk when this returns; those that it contains go, in the same moment."""
        names, text = json.dumps(list(columns)), json.dumps(notes)
        packed = zlib.compress(np.stack([*columns.values()]).astype(NUMBER).tobytes(), 1)
        values = (*place, text, names, packed, checksum(*place, text, names, packed=packed), state)
        with self._writes():
            self._connection.executemany(
                "DELETE FROM records WHERE id = ?", [(row.id,) for row in instead_of]
            )
            marks = ", ".join("?" * len(values))
            self._connection.execute(f"INSERT OR REPLACE INTO records ({WRITTEN}) VALUES ({marks})", values)

    def add_world(self, experiment: str, measured: Measured) -> None:
        """Keep the measures of a world."""
        with self._writes():
            values = (experiment, *measured, checksum(experiment, *measured))
            self._connection.execute("INSERT OR REPLACE INTO worlds VALUES (?, ?, ?, ?, ?, ?)", values)

    def _read(self, query: str, *given: object) -> list[Any]:
        try:
            return self._connection.execute(query, given).fetchall()
        except UNREADABLE as error:
            raise refusal(self.path, error) from None

    @contextmanager
    def _writes(self) -> Iterator[None]:
        """All that the block writes is there afterwards, or nothing."""
        try:
            with self._connection:
                self._connection.execute("BEGIN IMMEDIATE")
                yield
        except sqlite3.OperationalError as error:
            raise OSError(str(error)) from None
        except UNREADABLE as error:
            raise refusal(self.path, error) from None


@contextmanager
def reading(folder: Path) -> Iterator[RecordFile]:
    """The file of a folder, to be read; InputError where there is none, or what is there cannot be read."""
    path = folder / NAME
    if not path.is_file():
        raise InputError(f"{folder}: there are no records (no {path})")
    with closing(_opened(path, "ro")) as connection:
        yield RecordFile(path, connection)


@contextmanager
def writing(folder: Path) -> Iterator[RecordFile]:
    """The file of a folder, made where it is missing, to be written by this process alone."""
    folder.mkdir(parents=True, exist_ok=True)
    connection = _opened(folder / NAME, "rwc")
    try:
        yield RecordFile(folder / NAME, connection)
    finally:
        _gather(connection)
        connection.close()


def _opened(path: Path, mode: str) -> sqlite3.Connection:
    """A connection to a file that is sound; `mode` is SQLite's, "ro" to read and "rwc" to make it and write."""
    address = f"{path.resolve().as_uri()}?mode={mode}"
    try:
        connection = sqlite3.connect(address, timeout=BUSY_SECONDS, isolation_level=None, uri=True)
    except UNREADABLE as error:
        raise refusal(path, error) from None
    try:
        # what is damaged is told by its checksum
        connection.text_factory = lambda text: text.decode("utf-8", "surrogateescape")
        if mode == "rwc":
            _prepare(connection)
        _require_sound(path, connection)
    except UNREADABLE as error:
        connection.close()
        raise refusal(path, error) from None
    except InputError:
        connection.close()
        raise
    return connection


def _prepare(connection: sqlite3.Connection) -> None:
    """Make the tables where there are none, and let others read while rows are written."""
    if not connection.execute("PRAGMA user_version").fetchone()[0]:
        with connection:
            connection.executescript(f"BEGIN IMMEDIATE; {SCHEMA} PRAGMA user_version = {FORMAT};")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")


def _require_sound(path: Path, connection: sqlite3.Connection) -> None:
    """Refuse a file of another format, and one whose parts do not fit together."""
    (found,) = connection.execute("PRAGMA user_version").fetchone()
    if found != FORMAT:
        raise InputError(
            f"{path} has format {found}, but this version of vbmle reads format {FORMAT}; "
            "use the version that wrote it, or choose another folder"
        )
    (verdict,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
    if verdict != "ok":
        raise sqlite3.DatabaseError(verdict)


def _gather(connection: sqlite3.Connection) -> None:
    """Bring all into the one file; where somebody reads there, the next run does it."""
    with suppress(sqlite3.Error):
        connection.execute("PRAGMA busy_timeout = 1000")
        connection.execute("PRAGMA journal_mode = DELETE")


def refusal(path: Path, error: Exception) -> InputError:
    """One line about a file that cannot be used."""
    text = " ".join(str(error).split())
    if isinstance(error, sqlite3.OperationalError):
        return InputError(f"cannot use {path} ({text}); is its folder writable, and is there space?")
    return InputError(f"{path} is damaged ({text}); {REMEDY}")
