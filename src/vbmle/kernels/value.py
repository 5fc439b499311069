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
def _row_reward(model, p, row):
    """R(s, a) at these probabilities."""
    total = model.reward[row]
    if len(model.reward_next) > 0:
        for i in range(model.indptr[row], model.indptr[row + 1]):
            total += p[i] * model.reward_next[i]
    return total


@kernel
def action_value(model, p, V, row):
    """Q of one (s, a) row: reward plus discounted expected V."""
    total = 0.0
    for i in range(model.indptr[row], model.indptr[row + 1]):
        total += p[i] * V[model.successor[i]]
    return _row_reward(model, p, row) + model.discount * total


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
def expected_rewards(model, p):
    """R(s, a) of every row, at these probabilities."""
    if len(model.reward_next) == 0:
        return model.reward
    reward = np.empty(len(model.reward))
    for row in range(len(reward)):
        reward[row] = _row_reward(model, p, row)
    return reward


@kernel
def sweep(model, p, V, out, policy):
    """out = T V and its greedy policy; returns the least and the greatest of T V - V."""
    return _sweep(
        model.indptr, model.successor, expected_rewards(model, p), model.discount, p, V, out, policy
    )


@kernel
def _sweep(indptr, successor, reward, discount, p, V, out, policy):
    # Arrays one by one: reaching into the model in the inner loop costs more than the loop.
    low, high, actions = np.inf, -np.inf, len(reward) // len(V)
    for s in range(len(V)):
        best, chosen = -np.inf, policy[s]
        for a in range(actions):
            row = s * actions + a
            total = 0.0
            for i in range(indptr[row], indptr[row + 1]):
                total += p[i] * V[successor[i]]
            q = reward[row] + discount * total
            if q > best or (q == best and a == policy[s]):  # the action in force stays where others tie
                best, chosen = q, a
        out[s] = best
        policy[s] = chosen
        low, high = min(low, best - V[s]), max(high, best - V[s])
    return low, high


@kernel
def _evaluate(indptr, successor, reward, discount, p, policy, V, times):
    """V = (T_pi)^times V. The policy's rows are copied together first: they are read `times` times."""
    states = len(V)
    actions, count = len(reward) // states, 0
    for s in range(states):
        row = s * actions + policy[s]
        count += indptr[row + 1] - indptr[row]
    ends, where = np.empty(states, np.int64), np.empty(count, np.int32)
    weight, gain = np.empty(count), np.empty(states)
    at = 0
    for s in range(states):
        row = s * actions + policy[s]
        gain[s] = reward[row]
        for i in range(indptr[row], indptr[row + 1]):
            where[at], weight[at] = successor[i], discount * p[i]
            at += 1
        ends[s] = at
    other = np.empty(states)
    for turn in range(times):
        source, target = (V, other) if turn % 2 == 0 else (other, V)
        at = 0
        for s in range(states):
            total = gain[s]
            for i in range(at, ends[s]):
                total += weight[i] * source[where[i]]
            at = ends[s]
            target[s] = total
    if times % 2 == 1:
        V[:] = other


@kernel
def action_values(model, p, V, Q):
    """Q of every row (s, a)."""
    indptr, successor, discount = model.indptr, model.successor, model.discount
    reward = expected_rewards(model, p)
    for row in range(len(Q)):
        total = 0.0
        for i in range(indptr[row], indptr[row + 1]):
            total += p[i] * V[successor[i]]
        Q[row] = reward[row] + discount * total


@kernel
def broken_row(model, p):
    """The first row (s, a) whose probabilities are no distribution, or -1."""
    for row in range(len(model.indptr) - 1):
        total, least = 0.0, 0.0
        for i in range(model.indptr[row], model.indptr[row + 1]):
            total += p[i]
            least = min(least, p[i])
        if not (abs(total - 1.0) <= 1e-9 and least >= 0.0):
            return row
    return -1


@kernel
def modified_policy_iteration(model, p, policy, V, other, tolerance, inner, max_sweeps):
    """V within `tolerance` of optimal by Bellman sweeps, each followed by `inner` sweeps of its policy.

    MacQueen: V* - T V lies in gamma/(1-gamma) [min, max](T V - V); V is set to the middle of it, and half of
    its width is the error that is promised and returned.
    """
    indptr, successor, discount = model.indptr, model.successor, model.discount
    reward = expected_rewards(model, p)
    factor = discount / (1.0 - discount)
    sweeps = 0
    while True:
        low, high = _sweep(indptr, successor, reward, discount, p, V, other, policy)
        error = 0.5 * factor * (high - low)
        middle = 0.5 * factor * (high + low)
        for s in range(len(V)):
            V[s] = other[s] + middle
        sweeps += 1 + inner
        if error <= tolerance or sweeps >= max_sweeps:
            return error
        _evaluate(indptr, successor, reward, discount, p, policy, V, inner)


@kernel
def adjoint_by_sweeps(model, p, policy, state, w, other, tolerance):
    """w = (I - gamma P_pi^T)^{-1} e_state, to an L1 error of `tolerance`, by summing discounted occupancy."""
    actions, indptr, successor = model.num_actions, model.indptr, model.successor
    discount = model.discount
    w[:] = 0.0
    other[:] = 0.0
    other[state] = 1.0
    mass = 1.0
    following = np.zeros(len(w))
    while mass / (1.0 - discount) > tolerance:
        following[:] = 0.0
        for s in range(len(w)):
            if other[s] != 0.0:
                w[s] += other[s]
                row = s * actions + policy[s]
                for i in range(indptr[row], indptr[row + 1]):
                    following[successor[i]] += discount * p[i] * other[s]
        mass = 0.0
        for s in range(len(w)):
            other[s] = following[s]
            mass += abs(other[s])
