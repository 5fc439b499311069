"""Parts of optimistic plans that tests look at one by one."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, byref, c_double, c_int32, c_int64, c_void_p

import numpy as np

from vbmle.core.library import check, declare
from vbmle.core.memory import Floats, Ints, floats, ints
from vbmle.core.optimism import Optimist


class _Intersection(ctypes.Structure):
    """`vb_part_intersection`."""

    _fields_ = (
        ("free", c_int64),
        ("ellipsoids", c_int64),
        ("facets", c_int64),
        ("c", c_void_p),
        ("H", c_void_p),
        ("middle", c_void_p),
        ("room", c_void_p),
        ("normals", c_void_p),
        ("offsets", c_void_p),
        ("mu", c_void_p),
        ("y", c_void_p),
        ("gap", c_double),
    )


_intersect = declare("vb_part_intersect", c_int32, POINTER(_Intersection))
_choose_models = declare("vb_part_choose_models", c_int32, c_void_p, c_void_p, c_void_p, POINTER(c_double))
_best_mean = declare(
    "vb_part_best_mean", c_int32, c_int64, c_void_p, c_void_p, c_double, c_void_p, POINTER(c_double)
)


def intersect(
    c: Floats, balls: tuple[Floats, Floats, Floats], normals: Floats, offsets: Floats, mu: Floats
) -> tuple[Floats, float]:
    """The best y within all ellipsoids (H, middle, room) and over all facets, and its gap; `mu` is changed."""
    H, middle, room = balls
    count, m = len(mu), len(c)
    y = np.zeros(m)
    problem = _Intersection(
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
    check(_intersect(byref(problem)))
    return y, float(problem.gap)


def choose_models(optimist: Optimist, V: Floats) -> tuple[Floats, float]:
    """After a plan: the probabilities of the best models for V, and the worst gap of all pairs."""
    p, gap = np.empty_like(optimist.p), c_double()
    check(_choose_models(optimist._address, floats(V, *optimist.V.shape), floats(p), byref(gap)))
    return p, gap.value


def best_mean(estimate: Floats, gain: Floats, radius: float, order: Ints) -> float:
    """max <p, gain> within `radius` of the estimate in L1; `order` becomes one by increasing gain."""
    value, count = c_double(), len(estimate)
    given = floats(estimate, count), floats(gain, count), radius, ints(order, count)
    check(_best_mean(count, *given, byref(value)))
    return value.value
