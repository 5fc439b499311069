"""Parts of planning: linear systems, visits, slow chains."""

from __future__ import annotations

from parts import lib
from vbmle.core.library import Floats, check, floats
from vbmle.core.planning import Planner


def factor(matrix: Floats) -> None:
    """LU factors in place: L below the diagonal, U above it, the inverses of U's diagonal on it."""
    check(lib.vb_part_lu_factor(len(matrix), floats(matrix, len(matrix), len(matrix))))


def solve(lu: Floats, x: Floats, transposed: bool = False) -> None:
    """x becomes the solution of (LU) z = x, or of (LU)' z = x."""
    n = len(x)
    check(lib.vb_part_lu_solve(n, floats(lu, n, n), int(transposed), floats(x)))


def solve_columns(lu: Floats, X: Floats) -> None:
    """Every column of X becomes the solution of (LU) z = x."""
    n, columns = X.shape
    check(lib.vb_part_lu_solve_columns(n, floats(lu, n, n), columns, floats(X)))


def visits(planner: Planner, state: int, tolerance: float) -> Floats:
    """The discounted visits by sweeps, to an L1 error."""
    check(lib.vb_part_visits(planner.handle, state, tolerance))
    return planner.visits


def solve_slow_chain(planner: Planner, enough: float, state: int = -1) -> bool:
    """V of the policy, or the visits from a state on, by BiCGStab alone; whether anything was gained."""
    status = int(lib.vb_part_slow_chain(planner.handle, state, enough))
    check(status)
    return status == 0
