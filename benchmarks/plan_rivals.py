"""Plans by others: policy iteration by SuperLU, modified policy iteration in numba, QuantEcon and mdpsolver.

All plan for one sparse model, to an error of TOLERANCE. The first two are what an engineer would write, with the same
bounds as ours.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import linalg

from vbmle.common.validation import Floats, Ints

TOLERANCE = 1e-6
INNER_SWEEPS = 20
MOST_POLICIES = 500


@dataclass(frozen=True)
class Problem:
    """transition (S*A, S), reward (S, A), both as every library wants them."""

    transition: sparse.csr_array
    reward: Floats
    discount: float


def by_superlu(problem: Problem) -> Floats:
    """Policy iteration; every policy is evaluated by SciPy's SuperLU."""
    states, actions = problem.reward.shape
    at, identity = np.arange(states), sparse.eye_array(states, format="csc")
    policy, V = problem.reward.argmax(axis=1), np.zeros(states)
    for _ in range(MOST_POLICIES):
        chain = problem.transition[at * actions + policy]
        V = linalg.splu((identity - problem.discount * chain).tocsc()).solve(problem.reward[at, policy])
        Q = problem.reward + problem.discount * (problem.transition @ V).reshape(states, actions)
        margin = 1e-12 * (1.0 + np.abs(V).max())
        better = Q.max(axis=1) > Q[at, policy] + margin
        if not better.any():
            break
        policy = np.where(better, Q.argmax(axis=1), policy)
    return V


def by_numba(problem: Problem, most_sweeps: int) -> Floats | None:
    """Modified policy iteration with MacQueen's bounds, compiled; None where so many sweeps of all pairs do not do."""
    P, states = problem.transition, len(problem.reward)
    V = np.zeros(states)
    done = _compiled()(P.indptr, P.indices, P.data, problem.reward, problem.discount, most_sweeps, V)
    return V if done else None


@cache
def _compiled() -> Callable[..., bool]:
    return import_module("numba").njit(_modified_policy_iteration)


def _modified_policy_iteration(
    begin: Ints, successor: NDArray[Any], p: Floats, reward: Floats, discount: float, most: int, V: Floats
) -> bool:
    states, actions = reward.shape
    policy, after, factor = np.zeros(states, np.int64), np.empty(states), discount / (1.0 - discount)
    for _ in range(most):
        low, high = np.inf, -np.inf
        for s in range(states):
            best = -np.inf
            for a in range(actions):
                total = 0.0
                for i in range(begin[s * actions + a], begin[s * actions + a + 1]):
                    total += p[i] * V[successor[i]]
                value = reward[s, a] + discount * total
                if value > best:
                    best, policy[s] = value, a
            after[s] = best
            low, high = min(low, best - V[s]), max(high, best - V[s])
        if 0.5 * factor * (high - low) <= TOLERANCE:
            V[:] = after + 0.5 * factor * (high + low)
            return True
        V[:] = after
        for _ in range(INNER_SWEEPS):
            for s in range(states):
                pair, total = s * actions + policy[s], 0.0
                for i in range(begin[pair], begin[pair + 1]):
                    total += p[i] * V[successor[i]]
                after[s] = reward[s, policy[s]] + discount * total
            V, after = after, V
    return False


def by_quantecon(problem: Problem, method: str) -> Floats:
    """QuantEcon's DiscreteDP over pairs of states and actions."""
    states, actions = problem.reward.shape
    state, action = np.repeat(np.arange(states), actions), np.tile(np.arange(actions), states)
    library = import_module("quantecon").markov.DiscreteDP
    matrix = sparse.csr_matrix(problem.transition)
    found = library(problem.reward.ravel(), matrix, problem.discount, state, action)
    return np.asarray(found.solve(method=method, epsilon=2.0 * TOLERANCE).v)


def as_lists(problem: Problem) -> tuple[list[Any], list[Any], list[Any]]:
    """Rewards, probabilities and columns, as mdpsolver takes them."""
    P, (states, actions) = problem.transition, problem.reward.shape
    rows = [slice(P.indptr[k], P.indptr[k + 1]) for k in range(states * actions)]
    numbers = [[P.data[rows[s * actions + a]].tolist() for a in range(actions)] for s in range(states)]
    columns = [[P.indices[rows[s * actions + a]].tolist() for a in range(actions)] for s in range(states)]
    return problem.reward.tolist(), numbers, columns


def by_mdpsolver(problem: Problem, lists: tuple[list[Any], list[Any], list[Any]]) -> None:
    """mdpsolver's modified policy iteration, with one thread, from lists made before."""
    model = import_module("mdpsolver").model()
    model.mdp(discount=problem.discount, rewards=lists[0], tranMatProbs=lists[1], tranMatColumns=lists[2])
    model.solve(algorithm="mpi", tolerance=TOLERANCE, parallel=False)
