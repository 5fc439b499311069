"""Mending a database of events: one that is made from what was found takes the place of the old one, which is kept."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing
from itertools import count
from pathlib import Path

from vbmle.common.validation import InputError
from vbmle.serve.check import Store, examine
from vbmle.serve.event_log import INSERT_MODEL, INSERTED_AT_ONCE, insert
from vbmle.serve.folder import FORMAT, PRIVATE, SCHEMA, hold, sync_folder


def mend(folder: Path) -> tuple[Store, Path | None]:
    """What is wrong, and where the original is kept if it was mended; None where nothing was changed.

    It is mended only if everything that is wrong has one possible mending, and nothing is wrong with what comes of it.
    """
    database = folder / "events.db"
    lock = hold(folder)
    try:
        store = examine(database)
        if store.sound or not store.mendable:
            return store, None
        made = folder / "events.db.mending"
        try:
            _write(store, made)
            after = examine(made)
            if not after.sound:
                store.find(f"after mending, something would still be wrong: {after.findings[0].what}")
                return store, None
            return store, _put_in_place(folder, database, made)
        finally:
            made.unlink(missing_ok=True)
    finally:
        os.close(lock)


def _write(store: Store, made: Path) -> None:
    """The new database, on disk."""
    made.unlink(missing_ok=True)
    os.close(os.open(made, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE))
    rows = sorted((row for rows in store.loops.values() for row in rows), key=lambda row: row.seq)
    try:
        with closing(sqlite3.connect(made, isolation_level=None)) as connection:
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("BEGIN IMMEDIATE")
            for statement in SCHEMA.strip().split(";\n"):
                connection.execute(statement)
            connection.executemany(INSERT_MODEL, store.models)
            for first in range(0, len(rows), INSERTED_AT_ONCE):
                insert(connection, rows[first : first + INSERTED_AT_ONCE])
            connection.execute(f"PRAGMA user_version = {FORMAT}")
            connection.execute("COMMIT")
            connection.execute("PRAGMA journal_mode = WAL")
    except sqlite3.Error as error:
        raise InputError(f"cannot write {made} ({error}); the database is as it was") from error


def _put_in_place(folder: Path, database: Path, made: Path) -> Path:
    """Keep the original, then let the new one have its name; whatever happens in between, one of them has it."""
    kept = next(path for path in (folder / f"before-mending-{n}" for n in count(1)) if not path.exists())
    kept.mkdir(mode=0o700)
    try:
        for path in folder.glob("events.db*"):
            if path != made and not path.name.endswith("-shm"):
                shutil.copy2(path, kept / path.name)
                with (kept / path.name).open("rb") as file:
                    os.fsync(file.fileno())
        sync_folder(kept)
        with closing(sqlite3.connect(database, isolation_level=None)) as connection:
            connection.execute(
                "PRAGMA wal_checkpoint(TRUNCATE)"
            )  # else what is in it would go into the new one
    except (OSError, sqlite3.Error) as error:
        raise InputError(
            f"cannot keep the original in {kept} ({error}); the database is as it was"
        ) from error
    for name in ("events.db-wal", "events.db-shm"):
        (folder / name).unlink(missing_ok=True)
    os.replace(made, database)
    sync_folder(folder)
    return kept
