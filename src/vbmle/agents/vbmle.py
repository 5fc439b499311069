"""VBMLE: value-biased maximum likelihood (Hung, Hsieh, Mete and Kumar, Algorithm 1).

    theta_t = argmax over P of  sum_{i<t} log <phi(s_{i+1}|s_i,a_i), theta> - ridge/2 |theta|^2
                                + alpha(t) V*(s_t; theta),          a_t = argmax_a Q*(s_t, a; theta_t)

with alpha(t) = bias_scale * sqrt(t) in the paper. Departures: the ridge is subtracted (the paper prints plus,
its proofs need minus), and P is the whole feasible set, not the simplex.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated

import numpy as np

from vbmle.agents.base import Lazy, SolvingAgent
from vbmle.common.files import Snapshot
from vbmle.common.validation import Among, non_negative, one_of
from vbmle.estimation.information import Information
from vbmle.estimation.likelihood import prove
from vbmle.estimation.maximiser import POOL, goal
from vbmle.model.mdp import LinearMixtureMDP

BIASES: dict[str, Callable[[int], float]] = {"sqrt": math.sqrt, "log": math.log1p}
"""Schedules alpha(t) by name: sqrt(t), the paper's, and log(1+t), tabular RBMLE's."""

Bias = Annotated[str, Among(BIASES)] | Callable[[int], float]

AGENT_SEARCHES = ("global", "certified", "few", "local")
UPDATES = ("every-step", "doubling")


def weight(schedule: Callable[[int], float], scale: float, t: int) -> float:
    """alpha(t) = scale * schedule(t), refused where it is no weight."""
    value = scale * schedule(t)
    if not (math.isfinite(value) and value >= 0.0):
        raise ValueError(f"the bias is {value} at t = {t}; it needs a finite number that is at least 0")
    return float(value)


class BiasedAgent(SolvingAgent):
    """What exact and approximate VBMLE share: a bias schedule."""

    def __init__(
        self,
        mdp: LinearMixtureMDP,
        bias: Bias,
        bias_scale: float,
        ridge: float,
        places: int = 1,
        **settings: object,
    ) -> None:
        scale = non_negative("bias_scale", bias_scale)
        penalty = non_negative("ridge", ridge)
        super().__init__(mdp, places, bias=bias, bias_scale=scale, ridge=penalty, **settings)
        self._schedule = bias if callable(bias) else BIASES[one_of("bias", bias, tuple(BIASES))]

    def alpha(self) -> float:
        """The weight of the bias now, at t = observations + 1."""
        return weight(self._schedule, self.settings["bias_scale"], self.counts.total + 1)


class VBMLE(Lazy, BiasedAgent):
    """Exact VBMLE: each step maximises likelihood plus alpha(t) times the optimal value of the state.

    search: "global" follows all local maxima it knows and keeps looking for others; "certified" also proves each
    answer by branch and bound, which takes milliseconds while the feasible set has few vertices; "few" climbs
    from the last theta, the most likely theta and the interior point; "local" from the last theta alone, which
    can stay in the wrong basin for ever. update: "every-step" as published, or "doubling", which decides anew
    only when the information about what was just observed has doubled (see `vbmle.estimation.information`) and plays
    the policy in force in between.
    """

    def __init__(
        self,
        mdp: LinearMixtureMDP,
        bias: Bias = "sqrt",
        bias_scale: float = 1.0,
        ridge: float = 1.0,
        search: Annotated[str, Among(AGENT_SEARCHES)] = "global",
        update: Annotated[str, Among(UPDATES)] = "every-step",
        seed: int = 0,
    ) -> None:
        one_of("search", search, AGENT_SEARCHES)
        one_of("update", update, UPDATES)
        places = 1 if search == "local" else POOL
        super().__init__(mdp, bias, bias_scale, ridge, places=places, search=search, update=update, seed=seed)
        self._information = Information(mdp, ridge) if update == "doubling" else None

    def _decide(self, state: int) -> None:
        if self._waits():
            return
        objective = goal(self.counts, self.settings["ridge"], self.alpha(), state)
        search = self.settings["search"]
        if search == "local":
            self._solver.climb(objective)
        elif search == "few":
            self._solver.climb_from_few(objective)
        else:
            self._solver.follow(objective)
        if search == "certified":
            prove(self._solver, objective)
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
        bias: Bias = "sqrt",
        bias_scale: float = 1.0,
        ridge: float = 1.0,
    ) -> None:
        super().__init__(mdp, bias, bias_scale, ridge)
        self._linear = np.empty(mdp.dimension)

    def _decide(self, state: int) -> None:
        solver, alpha = self._solver, self.alpha()
        last, best = solver.theta.copy(), -math.inf
        chosen: Snapshot = {}
        for action in range(self.mdp.num_actions):
            row = state * self.mdp.num_actions + action
            self.mdp.core.value_feature(row, solver.V, self._linear, alpha)
            solver.start(last)
            solver.climb(goal(self.counts, self.settings["ridge"], linear=self._linear))
            if solver.objective > best:
                best = solver.objective
                chosen = {name: array.copy() for name, array in solver.snapshot().items()}
        solver.restore(chosen)
        solver.plan()
