"""Extended value iteration: the best model for every (s, a) out of P within ellipsoids, and the best policy.

A `Ball` is one ellipsoid or several, block by block in the coordinates y (see `vbmle.kernels.support`), the first axis
being the ellipsoid; `Warm` is what the last problem of every row (s, a) ended with.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from vbmle.kernels.intersection import excess, intersect
from vbmle.kernels.jit import kernel
from vbmle.kernels.layout import Floats, Ints
from vbmle.kernels.quadratic import cholesky
from vbmle.kernels.support import (
    FAR,
    invert_lower,
    nearest,
    quadratic_form,
    square_length,
    support,
    support_workspace,
)
from vbmle.kernels.value import policy_iteration, sweep

MAX_ROUNDS = 1000
IDLE = 6  # rounds without progress, after which the error stays what it is
CLOSE = 1e-9  # relative to V: the gap of an inner maximum that is close enough
INDIFFERENT = 1e-14  # relative to V: what the choice of theta may be worth, to be no choice
INSIDE = 1e-9  # of its room: how much an ellipsoid may be missed by
INNER = (
    20  # evaluation sweeps of the policy in hand between two optimistic sweeps, in models with many states
)


class Ball(NamedTuple):
    """|theta - estimate|^2_Sigma <= radius^2 in every block's own coordinates, for each of L ellipsoids."""

    square_ptr: Ints  # (blocks + 1,) into H and root
    H: Floats  # (L, all blocks' squares)
    root: Floats  # L^{-1} of H = L L'
    middle: Floats  # (L, free) y next to the estimate
    slack: Floats  # (L, rows) rows @ middle + offsets
    near: Floats  # (L, free) y of the nearest point of P
    room: Floats  # (L, blocks) what a block may use of radius^2; before that is known, what `near` uses


class Warm(NamedTuple):
    """By ellipsoid and row (s, a): the multiplier s, the active rows and y; by row: the ellipsoid that was tight."""

    s: Floats  # (L, rows)
    active: Ints  # (L, rows, free)
    num_active: Ints  # (L, rows)
    y: Floats  # (L, rows, free)
    tight: Ints  # (rows,)
    chosen: Floats  # (rows, free) the y chosen


@kernel
def _matrices(domain, ball, sigma, level, b):
    """Views of block b of the given ellipsoid: basis, rows, Sigma, H and its root as matrices."""
    k = domain.coord_ptr[b + 1] - domain.coord_ptr[b]
    m = domain.free_ptr[b + 1] - domain.free_ptr[b]
    r = domain.row_ptr[b + 1] - domain.row_ptr[b]
    basis = domain.basis[domain.basis_ptr[b] : domain.basis_ptr[b + 1]].reshape(k, m)
    rows = domain.rows[domain.rows_ptr[b] : domain.rows_ptr[b + 1]].reshape(r, m)
    matrix = sigma[domain.hessian_ptr[b] : domain.hessian_ptr[b + 1]].reshape(k, k)
    H = ball.H[level, ball.square_ptr[b] : ball.square_ptr[b + 1]].reshape(m, m)
    root = ball.root[level, ball.square_ptr[b] : ball.square_ptr[b + 1]].reshape(m, m)
    return basis, rows, matrix, H, root


@kernel
def _middle(basis, matrix, H, root, away, middle):
    """H and middle of a block; `away` becomes estimate - (center + basis middle)."""
    k, m = basis.shape
    product, y = np.zeros((k, m)), np.zeros(m)
    H[:, :] = 0.0
    for i in range(k):
        for n in range(k):
            for j in range(m):
                product[i, j] += matrix[i, n] * basis[n, j]
        for j in range(m):
            y[j] += product[i, j] * away[i]
            for n in range(m):
                H[n, j] += basis[i, n] * product[i, j]
    lower = np.zeros((m, m))
    cholesky(H, lower)
    invert_lower(lower, root)
    y = _times_inverse(root, y)
    for j in range(m):
        middle[j] = y[j]
        for i in range(k):
            away[i] -= basis[i, j] * y[j]


@kernel
def _times_inverse(root, x):
    """H^{-1} x = root' root x."""
    m = len(x)
    out = np.zeros(m)
    for i in range(m):
        inner = 0.0
        for j in range(i + 1):
            inner += root[i, j] * x[j]
        for j in range(i + 1):
            out[j] += inner * root[i, j]
    return out


@kernel
def _extents(domain):
    """The most free coordinates, rows and coordinates that a block has."""
    free, rows, coords = 0, 0, 0
    for b in range(len(domain.coord_ptr) - 1):
        free = max(free, domain.free_ptr[b + 1] - domain.free_ptr[b])
        rows = max(rows, domain.row_ptr[b + 1] - domain.row_ptr[b])
        coords = max(coords, domain.coord_ptr[b + 1] - domain.coord_ptr[b])
    return free, rows, coords


@kernel
def place(domain, sigma, estimate, ball, level):
    """Fill the given ellipsoid but for `room`; returns the square distance of P from the estimate."""
    widest, most, _ = _extents(domain)
    work, active = support_workspace(widest, most), np.empty(widest, np.int64)
    total = 0.0
    for b in range(len(domain.coord_ptr) - 1):
        first, free, row = domain.coord_ptr[b], domain.free_ptr[b], domain.row_ptr[b]
        basis, rows, matrix, H, root = _matrices(domain, ball, sigma, level, b)
        k, m = basis.shape
        away, middle = np.empty(k), ball.middle[level, free : free + m]
        for i in range(k):
            away[i] = estimate[domain.coords[first + i]] - domain.center[domain.coords[first + i]]
        if m > 0:
            _middle(basis, matrix, H, root, away, middle)
        total += quadratic_form(matrix, away)  # what y cannot change
        ball.room[level, b] = 0.0
        if m == 0:
            continue
        slack, d = ball.slack[level, row : row + rows.shape[0]], ball.near[level, free : free + m]
        for i in range(rows.shape[0]):
            slack[i] = domain.offsets[row + i]
            for j in range(m):
                slack[i] += rows[i, j] * middle[j]
        ball.room[level, b] = nearest(H, rows, slack, d, active, work)
        total += ball.room[level, b]
        for j in range(m):
            d[j] += middle[j]
    return total


@kernel
def _objective(model, domain, row, V, basis, x, c):
    """c = basis' sum_s' phi(s'|s,a) (r + gamma V(s')): the gain of the row in the coordinates y."""
    m = basis.shape[1]
    c[:] = 0.0
    dense, ready = model.phi.shape[0] > 0, model.phi_free.shape[0] > 0
    x[:] = 0.0
    for i in range(model.indptr[row], model.indptr[row + 1]):
        gain = model.discount * V[model.successor[i]]
        if len(model.reward_next) > 0:
            gain += model.reward_next[i]
        if ready:
            for j in range(m):
                c[j] += gain * model.phi_free[i, j]
        elif dense:
            for j in range(len(x)):
                x[j] += gain * model.phi[i, j]
        else:
            for e in range(model.f_indptr[i], model.f_indptr[i + 1]):
                x[domain.place_of[model.f_indices[e]]] += gain * model.f_data[e]
    if not ready:
        for i in range(basis.shape[0]):
            for j in range(m):
                c[j] += basis[i, j] * x[i]


@kernel
def _row_probabilities(model, domain, block, row, basis, y, x, p):
    """p of the row's transitions at theta = center + basis y; x becomes theta in the block."""
    first = domain.coord_ptr[block]
    for i in range(basis.shape[0]):
        total = domain.center[domain.coords[first + i]]
        for j in range(basis.shape[1]):
            total += basis[i, j] * y[j]
        x[i] = total
    for i in range(model.indptr[row], model.indptr[row + 1]):
        total = 0.0
        if model.phi.shape[0] > 0:
            for j in range(basis.shape[0]):
                total += model.phi[i, j] * x[domain.place_of[j]]
        else:
            for e in range(model.f_indptr[i], model.f_indptr[i + 1]):
                total += model.f_data[e] * x[domain.place_of[model.f_indices[e]]]
        p[i] = total


@kernel
def _in_one(ball, warm, c, rows, level, b, row, free, first, scale, work):
    """The best y of one ellipsoid, into warm.y[level, row]; returns the gap."""
    m = len(c)
    at, to = ball.square_ptr[b], ball.square_ptr[b + 1]
    H, root = ball.H[level, at:to].reshape(m, m), ball.root[level, at:to].reshape(m, m)
    room, y = ball.room[level, b], warm.y[level, row, :m]
    if np.sqrt(square_length(root, c) * room) <= INDIFFERENT * scale:
        for j in range(m):
            y[j] = ball.near[level, free + j]
        return 0.0
    for j in range(m):
        y[j] -= ball.middle[level, free + j]
    slack = ball.slack[level, first : first + rows.shape[0]]
    start = (warm.s[level, row], CLOSE * scale)
    gap, warm.s[level, row], warm.num_active[level, row] = support(
        c, H, root, rows, slack, room, *start, y, warm.active[level, row], warm.num_active[level, row], work
    )
    for j in range(m):
        y[j] += ball.middle[level, free + j]
    return gap


@kernel
def _in_others(ball, y, level, b, free, q):
    """Whether y lies in all ellipsoids but the given one, which it is known to lie in."""
    m = len(y)
    at, to = ball.square_ptr[b], ball.square_ptr[b + 1]
    for k in range(ball.room.shape[0]):
        if k != level:
            H, middle = ball.H[k, at:to].reshape(m, m), ball.middle[k, free : free + m]
            if excess(H, middle, ball.room[k, b], y, q) > INSIDE * ball.room[k, b]:
                return False
    return True


@kernel
def _in_all(domain, ball, warm, c, rows, b, row, scale, work):
    """The best y of all ellipsoids together, into warm.chosen[row]; returns the gap.

    The best of one that lies in all others is the best of all. Where there is none, and where no common point is
    found either, the best of the tightest one is taken, which is no less optimistic.
    """
    m, levels = len(c), ball.room.shape[0]
    free, first = domain.free_ptr[b], domain.row_ptr[b]
    least, start = np.inf, warm.tight[row]
    worst = 0.0
    for turn in range(levels):
        level = (start + turn) % levels
        gap = _in_one(ball, warm, c, rows, level, b, row, free, first, scale, work)
        y, value = warm.y[level, row, :m], 0.0
        for j in range(m):
            value += c[j] * y[j]
        if value < least:
            least, worst = value, gap
            warm.tight[row] = level
        if levels == 1 or _in_others(ball, y, level, b, free, work[0][:m]):
            warm.tight[row] = level
            warm.chosen[row, :m] = y
            return gap
    tight = warm.tight[row]
    at, to = ball.square_ptr[b], ball.square_ptr[b + 1]
    H, middle = np.empty((levels, m, m)), np.empty((levels, m))
    for level in range(levels):
        H[level] = ball.H[level, at:to].reshape(m, m)
        middle[level] = ball.middle[level, free : free + m]
    room, mu = ball.room[:, b].copy(), np.zeros(levels)
    unit = np.sqrt(room[tight] / square_length(ball.root[tight, at:to].reshape(m, m), c))
    mu[tight] = 1.0 / min(warm.s[tight, row], FAR * unit)
    y, active = np.empty(m), np.empty(m, np.int64)
    matrices = (np.empty((m, m)), np.empty(m), work[2], work[3])
    offsets = domain.offsets[first : first + rows.shape[0]]
    gap, _ = intersect(c, (H, middle, room), rows, offsets, mu, y, active, 0, matrices)
    if gap < np.inf:
        warm.chosen[row, :m] = y
        return gap
    warm.chosen[row, :m] = warm.y[tight, row, :m]
    return worst


@kernel
def _pull_inside(rows, offsets, y):
    """Shrink y towards 0, which is well inside, until no row is violated: vertices are known to about 1e-9 only."""
    shrink = 0.0
    for i in range(rows.shape[0]):
        total = offsets[i]
        for j in range(len(y)):
            total += rows[i, j] * y[j]
        if total < 0.0:
            shrink = max(shrink, total / (total - offsets[i]))
    if shrink > 1e-13:
        for j in range(len(y)):
            y[j] *= 1.0 - shrink


@kernel
def choose_models(model, domain, ball, block_of_row, V, warm, p):
    """For every (s, a) the theta of the ball that is best for V; p are its probabilities. Returns the worst gap."""
    widest, most, longest = _extents(domain)
    work = support_workspace(widest, most)
    objective, coordinates = np.empty(widest), np.empty(longest)
    worst, scale = 0.0, np.max(np.abs(V))
    for row in range(len(block_of_row)):
        b = block_of_row[row]
        m = domain.free_ptr[b + 1] - domain.free_ptr[b]
        k = domain.coord_ptr[b + 1] - domain.coord_ptr[b]
        basis = domain.basis[domain.basis_ptr[b] : domain.basis_ptr[b + 1]].reshape(k, m)
        c, x = objective[:m], coordinates[:k]
        if m > 0:
            _objective(model, domain, row, V, basis, x, c)
            count = domain.row_ptr[b + 1] - domain.row_ptr[b]
            rows = domain.rows[domain.rows_ptr[b] : domain.rows_ptr[b + 1]].reshape(count, m)
            worst = max(worst, _in_all(domain, ball, warm, c, rows, b, row, scale, work))
            offsets = domain.offsets[domain.row_ptr[b] : domain.row_ptr[b + 1]]
            _pull_inside(rows, offsets, warm.chosen[row, :m])
        _row_probabilities(model, domain, b, row, basis, warm.chosen[row], x, p)
    return worst


@kernel
def optimistic_iteration(model, domain, ball, block_of_row, warm, p, policy, V, lu, tolerance):
    """Policy iteration over actions and models together; V within the error that is returned, if it can be.

    Each round chooses models for V and sweeps once, which bounds the error (MacQueen); then the models are held and
    solved for: exactly by factors, or roughly by sweeps where lu is empty.
    """
    factor = model.discount / (1.0 - model.discount)
    other = np.empty(len(V))
    error, least, idle = np.inf, np.inf, 0
    for _ in range(MAX_ROUNDS):
        gap = choose_models(model, domain, ball, block_of_row, V, warm, p)
        low, high = sweep(model, p, V, other, policy)
        spread = 0.5 * factor * (high - low)
        error = spread + gap / (1.0 - model.discount)
        for s in range(len(V)):
            V[s] = other[s] + 0.5 * factor * (high + low)
        if spread < (0.5 if lu.shape[0] > 0 else 0.999) * least:
            least, idle = spread, 0
        else:
            idle += 1
        if spread <= 0.5 * tolerance or idle >= IDLE:
            break
        if lu.shape[0] > 0:
            policy_iteration(model, p, policy, lu, V)
        else:
            for _ in range(INNER):
                sweep(model, p, V, other, policy)
                V[:] = other
    return error


@kernel
def optimistic_sweeps(model, domain, ball, block_of_row, warm, p, policy, V, sweeps):
    """The published loop: V = 1/(1-gamma), then `sweeps` times the optimistic Bellman operator, clipped."""
    top = 1.0 / (1.0 - model.discount)
    V[:] = top
    other = np.empty(len(V))
    worst = 0.0
    for _ in range(sweeps):
        worst = max(worst, choose_models(model, domain, ball, block_of_row, V, warm, p))
        low, high = sweep(model, p, V, other, policy)
        for s in range(len(V)):
            V[s] = min(other[s], top)
    return (model.discount * max(-low, high) + worst) / (1.0 - model.discount)
