"""Loads the compiled core."""

from __future__ import annotations

import ctypes
import os
from typing import Any

lib = ctypes.CDLL(os.environ["VBMLE_LIBRARY"])


def declare(name: str, restype: Any, *argtypes: Any) -> Any:
    """A function of the core with its types."""
    function = getattr(lib, name)
    function.restype, function.argtypes = restype, list(argtypes)
    return function


def check(status: int) -> None:
    """Raise where a call was refused."""
    if status >= 20:
        raise ValueError(f"core status {status}")
