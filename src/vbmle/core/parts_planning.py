"""Parts of planning that tests look at one by one."""

from __future__ import annotations

from ctypes import c_double, c_int32, c_int64, c_void_p

from vbmle.core.library import check, declare
from vbmle.core.memory import Floats, floats
from vbmle.core.planning import Planner

_factor = declare("vb_part_lu_factor", c_int32, c_int64, c_void_p)
_solve = declare("vb_part_lu_solve", c_int32, c_int64, c_void_p, c_int32, c_void_p)
_columns = declare("vb_part_lu_solve_columns", c_int32, c_int64, c_void_p, c_int64, c_void_p)
_visits = declare("vb_part_visits", c_int32, c_void_p, c_int64, c_double)
_slow_chain = declare("vb_part_slow_chain", c_int32, c_void_p, c_int64, c_double)


def factor(matrix: Floats) -> None:
    """LU factors in place: L below the diagonal, U above it, the inverses of U's diagonal on it."""
    check(_factor(len(matrix), floats(matrix, len(matrix), len(matrix))))


def solve(lu: Floats, x: Floats, transposed: bool = False) -> None:
    """x becomes the solution of (LU) z = x, or of (LU)' z = x."""
    n = len(x)
    check(_solve(n, floats(lu, n, n), int(transposed), floats(x)))


def solve_columns(lu: Floats, X: Floats) -> None:
    """Every column of X becomes the solution of (LU) z = x."""
    n, columns = X.shape
    check(_columns(n, floats(lu, n, n), columns, floats(X)))


def visits(planner: Planner, state: int, tolerance: float) -> Floats:
    """The discounted visits by sweeps, to an L1 error."""
    check(_visits(planner.handle, state, tolerance))
    return planner.visits


def solve_slow_chain(planner: Planner, enough: float, state: int = -1) -> bool:
    """V of the policy, or the visits from a state on, by BiCGStab alone; whether anything was gained."""
    status = int(_slow_chain(planner.handle, state, enough))
    check(status)
    return status == 0
