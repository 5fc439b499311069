"""UCRL2 (Jaksch, Ortner and Auer 2010), with discounted value in place of average reward.

At the start of an episode, at step t, with n(s,a) visits and frequencies phat of what followed them,

    |p(.|s,a) - phat(.|s,a)|_1 <= radius(s,a) = radius_scale * sqrt(14 m log(2 A t/delta) / max(1, n(s,a)))

defines the plausible models, and extended value iteration finds the policy and the plausible model of highest
value together (core/src/optimism/l1_value_iteration.hpp). The policy is played until some pair (s, a) has been
visited as often within the episode as before it.

Departures. The value is discounted; rewards are known, so there is no confidence bound on them. Which transitions
can happen is known: p lives on the m successors of (s, a), and m takes the place of the number of states S in
the radius. That keeps the promise: by Weissman et al. (2003) a ball of squared radius 2/n log(2^m 20 S A t^7/delta)
fails with probability at most delta/(20 t^7 S A), and for m >= 2 this is below the radius above as long as
S <= 200 (A/delta)^13 (m = 1 leaves nothing open). Planning promises an error (1e-6 (1 + 1/(1-gamma))) in place
of 1/sqrt(t), by policy iteration over actions and models where that is cheaper than sweeps; V ends as an upper
bound.

A pair never visited may have any p, whatever radius_scale is (with 1 the formula says the same).

It is a tabular method: of a model with features it uses only which transitions are possible.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np

from vbmle.agents.base import a_policy
from vbmle.agents.decision import Decision
from vbmle.agents.model_agent import ModelAgent
from vbmle.agents.triggers import VisitsDoubled
from vbmle.agents.uclk import RADIUS_SCALE
from vbmle.common.keeper import Saved, a_value, anything, at_least_0
from vbmle.common.stated import A_SCALE, Check
from vbmle.common.validation import Floats, Ints, probability
from vbmle.core.optimism import L1Optimist
from vbmle.planning.planner import rounding

VALUE_ACCURACY = 1e-6
"""The error of V relative to 1 + 1/(1-gamma)."""

MAX_SWEEPS = 10_000_000


def _chance(name: str, value: float) -> float:
    if probability(name, value) == 0.0:
        raise ValueError(f"{name} is {value}; it needs a number above 0 and at most 1")
    return float(value)


AT_MOST_1 = Check("above 0 and at most 1", _chance)


class UCRL2(ModelAgent):
    """Optimism over L1 balls around the frequencies of each (s, a); ignores the features.

    `V` is the optimistic value, at least V* with probability 1 - delta where radius_scale is 1; `error_bound`
    says how close it is to the best value of all plausible models.

    Examples
    --------
    >>> import vbmle
    >>> world = vbmle.worlds.riverswim(length=6)
    >>> vbmle.UCRL2(world.mdp).act(0)
    1
    """

    tuning = RADIUS_SCALE
    saved: ClassVar[Saved] = {
        "V": a_value,
        "_policy": a_policy,
        "error_bound": at_least_0,
        "_converged": anything,
    }

    delta: Annotated[float, AT_MOST_1, "The balls hold together with probability 1 - delta."] = 0.1
    radius_scale: Annotated[
        float, A_SCALE, "Multiplies the radii. Smaller explores less; only 1 has the proof."
    ] = 1.0

    def _start(self) -> None:
        self._optimist = L1Optimist(self.mdp.core)
        self.V: Floats = self._optimist.V.copy()
        self._policy: Ints = self._optimist.policy.copy()
        self.error_bound, self._converged = np.inf, False
        self._trigger = VisitsDoubled(self.counts, self._policy)

    @property
    def policy(self) -> Ints:
        return self._policy

    def radius(self) -> Floats:
        """The L1 radius of each pair (s, a), for an episode that starts now."""
        successors, t = np.diff(self.mdp.transitions.indptr), self.counts.total + 1
        log = np.log(2.0 * self.mdp.num_actions * t / self.delta)
        visits = self.counts.visits()
        radius = self.radius_scale * np.sqrt(14.0 * successors * log / np.maximum(1.0, visits))
        return np.where(visits > 0.0, radius, 2.0)

    def _decide(self, state: int) -> None:
        mdp, successors = self.mdp, np.diff(self.mdp.transitions.indptr)
        visits, uniform = np.repeat(self.counts.visits(), successors), 1.0 / np.repeat(successors, successors)
        estimate = np.where(visits > 0.0, self.counts.values / np.maximum(visits, 1.0), uniform)
        tolerance = max(VALUE_ACCURACY * (1.0 + 1.0 / (1.0 - mdp.discount)), rounding(mdp))
        self._converged = self._optimist.plan(estimate, self.radius(), tolerance, MAX_SWEEPS)
        self.error_bound = max(self._optimist.error_bound, rounding(mdp))
        self.V[...], self._policy[...] = self._optimist.V, self._optimist.policy

    def _outcome(self) -> Decision:
        status = "converged" if self._converged else "out of sweeps"
        solved = "an optimistic plan over L1 balls"
        return Decision(solved, status, self._converged, error_bound=self.error_bound)
