"""RBMLE, tabular (Mete, Singh, Liu and Kumar 2021; Kumar and Becker 1982), with discounted value.

    p_t = argmax  sum n(s,a,y) log p(y|s,a) + alpha(t) V*(s_t; p),       alpha(t) = bias_scale * log(1 + t),

over all p with the known support, one distribution for each (s, a). It is VBMLE with tabular features, no
ridge and the slower schedule. Given the policy, its value V and the discounted visits w from s_t on, row (s, pi(s))
is known up to one number (core/src/tabular/reward_biased_rows.hpp):

    p(y) = n(y) / (nu - alpha w(s) g(y)),     g(y) = gamma V(y) (+ r(s,a,y)),     sum_y p(y) = 1,

and rows off the policy are at their frequencies. The rows are moved to this until policy, V, w and p agree.

Departures. The paper maximises average reward; here it is the discounted value of the current state, whose
weight enters through w. The paper assumes the maximum over all policies and models; this is a local method
from the last model on: a fixed point is a KKT point, improved by switching single actions for as long as the
objective rises, and `converged` says whether it was reached. New models are computed at the episodes of UCRL2
(`update="doubling"`), or in each step.

It is a tabular method: of a model with features it uses only which transitions are possible. Where the model is
tabular without p_min, `theta` is the parameter in force; elsewhere there is none, only `p`.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np

from vbmle.agents.base import a_policy
from vbmle.agents.bias import BIAS_SCALE, BiasScale, BiasSchedule, Schedule
from vbmle.agents.decision import Decision
from vbmle.agents.model_agent import ModelAgent
from vbmle.agents.tabular_models import tabular_coordinates
from vbmle.agents.triggers import Update, VisitsDoubled
from vbmle.common import keeper
from vbmle.common.keeper import Saved, anything, within
from vbmle.common.validation import Floats, Ints
from vbmle.core.tabular import RewardBiasedRows
from vbmle.planning.planner import uses_factors

GAP_TOLERANCE = 1e-12
"""The linearised gap, relative to 1 + |objective|, at which rows count as a fixed point."""

ITERATIONS = 1000


MOST = float(np.finfo(np.float64).max)


def a_table(agent: Any, name: str, p: Floats) -> None:
    """A saved p has distributions as its rows."""
    keeper.require_within(name, p, 0.0, 1.0 + 1e-9)
    sums = np.add.reduceat(p, agent.mdp.transitions.indptr[:-1])
    keeper.require_within(f"{name}, summed by (s, a),", sums, 1.0 - 1e-6, 1.0 + 1e-6)


class RBMLE(ModelAgent):
    """Reward-biased maximum likelihood with one distribution per (s, a); ignores the features.

    `p` holds the probability of each possible transition in the model in force, `objective` its value, `converged`
    whether it is a fixed point.

    Examples
    --------
    >>> import vbmle
    >>> world = vbmle.worlds.riverswim(length=6)
    >>> vbmle.RBMLE(world.mdp).act(0)
    1
    """

    tuning = BIAS_SCALE
    saved: ClassVar[Saved] = {
        "p": a_table,
        "_policy": a_policy,
        "objective": within(-MOST, MOST),
        "gap": within(-1.0, np.inf),
        "converged": anything,
    }

    bias: Schedule = "log"
    bias_scale: BiasScale = 1.0
    update: Annotated[
        Update,
        "When to solve again: at every step, or only when the visits of a pair (s, a) have doubled; in between the "
        "policy in force stays.",
    ] = "doubling"

    def _start(self) -> None:
        mdp = self.mdp
        self._schedule = BiasSchedule(self.bias, self.bias_scale)
        self._rows = RewardBiasedRows(mdp.core, uses_factors(mdp), GAP_TOLERANCE, ITERATIONS)
        self.p: Floats = self._rows.p.copy()
        self._policy: Ints = self._rows.policy.copy()
        self.objective, self.gap, self.converged = 0.0, np.inf, False
        self._coordinate = tabular_coordinates(mdp)
        if self.update == "doubling":
            self._trigger = VisitsDoubled(self.counts, self._policy)

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
        """The weight of the bias now, at t = observations + 1 (their weights, where some are forgotten)."""
        return self._schedule.at(self.counts.remembered + 1)

    def _decide(self, state: int) -> None:
        counts, rows = self.counts, self._rows
        rows.put(self.p, self._policy)
        self.objective, self.gap = rows.solve(counts.values, counts.visits(), self.alpha(), state)
        self.p[...], self._policy[...] = rows.p, rows.policy
        self.converged = bool(self.gap <= 1e3 * GAP_TOLERANCE * (1.0 + abs(self.objective)))

    def _outcome(self) -> Decision:
        status = "converged" if self.converged else "out of iterations"
        solved = "the likelihood of a table biased by value"
        return Decision(solved, status, self.converged, objective=self.objective, gap=self.gap)
