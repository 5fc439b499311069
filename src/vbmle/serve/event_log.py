"""The append-only table of events: one writer, and commits that many requests share.

`append` gives an event its number at once and returns; `settled` waits until everything appended so far is on disk.
What has gathered by the end of a turn of the event loop is a batch, which a thread commits in one transaction (one
fsync). What gathers in the meantime is the next batch. Commits are in order, so what is on disk is always a beginning
of what was appended.

Where a commit fails, everything appended since the last good one is forgotten, and whoever waits is told: the log is as
it is on disk, its readers must read it again (`on_failure`), and it takes nothing until they have (`begin_anew`).
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from itertools import chain
from queue import SimpleQueue
from time import perf_counter
from typing import Any, NamedTuple

import msgspec

from vbmle.serve import events
from vbmle.serve.clock import Clock
from vbmle.serve.crash_points import passing
from vbmle.serve.events import AnyEvent, Entry
from vbmle.serve.folder import FORMAT, REMEDY, Folder, code_of, is_complaint, passes, unreadable

INSERT_MODEL = "INSERT INTO models (name, fingerprint, time, npz) VALUES (?, ?, ?, ?)"
INSERTED_AT_ONCE = 64
"""Events in one statement: a thread in a statement wants the interpreter once at its end, not once for every event."""

READER_SECONDS = 0.2
"""For which the event loop may wait for a lock: reading meets one in rare moments, and nobody is answered then."""

READ_AT_ONCE = 1000
NAMES = """
WITH RECURSIVE names(name) AS (
    SELECT min(loop) FROM events
    UNION ALL SELECT (SELECT min(loop) FROM events WHERE loop > name) FROM names WHERE name IS NOT NULL
) SELECT name FROM names WHERE name IS NOT NULL
"""
"""The loops that have events: one step in the index for each, however many events they have."""
COLUMNS = "seq, time, CAST(body AS BLOB), chain, kind, key"
UNREADABLE = (sqlite3.DatabaseError, UnicodeDecodeError, msgspec.MsgspecError)
"""What SQLite and the decoder of events raise for what was not written by us."""


Check = tuple[bytes, str, str | None]
"""Of an event: its hash, its kind and its key, which has columns of their own."""


class StorageError(Exception):
    """What was asked for could not be written down; the message is one line."""

    status = 503


class DiskFull(StorageError):
    """There is no room for it."""

    status = 507


class DamagedLog(Exception):
    """What is on disk is not what was written; the message is one line."""


class StoredEvent(NamedTuple):
    """An event in the columns of its table."""

    seq: int
    loop: str
    kind: str
    time: float
    key: str | None
    body: bytes
    chain: bytes


class Raw(NamedTuple):
    """An event as it is stored: its body is JSON."""

    seq: int
    time: float
    kind: str
    body: bytes


@dataclass(eq=False)
class Batch:
    """What one commit brings to disk, and those who wait for it."""

    events: list[StoredEvent] = field(default_factory=list)
    models: list[tuple[object, ...]] = field(default_factory=list)
    done: asyncio.Event = field(default_factory=asyncio.Event)
    error: Exception | None = None

    def __bool__(self) -> bool:
        return bool(self.events or self.models)


@dataclass
class Written:
    """What the disk has done so far."""

    commits: int = 0
    events: int = 0
    seconds: float = 0.0
    failures: int = 0


class EventLog:
    """The events of one folder. All methods are for the thread of the event loop, `read` excepted."""

    def __init__(self, folder: Folder, clock: Clock) -> None:
        self.folder, self.clock = folder, clock
        self.written = Written()
        self.trouble: str | None = None
        self.on_commit: Callable[[dict[str, int]], None] = lambda last: None
        self.on_failure: Callable[[], None] = lambda: None
        try:
            self._reader, self._writer = folder.connect(READER_SECONDS), folder.connect()
        except UNREADABLE as error:
            raise unreadable(folder.database, error) from error
        self._loop = asyncio.get_running_loop()
        self._open, self._last = Batch(), Batch()
        self._under_way: Batch | None = None
        self._lost: StorageError | None = None  # why the end of the log has to be found again
        self._handed_over: SimpleQueue[Batch | None] = SimpleQueue()
        self._heads: dict[str, bytes] = {}
        self._seq = self._last_seq()
        self._thread = threading.Thread(target=self._commit_for_ever, name="vbmle-commits", daemon=True)
        self._thread.start()

    @classmethod
    def reading(cls, folder: Folder) -> EventLog:
        """The events of a folder that another process writes; what writes is missing."""
        log = cls.__new__(cls)
        log.folder, log._reader = folder, folder.connect()
        return log

    def _last_seq(self) -> int:
        ((found,),) = self._rows("SELECT max(seq) FROM events")
        return found or 0

    def _rows(self, query: str, given: tuple[object, ...] = ()) -> list[tuple[Any, ...]]:
        try:
            return self._reader.execute(query, given).fetchall()
        except (*UNREADABLE, MemoryError) as error:
            raise self._trouble("its events cannot be read", error) from error

    def _trouble(self, what: str, error: Exception) -> DamagedLog | StorageError:
        """What an error while reading means: that something is damaged, or that it cannot be read for now."""
        if passes(error) or (is_complaint(error) and not self.folder.is_damaged()):
            return StorageError(
                f"{self.folder.database}: {what} for now ({_text(error)}); send the request again"
            )
        return damaged(self.folder, f"{what}: {error}")

    def _entry(self, row: tuple[Any, ...]) -> Entry:
        try:
            return Entry(row[0], row[1], events.decode(row[2]), row[3])
        except UNREADABLE as error:
            raise damaged(self.folder, f"event {row[0]} cannot be read: {error}") from error

    def append(self, loop: str, event: AnyEvent) -> Entry:
        """Give the event the next number. It is on disk when `settled` returns; StorageError before `begin_anew`."""
        self._require_known()
        seq, now, body = self._seq + 1, self.clock.wall(), events.encode(event)
        check = events.chained(self.head(loop), seq, now, body)
        self._seq, self._heads[loop] = seq, check
        self._gathering().events.append(StoredEvent(seq, loop, event.kind, now, event.key, body, check))
        return Entry(seq, now, event, check)

    def append_model(self, name: str, fingerprint: str, npz: bytes) -> None:
        """Keep a model. It is on disk when `settled` returns; StorageError before `begin_anew`."""
        self._require_known()
        self._gathering().models.append((name, fingerprint, self.clock.wall(), npz))

    async def settled(self) -> None:
        """Wait until all that has been appended is on disk; StorageError where it could not be written."""
        self._require_known()
        batch = self._last
        await batch.done.wait() if batch else None
        if batch.error is not None:
            raise not_recorded(batch.error)

    def _require_known(self) -> None:
        if self._lost is not None:
            raise StorageError(str(self._lost))

    def begin_anew(self) -> None:
        """After a failure: go on after what is on disk. StorageError where that cannot be read for now."""
        if self._lost is not None:
            self._seq, self._heads = self._last_seq(), {}
            self._lost = None

    def head(self, loop: str) -> bytes:
        """The check of the last event of a loop."""
        if loop not in self._heads:
            row = self._rows("SELECT chain FROM events WHERE loop = ? ORDER BY seq DESC LIMIT 1", (loop,))
            self._heads[loop] = row[0][0] if row else b""
        return self._heads[loop]

    def _gathering(self) -> Batch:
        """The batch for what is appended now."""
        if not self._open and self._under_way is None:
            self._loop.call_soon(self._hand_over)
        self._last = self._open
        return self._open

    def _hand_over(self) -> None:
        """Give the thread what has gathered, unless it has something."""
        if self._open and self._under_way is None:
            self._under_way, self._open = self._open, Batch()
            self._handed_over.put(self._under_way)

    def _commit_for_ever(self) -> None:
        while (batch := self._handed_over.get()) is not None:
            begun = perf_counter()
            batch.error = self._commit(batch)
            self._loop.call_soon_threadsafe(self._committed, batch, perf_counter() - begun)

    def _commit(self, batch: Batch) -> Exception | None:
        """Write a batch. Whatever goes wrong is for those who wait: this thread must not end."""
        try:
            self._roll_back()
            self._writer.execute("BEGIN IMMEDIATE")
            passing("batch begun")
            if batch.models:
                self._writer.executemany(INSERT_MODEL, batch.models)
            for first in range(0, len(batch.events), INSERTED_AT_ONCE):
                insert(self._writer, batch.events[first : first + INSERTED_AT_ONCE])
            if not batch:  # a probe: write something that changes nothing
                self._writer.execute(f"PRAGMA user_version = {FORMAT}")
            passing("batch inserted")
            self._writer.execute("COMMIT")
            passing("batch committed")
        except Exception as error:
            with suppress(Exception):  # what cannot be taken back now is taken back before the next batch
                self._roll_back()
            return error
        return None

    def _roll_back(self) -> None:
        if self._writer.in_transaction:
            self._writer.execute("ROLLBACK")

    def _committed(self, batch: Batch, seconds: float) -> None:
        """Back in the thread of the event loop."""
        self.trouble = None if batch.error is None else str(not_recorded(batch.error))
        self._under_way = None
        if batch.error is None:
            self._hand_over()
            self.written.commits += 1
            self.written.events += len(batch.events)
            self.written.seconds += seconds
            batch.done.set()
            self.on_commit({event.loop: event.seq for event in batch.events})
            return
        later, self._open = self._open, Batch()  # it rests on what was not written
        self._last = Batch()
        later.error = batch.error
        if batch or later:
            self._lost = not_recorded(batch.error)
        batch.done.set()
        later.done.set()
        if batch or later:
            self.written.failures += 1
            self.on_failure()

    def probe(self) -> None:
        """After a failure, find out whether the disk takes something now, in case nobody asks what is not ready."""
        if self.trouble is not None and self._under_way is None and not self._open:
            self._under_way = Batch()
            self._handed_over.put(self._under_way)

    def lookup(self, loop: str, kind: str, key: str) -> Entry | None:
        """The one event of a kind for a key that is on disk, if there is one."""
        query = f"SELECT {COLUMNS} FROM events WHERE loop = ? AND kind = ? AND key = ?"
        rows = self._rows(query, (loop, kind, key))
        return self._entry(rows[0]) if rows else None

    def event(self, loop: str, seq: int) -> Entry | None:
        """The event with a number, if it is on disk and of that loop."""
        rows = self._rows(f"SELECT {COLUMNS} FROM events WHERE seq = ? AND loop = ?", (seq, loop))
        return self._entry(rows[0]) if rows else None

    def loops(self) -> list[str]:
        """All loops, in the order in which they were created; DamagedLog where one has no beginning."""
        first = "SELECT seq, kind FROM events WHERE loop = ? ORDER BY seq LIMIT 1"
        found = []
        for (name,) in self._rows(NAMES):
            for seq, kind in self._rows(first, (name,)):
                if kind != "created":
                    raise damaged(self.folder, f"event {seq} begins loop {name!r}, and is no such event")
                found.append((seq, name))
        return [name for _, name in sorted(found)]

    def models(self) -> dict[str, str]:
        """The models by name, with their fingerprints."""
        return dict(self._rows("SELECT name, fingerprint FROM models ORDER BY name"))

    def model(self, name: str) -> bytes | None:
        """The file of a model."""
        rows = self._rows("SELECT npz FROM models WHERE name = ?", (name,))
        return rows[0][0] if rows else None

    def read(self, loop: str, after: int = 0, check: bytes | None = None) -> Iterator[Entry]:
        """The events of a loop that are on disk, after a number, on a connection of its own: for any thread.

        With the `check` of the event before them, each is checked against those before it.
        """
        connection: sqlite3.Connection | None = None
        query = f"SELECT {COLUMNS} FROM events WHERE loop = ? AND seq > ? ORDER BY seq LIMIT ?"
        try:
            connection = self.folder.connect()
            while rows := connection.execute(query, (loop, after, READ_AT_ONCE)).fetchall():
                for seq, time, body, chain, kind, key in rows:
                    event = events.decode(body)
                    if check is not None:
                        expected = (events.chained(check, seq, time, body), event.kind, event.key)
                        check = _verified(loop, (chain, kind, key), expected, seq)
                    yield Entry(seq, time, event, chain)
                after = rows[-1][0]
        except (*UNREADABLE, MemoryError) as error:
            raise self._trouble(f"the events of loop {loop} cannot be read", error) from error
        finally:
            if connection is not None:
                connection.close()

    def raw(self, loop: str, after: int, count: int) -> list[Raw]:
        """The next events of a loop that are on disk, as they are stored; for any thread, like `read`."""
        query = "SELECT seq, time, kind, CAST(body AS BLOB) FROM events WHERE loop = ? AND seq > ? ORDER BY seq LIMIT ?"
        connection = self.folder.connect()
        try:
            return [Raw(*row) for row in connection.execute(query, (loop, after, count))]
        except UNREADABLE as error:
            raise damaged(self.folder, f"the events of loop {loop} cannot be read: {error}") from error
        finally:
            connection.close()

    def recent(self, loop: str, kind: str, count: int) -> list[Entry]:
        """The last events of a kind, the latest first."""
        query = f"SELECT {COLUMNS} FROM events WHERE loop = ? AND kind = ? ORDER BY seq DESC LIMIT ?"
        return [self._entry(row) for row in self._rows(query, (loop, kind, count))]

    def close(self) -> None:
        """Commit what is left, and let go of the database."""
        self._handed_over.put(None)
        self._thread.join()
        if self._open and (self._under_way is None or self._under_way.error is None):
            self._open.error = self._commit(self._open)
            self._open.done.set()
        self._reader.close()
        self._writer.close()


def insert(connection: sqlite3.Connection, stored: Sequence[StoredEvent]) -> None:
    """Events in one statement."""
    connection.execute(_insertion(len(stored)), list(chain.from_iterable(stored)))


@cache
def _insertion(count: int) -> str:
    marks = ", ".join(["(?, ?, ?, ?, ?, ?, ?)"] * count)
    return f"INSERT INTO events ({', '.join(StoredEvent._fields)}) VALUES {marks}"


def damaged(folder: Folder, what: str) -> DamagedLog:
    """One line about a database in which something is not as it was written."""
    return DamagedLog(f"{folder.database} is damaged ({' '.join(what.split())}); {REMEDY}")


def _verified(loop: str, found: Check, expected: Check, seq: int) -> bytes:
    if found != expected:
        raise DamagedLog(
            f"event {seq} of loop {loop} is not what was written: the database was changed or damaged; {REMEDY}"
        )
    return found[0]


CAUSES = {
    sqlite3.SQLITE_FULL: "the disk is full; free some space",
    sqlite3.SQLITE_READONLY: "the folder has become read-only; make it writable",
    sqlite3.SQLITE_CANTOPEN: "the folder has become read-only or is gone; make it writable",
    sqlite3.SQLITE_BUSY: "another program has locked the database; end that program",
    sqlite3.SQLITE_LOCKED: "another program has locked the database; end that program",
}


def not_recorded(error: Exception) -> StorageError:
    """One line about a commit that failed."""
    code = code_of(error)
    if code in CAUSES:
        text = f"nothing was recorded, because {CAUSES[code]}, then send the request again"
        return DiskFull(text) if code == sqlite3.SQLITE_FULL else StorageError(text)
    return StorageError(
        f"nothing was recorded, because the database cannot be written ({_text(error)}); see the log of the server"
    )


def _text(error: Exception) -> str:
    return "not enough memory" if isinstance(error, MemoryError) else " ".join(str(error).split())
