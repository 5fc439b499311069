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
of 1/sqrt(t), and starts at 1/(1-gamma), above all values, so that V is an upper bound at every sweep.

A pair never visited may have any p, whatever radius_scale is (with 1 the formula says the same).

It is a tabular method: of a model with features it uses only which transitions are possible.
"""

from __future__ import annotations

import numpy as np

from vbmle.agents.base import TallyAgent
from vbmle.agents.episodes import Episodes
from vbmle.common.files import Snapshot
from vbmle.common.validation import Floats, Ints, non_negative, probability
from vbmle.core.optimism import L1Optimist
from vbmle.model.mdp import LinearMixtureMDP
from vbmle.planning.planner import rounding

ACCURACY = 1e-6
"""The error of V relative to 1 + 1/(1-gamma)."""

MAX_SWEEPS = 10_000_000


class UCRL2(TallyAgent):
    """Optimism over L1 balls around the frequencies of each (s, a); ignores the features.

    `V` is the optimistic value, at least V* with probability 1 - delta where radius_scale is 1; `error_bound`
    says how close it is to the best value of all plausible models. Smaller radius_scale explores less.
    """

    def __init__(self, mdp: LinearMixtureMDP, delta: float = 0.1, radius_scale: float = 1.0) -> None:
        scale = non_negative("radius_scale", radius_scale)
        if probability("delta", delta) == 0.0:
            raise ValueError("delta is 0.0; it needs a number above 0 and at most 1")
        super().__init__(mdp, delta=float(delta), radius_scale=scale)
        self._episodes = Episodes(mdp)
        self._optimist = L1Optimist(mdp.core)
        self.V: Floats = self._optimist.V
        self.error_bound = np.inf
        self._policy: Ints = self._optimist.policy

    @property
    def policy(self) -> Ints:
        return self._policy

    def observe(self, state: int, action: int, next_state: int) -> None:
        super().observe(state, action, next_state)
        self._episodes.visits[state * self.mdp.num_actions + action] += 1.0

    def _noted(self, seen: Ints) -> None:
        np.add.at(self._episodes.visits, self.mdp.transitions.row_of[seen], 1.0)

    def radius(self) -> Floats:
        """The L1 radius of each (s, a) row, for an episode that starts now."""
        successors, t = np.diff(self.mdp.transitions.indptr), self.counts.total + 1
        log = np.log(2.0 * self.mdp.num_actions * t / self.settings["delta"])
        visits = self._episodes.visits
        radius = self.settings["radius_scale"] * np.sqrt(14.0 * successors * log / np.maximum(1.0, visits))
        return np.where(visits > 0.0, radius, 2.0)

    def _decide(self, state: int) -> None:
        if self._episodes.over(state * self.mdp.num_actions + int(self._policy[state])):
            self._episodes.begin()
            self._plan()

    def _plan(self) -> None:
        mdp, rows = self.mdp, self.mdp.transitions
        visits = np.repeat(self._episodes.visits, np.diff(rows.indptr))
        uniform = 1.0 / np.repeat(np.diff(rows.indptr), np.diff(rows.indptr))
        estimate = np.where(visits > 0.0, self.counts.values / np.maximum(visits, 1.0), uniform)
        top = 1.0 / (1.0 - mdp.discount)
        self._optimist.plan(estimate, self.radius(), max(ACCURACY * (1.0 + top), rounding(mdp)), MAX_SWEEPS)
        self.error_bound = max(self._optimist.error_bound, rounding(mdp))

    def _snapshot(self) -> Snapshot:
        own = {"V": self.V, "policy": self._policy, "error_bound": np.array(self.error_bound)}
        return super()._snapshot() | self._episodes.snapshot() | own

    def _restore(self, snapshot: Snapshot) -> None:
        super()._restore(snapshot)
        self._episodes.restore(snapshot)
        self.V[...], self._policy[...] = snapshot["V"], snapshot["policy"]
        self.error_bound = float(snapshot["error_bound"])
