"""Bytes of .npz files, by way of a temporary file: what is saved and loaded by path, sent and kept as bytes."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

Loaded = TypeVar("Loaded")


def npz_bytes(save: Callable[[Path], None]) -> bytes:
    """What `save(path)` writes."""
    with tempfile.TemporaryDirectory(prefix="vbmle-") as folder:
        path = Path(folder) / "content.npz"
        save(path)
        return path.read_bytes()


def from_npz_bytes(content: bytes, load: Callable[[Path], Loaded]) -> Loaded:
    """What `load(path)` makes of a file with that content."""
    with tempfile.TemporaryDirectory(prefix="vbmle-") as folder:
        path = Path(folder) / "content.npz"
        path.write_bytes(content)
        return load(path)
