"""UCLK as one would write it first: NumPy sums, and a cvxpy problem for every (s, a) and every sweep.

The problem is stated once, with its data as parameters (so cvxpy compiles it once), and solved by Clarabel. Every step
plans again with the published number of sweeps, as the VBMLE paper did.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from vbmle.agents.uclk import paper_radius
from vbmle.common.validation import Floats, Ints
from vbmle.experiments import InputError
from vbmle.model.mdp import LinearMixtureMDP


class ObviousUCLK:
    """For models with rewards r(s, a) and dense features."""

    def __init__(self, mdp: LinearMixtureMDP, sweeps: int, ridge: float = 1.0, delta: float = 0.1) -> None:
        self.mdp, self.sweeps, self.ridge, self.delta = mdp, sweeps, ridge, delta
        d = mdp.dimension
        self.features = np.zeros((mdp.num_states * mdp.num_actions, mdp.num_states, d))
        self.features[mdp.transitions.pair_of, mdp.transitions.successor] = mdp.transitions.phi
        self.sigma, self.b = ridge * np.eye(d), np.zeros(d)
        self.steps = 0
        self.V = np.full(mdp.num_states, 1.0 / (1.0 - mdp.discount))
        self.policy: Ints = np.zeros(mdp.num_states, np.int64)
        self._problem()

    def _problem(self) -> None:
        try:
            import cvxpy
        except ImportError:
            raise InputError("the baseline needs cvxpy: install vbmle[dev]") from None
        cp: Any = cvxpy
        d, mdp = self.mdp.dimension, self.mdp
        self.theta, self.c = cp.Variable(d), cp.Parameter(d)
        self.root, self.middle, self.beta = cp.Parameter((d, d)), cp.Parameter(d), cp.Parameter(nonneg=True)
        possible = mdp.transitions.phi
        constraints = [
            possible @ self.theta >= mdp.p_min,
            self.features.sum(axis=1) @ self.theta == 1.0,
            cp.norm(self.root @ self.theta - self.middle) <= self.beta,
        ]
        if mdp.domain == "simplex":
            constraints += [self.theta >= 0.0, cp.sum(self.theta) == 1.0]
        self.problem = cp.Problem(cp.Maximize(self.c @ self.theta), constraints)

    def plan(self) -> None:
        """U sweeps of the optimistic Bellman operator from 1/(1-gamma)."""
        mdp, top = self.mdp, 1.0 / (1.0 - self.mdp.discount)
        root = np.linalg.cholesky(self.sigma).T
        self.root.value, self.middle.value = root, root @ np.linalg.solve(self.sigma, self.b)
        self.beta.value = paper_radius(self.steps + 1, mdp.dimension, mdp.discount, self.ridge, self.delta)
        self.V = np.full(mdp.num_states, top)
        Q = np.empty(mdp.num_states * mdp.num_actions)
        for _ in range(self.sweeps):
            for row, feature in enumerate(self.features):
                self.c.value = feature.T @ self.V
                self.problem.solve(solver="CLARABEL")
                Q[row] = mdp.pair_reward[row] + mdp.discount * float(self.problem.value)
            table = np.minimum(Q, top).reshape(mdp.num_states, mdp.num_actions)
            self.V = table.max(axis=1)
            self.policy = table.argmax(axis=1)

    def act(self, state: int) -> int:
        self.plan()
        return int(self.policy[state])

    def observe(self, state: int, action: int, next_state: int) -> None:
        x: Floats = self.features[state * self.mdp.num_actions + action].T @ self.V
        self.sigma += np.outer(x, x)
        self.b += x * self.V[next_state]
        self.steps += 1
