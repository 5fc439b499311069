"""Ascent of the value-biased objective over P: sequential quadratic programming, all in one call.

Each iteration takes the exact gradient (envelope theorem for V*: one adjoint solve) and the exact Hessian of
the concave part; where P is one block of dense features, also that of V* for the policy in force, provided the
sum is concave, if need be only along the face where it stands. A quadratic program over P gives the step. Where
P is a product, each block has its own, and the value's curvature, which couples them, corrects the step along
the face (see `vbmle.kernels.newton`). Then a line search makes f rise. Steps stop short of probability 0 for
observed transitions, so f stays finite. Near the top the factors of the last program serve for a few steps more.

The KKT residual is max(|grad f + rows' mu|, mu * slack) over all blocks, relative to max(1, |grad f|), the
gradient in theta. The gap bounds max over v in P of <grad f, v - theta>; without bias it bounds how far f is
below its maximum.
"""

from __future__ import annotations

import numpy as np

from vbmle.kernels.jit import kernel
from vbmle.kernels.newton import correct
from vbmle.kernels.objective import (
    assemble,
    block_hessians,
    dense_hessian,
    objective_value,
    reduce,
    reduce_block,
    rounding_error,
    value_hessian,
)
from vbmle.kernels.polish import COSTLY, POLISH, TARGET, optimality, polish, slope_at
from vbmle.kernels.quadratic import SOLVED, qp_workspace, solve_qp

ARMIJO = 1e-4
STALLED = 1e-8  # climbs stop at this residual, too, once f no longer rises beyond rounding
INSIDE = (0.99, 0.9, 0.5)  # how much of a start on the boundary may be kept, the rest the interior point
FEW = 6  # without factors the value's curvature is computed for so many free coordinates: by sweeps for each
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
def block_step(domain, b, B, g, y, d, active, num_active, u, work):
    """The quadratic program of block b at y. Returns (status, number of active rows)."""
    m = len(g)
    count = domain.row_ptr[b + 1] - domain.row_ptr[b]
    rows = domain.rows[domain.rows_ptr[b] : domain.rows_ptr[b + 1]].reshape((count, m))
    slack, multipliers, qp_work = work
    for i in range(count):
        total = domain.offsets[domain.row_ptr[b] + i]
        for j in range(m):
            total += rows[i, j] * y[j]
        slack[i] = total
    status, num_active = solve_qp(B, g, rows, slack[:count], d, active, num_active, multipliers, qp_work)
    for k in range(num_active):
        u[k] = multipliers[k]
    return status, num_active


@kernel
def soften(B, g, diameter, ridge):
    """Add a multiple of the identity that keeps the unconstrained maximum within a million diameters.

    The ridge is in B already; where it is not enough for a safe factorisation, more is added.
    """
    m = len(g)
    trace, size = 0.0, 0.0
    for i in range(m):
        trace += B[i, i]
        size = max(size, abs(g[i]))
    extra = max(0.0, 1e-13 * trace / m - ridge) + 1e-6 * size / diameter + 1e-14
    for i in range(m):
        B[i, i] += extra


@kernel
def stiffen(domain, b, B, concave, active, u):
    """Make B convex across the face where it stands: add a multiple of row row' for rows pressed against.

    On the face itself nothing changes, so steps that stay on it keep the exact curvature.
    """
    m = B.shape[0]
    weight = 0.0
    for i in range(m):
        row = 0.0
        for j in range(m):
            row += abs(concave[i, j] - B[i, j])
        weight = max(weight, row)  # at least the greatest curvature that value can add
    for k in range(len(active)):
        if u[k] > 0.0:
            at = domain.rows_ptr[b] + active[k] * m
            for i in range(m):
                value = weight * domain.rows[at + i]
                for j in range(m):
                    B[i, j] += value * domain.rows[at + j]


@kernel
def dense_step(model, domain, goal, p, policy, lu, V, w, g, y, d, active, counts, u, room):
    """The step d where P is one block of dense features, with the exact curvature as far as it is concave."""
    B, concave, bent, Z, Y, work = room
    m = len(g)
    use_value = goal.bias > 0.0 and (lu.shape[0] > 0 or m <= FEW)
    dense_hessian(model, domain, goal, p, concave)
    if use_value:
        value_hessian(model, domain, p, policy, lu, V, w, Z, Y, bent)
    known = counts[0]  # active rows and multipliers of the last program
    for attempt in range(0 if use_value else 2, 3):
        for i in range(m):
            for j in range(m):
                B[i, j] = concave[i, j]
        if attempt < 2:
            for i in range(m):
                for j in range(m):
                    B[i, j] -= goal.bias * bent[i, j]
        if attempt == 1:
            stiffen(domain, 0, B, concave, active[:known], u)
        soften(B, g, domain.diameter[0], goal.ridge)
        status, counts[0] = block_step(domain, 0, B, g, y, d, active, known, u, work)
        if status == SOLVED:
            return
    counts[0] = 0
    d[:] = 0.0


@kernel
def product_step(model, domain, goal, p, policy, lu, V, w, g, y, d, active, counts, u, accuracy, room):
    """The step d over many blocks, corrected for the curvature of the value where there are factors."""
    hessian, half, last, square_ptr, concave, inverse, room_newton, work = room
    block_hessians(model, domain, goal, p, hessian)
    frame = work[2][1]
    for b in range(len(domain.coord_ptr) - 1):
        free, m = domain.free_ptr[b], domain.free_ptr[b + 1] - domain.free_ptr[b]
        if m == 0:
            continue
        gb, yb, db, ub = g[free : free + m], y[free : free + m], d[free : free + m], u[free : free + m]
        same = True  # a block at rest whose gradient has not moved stays at rest
        for j in range(m):
            same = same and gb[j] == last[free + j] and abs(db[j]) <= 1e-14
            last[free + j] = gb[j]
        if same:
            db[:] = 0.0
            continue
        at = square_ptr[b]
        Bb = concave[at : at + m * m].reshape((m, m))
        reduce_block(domain, hessian, b, Bb, half)
        soften(Bb, gb, domain.diameter[b], goal.ridge)
        status, counts[b] = block_step(
            domain, b, Bb, gb, yb, db, active[free : free + m], counts[b], ub, work
        )
        if status != SOLVED:
            counts[b] = 0
            db[:] = 0.0
        for i in range(m):
            for j in range(m):
                total = 0.0
                for k in range(counts[b], m):
                    total += frame[k, i] * frame[k, j]
                inverse[at + i * m + j] = total if status == SOLVED else 0.0
    if goal.bias > 0.0 and lu.shape[0] > 0:
        correct(
            model,
            domain,
            goal.bias,
            policy,
            lu,
            V,
            w,
            y,
            d,
            square_ptr,
            concave,
            inverse,
            accuracy,
            room_newton,
        )


@kernel
def start_inside(model, domain, goal, y, theta, p, policy, lu, V):
    """f at y; where an observed transition is all but impossible there, at a point mixed with the interior.

    At a maximum n_i/p_i is of the order of all counts and the bias together; far above, steps would only
    double p_i each time.
    """
    assemble(domain, y, theta)
    f = objective_value(model, goal, theta, p, policy, lu, V)
    total, steepest = 1.0 + goal.bias / (1.0 - model.discount), 0.0
    for k in range(goal.num_observed):
        i = goal.observed[k]
        total += goal.counts[i]
        steepest = max(steepest, goal.counts[i] / p[i] if p[i] > 0.0 else np.inf)
    if steepest <= 10.0 * total:
        return f
    kept, best = y.copy(), y.copy()
    for inside in INSIDE:
        for j in range(len(y)):
            y[j] = inside * kept[j]
        assemble(domain, y, theta)
        inner = objective_value(model, goal, theta, p, policy, lu, V)
        if inner > f:
            f = inner
            best[:] = y
    y[:] = best
    assemble(domain, y, theta)
    return objective_value(model, goal, theta, p, policy, lu, V)


@kernel
def dense_workspace(domain, states, needed):
    """Work arrays of `dense_step`, empty where it is not needed."""
    m, r = (domain.free_ptr[-1], len(domain.offsets)) if needed else (0, 0)
    square, tall = np.empty((3, m, m)), np.empty((2, states, m))
    work = (np.empty(r), np.empty(m + 1), qp_workspace(m, r))
    return square[0], square[1], square[2], tall[0], tall[1], work


@kernel
def product_workspace(model, domain, states, needed):
    """Work arrays of `product_step`, for the largest block and for all; empty where it is not needed."""
    blocks = len(domain.coord_ptr) - 1 if needed else 0
    square_ptr = np.zeros(blocks + 1, np.int64)
    k = m = r = 0
    for b in range(blocks):
        free = domain.free_ptr[b + 1] - domain.free_ptr[b]
        square_ptr[b + 1] = square_ptr[b] + free * free
        k = max(k, domain.coord_ptr[b + 1] - domain.coord_ptr[b])
        m, r = max(m, free), max(r, domain.row_ptr[b + 1] - domain.row_ptr[b])
    total, n = domain.free_ptr[blocks], len(domain.center) if needed else 0
    newton = (
        np.empty((5, total)),
        np.empty((2, n)),
        np.empty((2, states)),
        np.empty(len(model.successor) if needed else 0),
        np.empty(blocks, np.int64),
    )
    work = (np.empty(r), np.empty(m + 1), qp_workspace(m, r))
    hessian, half, last = np.empty(domain.hessian_ptr[blocks]), np.empty((k, m)), np.full(total, np.nan)
    return hessian, half, last, square_ptr, np.empty(square_ptr[-1]), np.zeros(square_ptr[-1]), newton, work


@kernel
def ascend(model, domain, goal, y, theta, p, policy, lu, V, active, counts, max_iterations):
    """Climb from y to a KKT point. Everything but the first three arguments is overwritten.

    Returns (f, residual, gap, iterations).
    """
    n, free = len(theta), len(y)
    dense = model.phi.shape[0] > 0
    dense_room = dense_workspace(domain, len(V), dense)
    product_room = product_workspace(model, domain, len(V), not dense)
    full, direction, w = np.empty(n), np.empty(n), np.empty(len(V))
    g, d, trial, u = np.empty(free), np.full(free, np.inf), np.empty(free), np.zeros(free)
    f = start_inside(model, domain, goal, y, theta, p, policy, lu, V)
    if f == -np.inf:
        return f, np.inf, np.inf, 0
    size = slope_at(model, domain, goal, theta, p, policy, lu, V, w, full, g)
    stalled, residual = 0, 1.0
    for iteration in range(max_iterations):
        if dense:
            dense_step(model, domain, goal, p, policy, lu, V, w, g, y, d, active, counts, u, dense_room)
        else:
            accuracy = min(0.1, max(1e-4, residual))  # near the top, steps as exact as it pays
            product_step(
                model, domain, goal, p, policy, lu, V, w, g, y, d, active, counts, u, accuracy, product_room
            )
        rise = 0.0
        for j in range(free):
            rise += g[j] * d[j]
        residual, gap = optimality(domain, g, y, active, counts, u)
        residual /= size
        if residual <= TARGET or rise <= 0.0 or (stalled >= 2 and residual <= STALLED) or stalled >= 10:
            return f, residual, gap, iteration
        for j in range(free):
            trial[j] = y[j] + d[j]
        assemble(domain, trial, direction)
        for j in range(n):
            direction[j] -= theta[j]
        step = step_limit(model, goal, p, direction)
        noise = rounding_error(model, goal, lu, f)
        new = -np.inf
        for _ in range(40):
            for j in range(free):
                trial[j] = y[j] + step * d[j]
            assemble(domain, trial, theta)
            new = objective_value(model, goal, theta, p, policy, lu, V)
            if new >= f + ARMIJO * step * rise - noise:
                break
            step *= 0.5
            new = -np.inf
        if new == -np.inf:
            assemble(domain, y, theta)
            f = objective_value(model, goal, theta, p, policy, lu, V)
            return f, residual, gap, iteration
        y[:] = trial
        stalled = stalled + 1 if new <= f + noise else 0
        f = new
        size = slope_at(model, domain, goal, theta, p, policy, lu, V, w, full, g)
        if step == 1.0:  # the multipliers of the step may already prove the new point
            residual, gap = optimality(domain, g, y, active, counts, u)
            residual /= size
            if dense and free >= COSTLY and TARGET < residual <= POLISH:
                f, size, residual, gap = polish(
                    model,
                    domain,
                    goal,
                    y,
                    theta,
                    p,
                    policy,
                    lu,
                    V,
                    w,
                    full,
                    g,
                    d,
                    trial,
                    active,
                    counts,
                    u,
                    dense_room[5],
                    (f, size, residual, gap),
                )
            if residual <= TARGET:
                return f, residual, gap, iteration + 1
    residual, gap = optimality(domain, g, y, active, counts, u)
    return f, residual / size, gap, max_iterations
