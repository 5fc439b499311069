"""NumPy arrays and the core's memory: addresses of ours, views of its."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, addressof, c_char, c_double, c_int64, c_void_p
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

Address = c_void_p
DoublePointer = POINTER(c_double)
IndexPointer = POINTER(c_int64)
_FLOAT, _INT, _SHORT = np.dtype(np.float64), np.dtype(np.int64), np.dtype(np.int32)
_first: Any = c_char.from_buffer
_KINDS: dict[Any, Any] = {
    np.float64: c_double,
    np.int64: c_int64,
    np.int32: ctypes.c_int32,
    np.uint8: ctypes.c_uint8,
}


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


def view(owner: object, address: int, kind: Any, shape: tuple[int, ...]) -> NDArray[Any]:
    """An array over memory of the core. It keeps the owner, and so the memory, alive."""
    count = int(np.prod(shape))
    if count == 0:
        return np.zeros(shape, kind)
    buffer = (_KINDS[kind] * count).from_address(address)
    buffer.owner = owner
    return np.frombuffer(buffer, dtype=kind).reshape(shape)


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
