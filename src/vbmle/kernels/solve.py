"""LU without pivoting, for I - gamma P: rows are diagonally dominant, so no pivot can grow or vanish."""

from __future__ import annotations

import numpy as np

from vbmle.kernels.jit import kernel

OWN_LIMIT = 60  # up to this many states plain loops beat LAPACK's call and blocking overhead
BLOCK = 48


@kernel
def factor_in_place(matrix):
    """Overwrite an (n, n) matrix with its LU factors, unit lower triangle implied."""
    n = matrix.shape[0]
    if n <= OWN_LIMIT:
        _factor_span(matrix, 0, n)
        return
    start = 0
    while start < n:
        stop = min(n, start + BLOCK)
        _factor_span(matrix, start, stop)
        if stop < n:
            _update_trailing(matrix, start, stop)
        start = stop


@kernel
def _factor_span(matrix, start, stop):
    """Factor columns start..stop of the rows from start on; rows below stop get their multipliers."""
    n = matrix.shape[0]
    for k in range(start, stop):
        inverse = 1.0 / matrix[k, k]
        for i in range(k + 1, n):
            if matrix[i, k] != 0.0:
                multiplier = matrix[i, k] * inverse
                matrix[i, k] = multiplier
                for j in range(k + 1, stop):
                    matrix[i, j] -= multiplier * matrix[k, j]


@kernel
def _update_trailing(matrix, start, stop):
    """The columns from stop on: solve with the block's unit lower triangle, then one matrix product."""
    n = matrix.shape[0]
    for k in range(start, stop):
        for i in range(k + 1, stop):
            multiplier = matrix[i, k]
            for j in range(stop, n):
                matrix[i, j] -= multiplier * matrix[k, j]
    left = matrix[stop:, start:stop].copy()
    right = matrix[start:stop, stop:].copy()
    matrix[stop:, stop:] -= np.dot(left, right)


@kernel
def solve_factored(lu, x):
    """x becomes the solution of (LU) z = x."""
    n = lu.shape[0]
    for i in range(1, n):
        total = 0.0
        for j in range(i):
            total += lu[i, j] * x[j]
        x[i] -= total
    for i in range(n - 1, -1, -1):
        total = 0.0
        for j in range(i + 1, n):
            total += lu[i, j] * x[j]
        x[i] = (x[i] - total) / lu[i, i]


@kernel
def solve_factored_rows(lu, X):
    """Every column of X becomes the solution of (LU) z = x."""
    n, m = X.shape
    for i in range(n):
        for j in range(i):
            value = lu[i, j]
            for k in range(m):
                X[i, k] -= value * X[j, k]
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            value = lu[i, j]
            for k in range(m):
                X[i, k] -= value * X[j, k]
        inverse = 1.0 / lu[i, i]
        for k in range(m):
            X[i, k] *= inverse


@kernel
def solve_transposed(lu, x):
    """x becomes the solution of (LU)^T z = x."""
    n = lu.shape[0]
    for i in range(n):
        value = x[i] / lu[i, i]
        x[i] = value
        for j in range(i + 1, n):
            x[j] -= lu[i, j] * value
    for i in range(n - 1, 0, -1):
        value = x[i]
        for j in range(i):
            x[j] -= lu[i, j] * value
