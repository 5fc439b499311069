"""What a user would write without this package: NumPy and SciPy's SLSQP on the same objective and constraints.

    maximise   sum n log <phi, theta> - ridge/2 |theta|^2 + bias V*(state; theta)
    such that  <phi(s'|s,a), theta> >= p_min  for every possible transition,   sum_s' <phi, theta> = 1

V* comes from policy iteration with NumPy's solver, started from the last policy; its gradient from the adjoint
system (I - gamma P_pi)' w = e_state. Options are SciPy's defaults. Two things are done once, outside the clock,
because the plain way fails: of the many equalities that say the same a full-rank set is kept (SLSQP stops on a
singular matrix otherwise), and each run starts from the last theta mixed with one percent of an interior point.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import optimize, sparse

from benchmarks import stopwatch
from vbmle.common.validation import Floats, Ints
from vbmle.estimation.counts import TransitionCounts
from vbmle.model.mdp import LinearMixtureMDP

INSIDE = 0.01
"""How much of the interior point is mixed into the start."""

LEAST_PROBABILITY = 1e-12
"""Probabilities below count as this inside the logarithm: SLSQP steps out of the feasible set on its way."""


@dataclass(frozen=True, eq=False)
class Problem:
    """One step's problem: what was counted, where the agent stands, how much value weighs."""

    counts: TransitionCounts
    state: int
    bias: float
    ridge: float = 1.0


@dataclass(frozen=True, eq=False)
class Answer:
    """What SLSQP found, moved back inside the feasible set, and how long it took."""

    theta: Floats
    objective: float
    seconds: float
    success: bool


class Slsqp:
    """The value-biased maximiser of a user who has NumPy and SciPy. For models with rewards r(s, a)."""

    def __init__(self, mdp: LinearMixtureMDP) -> None:
        if len(mdp.transition_reward):
            raise ValueError("the baseline knows rewards by (s, a) only")
        self.mdp = mdp
        transitions, states, actions = mdp.transitions, mdp.num_states, mdp.num_actions
        self.phi = _dense(transitions.phi)
        features = np.zeros((states * actions, states, mdp.dimension))
        features[transitions.pair_of, transitions.successor] = self.phi
        self.features = features.reshape(states, actions, states, mdp.dimension)
        self.reward = mdp.pair_reward.reshape(states, actions)
        self.lower, self.bound = self.phi, np.full(len(self.phi), mdp.p_min)
        sums, ones = _dense(mdp.constraints.sums), np.ones(states * actions)
        if mdp.domain == "simplex":
            self.lower = np.vstack([self.lower, np.eye(mdp.dimension)])
            self.bound = np.append(self.bound, np.zeros(mdp.dimension))
            sums, ones = np.vstack([sums, np.ones(mdp.dimension)]), np.append(ones, 1.0)
        self.equal, self.target = _independent(sums, ones)
        self.policy: Ints = np.zeros(states, np.int64)

    def objective(self, problem: Problem, theta: Floats) -> tuple[float, Floats]:
        """f(theta) and its gradient."""
        n = problem.counts.values
        p = np.maximum(self.phi @ theta, LEAST_PROBABILITY)
        V, slope = self.value(problem.state, theta)
        f = n @ np.log(p) - 0.5 * problem.ridge * theta @ theta + problem.bias * V
        return float(f), self.phi.T @ (n / p) - problem.ridge * theta + problem.bias * slope

    def value(self, state: int, theta: Floats) -> tuple[float, Floats]:
        """V*(state; theta) and its gradient."""
        gamma, every = self.mdp.discount, np.arange(self.mdp.num_states)
        P = self.features @ theta
        for _ in range(100):
            system = np.eye(len(every)) - gamma * P[every, self.policy]
            V = np.linalg.solve(system, self.reward[every, self.policy])
            Q = self.reward + gamma * P @ V
            better = Q.max(axis=1) > Q[every, self.policy] + 1e-10
            if not better.any():
                break
            self.policy = np.where(better, Q.argmax(axis=1), self.policy)
        visits = np.linalg.solve(system.T, np.eye(len(every))[state])
        gain = gamma * np.einsum("s,stk,t->k", visits, self.features[every, self.policy], V)
        return float(V[state]), gain

    def solve(self, problem: Problem, last: Floats) -> Answer:
        """Maximise from the last theta mixed with the interior point; the clock sees SLSQP alone."""
        start = (1.0 - INSIDE) * last + INSIDE * self.mdp.polytope.interior

        def negative(theta: Floats) -> tuple[float, Floats]:
            f, gradient = self.objective(problem, theta)
            return -f, -gradient

        constraints = (
            {"type": "ineq", "fun": lambda x: self.lower @ x - self.bound, "jac": lambda x: self.lower},
            {"type": "eq", "fun": lambda x: self.equal @ x - self.target, "jac": lambda x: self.equal},
        )
        began = stopwatch.start()
        found = optimize.minimize(negative, start, jac=True, method="SLSQP", constraints=constraints)
        seconds = stopwatch.since(began)
        theta = self.inside(found.x)
        return Answer(theta, self.objective(problem, theta)[0], seconds, bool(found.success))

    def inside(self, theta: Floats) -> Floats:
        """theta, moved towards the interior point until no inequality is violated."""
        middle = self.mdp.polytope.interior
        lack, depth = self.bound - self.lower @ theta, self.lower @ middle - self.bound
        short = lack > 0.0
        share = float((lack[short] / (lack[short] + depth[short])).max(initial=0.0))
        return (1.0 - share) * theta + share * middle


def _dense(matrix: Any) -> Floats:
    return np.asarray(matrix.toarray() if sparse.issparse(matrix) else matrix, np.float64)


def _independent(rows: Floats, target: Floats) -> tuple[Floats, Floats]:
    """As many equalities as there are independent ones, with the same solutions."""
    left, sigma, right = np.linalg.svd(rows, full_matrices=False)
    rank = int((sigma > 1e-9 * sigma[0]).sum())
    return right[:rank], (left.T @ target)[:rank] / sigma[:rank]
