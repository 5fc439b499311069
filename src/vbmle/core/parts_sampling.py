"""Parts of the sampler that only tests reach: the ends of a slice."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, byref, c_double, c_int32, c_int64, c_void_p

import numpy as np

from vbmle.core.library import check, declare
from vbmle.core.memory import Floats, floats


class _Slice(ctypes.Structure):
    """`vb_part_slice` of vbmle.h."""

    _fields_ = (
        ("count", c_int64),
        ("weight", c_void_p),
        ("ratio", c_void_p),
        ("level", c_double),
        ("sign", c_double),
        ("bound", c_double),
    )


_excess = declare("vb_part_excess", c_int32, c_int64, c_void_p, c_void_p, c_double, c_double, c_void_p)
_crossing = declare("vb_part_crossing", c_int32, POINTER(_Slice), POINTER(c_double))


def excess(weight: Floats, ratio: Floats, t: float, level: float) -> tuple[float, float]:
    """sum weight log(1 + t ratio) - level, and its derivative at t."""
    out = np.empty(2)
    check(_excess(len(weight), floats(weight), floats(ratio, len(weight)), t, level, floats(out)))
    return float(out[0]), float(out[1])


def crossing(weight: Floats, ratio: Floats, level: float, sign: float, bound: float) -> float:
    """How far towards sign that sum stays above the level, at most `bound`."""
    found = c_double()
    given = _Slice(len(weight), floats(weight), floats(ratio, len(weight)), level, sign, bound)
    check(_crossing(byref(given), byref(found)))
    return found.value
