"""RBMLE, tabular (Mete, Singh, Liu and Kumar 2021; Kumar and Becker 1982), with discounted value.

    p_t = argmax  sum n(s,a,y) log p(y|s,a) + alpha(t) V*(s_t; p),       alpha(t) = bias_scale * log(1 + t),

over all p with the known support, one distribution for each (s, a). It is VBMLE with tabular features, no
ridge and the slower schedule. Given the policy, its value V and the discounted visits w from s_t on, row (s, pi(s))
is known up to one number (core/src/tabular/reward_biased_rows.hpp):

    p(y) = n(y) / (nu - alpha w(s) g(y)),     g(y) = gamma V(y) (+ r(s,a,y)),     sum_y p(y) = 1,

and rows off the policy are at their frequencies. The rows are moved to this until policy, V, w and p agree.

Departures. The paper maximises average reward; here it is the discounted value of the state at hand, whose
weight enters through w. The paper assumes the maximum over all policies and models; this is a local method
from the last model on: a fixed point is a KKT point, improved by switching single actions for as long as the
objective rises, and `converged` says whether it was reached. New models are computed at the episodes of UCRL2
(`update="doubling"`), or in each step.

It is a tabular method: of a model with features it uses only which transitions are possible. Where the model is
tabular without p_min, `theta` is the parameter in force; elsewhere there is none, only `p`.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from vbmle.agents.base import TallyAgent, tabular_coordinates
from vbmle.agents.episodes import Episodes
from vbmle.agents.vbmle import BIASES, UPDATES, Bias, weight
from vbmle.common.files import Snapshot
from vbmle.common.validation import Among, Floats, Ints, non_negative, one_of
from vbmle.core.tabular import RewardBiasedRows
from vbmle.model.mdp import LinearMixtureMDP
from vbmle.planning.planner import uses_factors

TOLERANCE = 1e-12
"""The linearised gap, relative to 1 + |objective|, at which rows count as a fixed point."""

ITERATIONS = 1000


class RBMLE(TallyAgent):
    """Reward-biased maximum likelihood with one distribution per (s, a); ignores the features.

    bias: "log" (the default), "sqrt" or any function of t. `p` holds the probability of each possible transition
    in the model in force, `objective` its value, `converged` whether it is a fixed point.
    """

    def __init__(
        self,
        mdp: LinearMixtureMDP,
        bias: Bias = "log",
        bias_scale: float = 1.0,
        update: Annotated[str, Among(UPDATES)] = "doubling",
    ) -> None:
        scale = non_negative("bias_scale", bias_scale)
        one_of("update", update, UPDATES)
        super().__init__(mdp, bias=bias, bias_scale=scale, update=update)
        self._schedule = bias if callable(bias) else BIASES[one_of("bias", bias, tuple(BIASES))]
        self._episodes = Episodes(mdp)
        self._rows = RewardBiasedRows(mdp.core, uses_factors(mdp), TOLERANCE, ITERATIONS)
        self.p: Floats = self._rows.p
        self.objective, self.converged = 0.0, False
        self._policy: Ints = self._rows.policy
        self._coordinate = tabular_coordinates(mdp)

    @property
    def policy(self) -> Ints:
        return self._policy

    @property
    def theta(self) -> Floats:
        """The parameter in force, where the model is tabular."""
        if self._coordinate is None:
            raise AttributeError("RBMLE has a theta only where the model is tabular without p_min; see p")
        theta = np.empty_like(self.p)
        theta[self._coordinate] = self.p
        return theta

    def alpha(self) -> float:
        """The weight of the bias now, at t = observations + 1."""
        return weight(self._schedule, self.settings["bias_scale"], self.counts.total + 1)

    def observe(self, state: int, action: int, next_state: int) -> None:
        super().observe(state, action, next_state)
        self._episodes.visits[state * self.mdp.num_actions + action] += 1.0

    def _noted(self, seen: Ints) -> None:
        np.add.at(self._episodes.visits, self.mdp.transitions.row_of[seen], 1.0)

    def _decide(self, state: int) -> None:
        over = self._episodes.over(state * self.mdp.num_actions + int(self._policy[state]))
        if over or self.settings["update"] == "every-step":
            self._episodes.begin()
            self._solve(state)

    def _solve(self, state: int) -> None:
        given = (self.counts.values, self._episodes.visits, self.alpha(), state)
        self.objective, gap = self._rows.solve(*given)
        self.converged = bool(gap <= 1e3 * TOLERANCE * (1.0 + abs(self.objective)))

    def _snapshot(self) -> Snapshot:
        own = {
            "p": self.p,
            "policy": self._policy,
            "result": np.array([self.objective, float(self.converged)]),
        }
        return super()._snapshot() | self._episodes.snapshot() | own

    def _restore(self, snapshot: Snapshot) -> None:
        super()._restore(snapshot)
        self._episodes.restore(snapshot)
        self.p[...], self._policy[...] = snapshot["p"], snapshot["policy"]
        self.objective, self.converged = float(snapshot["result"][0]), bool(snapshot["result"][1])
