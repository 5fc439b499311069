"""The value's curvature for product sets: conjugate gradients along the face, from products alone.

For a tabular model the Hessian of V* couples all blocks, and no dense matrix of that size may appear. But its
product with a direction v costs two solves with factors that are there already. With x(s) = sum_s' dp(s')
(r + gamma V(s')) for dp = <phi, v> on the rows of the policy,

    dV = (I - gamma P)^{-1} x,      dw = (I - gamma P')^{-1} gamma dP' w,
    H v = sum_s sum_s' phi(s'|s,pi) (gamma w(s) dV(s') + dw(s) (r + gamma V(s'))).

The block programs give a step d and, for each block, K = Z (Z' B Z)^{-1} Z' for the face on which d ends; K
preconditions conjugate gradients for the correction of d that the value's curvature asks for.
"""

from __future__ import annotations

import numpy as np

from vbmle.kernels.jit import kernel
from vbmle.kernels.objective import add_row
from vbmle.kernels.solve import solve_factored, solve_transposed

MAX_PRODUCTS = 30


@kernel
def along(model, i, v):
    """<phi_i, v>."""
    total = 0.0
    for k in range(model.f_indptr[i], model.f_indptr[i + 1]):
        total += model.f_data[k] * v[model.f_indices[k]]
    return total


@kernel
def value_curvature(model, policy, lu, V, w, v, change, dV, dw, out):
    """out = H v, with H the Hessian of V^pi(state) in theta; change, dV and dw are overwritten."""
    dV[:] = 0.0
    dw[:] = 0.0
    for s in range(len(V)):
        row = s * model.num_actions + policy[s]
        for i in range(model.indptr[row], model.indptr[row + 1]):
            t = model.successor[i]
            change[i] = along(model, i, v)
            gain = model.discount * V[t]
            if len(model.reward_next) > 0:
                gain += model.reward_next[i]
            dV[s] += change[i] * gain
            dw[t] += model.discount * change[i] * w[s]
    solve_factored(lu, dV)
    solve_transposed(lu, dw)
    out[:] = 0.0
    for s in range(len(V)):
        row = s * model.num_actions + policy[s]
        for i in range(model.indptr[row], model.indptr[row + 1]):
            t = model.successor[i]
            gain = model.discount * V[t]
            if len(model.reward_next) > 0:
                gain += model.reward_next[i]
            add_row(model, i, model.discount * w[s] * dV[t] + dw[s] * gain, out)


@kernel
def touched_blocks(model, domain, policy, states, blocks):
    """List in `blocks` those that govern a row of the policy; returns how many. Others see no curvature."""
    met = np.zeros(len(domain.free_ptr) - 1, np.bool_)
    count = 0
    for s in range(states):
        first = model.f_indptr[model.indptr[s * model.num_actions + policy[s]]]
        b = domain.block_of[model.f_indices[first]]
        if not met[b] and domain.free_ptr[b + 1] > domain.free_ptr[b]:
            met[b] = True
            blocks[count] = b
            count += 1
    return count


@kernel
def to_theta(domain, blocks, y, out):
    """out = basis @ y on these blocks: a direction in y as one in theta."""
    for b in blocks:
        first, free = domain.coord_ptr[b], domain.free_ptr[b]
        m = domain.free_ptr[b + 1] - free
        at = domain.basis_ptr[b]
        for i in range(domain.coord_ptr[b + 1] - first):
            total = 0.0
            for j in range(m):
                total += domain.basis[at + i * m + j] * y[free + j]
            out[domain.coords[first + i]] = total


@kernel
def to_free(domain, blocks, g, out):
    """out = basis' g on these blocks: a gradient in theta as one in y."""
    for b in blocks:
        first, free = domain.coord_ptr[b], domain.free_ptr[b]
        m = domain.free_ptr[b + 1] - free
        at = domain.basis_ptr[b]
        for j in range(m):
            out[free + j] = 0.0
        for i in range(domain.coord_ptr[b + 1] - first):
            value = g[domain.coords[first + i]]
            for j in range(m):
                out[free + j] += domain.basis[at + i * m + j] * value


@kernel
def multiply(domain, blocks, square_ptr, matrices, x, out):
    """out = (block diagonal) x on these blocks, in y; returns <x, out>."""
    product = 0.0
    for b in blocks:
        free, m = domain.free_ptr[b], domain.free_ptr[b + 1] - domain.free_ptr[b]
        for i in range(m):
            total = 0.0
            for j in range(m):
                total += matrices[square_ptr[b] + i * m + j] * x[free + j]
            out[free + i] = total
            product += total * x[free + i]
    return product


@kernel
def longest(domain, y, d, e):
    """The greatest t in [0, 1] for which y + d + t e stays in P, where y + d is."""
    limit = 1.0
    for b in range(len(domain.free_ptr) - 1):
        free, m = domain.free_ptr[b], domain.free_ptr[b + 1] - domain.free_ptr[b]
        for i in range(domain.row_ptr[b + 1] - domain.row_ptr[b]):
            at = domain.rows_ptr[b] + i * m
            slack, rate = domain.offsets[domain.row_ptr[b] + i], 0.0
            for j in range(m):
                slack += domain.rows[at + j] * (y[free + j] + d[free + j])
                rate += domain.rows[at + j] * e[free + j]
            if rate < -1e-14 and slack + limit * rate < 0.0:
                limit = max(0.0, slack) / -rate
    return limit


@kernel
def correct(model, domain, bias, policy, lu, V, w, y, d, square_ptr, concave, inverse, accuracy, room):
    """Add to d what the curvature of the value asks for along the face, to a relative accuracy."""
    free_work, full_work, state_work, change, room_blocks = room
    r, z, p, q, e = free_work[0], free_work[1], free_work[2], free_work[3], free_work[4]
    v, image = full_work[0], full_work[1]
    dV, dw = state_work[0], state_work[1]
    blocks = room_blocks[: touched_blocks(model, domain, policy, len(V), room_blocks)]
    v[:] = 0.0  # rows with one successor have no block, and do not change
    r[:] = 0.0
    to_theta(domain, blocks, d, v)
    value_curvature(model, policy, lu, V, w, v, change, dV, dw, image)
    to_free(domain, blocks, image, r)
    for j in range(len(d)):
        r[j] *= bias
        e[j] = 0.0
    size = multiply(domain, blocks, square_ptr, inverse, r, z)
    first = size
    for b in blocks:
        for j in range(domain.free_ptr[b], domain.free_ptr[b + 1]):
            p[j] = z[j]
    for _ in range(MAX_PRODUCTS):
        if size <= accuracy * accuracy * first or size <= 0.0:
            break
        to_theta(domain, blocks, p, v)
        value_curvature(model, policy, lu, V, w, v, change, dV, dw, image)
        to_free(domain, blocks, image, z)
        curvature = multiply(domain, blocks, square_ptr, concave, p, q)
        for b in blocks:
            for j in range(domain.free_ptr[b], domain.free_ptr[b + 1]):
                q[j] -= bias * z[j]
                curvature -= bias * z[j] * p[j]
        if curvature <= 1e-12 * size:
            break
        step = size / curvature
        for b in blocks:
            for j in range(domain.free_ptr[b], domain.free_ptr[b + 1]):
                e[j] += step * p[j]
                r[j] -= step * q[j]
        new = multiply(domain, blocks, square_ptr, inverse, r, z)
        for b in blocks:
            for j in range(domain.free_ptr[b], domain.free_ptr[b + 1]):
                p[j] = z[j] + (new / size) * p[j]
        size = new
    limit = longest(domain, y, d, e)
    for j in range(len(d)):
        d[j] += limit * e[j]
