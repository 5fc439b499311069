"""A true upper bound on the maximum of the value-biased objective, by branch and bound from a triangulation."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, byref, c_double, c_int32, c_int64, c_void_p
from typing import NamedTuple

import numpy as np

from vbmle.core.library import check, declare
from vbmle.core.memory import Floats, Ints, floats, ints
from vbmle.core.model import Model


class Task(ctypes.Structure):
    """`vb_certificate_task` of vbmle.h."""

    _fields_ = (
        ("counts", c_void_p),
        ("observed", c_void_p),
        ("num_observed", c_int64),
        ("ridge", c_double),
        ("bias", c_double),
        ("state", c_int64),
        ("points", c_void_p),
        ("num_points", c_int64),
        ("cells", c_void_p),
        ("num_cells", c_int64),
        ("most_bisections", c_int64),
        ("best", c_double),
        ("tolerance", c_double),
    )


class _Result(ctypes.Structure):
    """`vb_certificate` of vbmle.h."""

    _fields_ = (("bound", c_double), ("best", c_double), ("cells", c_int64), ("found", c_int32))


_certify = declare("vb_certify", c_int32, c_void_p, POINTER(Task), POINTER(_Result), c_void_p)


class Target(NamedTuple):
    """sum n log p - ridge/2 |theta|^2 + bias V*(state; theta): counts n, and the transitions that have some."""

    counts: Floats
    observed: Ints
    ridge: float
    bias: float
    state: int


class Certificate(NamedTuple):
    """An upper bound, the best value known, and the theta at which it was met, if here."""

    bound: float
    best: float
    theta: Floats | None
    cells: int
    converged: bool


def branch_and_bound(
    model: Model,
    target: Target,
    triangulation: tuple[Floats, Ints],
    best: float,
    tolerance: float,
    most_bisections: int,
) -> Certificate:
    """Bisect the cells until the bound is within `tolerance` of the best value known, at most `most_bisections` times.

    triangulation: points (n, free) as y, and cells (k, free + 1) of their places.
    """
    points, cells = triangulation
    free, theta, result = model.num_free, np.empty(model.dimension), _Result()
    task = Task(
        floats(target.counts, model.num_transitions),
        ints(target.observed),
        len(target.observed),
        target.ridge,
        target.bias,
        target.state,
        floats(points, len(points), free),
        len(points),
        ints(cells, len(cells), free + 1),
        len(cells),
        most_bisections,
        best,
        tolerance,
    )
    status = _certify(model.handle, byref(task), byref(result), floats(theta))
    check(status)
    found = theta if result.found else None
    return Certificate(result.bound, result.best, found, result.cells, status == 0)
