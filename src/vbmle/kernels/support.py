"""The largest <c, theta> over P within ellipsoids |theta - estimate|^2_Sigma <= radius^2, for all (s, a) at once.

In a block, theta = center + basis y. With H = basis' Sigma basis, `middle` the y nearest to the estimate and
`room` what is left of radius^2 there (the distance that y cannot change, and that of the other blocks, taken
off), the problem is

    maximise <c, d>   subject to   d' H d <= room,   rows @ d + slack >= 0,      d = y - middle.

Its Lagrangian in the ellipsoid alone is a quadratic program, d(s) = argmax s <c, d> - d' H d / 2 over the rows, and
d(s) is piecewise linear: while the same rows are active, d(s)' H d(s) = const + kappa s^2 with kappa the square
length of the part of c along those rows. So s is found by solving for it exactly on the active rows at hand, until
they repeat: no rows active is the closed form, kappa = 0 with multipliers that grow with s is a vertex of P, which
stays the answer for every larger s. Every s gives a proof: no point has more than <c, d> + (room - d'Hd)/(2s).
"""

from __future__ import annotations

import numpy as np

from vbmle.kernels.jit import kernel
from vbmle.kernels.quadratic import SOLVED, qp_workspace, solve_qp

EXACT = 1e-13  # of room: how well the ellipsoid's boundary is met
ROUNDS = 100  # a handful are needed
FAR = 30.0  # times the s of the closed form: from there on a maximiser over all of P is looked for
FARTHEST = 1e7  # times the same: beyond, rounding would move more than s does
STEPS = 60  # towards that maximiser; mostly one or two


@kernel
def support_workspace(m, r):
    """Arrays for `support` with up to m variables and r rows."""
    return np.empty(m), np.empty(m), np.empty(m + 1), qp_workspace(m, r), np.empty(r), np.empty(m)


@kernel
def quadratic_form(H, d):
    """d' H d."""
    total = 0.0
    for i in range(len(d)):
        inner = 0.0
        for j in range(len(d)):
            inner += H[i, j] * d[j]
        total += inner * d[i]
    return total


@kernel
def _split(c, count, frame, upper, r):
    """kappa, the square length of c in H^{-1}, and the least growth of a multiplier with s (at most 0)."""
    m = len(c)
    kappa, size = 0.0, 0.0
    for j in range(m):
        total = 0.0
        for i in range(m):
            total += frame[j, i] * c[i]
        r[j] = total
        size += total * total
        if j >= count:
            kappa += total * total
    slope = 0.0
    for k in range(count - 1, -1, -1):
        total = r[k]
        for j in range(k + 1, count):
            total -= upper[k, j] * r[j]
        r[k] = total / upper[k, k]
        slope = min(slope, -r[k] * abs(upper[k, k]))
    return kappa, size, slope


@kernel
def invert_lower(lower, root):
    """root = lower^{-1}."""
    for i in range(lower.shape[0]):
        for j in range(lower.shape[0]):
            root[i, j] = 0.0
        inverse = 1.0 / lower[i, i]
        for k in range(i):
            for j in range(k + 1):
                root[i, j] -= inverse * lower[i, k] * root[k, j]
        root[i, i] = inverse


@kernel
def square_length(root, c):
    """c' H^{-1} c, with root = L^{-1} of H = L L'."""
    total = 0.0
    for i in range(len(c)):
        inner = 0.0
        for j in range(i + 1):
            inner += root[i, j] * c[j]
        total += inner * inner
    return total


@kernel
def _best_of_all(c, H, rows, slack, room, s, close, d, active, num_active, work):
    """From d on towards a maximiser of <c, d> over all rows, while it stays inside the ellipsoid.

    Each step e is a quadratic program around the last point, which for polyhedra ends after finitely many. No point
    of the ellipsoid has more than 2 |e| sqrt(room) / s above the end of a step. Returns (that gap, active rows), an
    infinite gap where the ellipsoid was left.
    """
    m = len(c)
    g, u, qp_work, here, step = work[0][:m], work[2], work[3], work[4], work[5][:m]
    most = FARTHEST / FAR * s
    for _ in range(STEPS):
        if quadratic_form(H, d) > room:
            break
        for i in range(m):
            g[i] = s * c[i]
        for i in range(rows.shape[0]):
            total = slack[i]
            for j in range(m):
                total += rows[i, j] * d[j]
            here[i] = total
        status, num_active = solve_qp(H, g, rows, here, step, active, num_active, u, qp_work)
        if status != SOLVED:
            break
        moved = quadratic_form(H, step)
        for i in range(m):
            d[i] += step[i]
        gap = 2.0 * np.sqrt(moved * room) / s
        if gap <= close and quadratic_form(H, d) <= room:
            return gap, num_active
        if moved < 1e-4 * room:  # it creeps along a face that is nearly flat
            if s >= most:
                break
            s = min(8.0 * s, most)
    return np.inf, num_active


@kernel
def support(c, H, root, rows, slack, room, s, close, d, active, num_active, work):
    """d becomes the maximiser; returns (gap, s, active rows). `s` and active[:num_active] are where to start.

    s = infinity: d starts, or ends, as a maximiser over all of P. The maximum is at most <c, d> + gap, and a gap up
    to `close` is close enough. Along faces that are nearly flat and reach far, s is not followed beyond what
    arithmetic can resolve, and the gap says what may be left. The set must not be empty.
    """
    m = len(c)
    g, r, u, qp_work = work[0][:m], work[1], work[2], work[3]
    unit = np.sqrt(room / square_length(root, c))  # the s of the closed form
    if s == np.inf:
        gap, num_active = _best_of_all(
            c, H, rows, slack, room, FAR * unit, close, d, active, num_active, work
        )
        if gap < np.inf:
            return gap, np.inf, num_active
        s = unit
    s = min(max(s, 0.1 * unit), FAR * unit)
    low, high, left, tried = 0.0, np.inf, 0.0, False
    for _ in range(ROUNDS):
        for i in range(m):
            g[i] = s * c[i]
        status, num_active = solve_qp(H, g, rows, slack, d, active, num_active, u, qp_work)
        if status != SOLVED:
            return np.inf, s, num_active
        kappa, size, slope = _split(c, num_active, qp_work[1], qp_work[2], r)
        left = room - quadratic_form(H, d)
        flat = kappa <= 1e-22 * size
        if left >= 0.0 and flat and slope >= -1e-11 * np.sqrt(size):
            return 0.0, np.inf, num_active
        if abs(left) <= EXACT * room or (left > 0.0 and s >= FARTHEST * unit):
            break
        if left > 0.0:
            low = s
            if high == np.inf and (flat or s >= FAR * unit) and not tried:
                tried = True
                gap, count = _best_of_all(
                    c, H, rows, slack, room, FAR * unit, close, d, active, num_active, work
                )
                if gap < np.inf:
                    return gap, np.inf, count
        else:
            high = s
        square = s * s + left / kappa if not flat else -1.0
        if low * low < square < high * high:
            new = np.sqrt(square)
        elif high == np.inf:
            new = 8.0 * s
        else:
            new = np.sqrt(low * high) if low > 1e-3 * high else 1e-2 * high
        new = min(new, FARTHEST * unit)
        if abs(new - s) <= 1e-15 * s or new < 1e-200:
            break
        s = new
    return max(left, 0.0) / (2.0 * s), s, num_active


@kernel
def nearest(H, rows, slack, d, active, work):
    """d becomes the point of P next to the middle, in the norm of H; returns its square distance."""
    g = work[0][: len(d)]
    g[:] = 0.0
    solve_qp(H, g, rows, slack, d, active, 0, work[2], work[3])
    return quadratic_form(H, d)
