"""Bellman operators, policy iteration and modified policy iteration over the transition pattern."""

from __future__ import annotations

import numpy as np

from vbmle.kernels.jit import kernel, ordered_kernel
from vbmle.kernels.solve import factor_in_place, solve_factored

SHORT = 64  # rows of fewer successors are summed in order
EPS = 2.220446049250313e-16
ENOUGH = 0.1  # a policy is evaluated until the spread of changes is this part of what it was at first
PRECISION = 1e-11  # of the largest possible value 1/(1-gamma): the error of values and visits by sweeps
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
def improve(model, p, V, policy):
    """Make the policy greedy for V, keeping actions that tie; return how many changed, and max |TV - V|."""
    actions, Q = model.num_actions, np.empty(len(model.reward))
    action_values(model, p, V, Q)
    margin = 0.0
    for s in range(len(V)):
        margin = max(margin, abs(V[s]))
    margin = 16.0 * EPS * (1.0 + margin)
    changed = 0
    residual = 0.0
    for s in range(len(V)):
        best, chosen = Q[s * actions + policy[s]], policy[s]
        for a in range(actions):
            if Q[s * actions + a] > best + margin:
                best, chosen = Q[s * actions + a], a
        if chosen != policy[s]:
            policy[s] = chosen
            changed += 1
        residual = max(residual, abs(best - V[s]))
    return changed, residual


@kernel
def factor_policy(model, p, policy, lu, V):
    """V becomes the policy's exact value; lu keeps the factors of I - gamma P_pi."""
    actions, discount = model.num_actions, model.discount
    indptr, successor, reward, reward_next = model.indptr, model.successor, model.reward, model.reward_next
    lu[:, :] = 0.0
    for s in range(len(V)):
        row = s * actions + policy[s]
        lu[s, s] = 1.0
        gain = reward[row]
        for i in range(indptr[row], indptr[row + 1]):
            lu[s, successor[i]] -= discount * p[i]
        if len(reward_next) > 0:
            for i in range(indptr[row], indptr[row + 1]):
                gain += p[i] * reward_next[i]
        V[s] = gain
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
    reward, indptr, reward_next = model.reward, model.indptr, model.reward_next
    if len(reward_next) == 0:
        return reward
    out = np.empty(len(reward))
    for row in range(len(out)):
        total = reward[row]
        for i in range(indptr[row], indptr[row + 1]):
            total += p[i] * reward_next[i]
        out[row] = total
    return out


# In the loops over transitions arrays come one by one, since reaching into the model costs more than the loop, and
# indices are unsigned, since signed ones are tested for counting from the end.


@kernel
def multiply(ends, where, weight, V, out):
    """out[r] = sum of weight[i] V[where[i]] over row r, which begins where the last one ended, before ends[r]."""
    if len(weight) < SHORT * len(out):
        _multiply_in_order(ends, where, weight, V, out)
        return
    at = np.uint64(0)
    for row in range(len(out)):
        total, end = 0.0, np.uint64(ends[row])
        for i in range(at, end):
            total += weight[i] * V[np.uint64(where[i])]
        at, out[row] = end, total


@ordered_kernel
def _multiply_in_order(ends, where, weight, V, out):
    """The same. How sums may be taken belongs to a whole function, so the loop stands twice."""
    at = np.uint64(0)
    for row in range(len(out)):
        total, end = 0.0, np.uint64(ends[row])
        for i in range(at, end):
            total += weight[i] * V[np.uint64(where[i])]
        at, out[row] = end, total


@kernel
def action_values(model, p, V, Q):
    """Q of every row (s, a)."""
    _action_values(model.indptr, model.successor, expected_rewards(model, p), model.discount, p, V, Q)


@kernel
def _action_values(indptr, successor, reward, discount, p, V, Q):
    multiply(indptr[1:], successor, p, V, Q)
    for row in range(len(Q)):
        Q[row] = reward[row] + discount * Q[row]


@kernel
def sweep(model, p, V, out, policy):
    """out = T V and its greedy policy; returns the least and the greatest of T V - V."""
    Q = np.empty(len(model.reward))
    action_values(model, p, V, Q)
    return _greedy(Q, V, out, policy)


@kernel
def _greedy(Q, V, out, policy):
    """out = max Q, and the policy that attains it; returns the least and the greatest of out - V."""
    low, high, actions = np.inf, -np.inf, len(Q) // len(V)
    for s in range(len(V)):
        best, chosen = -np.inf, 0
        for a in range(actions):
            q = Q[s * actions + a]
            chosen = (
                a if q > best else chosen
            )  # selects, not branches: which action is best cannot be guessed
            best = max(best, q)
        if Q[s * actions + policy[s]] < best:  # the action in force stays where others tie
            policy[s] = chosen
        out[s] = best
        low, high = min(low, best - V[s]), max(high, best - V[s])
    return low, high


@kernel
def _policy_rows(indptr, successor, discount, p, policy):
    """The policy's rows of gamma P, copied together: (where each ends, successors, weights)."""
    states = len(policy)
    actions, count = (len(indptr) - 1) // states, 0
    for s in range(states):
        row = s * actions + policy[s]
        count += indptr[row + 1] - indptr[row]
    ends, where, weight = np.empty(states, np.int64), np.empty(count, np.uint32), np.empty(count)
    at = np.uint64(0)
    for s in range(states):
        row = s * actions + policy[s]
        for i in range(np.uint64(indptr[row]), np.uint64(indptr[row + 1])):
            where[at], weight[at] = successor[i], discount * p[i]
            at += np.uint64(1)
        ends[s] = at
    return ends, where, weight


@kernel
def _repeat(ends, where, weight, gain, V, times, enough):
    """V = gain + gamma P V again and again: `times` times, or until all of V grows alike to within `enough`.

    Returns the least and the greatest change of the last time.
    """
    other = np.empty(len(V))
    low, high = -np.inf, np.inf
    for _ in range(times):
        multiply(ends, where, weight, V, other)
        low, high = np.inf, -np.inf
        for s in range(len(V)):
            new = gain[s] + other[s]
            low, high = min(low, new - V[s]), max(high, new - V[s])
            V[s] = new
        if high - low <= enough:
            break
    return low, high


@kernel
def _evaluate(indptr, successor, reward, discount, p, policy, V, times, enough):
    """V = T_pi V again and again (see `_repeat`)."""
    ends, where, weight = _policy_rows(indptr, successor, discount, p, policy)
    actions, gain = len(reward) // len(V), np.empty(len(V))
    for s in range(len(V)):
        gain[s] = reward[s * actions + policy[s]]
    return _repeat(ends, where, weight, gain, V, times, enough)


@kernel
def solve_by_sweeps(model, p, policy, X, accuracy, max_sweeps):
    """Every column of X becomes (I - gamma P_pi)^{-1} x, to that part of the largest it can be."""
    discount = model.discount
    factor = discount / (1.0 - discount)
    ends, where, weight = _policy_rows(model.indptr, model.successor, discount, p, policy)
    for j in range(X.shape[1]):
        gain, size = X[:, j].copy(), 0.0
        for s in range(len(gain)):
            size = max(size, abs(gain[s]))
        x = gain.copy()
        low, high = _repeat(ends, where, weight, gain, x, max_sweeps, 2.0 * accuracy * size / discount)
        for s in range(len(x)):
            X[s, j] = x[s] + 0.5 * factor * (high + low)


@kernel
def evaluate_by_sweeps(model, p, policy, V, tolerance, max_sweeps):
    """V becomes V^pi to within the error that is returned: `tolerance`, or more where sweeps run out."""
    discount, reward = model.discount, expected_rewards(model, p)
    factor = discount / (1.0 - discount)
    low, high = _evaluate(
        model.indptr, model.successor, reward, discount, p, policy, V, max_sweeps, 2.0 * tolerance / factor
    )
    for s in range(len(V)):
        V[s] += 0.5 * factor * (high + low)  # MacQueen's bounds, as in modified policy iteration
    return 0.5 * factor * (high - low)


@kernel
def precision(discount):
    """The error of values and visits where sweeps compute them; no less than rounding allows."""
    return max(PRECISION / (1.0 - discount), 4.0 * EPS / (1.0 - discount) ** 2)


@kernel
def rounding(discount, reward):
    """The error of V below which sweeps cannot promise anything: rounding of 1/(1-gamma), carried on for ever."""
    largest = 1.0
    for row in range(len(reward)):
        largest = max(largest, abs(reward[row]))
    return 4.0 * EPS / (1.0 - discount) ** 2 * largest


@kernel
def broken_row(model, p):
    """The first row (s, a) whose probabilities are no distribution, or -1."""
    indptr = model.indptr
    for row in range(len(indptr) - 1):
        total, least = 0.0, 0.0
        for i in range(np.uint64(indptr[row]), np.uint64(indptr[row + 1])):
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
    factor, Q = discount / (1.0 - discount), np.empty(len(reward))
    sweeps = 0
    while True:
        _action_values(indptr, successor, reward, discount, p, V, Q)
        low, high = _greedy(Q, V, other, policy)
        error = 0.5 * factor * (high - low)
        middle = 0.5 * factor * (high + low)
        for s in range(len(V)):
            V[s] = other[s] + middle
        sweeps += 1 + inner
        if error <= tolerance or sweeps >= max_sweeps:
            return error
        _evaluate(indptr, successor, reward, discount, p, policy, V, inner, ENOUGH * (high - low))


@kernel
def adjoint_by_sweeps(model, p, policy, state, w, tolerance):
    """w = (I - gamma P_pi^T)^{-1} e_state, to an L1 error of `tolerance`, by summing discounted occupancy.

    With r the part still to be summed and r' = gamma P_pi^T r, what is missing is (I - gamma P_pi^T)^{-1} r. Taking
    r / (1 - gamma) for it is wrong by at most |r' - gamma r|_1 / (1 - gamma)^2, which soon is little where the
    process mixes; elsewhere |r|_1 / (1 - gamma) bounds all of it.
    """
    discount = model.discount
    ends, where, weight = _policy_rows(model.indptr, model.successor, discount, p, policy)
    rest, following = np.zeros(len(w)), np.zeros(len(w))
    rest[state] = 1.0
    w[:] = 0.0
    while True:
        following[:] = 0.0
        at = np.uint64(0)
        for s in range(len(w)):
            end = np.uint64(ends[s])
            if rest[s] != 0.0:
                for i in range(at, end):
                    following[where[i]] += weight[i] * rest[s]
            at = end
        mass, change = 0.0, 0.0
        for s in range(len(w)):
            mass += abs(rest[s])
            change += abs(following[s] - discount * rest[s])
        if mass <= tolerance * (1.0 - discount):
            return
        steady = change <= tolerance * (1.0 - discount) ** 2
        share = 1.0 / (1.0 - discount) if steady else 1.0
        for s in range(len(w)):
            w[s] += share * rest[s]
        if steady:
            return
        rest, following = following, rest
