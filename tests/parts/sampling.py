"""Parts of the sampler: the ends of a slice."""

from __future__ import annotations

from ctypes import byref, c_double

import numpy as np

from parts import lib
from parts.generated import vb_part_slice
from vbmle.core.library import Floats, check, floats


def excess(weight: Floats, ratio: Floats, t: float, level: float) -> tuple[float, float]:
    """sum weight log(1 + t ratio) - level, and its derivative at t."""
    out = np.empty(2)
    check(lib.vb_part_excess(len(weight), floats(weight), floats(ratio, len(weight)), t, level, floats(out)))
    return float(out[0]), float(out[1])


def crossing(weight: Floats, ratio: Floats, level: float, sign: float, bound: float) -> float:
    """How far towards sign that sum stays above the level, at most `bound`."""
    found = c_double()
    given = vb_part_slice(len(weight), floats(weight), floats(ratio, len(weight)), level, sign, bound)
    check(lib.vb_part_crossing(byref(given), byref(found)))
    return found.value
