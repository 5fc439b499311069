"""Feel-good Thompson sampling (Zhang 2022): posterior sampling with a taste for valuable models.

    theta_k ~ q(theta) proportional to  p(theta | counts) exp(bias * V*(s_t; theta) / r),          play pi*(theta_k)

PSRL draws from the posterior p alone, which can be too content with models that promise little; the feel-good factor
exp(bias V*) tilts the draw towards models that promise much, as the bias of VBMLE tilts the estimate. bias = 0 is PSRL.

Departures. Zhang proves regret bounds for contextual bandits, and for episodes; here theta is drawn again when the
information about what was observed has doubled, or in each step, as in our PSRL. The tilt is by importance: of
`draws` from the posterior one is chosen with chance proportional to exp(bias V* / r), with r the range of the reward,
so that nothing changes when rewards are multiplied by a constant. That is exact as the number of draws grows.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np

from vbmle.agents.base import a_policy, a_theta, require_convex
from vbmle.agents.decision import Decision
from vbmle.agents.informed_vbmle import reward_range
from vbmle.agents.model_agent import ModelAgent
from vbmle.agents.posterior import MOST_DRAWS, Sampler, Thinning, sampler_for
from vbmle.agents.triggers import DrawAgain, EveryObservation, InformationGrown
from vbmle.common.keeper import Saved, at_least_0
from vbmle.common.stated import AT_LEAST_0, Seed, up_to
from vbmle.common.validation import Floats, Ints
from vbmle.planning.planner import make_planner


class FeelGoodSampling(ModelAgent):
    """Plays the optimal policy of a draw from the posterior, tilted towards models of high value.

    Examples
    --------
    >>> import vbmle
    >>> world = vbmle.worlds.riverswim(features="mixture")
    >>> agent = vbmle.FeelGoodSampling(world.mdp, bias=3.0, seed=1)
    >>> agent.act(0) in (0, 1), world.mdp.contains(agent.theta)
    (True, True)
    """

    label = "feel-good sampling"
    saved: ClassVar[Saved] = {"_theta": a_theta, "_policy": a_policy, "_error_bound": at_least_0}

    bias: Annotated[
        float,
        AT_LEAST_0,
        "The weight of the value of the current state, in nats per range of the reward; 0 is PSRL.",
    ] = 1.0
    draws: Annotated[
        int, up_to(MOST_DRAWS), "Draws from the posterior for each decision, one of which is chosen."
    ] = 8
    update: DrawAgain = "doubling"
    thinning: Thinning = 10
    seed: Seed = 0

    def _start(self) -> None:
        mdp = self.mdp
        require_convex(type(self).__name__, mdp)
        self._sampler: Sampler = sampler_for(mdp, self.thinning)
        self._trigger = (
            EveryObservation() if self.update == "every-step" else InformationGrown(mdp, ridge=1.0)
        )
        self._planner = make_planner(mdp)
        self._theta: Floats = np.array(mdp.polytope.interior)
        self._policy: Ints = mdp.allowed.argmax(axis=1)  # the first allowed action
        self._error_bound = np.inf
        self._weight = self.bias / reward_range(mdp)

    @property
    def policy(self) -> Ints:
        return self._policy

    @property
    def theta(self) -> Floats:
        """The draw in force."""
        return self._theta

    def _decide(self, state: int) -> None:
        rng = np.random.default_rng([self.seed, self.counts.total])
        planner, best = self._planner, -np.inf
        planner.put(policy=self._policy)
        for _ in range(self.draws):
            planner.put(theta=self._sampler.draw(self.counts, rng), V=0.0)
            planner.assemble()  # from V = 0, so that a plan depends on theta and the policy alone
            error = planner.optimal()
            # The largest of log-weights plus Gumbel noise is a draw with these weights, without their exponentials.
            score = self._weight * planner.V[state] + rng.gumbel()
            if score > best:
                best, self._error_bound = score, error
                self._theta[...], self._policy[...] = planner.theta, planner.policy

    def _outcome(self) -> Decision:
        fine = self._error_bound < np.inf
        status = "converged" if fine else "no error is promised"
        solved = "plans for draws from the posterior, one of which was chosen by its value"
        return Decision(solved, status, fine, error_bound=self._error_bound)
