"""VBMLE: value-biased maximum likelihood (Hung, Hsieh, Mete and Kumar, Algorithm 1).

    theta_t = argmax over P of  sum_{i<t} log <phi(s_{i+1}|s_i,a_i), theta> - ridge/2 |theta|^2
                                + alpha(t) V*(s_t; theta),          a_t = argmax_a Q*(s_t, a; theta_t)

with alpha(t) = bias_scale * sqrt(t) in the paper. Departures: the ridge is subtracted (the paper prints plus,
its proofs need minus), and P is the whole feasible set, not the simplex.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from vbmle.agents.base import CountingAgent, State
from vbmle.estimation import SEARCHES
from vbmle.model import LinearMixtureMDP
from vbmle.solver import POOL, Solver, goal
from vbmle.validation import Floats, Ints, non_negative, one_of

BIASES: dict[str, Callable[[int], float]] = {"sqrt": math.sqrt, "log": math.log1p}
"""Schedules alpha(t) by name: sqrt(t), the paper's, and log(1+t), tabular RBMLE's."""


class BiasedAgent(CountingAgent):
    """What exact and approximate VBMLE share: a bias schedule and a warm-started solver."""

    def __init__(
        self,
        mdp: LinearMixtureMDP,
        bias: str | Callable[[int], float],
        bias_scale: float,
        ridge: float,
        **settings: object,
    ) -> None:
        scale = non_negative("bias_scale", bias_scale)
        super().__init__(mdp, bias=bias, bias_scale=scale, ridge=non_negative("ridge", ridge), **settings)
        self._schedule = bias if callable(bias) else BIASES[one_of("bias", bias, tuple(BIASES))]
        self._solver = Solver(mdp)
        self._solver.plan()

    @property
    def policy(self) -> Ints:
        return self._solver.policy

    @property
    def theta(self) -> Floats:
        return self._solver.theta

    def alpha(self) -> float:
        """The weight of the bias now, at t = observations + 1."""
        t = self.counts.total + 1
        value = self.settings["bias_scale"] * self._schedule(t)
        if not (math.isfinite(value) and value >= 0.0):
            raise ValueError(f"the bias is {value} at t = {t}; it needs a finite number that is at least 0")
        return float(value)

    def _state(self) -> State:
        return super()._state() | self._solver.state()

    def _restore(self, state: State) -> None:
        super()._restore(state)
        self._solver.restore(state)


class VBMLE(BiasedAgent):
    """Exact VBMLE: each step maximises likelihood plus alpha(t) times the optimal value of the state."""

    def __init__(
        self,
        mdp: LinearMixtureMDP,
        bias: str | Callable[[int], float] = "sqrt",
        bias_scale: float = 1.0,
        ridge: float = 1.0,
        search: str = "global",
        seed: int = 0,
    ) -> None:
        one_of("search", search, SEARCHES)
        super().__init__(mdp, bias, bias_scale, ridge, search=search, seed=seed)
        self._solver = Solver(mdp, places=POOL if search == "global" else 1, seed=seed)
        self._solver.plan()

    def _decide(self, state: int) -> None:
        objective = goal(self.counts, self.settings["ridge"], self.alpha(), state)
        if self.settings["search"] == "local":
            self._solver.climb(objective)
        else:
            self._solver.follow(objective, self.counts.total)
        if objective.bias == 0.0:  # no value entered the objective, so none was planned for
            self._solver.plan()


class ApproximateVBMLE(BiasedAgent):
    """VBMLE with the value of the last step held fixed inside the bias (the paper's appendix).

    The bias is alpha(t) <phi_V(s_t, a), theta> with V = V*(.; theta_{t-1}), so each problem is concave. a_t is
    known only afterwards: the problem is solved for every action and the best kept.
    """

    def __init__(
        self,
        mdp: LinearMixtureMDP,
        bias: str | Callable[[int], float] = "sqrt",
        bias_scale: float = 1.0,
        ridge: float = 1.0,
    ) -> None:
        super().__init__(mdp, bias, bias_scale, ridge)
        self._linear = np.empty(mdp.dimension)

    def _decide(self, state: int) -> None:
        from vbmle.kernels.objective import value_features

        solver, alpha = self._solver, self.alpha()
        last, best = solver.theta.copy(), -math.inf
        chosen: State = {}
        for action in range(self.mdp.num_actions):
            row = state * self.mdp.num_actions + action
            value_features(self.mdp.flat, solver.V, row, alpha, self._linear)
            solver.start(last)
            solver.climb(goal(self.counts, self.settings["ridge"], linear=self._linear))
            if solver.objective > best:
                best = solver.objective
                chosen = {name: array.copy() for name, array in solver.state().items()}
        solver.restore(chosen)
        solver.plan()
