"""The one spelling of the decorator.

Numba's disk cache notices edits in a function's own file only, while our kernels call each other across
files. So a file's kernels are cached in a folder named after a hash of that file and of all kernel files it
imports, directly or not: an edit starts a new one for whatever depends on it, and for nothing else.
Sums may be reassociated (this is what lets dot products use vector units), except in an `ordered_kernel`,
for sums too short to profit; NaN and infinity keep their meaning.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba

_HERE = Path(__file__).parent
_IMPORT = re.compile(r"^from vbmle\.kernels\.(\w+) import", re.MULTILINE)


FREE_SUMS = {"reassoc", "contract", "nsz"}


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile `function` on first use and keep the result on disk."""
    return _compiled(function, FREE_SUMS)


def ordered_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same, with sums in the order written: for a handful of terms setting up vectors costs more than it saves."""
    return _compiled(function, FREE_SUMS - {"reassoc"})


def _compiled(function: Callable[..., Any], fastmath: set[str]) -> Callable[..., Any]:
    chosen = numba.config.CACHE_DIR
    digest = _digest(function.__module__.rpartition(".")[2])
    numba.config.CACHE_DIR = str(Path(chosen or _HERE / "__pycache__") / f"kernels-{digest}")
    try:
        compiled = numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=fastmath)(function)
    finally:
        numba.config.CACHE_DIR = chosen
    return compiled


@cache
def _digest(name: str) -> str:
    """A hash of a kernel file, of this one, and of all kernel files it imports."""
    needed, waiting = {"jit"}, [name]
    while waiting:
        current = waiting.pop()
        if current not in needed:
            needed.add(current)
            waiting += _IMPORT.findall((_HERE / f"{current}.py").read_text())
    sources = [(_HERE / f"{needed_name}.py").read_bytes() for needed_name in sorted(needed)]
    return hashlib.sha256(b"".join(sources)).hexdigest()[:12]
