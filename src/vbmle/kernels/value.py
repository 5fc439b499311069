"""Bellman operators, policy iteration and modified policy iteration over the transition pattern."""

from __future__ import annotations

import numpy as np

from vbmle.kernels.jit import kernel
from vbmle.kernels.solve import factor_in_place, solve_factored

EPS = 2.220446049250313e-16
MAX_POLICIES = 500  # policy iteration needs a handful; rounding could make two ties alternate


@kernel
def probabilities(model, theta, p):
    """p[i] = <phi[i], theta> for every possible transition."""
    phi = model.phi
    if phi.shape[0] > 0:
        for i in range(phi.shape[0]):
            total = 0.0
            for j in range(phi.shape[1]):
                total += phi[i, j] * theta[j]
            p[i] = total
    else:
        for i in range(len(p)):
            total = 0.0
            for k in range(model.f_indptr[i], model.f_indptr[i + 1]):
                total += model.f_data[k] * theta[model.f_indices[k]]
            p[i] = total


@kernel
def action_value(model, p, V, row):
    """Q of one (s, a) row: reward plus discounted expected V."""
    total = 0.0
    for i in range(model.indptr[row], model.indptr[row + 1]):
        total += p[i] * V[model.successor[i]]
    q = model.reward[row] + model.discount * total
    if len(model.reward_next) > 0:
        for i in range(model.indptr[row], model.indptr[row + 1]):
            q += p[i] * model.reward_next[i]
    return q


@kernel
def improve(model, p, V, policy):
    """Make the policy greedy for V, keeping actions that tie; return how many changed, and max |TV - V|."""
    actions = model.num_actions
    margin = 0.0
    for s in range(len(V)):
        margin = max(margin, abs(V[s]))
    margin = 16.0 * EPS * (1.0 + margin)
    changed = 0
    residual = 0.0
    for s in range(len(V)):
        current = action_value(model, p, V, s * actions + policy[s])
        best, chosen = current, policy[s]
        for a in range(actions):
            q = action_value(model, p, V, s * actions + a)
            if q > best + margin:
                best, chosen = q, a
        if chosen != policy[s]:
            policy[s] = chosen
            changed += 1
        residual = max(residual, abs(best - V[s]))
    return changed, residual


@kernel
def factor_policy(model, p, policy, lu, V):
    """V becomes the policy's exact value; lu keeps the factors of I - gamma P_pi."""
    actions = model.num_actions
    lu[:, :] = 0.0
    for s in range(len(V)):
        row = s * actions + policy[s]
        lu[s, s] = 1.0
        reward = model.reward[row]
        for i in range(model.indptr[row], model.indptr[row + 1]):
            lu[s, model.successor[i]] -= model.discount * p[i]
        if len(model.reward_next) > 0:
            for i in range(model.indptr[row], model.indptr[row + 1]):
                reward += p[i] * model.reward_next[i]
        V[s] = reward
    factor_in_place(lu)
    solve_factored(lu, V)


@kernel
def policy_iteration(model, p, policy, lu, V):
    """Exact optimal V and policy from the given policy on; returns max |TV - V|.

    lu keeps the factors of I - gamma P_pi for the final policy, for adjoint solves.
    """
    residual = np.inf
    for _ in range(MAX_POLICIES):
        factor_policy(model, p, policy, lu, V)
        before = residual
        changed, residual = improve(model, p, V, policy)
        if changed == 0:
            return residual
        if residual >= before and residual <= 1e-12 * (1.0 + np.max(np.abs(V))):
            break  # only ties alternate now
    factor_policy(model, p, policy, lu, V)
    return residual


@kernel
def sweep(model, p, V, out, policy):
    """out = T V and its greedy policy; returns the least and the greatest of T V - V."""
    actions = model.num_actions
    low, high = np.inf, -np.inf
    for s in range(len(V)):
        best = action_value(model, p, V, s * actions + policy[s])
        chosen = policy[s]
        for a in range(actions):
            q = action_value(model, p, V, s * actions + a)
            if q > best:
                best, chosen = q, a
        out[s] = best
        policy[s] = chosen
        low, high = min(low, best - V[s]), max(high, best - V[s])
    return low, high


@kernel
def modified_policy_iteration(model, p, policy, V, other, tolerance, inner, max_sweeps):
    """V within `tolerance` of optimal by Bellman sweeps, each followed by `inner` sweeps of its policy.

    MacQueen: V* - T V lies in gamma/(1-gamma) [min, max](T V - V); V is set to the middle of it, and half of
    its width is the error that is promised and returned.
    """
    actions = model.num_actions
    factor = model.discount / (1.0 - model.discount)
    sweeps = 0
    error = np.inf
    while True:
        low, high = sweep(model, p, V, other, policy)
        sweeps += 1
        error = 0.5 * factor * (high - low)
        middle = 0.5 * factor * (high + low)
        for s in range(len(V)):
            V[s] = other[s] + middle
        if error <= tolerance or sweeps >= max_sweeps:
            return error
        for _ in range(inner):
            for s in range(len(V)):
                other[s] = action_value(model, p, V, s * actions + policy[s])
            V[:] = other
            sweeps += 1


@kernel
def adjoint_by_sweeps(model, p, policy, state, w, other, tolerance):
    """w = (I - gamma P_pi^T)^{-1} e_state, to an L1 error of `tolerance`, by summing discounted occupancy."""
    actions = model.num_actions
    w[:] = 0.0
    other[:] = 0.0
    other[state] = 1.0
    mass = 1.0
    following = np.zeros(len(w))
    while mass / (1.0 - model.discount) > tolerance:
        following[:] = 0.0
        for s in range(len(w)):
            if other[s] != 0.0:
                w[s] += other[s]
                row = s * actions + policy[s]
                for i in range(model.indptr[row], model.indptr[row + 1]):
                    following[model.successor[i]] += model.discount * p[i] * other[s]
        mass = 0.0
        for s in range(len(w)):
            other[s] = following[s]
            mass += abs(other[s])
