"""Feel-good Thompson sampling (Zhang 2022): posterior sampling with a taste for valuable models.

    theta_k ~ q(theta) proportional to  p(theta | counts) exp(bias * V*(s_t; theta) / r),          play pi*(theta_k)

PSRL draws from the posterior p alone, which can be too content with models that promise little; the feel-good factor
exp(bias V*) tilts the draw towards models that promise much, as the bias of VBMLE tilts the estimate. bias = 0 is PSRL.

Departures. Zhang proves regret bounds for contextual bandits, and for episodes; here theta is drawn anew when the
information about what was observed has doubled, or in each step, as in our PSRL. The tilt is by importance: of
`draws` from the posterior one is chosen with chance proportional to exp(bias V* / r), with r the range of the reward,
so that nothing changes when rewards are multiplied by a constant. That is exact as the number of draws grows.
"""

from __future__ import annotations

import numpy as np

from vbmle.agents.base import ModelAgent, OnImpossible, require_convex
from vbmle.agents.decision import Decision
from vbmle.agents.informed_vbmle import reward_range
from vbmle.agents.posterior import MOST_DRAWS, MOST_THINNING, Sampler, sampler_for
from vbmle.agents.triggers import UPDATES, EveryObservation, InformationGrown, Update
from vbmle.common.validation import Floats, Ints, at_most, index, non_negative, one_of
from vbmle.estimation.forgetting import Forget
from vbmle.model.mdp import LinearMixtureMDP
from vbmle.planning.planner import make_planner


class FeelGoodSampling(ModelAgent):
    """Plays the optimal policy of a draw from the posterior, tilted towards models of high value.

    bias : the weight of the value of the state at hand; 0 is PSRL. draws : from the posterior, of which one is chosen.
    update, thinning : see `PSRL`.
    """

    label = "feel-good sampling"
    saved = ("_theta", "_policy", "_error_bound")

    def __init__(
        self,
        mdp: LinearMixtureMDP,
        bias: float = 1.0,
        draws: int = 8,
        update: Update = "doubling",
        thinning: int = 10,
        seed: int = 0,
        on_impossible: OnImpossible = "raise",
        forget: Forget = None,
    ) -> None:
        require_convex(type(self).__name__, mdp)
        super().__init__(
            mdp,
            bias=non_negative("bias", bias),
            draws=at_most("draws", draws, MOST_DRAWS),
            update=one_of("update", update, UPDATES),
            thinning=at_most("thinning", thinning, MOST_THINNING),
            seed=index("seed", seed, 2**63),
            on_impossible=on_impossible,
            forget=forget,
        )
        self._sampler: Sampler = sampler_for(mdp, thinning)
        self._trigger = InformationGrown(mdp, ridge=1.0) if update == "doubling" else EveryObservation()
        self._planner = make_planner(mdp)
        self._theta: Floats = np.array(mdp.polytope.interior)
        self._policy: Ints = mdp.allowed.argmax(axis=1)  # the first allowed action
        self._error_bound = np.inf
        self._weight = self.settings["bias"] / reward_range(mdp)

    @property
    def policy(self) -> Ints:
        return self._policy

    @property
    def theta(self) -> Floats:
        """The draw in force."""
        return self._theta

    def _decide(self, state: int) -> None:
        rng = np.random.default_rng([self.settings["seed"], self.counts.total])
        planner, best = self._planner, -np.inf
        planner.policy[...] = self._policy
        for _ in range(self.settings["draws"]):
            planner.theta[...] = self._sampler.draw(self.counts, rng)
            planner.assemble()
            planner.V[...] = 0.0  # so that a plan depends on theta and the policy alone
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
