"""Small strictly convex quadratic programs by the dual active-set method of Goldfarb and Idnani (1983).

    maximise  <g, d> - d' B d / 2   subject to   rows @ d + slack >= 0

starts at the unconstrained maximum and adds violated rows one by one, dropping those whose multiplier would
turn negative: degenerate vertices and redundant rows do it no harm, and no feasible start is needed. Rows
that were active at the last solve are tried first, then those that the last scan found violated most, so that
all rows are scanned only a few times.
"""

from __future__ import annotations

import numpy as np

from vbmle.kernels.jit import kernel

SOLVED, NOT_CONVEX, INFEASIBLE, TOO_LONG = 0, 1, 2, 3
SPARE = 8  # violated rows remembered beyond the number of variables


@kernel
def cholesky(matrix, lower):
    """Lower factor of a symmetric matrix; False where it is not safely positive definite."""
    n = matrix.shape[0]
    for j in range(n):
        total = matrix[j, j]
        for k in range(j):
            total -= lower[j, k] * lower[j, k]
        if not total > 1e-14 * matrix[j, j]:
            return False
        root = np.sqrt(total)
        lower[j, j] = root
        for i in range(j + 1, n):
            value = matrix[i, j]
            for k in range(j):
                value -= lower[i, k] * lower[j, k]
            lower[i, j] = value / root
    return True


@kernel
def _start(lower, g, frame, d):
    """frame = L^{-1} (its row j is the j-th direction), d = B^{-1} g."""
    n = len(g)
    for i in range(n):
        for j in range(n):
            frame[i, j] = 0.0
        inverse = 1.0 / lower[i, i]
        for k in range(i):
            value = lower[i, k] * inverse
            for j in range(k + 1):
                frame[i, j] -= value * frame[k, j]
        frame[i, i] = inverse
    d[:] = 0.0
    for i in range(n):
        total = 0.0
        for j in range(i + 1):
            total += frame[i, j] * g[j]
        for j in range(i + 1):
            d[j] += total * frame[i, j]


@kernel
def _row_value(rows, slack, d, i):
    total = slack[i]
    for j in range(len(d)):
        total += rows[i, j] * d[j]
    return total


@kernel
def _most_violated(rows, slack, d, is_active, guess, num_guess, tolerance):
    """The row that is violated most among those remembered; -1 where none is."""
    worst, found = -tolerance, -1
    for k in range(num_guess):
        i = guess[k]
        if not is_active[i]:
            value = _row_value(rows, slack, d, i)
            if value < worst:
                worst, found = value, i
    return found


@kernel
def _scan(rows, slack, d, is_active, guess, depth, tolerance):
    """Remember the rows that are violated most, a few more than variables; returns how many."""
    count, shallow = 0, 0  # shallow: the place of the least violated one remembered
    for i in range(rows.shape[0]):
        value = _row_value(rows, slack, d, i)
        if value >= -tolerance or is_active[i]:
            continue
        if count < len(d) + SPARE:
            guess[count], depth[count] = i, value
            if count == 0 or value > depth[shallow]:
                shallow = count
            count += 1
        elif value < depth[shallow]:
            guess[shallow], depth[shallow] = i, value
            for k in range(count):
                if depth[k] > depth[shallow]:
                    shallow = k
    return count


@kernel
def _add(frame, upper, direction, count, n, w):
    """Reflect the frame so that the new normal has components in its first count + 1 directions only."""
    square = 0.0
    for j in range(count, n):
        square += direction[j] * direction[j]
    length = np.sqrt(square)
    if direction[count] > 0.0:
        length = -length
    head = direction[count] - length  # the reflection's vector is (head, direction[count + 1:])
    scale = -1.0 / (length * head) if length * head != 0.0 else 0.0
    for i in range(n):
        w[i] = head * frame[count, i]
    for j in range(count + 1, n):
        for i in range(n):
            w[i] += direction[j] * frame[j, i]
    for i in range(n):
        frame[count, i] -= scale * head * w[i]
    for j in range(count + 1, n):
        value = scale * direction[j]
        for i in range(n):
            frame[j, i] -= value * w[i]
    for i in range(count):
        upper[i, count] = direction[i]
    upper[count, count] = length


@kernel
def _drop(frame, upper, active, u, count, k, n):
    """Forget the k-th active row and make the factor triangular again."""
    for j in range(k, count - 1):
        active[j] = active[j + 1]
        u[j] = u[j + 1]
        for i in range(j + 2):
            upper[i, j] = upper[i, j + 1]
    u[count - 1] = u[count]
    for j in range(k, count - 1):
        a, b = upper[j, j], upper[j + 1, j]
        if b == 0.0:
            continue
        h = np.hypot(a, b)
        c, s = a / h, b / h
        upper[j, j] = h
        upper[j + 1, j] = 0.0
        for i in range(j + 1, count - 1):
            x, y = upper[j, i], upper[j + 1, i]
            upper[j, i] = c * x + s * y
            upper[j + 1, i] = c * y - s * x
        for i in range(n):
            x, y = frame[j, i], frame[j + 1, i]
            frame[j, i] = c * x + s * y
            frame[j + 1, i] = c * y - s * x


@kernel
def _settle(rows, slack, d, frame, upper, active, count, r):
    """Put d exactly on the active rows: what rounding left there is removed in one step."""
    for k in range(count):
        total = -_row_value(rows, slack, d, active[k])
        for i in range(k):
            total -= upper[i, k] * r[i]
        r[k] = total / upper[k, k]
    for k in range(count):
        for i in range(len(d)):
            d[i] += r[k] * frame[k, i]


@kernel
def qp_workspace(m, r):
    """Arrays for `solve_qp` with m variables and r rows."""
    squares, vectors = np.empty((3, m, m)), np.empty((4, m + SPARE))
    return (
        squares[0],
        squares[1],
        squares[2],
        vectors[0],
        vectors[1],
        vectors[2],
        np.empty(m + SPARE, np.int64),
        vectors[3],
        np.zeros(r, np.bool_),
    )


@kernel
def solve_qp(B, g, rows, slack, d, active, num_guess, u, work):
    """Solve into d; active[:count] and multipliers u[:count] at the end. Returns (status, count).

    On entry active[:num_guess] are the rows to try first. work is what `qp_workspace` makes, overwritten.
    """
    lower, frame, upper, direction, z, r, guess, depth, is_active = work
    n = len(g)
    num_rows = rows.shape[0]
    if not cholesky(B, lower):
        return NOT_CONVEX, 0
    _start(lower, g, frame, d)
    size = 0.0
    for i in range(n):
        size = max(size, abs(d[i]))
    tolerance = 1e-14 * (1.0 + size) if size < 10.0 else 1e-13 + 1e-15 * size
    for k in range(num_guess):
        guess[k] = active[k]
    is_active[:num_rows] = False
    count = 0
    for _ in range(50 * (n + 10)):
        new = _most_violated(rows, slack, d, is_active, guess, num_guess, tolerance)
        if new < 0:
            num_guess = _scan(rows, slack, d, is_active, guess, depth, tolerance)
            new = _most_violated(rows, slack, d, is_active, guess, num_guess, tolerance)
        if new < 0:
            _settle(rows, slack, d, frame, upper, active, count, r)
            return SOLVED, count
        u[count] = 0.0
        while True:
            length = 0.0
            for j in range(n):
                total = 0.0
                for i in range(n):
                    total += frame[j, i] * rows[new, i]
                direction[j] = total
                length += total * total
            for i in range(n):
                z[i] = 0.0
            curvature = 0.0
            for j in range(count, n):
                curvature += direction[j] * direction[j]
                for i in range(n):
                    z[i] += direction[j] * frame[j, i]
            for k in range(count - 1, -1, -1):
                total = direction[k]
                for j in range(k + 1, count):
                    total -= upper[k, j] * r[j]
                r[k] = total / upper[k, k]
            dual, blocking = np.inf, -1
            for k in range(count):
                if r[k] > 0.0 and u[k] / r[k] < dual:
                    dual, blocking = u[k] / r[k], k
            primal = np.inf
            if curvature > 1e-14 * length:
                primal = -_row_value(rows, slack, d, new) / curvature
            step = min(dual, primal)
            if step == np.inf:
                if _row_value(rows, slack, d, new) < -1e-9 * (1.0 + size):
                    return INFEASIBLE, count
                is_active[new] = True  # a redundant row through this vertex, violated by rounding alone
                break
            for k in range(count):
                u[k] -= step * r[k]
            u[count] += step
            if primal < np.inf:
                for i in range(n):
                    d[i] += step * z[i]
            if primal <= dual:
                _add(frame, upper, direction, count, n, z)
                active[count] = new
                is_active[new] = True
                count += 1
                break
            is_active[active[blocking]] = False
            _drop(frame, upper, active, u, count, blocking, n)
            count -= 1
    return TOO_LONG, count
