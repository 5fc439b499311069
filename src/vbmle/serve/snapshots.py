"""Snapshots: a loop and its agent as they were at one event, so that starting need not read everything before it.

A snapshot is an .npz that is named after its loop, its event and the hash of its content. It is trusted only if the
content has that hash and if the log has an event of that number with the same check. So one that is damaged, half
written, or of another history (after a backup was restored) is passed over, and all of them may be deleted.
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from vbmle.common.files import UNREADABLE, load_npz, npz_of, path_aside
from vbmle.serve.crash_points import passing
from vbmle.serve.folder import PRIVATE, sync_folder
from vbmle.serve.ledger import Ledger, decode_ledger

FORMAT = "vbmle-snapshot-3"
"""Changes with what a snapshot holds; one of another format is passed over, and the log is read in its place."""

KEPT = 2
"""Of each loop: the latest, and one before it."""

NAME = re.compile(r"(?P<loop>.+)-(?P<seq>\d{12})-(?P<digest>[0-9a-f]{16})\.npz")


class Snapshot(NamedTuple):
    """A loop at one event, and the arrays of its learner."""

    ledger: Ledger
    arrays: dict[str, Any]


def write(folder: Path, name: str, seq: int, ledger: bytes, arrays: dict[str, Any]) -> Path:
    """Write a snapshot aside, have it on disk, give it its name, and remove those it replaces."""
    meta = np.frombuffer(msgspec.json.encode({"format": FORMAT}), np.uint8)
    whole = {"meta": meta, "state": np.frombuffer(ledger, np.uint8), **arrays}
    content = npz_of(whole)
    path = folder / f"{name}-{seq:012d}-{hashlib.sha256(content).hexdigest()[:16]}.npz"
    aside = path_aside(path)
    try:
        with open(aside, "wb", opener=_private) as file:
            half = len(content) // 2
            file.write(content[:half])
            file.flush()
            passing("snapshot half written")
            file.write(content[half:])
            file.flush()
            os.fsync(file.fileno())
        passing("snapshot written aside")
        os.replace(aside, path)
    finally:
        aside.unlink(missing_ok=True)
    sync_folder(folder)
    passing("snapshot in place")
    for old in found(folder, name)[KEPT:]:
        old.unlink(missing_ok=True)
        passing("old snapshot removed")
    return path


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, PRIVATE)


def found(folder: Path, name: str) -> list[Path]:
    """The snapshots of a loop, the latest first."""
    matches = [(NAME.fullmatch(path.name), path) for path in folder.glob("*.npz")]
    own = [(int(match["seq"]), path) for match, path in matches if match and match["loop"] == name]
    return [path for _, path in sorted(own, reverse=True)]


def read(path: Path) -> Snapshot | None:
    """The content of a snapshot, or None where it is not what its name says."""
    match = NAME.fullmatch(path.name)
    try:
        content = path.read_bytes()
        if match is None or hashlib.sha256(content).hexdigest()[:16] != match["digest"]:
            return None
        arrays, _ = load_npz(path, FORMAT, "a snapshot")
        ledger = decode_ledger(arrays.pop("state").tobytes())
    except (*UNREADABLE, msgspec.MsgspecError):
        return None
    return Snapshot(ledger, arrays) if ledger.seq == int(match["seq"]) else None


def remove_leftovers(folder: Path) -> None:
    """Delete what was being written when a process ended."""
    for path in folder.glob(".*.part"):
        path.unlink(missing_ok=True)
