"""Ascent of the value-biased objective over P: sequential quadratic programming, all in one call.

Each iteration takes the exact gradient (envelope theorem for V*: one adjoint solve) and the exact Hessian of
the concave part; where P is one block of dense features, also that of V* for the policy in force, as far as
the sum stays concave. A quadratic program over P gives the step, block by block, and a line search makes f
rise. Steps stop short of probability 0 for observed transitions, so f stays finite.

The KKT residual is max(|grad f + rows' mu|, mu * slack) over all blocks, relative to max(1, |grad f|). The gap
bounds max over v in P of <grad f, v - theta>; without bias it bounds how far f is below its maximum.
"""

from __future__ import annotations

import numpy as np

from vbmle.kernels.jit import kernel
from vbmle.kernels.objective import (
    assemble,
    gradient,
    likelihood_hessian,
    objective_value,
    reduce,
    reduce_block,
    value_hessian,
)
from vbmle.kernels.quadratic import SOLVED, solve_qp

ARMIJO = 1e-4
TARGET = 1e-10  # the residual at which iterations stop
INSIDE = 0.99  # how much of a start on the boundary is kept when the rest is the interior point
KEEP = 0.1  # a step leaves observed transitions at least this part of their probability


@kernel
def to_inside(domain, y):
    """Shrink y towards the interior point y = 0 until every row holds; returns whether it had to."""
    moved = False
    for b in range(len(domain.coord_ptr) - 1):
        free, m = domain.free_ptr[b], domain.free_ptr[b + 1] - domain.free_ptr[b]
        keep = 1.0
        for i in range(domain.row_ptr[b + 1] - domain.row_ptr[b]):
            total = 0.0
            for j in range(m):
                total += domain.rows[domain.rows_ptr[b] + i * m + j] * y[free + j]
            offset = domain.offsets[domain.row_ptr[b] + i]
            if total * keep + offset < 0.0:
                keep = min(keep, offset / -total)
        if keep < 1.0:
            moved = True
            for j in range(m):
                y[free + j] *= keep
    return moved


@kernel
def place(domain, theta, y):
    """y of a theta, moved inside P where theta is outside."""
    shifted = np.empty(len(theta))
    for j in range(len(theta)):
        shifted[j] = theta[j] - domain.center[j]
    reduce(domain, shifted, y)
    to_inside(domain, y)


@kernel
def step_limit(model, goal, p, direction):
    """The longest step, at most 1, that keeps a tenth of each observed probability."""
    limit = 1.0
    for k in range(goal.num_observed):
        i = goal.observed[k]
        change = 0.0
        if model.phi.shape[0] > 0:
            for j in range(len(direction)):
                change += model.phi[i, j] * direction[j]
        else:
            for x in range(model.f_indptr[i], model.f_indptr[i + 1]):
                change += model.f_data[x] * direction[model.f_indices[x]]
        if p[i] + limit * change < KEEP * p[i]:
            limit = (1.0 - KEEP) * p[i] / -change
    return limit


@kernel
def block_step(domain, b, B, g, y, d, active, num_active, work):
    """The quadratic program of block b at y. Returns (status, active rows, stationarity, complement, gap)."""
    m = len(g)
    count = domain.row_ptr[b + 1] - domain.row_ptr[b]
    rows = domain.rows[domain.rows_ptr[b] : domain.rows_ptr[b + 1]].reshape((count, m))
    slack, u, qp_work = work
    for i in range(count):
        total = domain.offsets[domain.row_ptr[b] + i]
        for j in range(m):
            total += rows[i, j] * y[j]
        slack[i] = total
    status, num_active = solve_qp(B, g, rows, slack[:count], d, active, num_active, u, qp_work)
    if status != SOLVED:
        return status, num_active, np.inf, np.inf, np.inf
    stationarity, square, complement, gap = 0.0, 0.0, 0.0, 0.0
    for i in range(m):
        total = 0.0
        for j in range(m):
            total += B[i, j] * d[j]
        stationarity = max(stationarity, abs(total))
        square += total * total
    for k in range(num_active):
        product = u[k] * max(slack[active[k]], 0.0)
        complement = max(complement, product)
        gap += product
    return status, num_active, stationarity, complement, gap + np.sqrt(square) * domain.diameter[b]


@kernel
def soften(B, g, diameter):
    """Add a multiple of the identity that keeps the unconstrained maximum within a million diameters."""
    m = len(g)
    trace, size = 0.0, 0.0
    for i in range(m):
        trace += B[i, i]
        size = max(size, abs(g[i]))
    extra = 1e-10 * trace / m + 1e-6 * size / diameter + 1e-14
    for i in range(m):
        B[i, i] += extra


@kernel
def quadratic_model(
    model, domain, goal, p, policy, lu, V, w, hessian, curvature, g, y, d, active, counts, room
):
    """The step d over all blocks. Returns (residual, gap, rise that the gradient promises)."""
    B, half, work = room
    use_value = len(curvature) > 0 and goal.bias > 0.0
    likelihood_hessian(model, domain, goal, p, hessian)
    if use_value:
        value_hessian(model, p, policy, lu, V, w, curvature)
    size, stationarity, complement, gap, rise = 1.0, 0.0, 0.0, 0.0, 0.0
    for b in range(len(domain.coord_ptr) - 1):
        free, m = domain.free_ptr[b], domain.free_ptr[b + 1] - domain.free_ptr[b]
        if m == 0:
            continue
        gb, yb, db = g[free : free + m], y[free : free + m], d[free : free + m]
        Bb, ab = B[:m, :m], active[free : free + m]
        status, share = 1, 1.0 if use_value else 0.0
        while status != SOLVED:
            if share > 0.0:
                for i in range(len(curvature)):
                    hessian[i] -= share * goal.bias * curvature[i]
            reduce_block(domain, hessian, b, Bb, half)
            if share > 0.0:
                for i in range(len(curvature)):
                    hessian[i] += share * goal.bias * curvature[i]
            soften(Bb, gb, domain.diameter[b])
            status, counts[b], stat, comp, part = block_step(domain, b, Bb, gb, yb, db, ab, counts[b], work)
            if status == SOLVED:
                break
            if share == 0.0:
                counts[b] = 0
                db[:] = 0.0
                break
            share = share / 2.0 if share > 0.2 else 0.0
        for j in range(m):
            size = max(size, abs(gb[j]))
            rise += gb[j] * db[j]
        stationarity, complement, gap = max(stationarity, stat), max(complement, comp), gap + part
    return max(stationarity, complement) / size, gap, rise


@kernel
def start_inside(model, domain, goal, y, theta, p, policy, lu, V):
    """f at y; where an observed transition is nearly impossible there, at a point mixed with the interior."""
    assemble(domain, y, theta)
    f = objective_value(model, goal, theta, p, policy, lu, V)
    least = 1.0
    for k in range(goal.num_observed):
        least = min(least, p[goal.observed[k]])
    if least > 1e-3:
        return f
    kept = y.copy()
    for j in range(len(y)):
        y[j] *= INSIDE
    assemble(domain, y, theta)
    inner = objective_value(model, goal, theta, p, policy, lu, V)
    if inner > f:
        return inner
    y[:] = kept
    assemble(domain, y, theta)
    return objective_value(model, goal, theta, p, policy, lu, V)


@kernel
def workspace(domain):
    """(B, half, (slack, multipliers, work of the quadratic program)) for the largest block."""
    k = m = r = 0
    for b in range(len(domain.coord_ptr) - 1):
        k = max(k, domain.coord_ptr[b + 1] - domain.coord_ptr[b])
        m = max(m, domain.free_ptr[b + 1] - domain.free_ptr[b])
        r = max(r, domain.row_ptr[b + 1] - domain.row_ptr[b])
    square = np.empty((4, m, m))
    vectors = np.empty((4, m + 1))
    qp_work = (
        square[0],
        square[1],
        square[2],
        vectors[0],
        vectors[1],
        vectors[2],
        np.empty(m, np.int64),
        np.zeros(r, np.bool_),
    )
    return square[3], np.empty((k, m)), (np.empty(r), vectors[3], qp_work)


@kernel
def ascend(model, domain, goal, y, theta, p, policy, lu, V, active, counts, max_iterations):
    """Climb from y to a KKT point. Everything but the first three arguments is overwritten.

    Returns (f, residual, gap, iterations).
    """
    n = len(theta)
    room = workspace(domain)
    square = len(domain.coord_ptr) == 2 and model.phi.shape[0] > 0 and lu.shape[0] > 0
    hessian = np.empty(domain.hessian_ptr[-1])
    curvature = np.empty(len(hessian) if square else 0)
    full, g, d, trial = np.empty(n), np.empty(len(y)), np.empty(len(y)), np.empty(len(y))
    w, direction = np.empty(len(V)), np.empty(n)
    f = start_inside(model, domain, goal, y, theta, p, policy, lu, V)
    residual, gap = np.inf, np.inf
    if f == -np.inf:
        return f, residual, gap, 0
    for iteration in range(max_iterations):
        gradient(model, goal, theta, p, policy, lu, V, w, full)
        reduce(domain, full, g)
        residual, gap, rise = quadratic_model(
            model, domain, goal, p, policy, lu, V, w, hessian, curvature, g, y, d, active, counts, room
        )
        if residual <= TARGET or rise <= 0.0:
            return f, residual, gap, iteration
        for j in range(len(y)):
            trial[j] = y[j] + d[j]
        assemble(domain, trial, direction)
        for j in range(n):
            direction[j] -= theta[j]
        step = step_limit(model, goal, p, direction)
        noise = 1e-14 * (1.0 + abs(f))
        risen = False
        for _ in range(40):
            for j in range(len(y)):
                trial[j] = y[j] + step * d[j]
            assemble(domain, trial, theta)
            new = objective_value(model, goal, theta, p, policy, lu, V)
            if new >= f + ARMIJO * step * rise - noise:
                risen = True
                break
            step *= 0.5
        if not risen:
            assemble(domain, y, theta)
            f = objective_value(model, goal, theta, p, policy, lu, V)
            return f, residual, gap, iteration
        y[:] = trial
        f = new
    return f, residual, gap, max_iterations
