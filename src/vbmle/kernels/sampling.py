"""Hit-and-run for the posterior sum n log p on P, uniform prior, in the coordinates y of `vbmle.polytope`.

Blocks of P are independent, and each has its own chain. A step draws a direction, then moves along that line by a
slice: with p_i(t) = p_i (1 + t r_i) the log density is sum n_i log(1 + t r_i), concave, so what lies above a level
drawn below it at t = 0 is an interval. Its ends are found by Newton's method, and t is uniform within it.

Directions are normal with the covariance that the posterior has near the point where

    sum n log p + sum share log(slack)      over what was seen and over the inequalities

is greatest: M is the minus Hessian there, and directions are M^{-1/2} z. The slacks make M see directions in which the
posterior is thin because it leans against a face. Many faces that nearly coincide would count too much, so
each has a share: those of John's ellipsoid of P, the largest inside, found once per model by multiplying with
leverages. All this depends on the data alone, never on the chain: each step leaves the posterior as it is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from vbmle.kernels.jit import kernel
from vbmle.kernels.layout import Floats, Ints

NEWTON = 500
ENOUGH = 1e-6  # Newton decrement, squared, at which the reference is good enough for directions
HALVINGS = 60
SHARINGS = 100  # multiplications by leverages
LEAST = 0.1  # of an equal share, so that no face goes unseen
CROSSING = 1e-10  # error of the ends of a slice, in log density or relative to their distance


class Posterior(NamedTuple):
    """Features in the coordinates y, transitions grouped by block, and room to work in."""

    indptr: Ints  # (nnz + 1,) feature rows phi @ basis
    columns: Ints  # into y
    values: Floats
    base: Floats  # (nnz,) probabilities at y = 0
    order: Ints  # (nnz,) transitions, block after block
    block_ptr: Ints  # (blocks + 1,) into order
    factor: Floats  # (free, free) room for one block's Cholesky factor
    seen: Ints  # (nnz,)
    p: Floats  # (nnz,) of the transitions in `seen`
    ratio: Floats  # (nnz,)
    weight: Floats  # (nnz,)
    slack: Floats  # (rows,) largest block
    along: Floats  # (rows,)
    share: Floats  # (all rows,) how much each inequality counts in M
    there: Floats  # (free,) all of y
    g: Floats  # (free,)
    d: Floats  # (free,)


@kernel
def measure(post, domain, b, y, num_seen):
    """Slacks of block b and probabilities of its seen transitions at y."""
    free, m = domain.free_ptr[b], domain.free_ptr[b + 1] - domain.free_ptr[b]
    for i in range(domain.row_ptr[b + 1] - domain.row_ptr[b]):
        total = domain.offsets[domain.row_ptr[b] + i]
        for j in range(m):
            total += domain.rows[domain.rows_ptr[b] + i * m + j] * y[free + j]
        post.slack[i] = total
    for k in range(num_seen):
        i = post.seen[k]
        total = post.base[i]
        for x in range(post.indptr[i], post.indptr[i + 1]):
            total += post.values[x] * y[post.columns[x]]
        post.p[k] = total


@kernel
def curvature(post, domain, b, num_seen):
    """Gradient in post.g, minus the Hessian in post.factor, of sum n log p + sum log slack."""
    free, m = domain.free_ptr[b], domain.free_ptr[b + 1] - domain.free_ptr[b]
    M, g = post.factor, post.g
    g[:m] = 0.0
    M[:m, :m] = 0.0
    for k in range(num_seen):
        i = post.seen[k]
        scale = 1.0 / post.p[k]
        for x in range(post.indptr[i], post.indptr[i + 1]):
            j = post.columns[x] - free
            value = post.weight[k] * scale * post.values[x]
            g[j] += value
            for z in range(post.indptr[i], post.indptr[i + 1]):
                M[j, post.columns[z] - free] += value * scale * post.values[z]
    for i in range(domain.row_ptr[b + 1] - domain.row_ptr[b]):
        scale = 1.0 / post.slack[i]
        at = domain.rows_ptr[b] + i * m
        for j in range(m):
            value = post.share[domain.row_ptr[b] + i] * scale * domain.rows[at + j]
            g[j] += value
            for k in range(m):
                M[j, k] += value * scale * domain.rows[at + k]


@kernel
def cholesky(M, m):
    """The lower triangle of M becomes its Cholesky factor; nearly flat directions keep a small pivot."""
    for j in range(m):
        diagonal = M[j, j]
        total = diagonal
        for k in range(j):
            total -= M[j, k] * M[j, k]
        M[j, j] = np.sqrt(max(total, 1e-14 * diagonal))
        for i in range(j + 1, m):
            total = M[i, j]
            for k in range(j):
                total -= M[i, k] * M[j, k]
            M[i, j] = total / M[j, j]


@kernel
def solve_lower(L, x, m):
    """x becomes L^{-1} x."""
    for i in range(m):
        total = x[i]
        for j in range(i):
            total -= L[i, j] * x[j]
        x[i] = total / L[i, i]


@kernel
def solve_upper(L, x, m):
    """x becomes L^{-T} x."""
    for i in range(m - 1, -1, -1):
        total = x[i]
        for j in range(i + 1, m):
            total -= L[j, i] * x[j]
        x[i] = total / L[i, i]


@kernel
def height(post, domain, b, y, num_seen):
    """sum n log p + sum share log(slack) in block b at y; minus infinity on the boundary and outside."""
    measure(post, domain, b, y, num_seen)
    total = 0.0
    for k in range(num_seen):
        if post.p[k] <= 0.0:
            return -np.inf
        total += post.weight[k] * np.log(post.p[k])
    for i in range(domain.row_ptr[b + 1] - domain.row_ptr[b]):
        if post.slack[i] <= 0.0:
            return -np.inf
        total += post.share[domain.row_ptr[b] + i] * np.log(post.slack[i])
    return total


@kernel
def refer(post, domain, b, reference, num_seen, enough, limit):
    """Move the reference of block b to the maximum by Newton's method; leaves slacks and the factor of M there."""
    free, m = domain.free_ptr[b], domain.free_ptr[b + 1] - domain.free_ptr[b]
    f = height(post, domain, b, reference, num_seen)
    for _ in range(limit):
        curvature(post, domain, b, num_seen)
        cholesky(post.factor, m)
        solve_lower(post.factor, post.g, m)
        squared = 0.0
        for j in range(m):
            squared += post.g[j] * post.g[j]
        if squared <= enough:
            return
        solve_upper(post.factor, post.g, m)
        step, risen = 1.0, False
        for _ in range(HALVINGS):
            for j in range(m):
                post.there[free + j] = reference[free + j] + step * post.g[j]
            new = height(post, domain, b, post.there, num_seen)
            if new > f + 1e-4 * step * squared:
                risen = True
                break
            step *= 0.5
        if not risen:  # only rounding is left
            height(post, domain, b, reference, num_seen)
            return
        f = new
        for j in range(m):
            reference[free + j] = post.there[free + j]


@kernel
def share_out(post, domain, reference):
    """Set the shares of all inequalities to those of the largest ellipsoid inside each block of P."""
    post.share[:] = 1.0
    for b in range(len(domain.coord_ptr) - 1):
        m, count = domain.free_ptr[b + 1] - domain.free_ptr[b], domain.row_ptr[b + 1] - domain.row_ptr[b]
        if m == 0:
            continue
        for _ in range(SHARINGS):
            refer(post, domain, b, reference, 0, ENOUGH, 20)
            for i in range(count):
                for j in range(m):
                    post.d[j] = domain.rows[domain.rows_ptr[b] + i * m + j] / post.slack[i]
                solve_lower(post.factor, post.d, m)
                leverage = 0.0
                for j in range(m):
                    leverage += post.d[j] * post.d[j]
                post.share[domain.row_ptr[b] + i] *= leverage
        for i in range(count):
            post.share[domain.row_ptr[b] + i] += LEAST * m / count


@kernel
def mend(post, domain, b, y, reference, num_seen):
    """Measure at y, and where y excludes something seen or lies outside, move it towards the reference."""
    free, m = domain.free_ptr[b], domain.free_ptr[b + 1] - domain.free_ptr[b]
    for _ in range(60):
        measure(post, domain, b, y, num_seen)
        fine = True
        for k in range(num_seen):
            fine = fine and post.p[k] > 0.0
        for i in range(domain.row_ptr[b + 1] - domain.row_ptr[b]):
            fine = fine and post.slack[i] >= 0.0
        if fine:
            return
        for j in range(m):
            y[free + j] += 0.01 * (reference[free + j] - y[free + j])


@kernel
def excess(weight, ratio, num_seen, t, level):
    """sum n log(1 + t r) - level and its derivative at t."""
    total, slope = -level, 0.0
    for k in range(num_seen):
        part = 1.0 + t * ratio[k]
        if part <= 0.0:
            return -np.inf, -np.inf
        total += weight[k] * np.log(part)
        slope += weight[k] * ratio[k] / part
    return total, slope


@kernel
def crossing(weight, ratio, num_seen, level, sign, bound):
    """How far from t = 0 towards sign the log density stays above the level, at most `bound`."""
    inner, outer = 0.0, min(1.0, bound)
    while True:
        value, slope = excess(weight, ratio, num_seen, sign * outer, level)
        if value < 0.0:
            break
        inner = outer
        if outer >= bound:
            return bound
        outer = min(2.0 * outer, bound)
    for _ in range(200):
        if value >= -CROSSING or outer - inner <= CROSSING * outer:
            return outer
        following, halved = 0.5 * (inner + outer), True
        if value > -np.inf:
            newton = outer - value / (sign * slope)  # concave: from outside it stays outside
            # Near probability 0 the logarithm is so steep that Newton's steps vanish: halve there.
            if value > -1.0 or outer - newton > 0.1 * (outer - inner):
                following, halved = newton, False
        there, slope_there = excess(weight, ratio, num_seen, sign * following, level)
        if there < 0.0:
            outer, value, slope = following, there, slope_there
        elif halved:
            inner = following
        else:
            return following  # Newton landed on the root, up to rounding
    return outer


@kernel
def walk(post, domain, b, y, num_seen, normals, uniforms):
    """As many steps of hit-and-run in block b as there are rows of random numbers."""
    free, m = domain.free_ptr[b], domain.free_ptr[b + 1] - domain.free_ptr[b]
    count = domain.row_ptr[b + 1] - domain.row_ptr[b]
    for step in range(normals.shape[0]):
        size = 0.0
        for j in range(m):
            post.d[j] = normals[step, j]
            size += normals[step, j] * normals[step, j]
        solve_upper(post.factor, post.d, m)
        for j in range(m):
            post.d[j] /= np.sqrt(size)
        low, high = np.inf, np.inf
        for i in range(count):
            total = 0.0
            for j in range(m):
                total += domain.rows[domain.rows_ptr[b] + i * m + j] * post.d[j]
            post.along[i] = total
            if total < 0.0:
                high = min(high, post.slack[i] / -total)
            elif total > 0.0:
                low = min(low, post.slack[i] / total)
        for k in range(num_seen):
            i = post.seen[k]
            total = 0.0
            for x in range(post.indptr[i], post.indptr[i + 1]):
                total += post.values[x] * post.d[post.columns[x] - free]
            post.ratio[k] = total / post.p[k]
        level = np.log(1.0 - uniforms[step, 0])
        high = crossing(post.weight, post.ratio, num_seen, level, 1.0, high)
        low = crossing(post.weight, post.ratio, num_seen, level, -1.0, low)
        t = uniforms[step, 1] * (low + high) - low
        for j in range(m):
            y[free + j] += t * post.d[j]
        for i in range(count):
            post.slack[i] = max(0.0, post.slack[i] + t * post.along[i])
        for k in range(num_seen):
            post.p[k] = max(post.p[k] * (1.0 + t * post.ratio[k]), 1e-300)


@kernel
def sample(post, domain, counts, y, reference, thinning, normals, uniforms):
    """Move y along the posterior: thinning steps for each free coordinate of each block.

    normals (sum thinning m^2,) and uniforms (sum thinning m, 2) over the blocks' free dimensions m.
    """
    normal, uniform = 0, 0
    for b in range(len(domain.coord_ptr) - 1):
        m = domain.free_ptr[b + 1] - domain.free_ptr[b]
        if m == 0:
            continue
        num_seen = 0
        for k in range(post.block_ptr[b], post.block_ptr[b + 1]):
            i = post.order[k]
            if counts[i] > 0.0:
                post.seen[num_seen] = i
                post.weight[num_seen] = counts[i]
                num_seen += 1
        refer(post, domain, b, reference, num_seen, ENOUGH, NEWTON)
        mend(post, domain, b, y, reference, num_seen)
        steps = thinning * m
        own = normals[normal : normal + steps * m].reshape((steps, m))
        walk(post, domain, b, y, num_seen, own, uniforms[uniform : uniform + steps])
        normal += steps * m
        uniform += steps
