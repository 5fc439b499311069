"""What is loaded by path, from bytes, by way of a temporary file; `common.files.npz_of` goes the other way."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

Loaded = TypeVar("Loaded")


def from_npz_bytes(content: bytes, load: Callable[[Path], Loaded]) -> Loaded:
    """What `load(path)` makes of a file with that content."""
    with tempfile.TemporaryDirectory(prefix="vbmle-") as folder:
        path = Path(folder) / "content.npz"
        path.write_bytes(content)
        return load(path)
