"""Parts of planning: linear systems, visits, slow chains."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from parts import lib
from parts.generated import vb_part_sparse
from vbmle.core.library import Floats, Ints, address, check, floats
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


class SparseSolution(NamedTuple):
    """What sparse factors found: x, in which order, with how many products and entries; none beyond `most`."""

    solved: bool
    x: Floats
    order: Ints
    products: float
    entries: float


def sparse_solve(
    matrix: sparse.csr_array,
    right: Floats,
    least_degree: bool = True,
    transposed: bool = False,
    most: float = 1e300,
) -> SparseSolution:
    """The solution of (I - matrix) x = right, or of its transpose, by sparse factors."""
    n, x = len(right), right.copy()
    rows, columns = matrix.indptr.astype(np.int32), matrix.indices.astype(np.int32)
    begin, end, order = rows[:-1].copy(), rows[1:].copy(), np.empty(n, np.int32)
    values = matrix.data.astype(float)
    system = vb_part_sparse(
        n,
        address(begin),
        address(end),
        address(columns),
        address(values),
        int(least_degree),
        int(transposed),
        address(order),
        most,
    )
    status = int(lib.vb_part_sparse_solve(system, floats(x)))
    check(status)
    return SparseSolution(status == 0, x, order.astype(np.int64), system.products, system.entries)


def visits(planner: Planner, state: int, tolerance: float) -> Floats:
    """The discounted visits by sweeps, to an L1 error."""
    check(lib.vb_part_visits(planner.handle, state, tolerance))
    return planner.visits


def solve_slow_chain(planner: Planner, enough: float, state: int = -1) -> bool:
    """V of the policy, or the visits from a state on, by BiCGStab alone; whether anything was gained."""
    status = int(lib.vb_part_slow_chain(planner.handle, state, enough))
    check(status)
    return status == 0
