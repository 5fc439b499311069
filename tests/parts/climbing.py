"""Programs and factors, the objective and its derivatives at any theta."""

from __future__ import annotations

from ctypes import byref, c_double
from typing import NamedTuple

import numpy as np

from parts import lib
from parts.generated import vb_part_probe_view, vb_part_program
from vbmle.core.generated import vb_statuses
from vbmle.core.library import Floats, Handle, Ints, check, floats, ints
from vbmle.core.model import Model
from vbmle.core.solver import Objective

SOLVED, NOT_CONVEX, INFEASIBLE = vb_statuses.VB_OK, vb_statuses.VB_NOT_CONVEX, vb_statuses.VB_INFEASIBLE
"""How a quadratic program ends."""


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
        given, d, active, u = self.given(guess, room, by_axis, before)
        status = lib.vb_part_solve_program(given)
        check(status)
        return Solution(status, d, active[: given.num_active], u[: given.num_active], given.turns)

    def given(
        self, guess: Ints | None = None, room: int = 0, by_axis: bool = False, before: Program | None = None
    ) -> tuple[vb_part_program, Floats, Ints, Floats]:
        """What the core reads, which does not outlive the program, and the arrays that it writes: d, active, u."""
        n, facets = len(self.g), len(self.slack)
        count = 0 if guess is None else len(guess)
        d, active, u = np.full(n, np.nan), np.full(n, -1, np.int64), np.full(n + 1, np.nan)
        active[:count] = () if guess is None else guess
        given = floats(self.B, n, n), floats(self.g, n), floats(self.normals, facets, n), floats(self.slack)
        sizes = n, facets, room, int(by_axis)
        last = (None, None) if before is None else (floats(before.B, n, n), floats(before.g, n))
        struct = vb_part_program(*sizes, *given, floats(d), ints(active), count, floats(u), *last)
        return struct, d, active, u

    def learn(self, slope: Floats, shown: Floats) -> Lesson:
        """Solve it, then take the step s = K slope on the face where it ends, which shows the curvature shown @ s."""
        n = len(self.g)
        program, _, active, _ = self.given()
        K, step = np.full((2, n, n), np.nan), np.full(n, np.nan)
        status = lib.vb_part_learn(program, floats(slope, n), floats(shown, n, n), floats(K), floats(step))
        check(status)
        return Lesson(status, active[: program.num_active], K[0], K[1], step)


def cholesky(matrix: Floats) -> tuple[Floats, Floats] | None:
    """The lower factor and its inverse; None where the matrix is not safely positive definite."""
    n = len(matrix)
    lower, inverse = np.full((n, n), np.nan), np.full((n, n), np.nan)
    status = lib.vb_part_cholesky(n, floats(matrix, n, n), floats(lower), floats(inverse))
    check(status)
    return (np.tril(lower), inverse) if status == SOLVED else None


def logs(x: Floats) -> Floats:
    """The core's own logarithm."""
    out = np.empty_like(x)
    check(lib.vb_part_logs(x.size, floats(x), floats(out)))
    return out


def weighted_log_sum(weight: Floats, x: Floats) -> float:
    """sum weight log x."""
    total = c_double()
    check(lib.vb_part_weighted_log_sum(len(x), floats(weight, len(x)), floats(x), byref(total)))
    return total.value


class Probe:
    """The objective and its derivatives at any theta, feasible or not. All results are views that stay current.

    factors: policies by dense factors, else by sweeps; copies: with the copies of features that small models keep.
    """

    def __init__(self, model: Model, factors: bool = True, copies: bool = True) -> None:
        self.model, free, states = model, model.num_free, (model.num_states,)
        handle = self._handle = Handle(
            "part_probe", model, model.handle, int(factors), int(copies), library=lib
        )
        view = handle.look(vb_part_probe_view())
        shapes = {
            "p": (model.num_transitions,),
            "policy": states,
            "V": states,
            "visits": states,
            "gradient": (model.dimension,),
            "slope": (free,),
            "concave": (free, free),
            "bent": (free, free),
            "hessian": (view.num_squares,),
        }
        kept = {name: shape if getattr(view, name) else (0,) for name, shape in shapes.items()}
        at = handle.arrays(view, **kept)
        self.policy: Ints = at["policy"]
        self.p, self.V, self.visits = at["p"], at["V"], at["visits"]
        self.gradient, self.slope = at["gradient"], at["slope"]
        self.concave, self.bent, self.hessian = at["concave"], at["bent"], at["hessian"]

    def value(self, objective: Objective, theta: Floats, held: bool = False) -> float:
        """f; held: with the value of the current policy."""
        f, given = c_double(), floats(theta, self.model.dimension)
        check(lib.vb_part_probe_evaluate(self._handle.address, objective.given, int(held), given, byref(f)))
        return f.value

    def slope_at(self, objective: Objective, theta: Floats, held: bool = False) -> Floats:
        """The gradient in theta; sets `slope` and `visits` too."""
        self.value(objective, theta, held)
        check(lib.vb_part_probe_slope(self._handle.address, objective.given))
        return self.gradient.copy()

    def curve(self, objective: Objective) -> None:
        """Set `concave` and `bent`, or `hessian`, where the last slope was found."""
        check(lib.vb_part_probe_curvature(self._handle.address, objective.given))

    def multiply(self, v: Floats) -> Floats:
        """(Hessian of the value in theta) v, where the last slope was found."""
        out = np.full(self.model.dimension, np.nan)
        check(lib.vb_part_probe_multiply(self._handle.address, floats(v, self.model.dimension), floats(out)))
        return out


def reduce(model: Model, g: Floats) -> Floats:
    """A gradient in theta as one in y."""
    out = np.full(model.num_free, np.nan)
    check(lib.vb_part_reduce(model.handle, floats(g, model.dimension), floats(out)))
    return out


def reduce_hessian(model: Model, block: int, hessian: Floats, free: int) -> Floats:
    """basis' H basis of a block with so many free coordinates, from the lower triangle of H."""
    out = np.full((free, free), np.nan)
    check(lib.vb_part_reduce_hessian(model.handle, block, floats(hessian, *hessian.shape), floats(out)))
    return out
