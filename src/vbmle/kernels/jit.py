"""The one spelling of the decorator.

Numba's disk cache notices edits in a function's own file only, while our kernels call each other across
files. So the cache lives in a folder named after a hash of all kernel sources: any edit starts a new one.
Sums may be reassociated (this is what lets dot products use vector units); NaN and infinity keep their
meaning.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba

_HERE = Path(__file__).parent
_DIGEST = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(_HERE.glob("*.py")))).hexdigest()[:12]


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile `function` on first use and keep the result on disk."""
    chosen = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(Path(chosen or _HERE / "__pycache__") / f"kernels-{_DIGEST}")
    try:
        compiled = numba.njit(
            cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"}
        )(function)
    finally:
        numba.config.CACHE_DIR = chosen
    return compiled
