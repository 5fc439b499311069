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

import numpy as np

from vbmle.agents.decision import Decision
from vbmle.agents.model_agent import ModelAgent, OnImpossible
from vbmle.agents.triggers import VisitsDoubled
from vbmle.agents.tuning import RADIUS_SCALE
from vbmle.common.validation import MOST_SCALE, Floats, Ints, non_negative, probability
from vbmle.core.optimism import L1Optimist
from vbmle.estimation.change_point import Restart
from vbmle.estimation.forgetting import Forget
from vbmle.model.mdp import LinearMixtureMDP
from vbmle.planning.planner import rounding

VALUE_ACCURACY = 1e-6
"""The error of V relative to 1 + 1/(1-gamma)."""

MAX_SWEEPS = 10_000_000


class UCRL2(ModelAgent):
    """Optimism over L1 balls around the frequencies of each (s, a); ignores the features.

    `V` is the optimistic value, at least V* with probability 1 - delta where radius_scale is 1; `error_bound`
    says how close it is to the best value of all plausible models.

    Parameters
    ----------
    mdp : LinearMixtureMDP
        What is known. The agent never sees the hidden theta.
    delta : float, default 0.1
        The balls hold together with probability 1 - delta; strictly between 0 and 1.
    radius_scale : float, default 1.0
        Multiplies the radii; at least 0. Smaller explores less; only 1 has the proof.
    on_impossible : {"raise", "skip", "widen"}, default "raise"
        What to do with an observed transition that the model calls impossible: refuse it, note it without learning
        from it, or from then on give every next state of its pair (s, a) a small probability.
    forget : float or {"window": int}, optional
        How old observations fade: a half-life in steps, or a window of the last ones. By default none is forgotten.
    restart : {"on-alarm"}, optional
        Start over, with the observations since the change, when a test finds that the mix has changed.

    Raises
    ------
    ValueError
        If a setting is out of range; the message names it and what it needs.

    Examples
    --------
    >>> import vbmle
    >>> world = vbmle.worlds.riverswim(length=6)
    >>> vbmle.UCRL2(world.mdp).act(0)
    1
    """

    tuning = RADIUS_SCALE
    saved = ("V", "_policy", "error_bound", "_converged")

    def __init__(
        self,
        mdp: LinearMixtureMDP,
        delta: float = 0.1,
        radius_scale: float = 1.0,
        on_impossible: OnImpossible = "raise",
        forget: Forget = None,
        restart: Restart = None,
    ) -> None:
        scale = non_negative("radius_scale", radius_scale, MOST_SCALE)
        if probability("delta", delta) == 0.0:
            raise ValueError("delta is 0.0; it needs a number above 0 and at most 1")
        super().__init__(
            mdp,
            delta=float(delta),
            radius_scale=scale,
            on_impossible=on_impossible,
            forget=forget,
            restart=restart,
        )
        self._optimist = L1Optimist(mdp.core)
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
        log = np.log(2.0 * self.mdp.num_actions * t / self.settings["delta"])
        visits = self.counts.visits()
        radius = self.settings["radius_scale"] * np.sqrt(14.0 * successors * log / np.maximum(1.0, visits))
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
