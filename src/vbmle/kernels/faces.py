"""Linear programs over {rows @ y + offsets >= 0}: which rows are needed, and how wide the set is.

A linear program is a short sequence of proximal quadratic programs, max <c, y> - eps/2 |y - last|^2, which
for polyhedra ends exactly at an optimal face after finitely many steps.
"""

from __future__ import annotations

import numpy as np

from vbmle.kernels.jit import kernel
from vbmle.kernels.quadratic import SOLVED, qp_workspace, solve_qp

MARGIN = 1e-9  # a row counts as redundant only where the others keep it slack by more than this


@kernel
def linear_program(rows, offsets, c, y, active, num_active, work):
    """y becomes a maximiser of <c, y>; returns (maximum, reached exactly, active rows).

    work = (B, d, slack, multipliers, work of solve_qp); active[:num_active] is the warm start.
    """
    B, d, slack, u, qp_work = work
    m = len(c)
    size = np.sqrt(np.sum(c * c))
    eps = size
    exact = False
    for _ in range(60):
        for i in range(m):
            for j in range(m):
                B[i, j] = 0.0
            B[i, i] = eps
        slack[:] = offsets
        for i in range(rows.shape[0]):
            for j in range(m):
                slack[i] += rows[i, j] * y[j]
        status, num_active = solve_qp(B, c, rows, slack, d, active, num_active, u, qp_work)
        if status != SOLVED:
            break
        moved, place = 0.0, 1.0
        for j in range(m):
            y[j] += d[j]
            moved, place = max(moved, abs(d[j])), max(place, abs(y[j]))
        if moved <= 1e-12 * place:
            exact = True
            break
        eps = max(0.1 * eps, 1e-10 * size)
    return np.sum(c * y), exact, num_active


@kernel
def make_work(m, r):
    """Work arrays of `linear_program` for m variables and r rows."""
    return np.empty((m, m)), np.empty(m), np.empty(r), np.empty(m + 1), qp_workspace(m, r)


@kernel
def needed_rows(rows, offsets):
    """Mask of the rows that are not made redundant by the others; y = 0 must be strictly inside."""
    r, m = rows.shape
    keep = np.ones(r, np.bool_)
    kept, limits = rows.copy(), offsets.copy()
    work = make_work(m, r)
    active, y = np.empty(m, np.int64), np.empty(m)
    for i in range(r):
        before = limits[i]
        limits[i] = before + 1.0  # the row itself is relaxed, the others stay
        y[:] = 0.0
        best, exact, _ = linear_program(kept, limits, -rows[i], y, active, 0, work)
        limits[i] = before
        if exact and offsets[i] - best > MARGIN:
            keep[i] = False
            limits[i] = np.inf  # never violated again
            kept[i] = 0.0
    return keep


@kernel
def widths(rows, offsets):
    """Extent of the set along every axis; infinity where it could not be found."""
    r, m = rows.shape
    out = np.empty(m)
    work = make_work(m, r)
    active, y, c = np.empty(m, np.int64), np.zeros(m), np.zeros(m)
    for j in range(m):
        c[:] = 0.0
        c[j] = 1.0
        y[:] = 0.0
        high, exact_high, _ = linear_program(rows, offsets, c, y, active, 0, work)
        c[j] = -1.0
        y[:] = 0.0
        low, exact_low, _ = linear_program(rows, offsets, c, y, active, 0, work)
        out[j] = high + low if exact_high and exact_low else np.inf
    return out
