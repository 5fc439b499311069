"""Parts of optimistic plans: intersections of ellipsoids, the choice of models, L1 balls."""

from __future__ import annotations

from ctypes import byref, c_double

import numpy as np

from parts import lib
from parts.generated import vb_part_intersection
from vbmle.core.library import Floats, Ints, check, floats, ints
from vbmle.core.optimism import Optimist


def intersect(
    c: Floats, balls: tuple[Floats, Floats, Floats], normals: Floats, offsets: Floats, mu: Floats
) -> tuple[Floats, float]:
    """The best y within all ellipsoids (H, middle, room) and over all facets, and its gap; `mu` is changed."""
    H, middle, room = balls
    count, m = len(mu), len(c)
    y = np.zeros(m)
    problem = vb_part_intersection(
        m,
        count,
        len(offsets),
        floats(c),
        floats(H, count, m, m),
        floats(middle, count, m),
        floats(room, count),
        floats(normals, len(offsets), m),
        floats(offsets),
        floats(mu),
        floats(y),
    )
    check(lib.vb_part_intersect(problem))
    return y, float(problem.gap)


def choose_models(optimist: Optimist, V: Floats) -> tuple[Floats, float]:
    """After a plan: the probabilities of the best models for V, and the worst gap of all pairs."""
    p, gap = np.empty_like(optimist.p), c_double()
    check(lib.vb_part_choose_models(optimist._address, floats(V, *optimist.V.shape), floats(p), byref(gap)))
    return p, gap.value


def best_mean(estimate: Floats, gain: Floats, radius: float, order: Ints) -> float:
    """max <p, gain> within `radius` of the estimate in L1; `order` becomes one by increasing gain."""
    value, count = c_double(), len(estimate)
    given = floats(estimate, count), floats(gain, count), radius, ints(order, count)
    check(lib.vb_part_best_mean(count, *given, byref(value)))
    return value.value
