"""Memory on both sides of the border: objects of the core, its arrays as NumPy's, and NumPy's arrays as its."""

from __future__ import annotations

import math
from ctypes import addressof, byref, c_char, c_void_p
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbmle.core.library import check, lib

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_FLOAT, _INT, _SHORT = np.dtype(np.float64), np.dtype(np.int64), np.dtype(np.int32)
_first: Any = c_char.from_buffer


class Handle:
    """One object of the core, freed when it goes.

    Arrays in its memory hold this, never the class that holds the arrays: NumPy's arrays take no part in garbage
    collection, so that such a circle would never be freed.
    """

    __slots__ = ("_free", "_kept", "_kind", "_library", "address")

    def __init__(self, kind: str, kept: object, *arguments: Any, library: Any = lib) -> None:
        """`vb_<kind>_new(*arguments, out)` makes it; `kept` is what it uses and must outlive it."""
        self.address: int | None = None
        self._kind, self._library = kind, library
        made = c_void_p()
        check(getattr(library, f"vb_{kind}_new")(*arguments, byref(made)))
        self._free = getattr(library, f"vb_{kind}_free")
        self.address, self._kept = made.value, kept

    def __del__(self) -> None:
        if self.address:
            self._free(self.address)

    def look(self, view: Any) -> Any:
        """Fill a `vb_<kind>_view` with where its memory lies, and return it."""
        check(getattr(self._library, f"vb_{self._kind}_look")(self.address, view))
        return view

    def arrays(self, view: Any, **shapes: tuple[int, ...]) -> dict[str, NDArray[Any]]:
        """The arrays of a view, by name. They keep the object alive, and writing them writes the core's memory."""
        return {name: self._array(view, name, shape) for name, shape in shapes.items()}

    def _array(self, view: Any, name: str, shape: tuple[int, ...]) -> NDArray[Any]:
        kind, count = np.dtype(view.arrays[name]), math.prod(shape)
        if count == 0:
            return np.zeros(shape, kind)
        buffer = (c_char * (count * kind.itemsize)).from_address(getattr(view, name))
        buffer.owner = self
        return np.frombuffer(buffer, kind).reshape(shape)


class Stateful:
    """An object of the core whose state is arrays in its memory, by name: all that its next call depends on."""

    _state: dict[str, NDArray[Any]]

    def snapshot(self) -> dict[str, NDArray[Any]]:
        """What `restore` continues from: copies."""
        return {name: array.copy() for name, array in self._state.items()}

    def restore(self, snapshot: dict[str, NDArray[Any]]) -> None:
        """Continue from a snapshot of such an object on the same model."""
        for name, array in self._state.items():
            array[...] = snapshot[name]


def floats(array: Floats, *shape: int) -> int:
    """The address of a contiguous array of doubles; with a shape, that shape is required."""
    return _address(array, _FLOAT, shape)


def ints(array: Ints, *shape: int) -> int:
    """The address of a contiguous array of 64-bit whole numbers."""
    return _address(array, _INT, shape)


def short_ints(array: NDArray[np.int32], *shape: int) -> int:
    """The address of a contiguous array of 32-bit whole numbers."""
    return _address(array, _SHORT, shape)


def _address(array: NDArray[Any], kind: np.dtype[Any], shape: tuple[int, ...]) -> int:
    if array.dtype != kind or not array.flags.c_contiguous or (shape and array.shape != shape):
        wanted = f"{kind} of shape {shape}" if shape else str(kind)
        raise ValueError(
            f"an array of {array.dtype} and shape {array.shape} was given; the core needs a contiguous {wanted}"
        )
    return address(array)


def address(array: NDArray[Any]) -> int:
    """The address of an array that is known to be as the core needs it."""
    try:
        return addressof(_first(array))
    except (TypeError, ValueError):  # read-only, or empty: the way that takes four times as long
        return int(array.ctypes.data)


def shown(array: NDArray[Any]) -> NDArray[Any]:
    """The same memory to look at: for what the core relies on, and users see."""
    out = array.view()
    out.flags.writeable = False
    return out


class Remembered:
    """The address of an array of doubles, looked up once as long as it is the same array: that costs a microsecond."""

    __slots__ = ("_address", "_array", "_shape")

    def __init__(self, *shape: int) -> None:
        self._shape, self._address = shape, 0
        self._array: Floats | None = None

    def of(self, array: Floats) -> int:
        """The address; the array is kept, so that no other can take its place."""
        if array is not self._array:
            self._address, self._array = floats(array, *self._shape), array
        return self._address
