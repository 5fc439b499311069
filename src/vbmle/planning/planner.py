"""Planning for a given theta: exact evaluation and optimal policies, with an error that is promised.

    (T V)(s)    = max_a  R_theta(s,a) + gamma sum_s' P_theta(s'|s,a) V(s')      Bellman operator
    V^pi        = (I - gamma P_pi)^{-1} R_pi                                    `evaluate`, exact
    |V - V*|   <= gamma/(1-gamma) |V - V_before|                                after V = T V_before

`plan` uses policy iteration (exact up to rounding) while dense factors are cheap, and modified policy
iteration with MacQueen's bounds above that. Tolerances are on the error of V, never on the residual.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from vbmle.common import validation
from vbmle.common.validation import Floats, Ints
from vbmle.core.planning import Planner
from vbmle.model.mdp import LinearMixtureMDP

DENSE_STATES = 1000
"""Up to this many states policies are evaluated by dense factors."""

FACTORED_STATES = 200
"""Up to this many states `plan` iterates policies with dense factors; above, sweeps are faster."""

CUBE_PER_TRANSITION = 500.0
"""Agents factor while S^3 (1-gamma) is at most so many times the transitions of a policy (measured)."""

METHODS = ("auto", "policy-iteration", "modified-policy-iteration")


@dataclass(frozen=True, eq=False)
class Plan:
    """An optimal policy for one theta.

    V (S,), Q (S, A) and the greedy policy (S,); `error_bound` bounds |V - V*|, and `converged` says whether
    it is within the tolerance asked for.
    """

    V: Floats
    Q: Floats
    policy: Ints
    error_bound: float
    converged: bool


def plan(mdp: LinearMixtureMDP, theta: ArrayLike, tolerance: float = 1e-8, method: str = "auto") -> Plan:
    """The optimal value and policy of the model at theta, within `tolerance` of V*.

    theta must be feasible. Among actions whose values tie within rounding the lowest index is chosen.
    """
    p = mdp.transitions.probabilities(mdp.require_feasible(theta))
    _require_tolerance(tolerance)
    validation.one_of("method", method, METHODS)
    policy, V = np.zeros(mdp.num_states, np.int64), np.zeros(mdp.num_states)
    factors = method == "policy-iteration" or (method == "auto" and mdp.num_states <= FACTORED_STATES)
    planner, goal = Planner(mdp.core, factors), max(tolerance, rounding(mdp))
    error = planner.iterate(p, goal, 10_000_000, policy, V)
    if not factors:
        error = max(error, rounding(mdp))
    return _finish(mdp, p, V, float(error), tolerance)


def plan_known(
    transition: ArrayLike | sparse.csr_array, reward: ArrayLike, discount: float, tolerance: float = 1e-8
) -> Plan:
    """The optimal value and policy of one model that is fully known, without a mixture around it.

    transition: (S, A, S), or SciPy sparse (S*A, S); reward: (S, A), of any range. Modified policy iteration; where a
    dense model mixes so slowly that factors are cheaper, policy iteration takes over. Rows that are no distributions
    are refused.
    """
    table = np.ascontiguousarray(reward, dtype=np.float64)
    if table.ndim != 2:
        raise ValueError(f"reward has shape {table.shape}; it needs (S, A)")
    _require_tolerance(tolerance)
    gamma = validation.fraction("discount", discount)
    if sparse.issparse(transition):
        return _plan_sparse(sparse.csr_array(transition), table, gamma, tolerance)
    states, actions = table.shape
    moves = np.ascontiguousarray(transition, dtype=np.float64)
    validation.require_shape("transition", moves, (states, actions, states), "(S, A, S)")
    from vbmle.kernels import dense, value

    P, R = moves.reshape(states * actions, states), table.reshape(-1)
    _require_row(dense.broken_row(P), actions)
    V, Q, policy = np.zeros(states), np.empty(states * actions), np.zeros(states, np.int64)
    least, factors = value.rounding(gamma, R), states <= DENSE_STATES
    goal, budget = max(tolerance, least), max(50, states) if factors else 10_000_000
    error = max(dense.iterate_values(P, R, gamma, V, Q, policy, goal, 20, budget), least)
    if error > goal and factors:
        error = dense.iterate_policies(P, R, gamma, V, Q, policy) / (1.0 - gamma)
    return Plan(V, Q.reshape(states, actions), policy, error, error <= tolerance)


def _plan_sparse(moves: sparse.csr_array, reward: Floats, gamma: float, tolerance: float) -> Plan:
    from vbmle.kernels import value
    from vbmle.kernels.layout import Model

    states, actions = reward.shape
    validation.require_shape("transition", moves, (states * actions, states), "(S*A, S)")
    p, R = np.ascontiguousarray(moves.data, dtype=np.float64), reward.reshape(-1)
    none, empty = np.zeros(0), np.zeros((0, 0))
    indptr, successor = moves.indptr.astype(np.int64), moves.indices.astype(np.int64)
    flat = Model(
        indptr,
        successor,
        empty,
        empty,
        np.zeros(1, np.int64),
        np.zeros(0, np.int64),
        none,
        R,
        none,
        gamma,
        actions,
    )
    _require_row(value.broken_row(flat, p), actions)
    V, policy, Q = np.zeros(states), np.zeros(states, np.int64), np.empty(states * actions)
    least = value.rounding(gamma, R)
    goal = max(tolerance, least)
    error = value.modified_policy_iteration(flat, p, policy, V, np.empty(states), goal, 20, 10_000_000)
    value.action_values(flat, p, V, Q)
    error = max(error, least)
    return Plan(V, Q.reshape(states, actions), policy, error, error <= tolerance)


def _require_row(row: int, actions: int) -> None:
    if row >= 0:
        state, action = divmod(row, actions)
        raise ValueError(
            f"transition is no distribution at (s={state}, a={action}); rows are >= 0 and sum to 1"
        )


def make_planner(mdp: LinearMixtureMDP) -> Planner:
    """A planner for a model that is planned for again and again: by factors where they pay, else by sweeps."""
    return Planner(mdp.core, uses_factors(mdp))


def uses_factors(mdp: LinearMixtureMDP) -> bool:
    """Whether whoever plans again and again keeps (S, S) factors of I - gamma P, or sweeps.

    Factors cost S^3 whatever the pattern, sweeps a policy's transitions over 1 - gamma. Models with sparse features
    need factors for the curvature of the value, as long as they fit.
    """
    states, visited = mdp.num_states, mdp.transitions.count / mdp.num_actions
    cheap = states**3 * (1.0 - mdp.discount) <= CUBE_PER_TRANSITION * visited
    return states <= DENSE_STATES and (cheap or sparse.issparse(mdp.transitions.phi))


def value_iteration(
    mdp: LinearMixtureMDP, theta: ArrayLike, tolerance: float = 1e-8, sweeps: int | None = None
) -> Plan:
    """The paper's Algorithm 2: V = 1/(1-gamma), then V = T V, `sweeps` times or until the error is promised.

    The error after a sweep is at most gamma/(1-gamma) max |T V - V|.
    """
    p = mdp.transitions.probabilities(mdp.require_feasible(theta))
    _require_tolerance(tolerance)
    planner = Planner(mdp.core, factors=False)
    limit = 10_000_000 if sweeps is None else validation.positive_integer("sweeps", sweeps)
    V, other = np.full(mdp.num_states, 1.0 / (1.0 - mdp.discount)), np.empty(mdp.num_states)
    policy = np.zeros(mdp.num_states, np.int64)
    error = np.inf
    for _ in range(limit):
        low, high = planner.sweep(p, V, other, policy)
        V, other = other, V
        error = mdp.discount / (1.0 - mdp.discount) * max(-low, high, 0.0)
        error = max(error, rounding(mdp))
        if sweeps is None and error <= max(tolerance, rounding(mdp)):
            break
    return _finish(mdp, p, V, float(error), tolerance)


def evaluate(mdp: LinearMixtureMDP, theta: ArrayLike, policy: ArrayLike) -> Floats:
    """V^pi(.; theta) of a stationary deterministic policy (S,): by one linear solve, exact up to rounding.

    Above a thousand states by sweeps, to 1e-11 of the largest possible value, 1/(1-gamma).
    """
    chosen = require_policy(mdp, policy)
    p = mdp.transitions.probabilities(mdp.require_feasible(theta))
    V = np.zeros(mdp.num_states)
    Planner(mdp.core, factors=mdp.num_states <= DENSE_STATES).evaluate(p, chosen, V)
    return V


def expected_reward(mdp: LinearMixtureMDP, p: Floats) -> Floats:
    """R_theta by (s, a) row, from the transition probabilities p."""
    if len(mdp.transition_reward) == 0:
        return mdp.row_reward
    return np.add.reduceat(p * mdp.transition_reward, mdp.transitions.indptr[:-1])


def require_policy(mdp: LinearMixtureMDP, policy: ArrayLike) -> Ints:
    """A policy as (S,) ints in range."""
    array = np.asarray(policy)
    validation.require_shape("policy", array, (mdp.num_states,), "(S,)")
    if not np.issubdtype(array.dtype, np.integer):
        raise ValueError(f"policy has type {array.dtype}; it needs whole numbers, one action per state")
    bad = np.nonzero((array < 0) | (array >= mdp.num_actions))[0]
    if len(bad):
        raise ValueError(
            f"policy is {array[bad[0]]} at state {bad[0]}; actions are 0 to {mdp.num_actions - 1}"
        )
    return array.astype(np.int64)


def rounding(mdp: LinearMixtureMDP) -> float:
    """The error of V below which sweeps cannot promise anything."""
    return 4.0 * float(np.finfo(float).eps) / (1.0 - mdp.discount) ** 2


def _require_tolerance(tolerance: float) -> None:
    if not (np.isfinite(tolerance) and tolerance > 0.0):
        raise ValueError(f"tolerance is {tolerance}; it needs a positive finite number")


def _finish(mdp: LinearMixtureMDP, p: Floats, V: Floats, error: float, tolerance: float) -> Plan:
    weighted = p * V[mdp.transitions.successor]
    Q = expected_reward(mdp, p) + mdp.discount * np.add.reduceat(weighted, mdp.transitions.indptr[:-1])
    Q = Q.reshape(mdp.num_states, mdp.num_actions)
    best = Q.max(axis=1, keepdims=True)
    policy = np.argmax(best - Q <= 1e-12 * (1.0 + np.abs(best)), axis=1).astype(np.int64)
    return Plan(V, Q, policy, error, error <= tolerance)
