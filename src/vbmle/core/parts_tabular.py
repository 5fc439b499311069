"""Parts of reward-biased rows that only tests reach: one pair in closed form."""

from __future__ import annotations

from ctypes import POINTER, byref, c_double, c_int32, c_int64, c_void_p

import numpy as np

from vbmle.core.library import check, declare
from vbmle.core.memory import Floats, floats

_pair = declare("vb_part_biased_pair", c_int32, c_int64, c_void_p, c_void_p, c_double, c_void_p)
_score = declare(
    "vb_part_pair_score", c_int32, c_int64, c_void_p, c_void_p, c_double, c_void_p, POINTER(c_double)
)


def biased_pair(counts: Floats, gain: Floats, weight: float) -> Floats:
    """The distribution p that maximises sum counts log p + weight <p, gain>."""
    p = np.empty(len(counts))
    check(_pair(len(counts), floats(counts), floats(gain, len(counts)), weight, floats(p)))
    return p


def pair_score(counts: Floats, gain: Floats, weight: float, p: Floats) -> float:
    """sum counts log(p / frequency) + weight <p, gain>."""
    score = c_double()
    n = len(counts)
    check(_score(n, floats(counts), floats(gain, n), weight, floats(p, n), byref(score)))
    return score.value
