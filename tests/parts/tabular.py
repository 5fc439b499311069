"""Parts of reward-biased rows: one pair in closed form."""

from __future__ import annotations

from ctypes import byref, c_double

import numpy as np

from parts import lib
from vbmle.core.library import Floats, check, floats


def biased_pair(counts: Floats, gain: Floats, weight: float) -> Floats:
    """The distribution p that maximises sum counts log p + weight <p, gain>."""
    p = np.empty(len(counts))
    check(lib.vb_part_biased_pair(len(counts), floats(counts), floats(gain, len(counts)), weight, floats(p)))
    return p


def pair_score(counts: Floats, gain: Floats, weight: float, p: Floats) -> float:
    """sum counts log(p / frequency) + weight <p, gain>."""
    score = c_double()
    n = len(counts)
    check(lib.vb_part_pair_score(n, floats(counts), floats(gain, n), weight, floats(p, n), byref(score)))
    return score.value
