"""Planning for one known dense model: P as a (S*A, S) matrix, no features and no pattern."""

from __future__ import annotations

import numpy as np

from vbmle.kernels.jit import kernel
from vbmle.kernels.solve import factor_in_place, solve_factored
from vbmle.kernels.value import ENOUGH, EPS, MAX_POLICIES


@kernel
def broken_row(P):
    """The first row that is no distribution, or -1."""
    for row in range(P.shape[0]):
        total, least = 0.0, 0.0
        for j in range(P.shape[1]):
            total += P[row, j]
            least = min(least, P[row, j])
        if not (abs(total - 1.0) <= 1e-9 and least >= 0.0):
            return row
    return -1


@kernel
def _sweep(P, R, discount, V, Q, policy, margin):
    """Q for V; policy greedy for it, kept where it ties; returns (changes, least and greatest of max Q - V)."""
    states = len(V)
    actions = P.shape[0] // states
    low, high, changed = np.inf, -np.inf, 0
    for s in range(states):
        best, chosen = -np.inf, policy[s]
        for a in range(actions):
            row, total = s * actions + a, 0.0
            for j in range(states):
                total += P[row, j] * V[j]
            Q[row] = R[row] + discount * total
            best = max(best, Q[row])
        if Q[s * actions + policy[s]] < best - margin:
            for a in range(actions - 1, -1, -1):
                if Q[s * actions + a] >= best:
                    chosen = a
            policy[s] = chosen
            changed += 1
        low, high = min(low, best - V[s]), max(high, best - V[s])
    return changed, low, high


@kernel
def iterate_policies(P, R, discount, V, Q, policy):
    """Exact V by policy iteration; returns max |T V - V|."""
    states = len(V)
    actions = P.shape[0] // states
    lu = np.empty((states, states))
    residual = np.inf
    for _ in range(MAX_POLICIES):
        for s in range(states):
            row = s * actions + policy[s]
            for j in range(states):
                lu[s, j] = -discount * P[row, j]
            lu[s, s] += 1.0
            V[s] = R[row]
        factor_in_place(lu)
        solve_factored(lu, V)
        margin = 16.0 * EPS * (1.0 + np.max(np.abs(V)))
        changed, low, high = _sweep(P, R, discount, V, Q, policy, margin)
        residual = max(-low, high)
        if changed == 0:
            break
    return residual


@kernel
def iterate_values(P, R, discount, V, Q, policy, tolerance, inner, budget):
    """V by modified policy iteration, with MacQueen's bounds; returns the error of V.

    The error is above the tolerance where products of P with a vector, S rows at a time, come to exceed `budget`.
    """
    states = len(V)
    actions = P.shape[0] // states
    factor, other, spent = discount / (1.0 - discount), np.empty(states), 0
    while True:
        _, low, high = _sweep(P, R, discount, V, Q, policy, 0.0)
        error, middle = 0.5 * factor * (high - low), 0.5 * factor * (high + low)
        for s in range(states):
            V[s] = Q[s * actions + policy[s]] + middle
        spent += actions
        if error <= tolerance or spent > budget:
            Q += middle  # the bounds hold for Q as they do for V
            return error
        enough = ENOUGH * (high - low)
        for _ in range(inner):
            for s in range(states):
                row, total = s * actions + policy[s], 0.0
                for j in range(states):
                    total += P[row, j] * V[j]
                other[s] = R[row] + discount * total
            low, high = np.inf, -np.inf
            for s in range(states):
                low, high = min(low, other[s] - V[s]), max(high, other[s] - V[s])
                V[s] = other[s]
            spent += 1
            if high - low <= enough:
                break
