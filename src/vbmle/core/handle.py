"""Objects of the core, and who frees them."""

from __future__ import annotations

from collections.abc import Callable
from ctypes import byref, c_void_p
from typing import Any

from vbmle.core.library import check


class Handle:
    """One object of the core, freed when it goes.

    Views must hold this, never the wrapper that holds the views: NumPy's arrays take no part in garbage collection, so
    that such a circle would never be freed.
    """

    __slots__ = ("_free", "_kept", "address")

    def __init__(
        self, new: Callable[..., int], free: Callable[[int], None], kept: object, *arguments: Any
    ) -> None:
        """`new(*arguments, out)` makes it; `kept` is what it uses and must outlive it."""
        self.address: int | None = None
        made = c_void_p()
        check(new(*arguments, byref(made)))
        self.address, self._free, self._kept = made.value, free, kept

    def __del__(self) -> None:
        if self.address:
            self._free(self.address)
