"""The largest <c, y> over P within several ellipsoids at once.

    maximise <c, y>   subject to   |y - middle_l|^2 in H_l <= room_l  for all l,   rows @ y + offsets >= 0

by its dual in the ellipsoids: for weights mu >= 0, y(mu) maximises the concave quadratic

    g(mu) = max over rows of  <c, y> + 1/2 sum_l mu_l (room_l - |y - middle_l|^2 in H_l),

and g, which bounds the maximum from above for every mu, is convex with gradient -1/2 (|y - middle_l|^2 - room_l). On
the active rows at hand it is smooth, and Newton's method with projection and backtracking ends in a few steps.
"""

from __future__ import annotations

import numpy as np

from vbmle.kernels.jit import kernel
from vbmle.kernels.quadratic import SOLVED, cholesky, solve_qp

ROUNDS = 60
GAP = 1e-11  # relative to the value: where the search ends
FEASIBLE = 1e-7  # how much of its room an ellipsoid may be missed by


@kernel
def excess(H, middle, room, y, q):
    """|y - middle|^2 in H - room; q = H (y - middle)."""
    total = -room
    for i in range(len(y)):
        q[i] = 0.0
        for j in range(len(y)):
            q[i] += H[i, j] * (y[j] - middle[j])
        total += q[i] * (y[i] - middle[i])
    return total


@kernel
def _dual(c, balls, rows, offsets, mu, y, f, q, active, num_active, work):
    """g(mu), or infinity; y, f (the excess of each ellipsoid), q and the active rows on the way."""
    H, middle, room = balls
    B, target, u, qp_work = work
    m, levels = len(c), len(mu)
    for i in range(m):
        target[i] = c[i]
        for j in range(m):
            B[i, j] = 0.0
    for level in range(levels):
        if mu[level] > 0.0:
            for i in range(m):
                for j in range(m):
                    B[i, j] += mu[level] * H[level, i, j]
                    target[i] += mu[level] * H[level, i, j] * middle[level, j]
    status, num_active = solve_qp(B, target, rows, offsets, y, active, num_active, u, qp_work)
    if status != SOLVED:
        return np.inf, num_active
    g = 0.0
    for i in range(m):
        g += c[i] * y[i]
    for level in range(levels):
        f[level] = excess(H[level], middle[level], room[level], y, q[level])
        g -= 0.5 * mu[level] * f[level]
    return g, num_active


@kernel
def _newton_step(mu, f, q, frame, count, step):
    """Newton's step on the weights that are positive or ought to become so, at most ten times their sum."""
    levels, m = len(mu), q.shape[1]
    chosen = np.empty(levels, np.int64)
    n = 0
    for level in range(levels):
        step[level] = 0.0
        if mu[level] > 0.0 or f[level] > 0.0:
            chosen[n] = level
            n += 1
    W = np.zeros((m, n))
    for j in range(count, m):
        for k in range(n):
            for i in range(m):
                W[j, k] += frame[j, i] * q[chosen[k], i]
    M, trace = np.zeros((n, n)), 0.0
    for a in range(n):
        for b in range(n):
            for j in range(count, m):
                M[a, b] += W[j, a] * W[j, b]
        trace += M[a, a]
    for a in range(n):
        M[a, a] += 1e-10 * trace + 1e-300
    lower = np.zeros((n, n))
    if not cholesky(M, lower):
        for a in range(n):
            M[a, a] += 1e-4 * trace
        cholesky(M, lower)
    x = np.empty(n)
    for a in range(n):
        x[a] = 0.5 * f[chosen[a]]
        for b in range(a):
            x[a] -= lower[a, b] * x[b]
        x[a] /= lower[a, a]
    for a in range(n - 1, -1, -1):
        for b in range(a + 1, n):
            x[a] -= lower[b, a] * x[b]
        x[a] /= lower[a, a]
        step[chosen[a]] = x[a]
    largest, total = 0.0, 0.0
    for level in range(levels):
        largest, total = max(largest, abs(step[level])), total + mu[level]
    if largest > 10.0 * total:
        step *= 10.0 * total / largest


@kernel
def _gradient_step(mu, f, room, step):
    """Along the gradient, as long as mu, scaled by what the ellipsoids have room for."""
    largest, total = 0.0, 0.0
    for level in range(len(mu)):
        step[level] = f[level] / room[level] if mu[level] > 0.0 or f[level] > 0.0 else 0.0
        largest, total = max(largest, abs(step[level])), total + mu[level]
    step *= total / max(largest, 1e-300)


@kernel
def _state(mu, f, room):
    """How far from optimal: sum of |mu_l f_l| / 2, and the worst relative excess."""
    slack, worst = 0.0, 0.0
    for level in range(len(mu)):
        slack += 0.5 * abs(mu[level] * f[level])
        worst = max(worst, f[level] / room[level])
    return slack, worst


@kernel
def _move(mu, step, size, f, trial):
    """trial = mu + size step, at least 0; returns (what g should fall by, to first order, and sum of trial)."""
    fall, total = 0.0, 0.0
    for level in range(len(mu)):
        trial[level] = max(mu[level] + size * step[level], 0.0)
        fall += 0.5 * f[level] * (trial[level] - mu[level])
        total += trial[level]
    return fall, total


@kernel
def intersect(c, balls, rows, offsets, mu, y, active, num_active, work):
    """y becomes the maximiser; returns (gap, active rows). `mu` is where to start, at least one above 0.

    The maximum is at most <c, y> + gap; gap is infinite where no common point was found.
    """
    levels, m = len(mu), len(c)
    room = balls[2]
    f, new_f = np.empty(levels), np.empty(levels)
    q, new_q, new_y = np.empty((levels, m)), np.empty((levels, m)), np.empty(m)
    step, trial = np.empty(levels), np.empty(levels)
    g, num_active = _dual(c, balls, rows, offsets, mu, y, f, q, active, num_active, work)
    for _ in range(ROUNDS):
        slack, worst = _state(mu, f, room)
        if worst <= 1e-10 and slack <= GAP * (1.0 + abs(g)):
            break
        found, value, total = False, g, np.sum(mu)
        _newton_step(mu, f, q, work[3][1], num_active, step)
        for attempt in range(80):
            if attempt == 40:  # projection can spoil Newton's direction, but never the gradient's
                _gradient_step(mu, f, room, step)
            fall, rest = _move(mu, step, 0.5 ** (attempt % 40), f, trial)
            if fall > 0.0 and rest > 1e-12 * total:
                value, num_active = _dual(
                    c, balls, rows, offsets, trial, new_y, new_f, new_q, active, num_active, work
                )
                if value <= g - 1e-4 * fall:
                    found = True
                    break
        if not found:
            break
        g = value
        mu[:], y[:], f[:], q[:] = trial, new_y, new_f, new_q
    slack, worst = _state(mu, f, room)
    return (slack if worst <= FEASIBLE else np.inf), num_active
