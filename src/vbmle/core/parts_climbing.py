"""Parts of the climb that only tests reach: programs and factors, the objective and its derivatives at any theta."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import POINTER, byref, c_double, c_int32, c_int64, c_void_p
from typing import NamedTuple

import numpy as np

from vbmle.core import solver
from vbmle.core.handle import Handle
from vbmle.core.library import check, declare
from vbmle.core.memory import Floats, Ints, floats, ints, view
from vbmle.core.model import Model
from vbmle.core.solver import Objective

SOLVED, TOO_LONG, NOT_CONVEX, INFEASIBLE = 0, 4, 6, 7
"""How a quadratic program ends, as statuses of vbmle.h."""


class _Program(ctypes.Structure):
    """`vb_part_program` of vbmle.h."""

    _fields_ = (
        ("free", c_int64),
        ("facets", c_int64),
        ("room", c_int64),
        ("by_axis", c_int32),
        ("B", c_void_p),
        ("g", c_void_p),
        ("normals", c_void_p),
        ("slack", c_void_p),
        ("d", c_void_p),
        ("active", c_void_p),
        ("num_active", c_int64),
        ("multiplier", c_void_p),
        ("before_B", c_void_p),
        ("before_g", c_void_p),
        ("turns", c_int64),
    )


_FIELDS = ("p", "policy", "V", "visits", "gradient", "slope", "concave", "bent", "hessian")


class _Fields(ctypes.Structure):
    """`vb_part_probe_view` of vbmle.h."""

    _fields_ = (*((name, c_void_p) for name in _FIELDS), ("num_squares", c_int64))


_O, _P = POINTER(Objective), c_void_p
_solve = declare("vb_part_solve_program", c_int32, POINTER(_Program))
_learn = declare("vb_part_learn", c_int32, POINTER(_Program), _P, _P, _P, _P)
_cholesky = declare("vb_part_cholesky", c_int32, c_int64, _P, _P, _P)
_logs = declare("vb_part_logs", c_int32, c_int64, _P, _P)
_log_sum = declare("vb_part_weighted_log_sum", c_int32, c_int64, _P, _P, POINTER(c_double))
_new = declare("vb_part_probe_new", c_int32, _P, c_int32, c_int32, POINTER(c_void_p))
_free = declare("vb_part_probe_free", None, _P)
_look = declare("vb_part_probe_look", c_int32, _P, POINTER(_Fields))
_evaluate = declare("vb_part_probe_evaluate", c_int32, _P, _O, c_int32, _P, POINTER(c_double))
_slope = declare("vb_part_probe_slope", c_int32, _P, _O)
_curvature = declare("vb_part_probe_curvature", c_int32, _P, _O)
_multiply = declare("vb_part_probe_multiply", c_int32, _P, _P, _P)
_reduce = declare("vb_part_reduce", c_int32, _P, _P, _P)
_reduce_hessian = declare("vb_part_reduce_hessian", c_int32, _P, c_int64, _P, _P)


class Solution(NamedTuple):
    """How a quadratic program ended, the step d, its last facets with their multipliers, and how many it added."""

    status: int
    d: Floats
    active: Ints
    multipliers: Floats
    turns: int


class Lesson(NamedTuple):
    """How it ended, the active facets, the inverse of B along their face before and after, and the step between."""

    status: int
    active: Ints
    before: Floats
    after: Floats
    step: Floats


class Program(NamedTuple):
    """Maximise <g, d> - d' B d / 2 subject to normals @ d + slack >= 0."""

    B: Floats
    g: Floats
    normals: Floats
    slack: Floats

    def solve(
        self, guess: Ints | None = None, room: int = 0, by_axis: bool = False, before: Program | None = None
    ) -> Solution:
        """`guess`: facets to try first; `room`: by how much scratch is too large; `by_axis`: normals by columns too;
        `before`: a program of the same facets, from whose end this one begins.
        """
        n, facets = len(self.g), len(self.slack)
        count = 0 if guess is None else len(guess)
        d, active, u = np.full(n, np.nan), np.full(n, -1, np.int64), np.full(n + 1, np.nan)
        active[:count] = () if guess is None else guess
        given = floats(self.B, n, n), floats(self.g, n), floats(self.normals, facets, n), floats(self.slack)
        sizes = n, facets, room, int(by_axis)
        last = (None, None) if before is None else (floats(before.B, n, n), floats(before.g, n))
        program = _Program(*sizes, *given, floats(d), ints(active), count, floats(u), *last)
        status = _solve(byref(program))
        check(status)
        found = program.num_active
        return Solution(status, d, active[:found], u[:found], program.turns)

    def learn(self, slope: Floats, shown: Floats) -> Lesson:
        """Solve it, then take the step s = K slope on the face where it ends, which shows the curvature shown @ s."""
        n, facets = len(self.g), len(self.slack)
        d, active, u = np.full(n, np.nan), np.full(n, -1, np.int64), np.full(n + 1, np.nan)
        given = floats(self.B, n, n), floats(self.g, n), floats(self.normals, facets, n), floats(self.slack)
        program = _Program(n, facets, 0, 0, *given, floats(d), ints(active), 0, floats(u), None, None)
        K, step = np.full((2, n, n), np.nan), np.full(n, np.nan)
        status = _learn(byref(program), floats(slope, n), floats(shown, n, n), floats(K), floats(step))
        check(status)
        return Lesson(status, active[: program.num_active], K[0], K[1], step)


def cholesky(matrix: Floats) -> tuple[Floats, Floats] | None:
    """The lower factor and its inverse; None where the matrix is not safely positive definite."""
    n = len(matrix)
    lower, inverse = np.full((n, n), np.nan), np.full((n, n), np.nan)
    status = _cholesky(n, floats(matrix, n, n), floats(lower), floats(inverse))
    check(status)
    return (np.tril(lower), inverse) if status == SOLVED else None


def logs(x: Floats) -> Floats:
    """The core's own logarithm."""
    out = np.empty_like(x)
    check(_logs(x.size, floats(x), floats(out)))
    return out


def weighted_log_sum(weight: Floats, x: Floats) -> float:
    """sum weight log x."""
    total = c_double()
    check(_log_sum(len(x), floats(weight, len(x)), floats(x), byref(total)))
    return total.value


class Probe:
    """The objective and its derivatives at any theta, feasible or not. All results are views that stay current.

    factors: policies by dense factors, else by sweeps; copies: with the copies of features that small models keep.
    """

    def __init__(self, model: Model, factors: bool = True, copies: bool = True) -> None:
        self.model, fields = model, _Fields()
        owner = self._owner = Handle(_new, _free, model, model.handle, int(factors), int(copies))
        check(_look(owner.address, byref(fields)))
        square = (model.num_free, model.num_free)

        def seen(name: str, *shape: int) -> Floats:
            where = getattr(fields, name)
            return view(owner, where, np.float64, shape) if where else np.zeros(0)

        self.policy: Ints = view(owner, fields.policy, np.int64, (model.num_states,))
        self.p = seen("p", model.num_transitions)
        self.V, self.visits = seen("V", model.num_states), seen("visits", model.num_states)
        self.gradient, self.slope = seen("gradient", model.dimension), seen("slope", model.num_free)
        self.concave, self.bent = seen("concave", *square), seen("bent", *square)
        self.hessian = seen("hessian", fields.num_squares)

    def value(self, objective: Objective, theta: Floats, held: bool = False) -> float:
        """f; held: with the value of the current policy."""
        f, given = c_double(), floats(theta, self.model.dimension)
        check(_evaluate(self._owner.address, objective, int(held), given, byref(f)))
        return f.value

    def slope_at(self, objective: Objective, theta: Floats, held: bool = False) -> Floats:
        """The gradient in theta; sets `slope` and `visits` too."""
        self.value(objective, theta, held)
        check(_slope(self._owner.address, objective))
        return self.gradient.copy()

    def curve(self, objective: Objective) -> None:
        """Set `concave` and `bent`, or `hessian`, where the last slope was found."""
        check(_curvature(self._owner.address, objective))

    def multiply(self, v: Floats) -> Floats:
        """(Hessian of the value in theta) v, where the last slope was found."""
        out = np.full(self.model.dimension, np.nan)
        check(_multiply(self._owner.address, floats(v, self.model.dimension), floats(out)))
        return out


def reduce(model: Model, g: Floats) -> Floats:
    """A gradient in theta as one in y."""
    out = np.full(model.num_free, np.nan)
    check(_reduce(model.handle, floats(g, model.dimension), floats(out)))
    return out


def reduce_hessian(model: Model, block: int, hessian: Floats, free: int) -> Floats:
    """basis' H basis of a block with so many free coordinates, from the lower triangle of H."""
    out = np.full((free, free), np.nan)
    check(_reduce_hessian(model.handle, block, floats(hessian, *hessian.shape), floats(out)))
    return out


@contextmanager
def without_solves() -> Iterator[None]:
    """Within this block solvers call the core, but it does nothing: what is left is the cost outside of it."""
    names = ("_climb", "_search", "_follow", "_few")
    before = {name: getattr(solver, name) for name in names}
    nothing = declare("vb_part_nothing", c_int32, c_void_p, POINTER(Objective))
    try:
        for name in names:
            setattr(solver, name, nothing)
        yield
    finally:
        for name, function in before.items():
            setattr(solver, name, function)
