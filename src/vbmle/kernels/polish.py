"""How far a point is from optimal, and the last steps of a climb, which use the factors of one program again.

Near the top a new quadratic program changes little but costs most where there are many free coordinates. Its factors
give a step on the face where it ended, and the multipliers there, for one gradient each.
"""

from __future__ import annotations

import numpy as np

from vbmle.kernels.jit import kernel
from vbmle.kernels.objective import assemble, gradient, objective_value, reduce, rounding_error

TARGET = 1e-10  # the residual at which iterations stop
POLISH = 1e-3  # from this residual on, factors of the last program are used again ...
QUICK = 0.1  # ... while each step makes the residual so much smaller ...
COSTLY = 32  # ... and where there are so many free coordinates: with fewer, new factors cost no more than a gradient


@kernel
def optimality(domain, g, y, active, counts, u):
    """KKT residual |g + rows' u|, u * slack at y for the multipliers at hand, and the gap they prove."""
    worst, gap = 0.0, 0.0
    rest = np.empty(len(g))
    for b in range(len(domain.coord_ptr) - 1):
        free, m = domain.free_ptr[b], domain.free_ptr[b + 1] - domain.free_ptr[b]
        for j in range(m):
            rest[j] = g[free + j]
        for k in range(counts[b]):
            i = active[free + k]
            slack = domain.offsets[domain.row_ptr[b] + i]
            at = domain.rows_ptr[b] + i * m
            for j in range(m):
                rest[j] += u[free + k] * domain.rows[at + j]
                slack += domain.rows[at + j] * y[free + j]
            product = u[free + k] * max(slack, 0.0)
            worst, gap = max(worst, product), gap + product
        square = 0.0
        for j in range(m):
            worst = max(worst, abs(rest[j]))
            square += rest[j] * rest[j]
        gap += np.sqrt(square) * domain.diameter[b]
    return worst, gap


@kernel
def slope_at(model, domain, goal, theta, p, policy, lu, V, w, full, g):
    """g = gradient in y, from what `objective_value` left; returns max(1, |gradient in theta|)."""
    gradient(model, goal, theta, p, policy, lu, V, w, full)
    reduce(domain, full, g)
    size = 1.0
    for j in range(len(full)):
        size = max(size, abs(full[j]))
    return size


@kernel
def step_on_face(frame, upper, count, g, d, u):
    """d = Z (Z' B Z)^{-1} Z' g on the face of the last program, and the multipliers u that go with g there.

    False, and u as it was, where a multiplier would be negative: another face is better.
    """
    m = len(g)
    d[:] = 0.0
    for k in range(count, m):
        total = 0.0
        for j in range(m):
            total += frame[k, j] * g[j]
        for j in range(m):
            d[j] += total * frame[k, j]
    found = np.empty(count)
    for k in range(count - 1, -1, -1):
        total = 0.0
        for j in range(m):
            total -= frame[k, j] * g[j]
        for i in range(k + 1, count):
            total -= upper[k, i] * found[i]
        found[k] = total / upper[k, k]
        if found[k] < 0.0:
            return False
    for k in range(count):
        u[k] = found[k]
    return True


@kernel
def holds(domain, y):
    """Whether y keeps all rows of the one block there is."""
    m = len(y)
    for i in range(len(domain.offsets)):
        total = domain.offsets[i]
        for j in range(m):
            total += domain.rows[i * m + j] * y[j]
        if total < -1e-14:
            return False
    return True


@kernel
def polish(
    model, domain, goal, y, theta, p, policy, lu, V, w, full, g, d, trial, active, counts, u, work, state
):
    """Steps with the factors of the last program, each for one gradient. Takes and returns (f, size, residual, gap).

    Ends at the target, or where a step would leave the face or no longer pays. All arrays belong to y then.
    """
    f, size, residual, gap = state
    frame, upper = work[2][1], work[2][2]
    before = POLISH
    while step_on_face(frame, upper, counts[0], g, d, u):
        residual, gap = optimality(domain, g, y, active, counts, u)
        residual /= size
        if residual <= TARGET or residual > QUICK * before:
            break
        before = residual
        for j in range(len(y)):
            trial[j] = y[j] + d[j]
        if not holds(domain, trial):
            break
        assemble(domain, trial, theta)
        new = objective_value(model, goal, theta, p, policy, lu, V)
        if new < f - rounding_error(model, goal, lu, f):
            assemble(domain, y, theta)
            f = objective_value(model, goal, theta, p, policy, lu, V)
            size = slope_at(model, domain, goal, theta, p, policy, lu, V, w, full, g)
            break
        y[:] = trial
        f = new
        size = slope_at(model, domain, goal, theta, p, policy, lu, V, w, full, g)
    return f, size, residual, gap
