"""The folder of a server: one database with everything that matters, snapshots beside it, and a lock.

events.db     models and events (SQLite; with -wal and -shm beside it while in use)
snapshots/    agents and loops as they were at some event: may be deleted at any time
lock          held by the server that runs on the folder
"""

from __future__ import annotations

import fcntl
import os
import pwd
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from vbmle.common.validation import InputError
from vbmle.serve.crash_points import passing

FORMAT = 1
"""Of the database; written as its user_version. A later version of vbmle reads every earlier format."""

CHECKED_BYTES = 256 * 2**20
"""A database up to this size is checked from end to end at every start; of a larger one, what is read."""

BUSY_SECONDS = 30.0
CHUNK_BYTES = 2**20

REMEDY = "vbmle check FOLDER says what is wrong and may mend it; else restore your last backup of the folder"

PRIVATE = 0o600
"""Of every file: for the user that the server runs as, and for nobody else."""

UNREADABLE = (sqlite3.DatabaseError, UnicodeDecodeError)
"""What SQLite raises for a database that is damaged: its own errors, or one about the text of such an error."""

SCHEMA = """
CREATE TABLE models (
    name TEXT PRIMARY KEY, fingerprint TEXT NOT NULL, time REAL NOT NULL, npz BLOB NOT NULL
) WITHOUT ROWID;
CREATE TABLE events (
    seq INTEGER PRIMARY KEY, loop TEXT NOT NULL, kind TEXT NOT NULL, time REAL NOT NULL, key TEXT,
    body BLOB NOT NULL, chain BLOB NOT NULL
);
CREATE INDEX events_of_a_loop ON events (loop, seq);
CREATE UNIQUE INDEX once ON events (loop, kind, key) WHERE key IS NOT NULL;
CREATE TRIGGER events_stay BEFORE UPDATE ON events BEGIN SELECT RAISE(ABORT, 'events are never changed'); END;
CREATE TRIGGER events_last BEFORE DELETE ON events BEGIN SELECT RAISE(ABORT, 'events are never deleted'); END;
"""


class Folder:
    """An open folder, locked against a second server. The lock ends with `close`, or with the process."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.snapshots = self.path / "snapshots"
        self.database = self.path / "events.db"
        self._damaged = False
        try:
            self.snapshots.mkdir(parents=True, exist_ok=True)
            self._lock = hold(self.path)
            self._open()
        except OSError as error:
            if error.filename == str(self.database):
                raise not_writable(self.database, str(error.strerror)) from error
            raise InputError(
                f"cannot write in {self.path} ({error.strerror}); it needs a folder of its own"
            ) from error

    def _open(self) -> None:
        try:
            passing("folder locked")
            # SQLite would ask the umask. It stays open as long as any connection: closing it would end their locks.
            self._file = os.open(self.database, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE)
        except BaseException:
            os.close(self._lock)
            raise
        try:
            self._keep_private()
            self._prepare()
        except BaseException:
            self.close()
            raise

    def _keep_private(self) -> None:
        """Take from everybody else what they may do with the folder and with what is in it, also after a restore."""
        files = (self.path / "lock", *self.path.glob("events.db*"), *self.snapshots.glob("*.npz"))
        for path in (self.path, self.snapshots, *files):
            with suppress(PermissionError):  # it belongs to somebody else, who has let this process in
                mode = path.stat().st_mode & 0o777
                if mode & 0o077:
                    path.chmod(mode & 0o700)

    @classmethod
    def read_only(cls, path: Path) -> Folder:
        """A folder that this process only reads, whoever holds it; there is nothing to close."""
        folder = cls.__new__(cls)
        folder.path, folder.snapshots, folder.database = path, path / "snapshots", path / "events.db"
        return folder

    def _prepare(self) -> None:
        """The database as this version of vbmle wants it: made, checked, or refused."""
        connection: sqlite3.Connection | None = None
        try:
            connection = self.connect()
            (found,) = connection.execute("PRAGMA user_version").fetchone()
            if found > FORMAT:
                raise InputError(
                    f"{self.database} has format {found}, but this version of vbmle knows formats up to {FORMAT}; "
                    "install the version that wrote it, or a later one"
                )
            if found == 0:
                self._make(connection)
            self._check(connection)
        except (*UNREADABLE, MemoryError) as error:
            if is_complaint(error) and not self.is_damaged():
                raise self._not_now(error) from error
            raise unreadable(self.database, error) from error
        finally:
            if connection is not None:
                connection.close()

    def _not_now(self, error: object) -> InputError:
        text = " ".join(str(error).split())
        return InputError(
            f"cannot read {self.database} ({text}); see whether its disk works, then start again"
        )

    def is_damaged(self) -> bool:
        """A second look at what SQLite complained of: it calls damaged, too, what a disk did not give it."""
        if not self._damaged and self._is_legible():
            try:
                with closing(self.connect()) as connection:
                    self._damaged = connection.execute("PRAGMA integrity_check(1)").fetchone() != ("ok",)
            except (*UNREADABLE, MemoryError) as error:
                self._damaged = not passes(error)
        return self._damaged

    def _is_legible(self) -> bool:
        """Whether the disk gives every byte."""
        try:
            at = 0
            while part := os.pread(self._file, CHUNK_BYTES, at):
                at += len(part)
        except OSError:
            return False
        return True

    def _make(self, connection: sqlite3.Connection) -> None:
        """All tables in one transaction: after a crash there are all or none."""
        connection.execute("BEGIN IMMEDIATE")
        statements = SCHEMA.strip().split(";\n")
        for number, statement in enumerate(statements):
            connection.execute(statement)
            if number == 0:
                passing("schema half made")
        connection.execute(f"PRAGMA user_version = {FORMAT}")
        connection.execute("COMMIT")
        for place in (self.path, self.path.absolute().parent):
            sync_folder(place)
        passing("schema made")

    def _check(self, connection: sqlite3.Connection) -> None:
        if self.database.stat().st_size > CHECKED_BYTES:
            return
        (verdict,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
        if verdict != "ok" and not self.is_damaged():
            raise self._not_now(verdict)
        if verdict != "ok":
            raise InputError(f"{self.database} is damaged ({' '.join(verdict.split())}); {REMEDY}")

    def connect(self, patience: float = BUSY_SECONDS) -> sqlite3.Connection:
        """A connection on which a commit returns when the data are on disk; it waits so long for others' locks."""
        connection = sqlite3.connect(
            self.database, timeout=patience, isolation_level=None, check_same_thread=False
        )
        try:
            # With NORMAL a commit may vanish in a power cut.
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
        except BaseException:
            connection.close()
            raise
        return connection

    def close(self) -> None:
        """Give the lock back, when no connection is open any more."""
        os.close(self._file)
        os.close(self._lock)


def hold(path: Path) -> int:
    """The lock of a folder, as an open file: it is given back when that is closed, or the process ends."""
    lock = os.open(path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.ftruncate(lock, 0)
        os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
    except BlockingIOError:
        holder = os.pread(lock, 32, 0).decode(errors="replace").strip() or "unknown"
        os.close(lock)
        raise InputError(
            f"{path} is in use by another server (process {holder}); stop it, or choose another folder"
        ) from None
    except BaseException:
        os.close(lock)
        raise
    return lock


def unreadable(database: Path, error: Exception) -> InputError:
    """One line about a database that cannot be used."""
    text = " ".join(str(error).split())
    if code_of(error) in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN):
        return not_writable(database, text)
    if code_of(error) == sqlite3.SQLITE_FULL:
        return InputError(f"cannot write {database} ({text}); free some space on its disk")
    if passes(error):
        return InputError(f"cannot read {database} ({text}); see whether its disk works, then start again")
    return InputError(f"{database} is damaged or no database ({text}); {REMEDY}")


def not_writable(path: Path, text: str) -> InputError:
    """One line about a file that this process may not write: whose it is, and who should have it."""
    here, home = os.geteuid(), path.parent
    with suppress(OSError):
        if (owner := path.stat().st_uid) != here:
            return InputError(
                f"cannot write {path} ({text}): it belongs to {_user(owner)}, and the server runs as {_user(here)}; "
                f"chown --reference={home} {path}"
            )
    return InputError(f"cannot write {path} ({text}); make the folder and its files writable")


def _user(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"user {number}"


PASSING = frozenset(
    {
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_INTERRUPT,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_PROTOCOL,
    }
)
"""What SQLite says about the machine, and not about what is in the database."""


def passes(error: Exception) -> bool:
    """Whether an error may be gone when it is tried again: the machine is short of something, nothing is damaged."""
    return code_of(error) in PASSING or isinstance(error, MemoryError)


def is_complaint(error: Exception) -> bool:
    """Whether SQLite complains of what is in the database."""
    return code_of(error) in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def code_of(error: Exception) -> int:
    """SQLite's primary code for what went wrong; 0 for an error that is none of SQLite's."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def sync_folder(path: Path) -> None:
    """Have the names in a folder on disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
