"""PSRL: posterior sampling for reinforcement learning (Strens 2000; Osband, Russo and Van Roy 2013).

    theta_k ~ p(theta | counts) proportional to  1{theta in P} prod p_theta(s'|s,a)^n(s,a,s'),    play pi*(theta_k)

for one episode: a model is drawn from the posterior, and its optimal policy is played as if it were the truth.
The prior is uniform on the feasible set P. For a tabular model that is the classical one, a Dirichlet
distribution with all parameters 1 for each (s, a), and draws are exact; elsewhere they come from a hit-and-run
chain that goes on from the last draw (`vbmle.agents.posterior`).

Departures. Published PSRL has episodes of a fixed length. Here, without episodes, a new theta is drawn when the
information about what was just observed has doubled (`vbmle.estimation.information`; for a tabular model,
when the visits of a pair have about doubled, as in Ouyang et al. 2017), or in each step. Draws of the chain are
dependent; its length per draw is `thinning` steps for each free coordinate of P.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np

from vbmle.agents.base import Knob, a_policy, a_theta
from vbmle.agents.decision import Decision
from vbmle.agents.model_agent import ModelAgent
from vbmle.agents.posterior import Sampler, Thinning, sampler_for
from vbmle.agents.triggers import DrawAgain, EveryObservation, InformationGrown
from vbmle.common.keeper import Saved, at_least_0
from vbmle.common.stated import Seed
from vbmle.common.validation import Among, Floats, Ints
from vbmle.planning.planner import make_planner

SAMPLERS = ("auto", "hit-and-run", "dirichlet")


class PSRL(ModelAgent):
    """Plays the optimal policy of a theta drawn from the posterior, whose prior is uniform on the feasible set.

    Examples
    --------
    >>> import vbmle
    >>> world = vbmle.worlds.riverswim(length=6)
    >>> agent = vbmle.PSRL(world.mdp, seed=1)
    >>> world.mdp.contains(agent.theta)
    True
    """

    tuning = Knob("update", ("doubling", "every-step"))
    saved: ClassVar[Saved] = {"_theta": a_theta, "_policy": a_policy, "_error_bound": at_least_0}

    update: DrawAgain = "doubling"
    sampler: Annotated[
        str,
        Among(SAMPLERS),
        '"dirichlet" is exact and needs a tabular model without p_min; "hit-and-run" is a Markov chain for any '
        'mixture; "auto" is the first that fits. Where theta is one of the candidates, draws are exact too.',
    ] = "auto"
    thinning: Thinning = 10
    seed: Seed = 0

    def _start(self) -> None:
        mdp = self.mdp
        if self.sampler == "dirichlet" and self.on_impossible == "widen":
            raise ValueError("sampler is 'dirichlet', but a widened model is not tabular; it needs 'auto'")
        self._sampler: Sampler = sampler_for(mdp, self.thinning, self.sampler)
        self._trigger = (
            EveryObservation() if self.update == "every-step" else InformationGrown(mdp, ridge=1.0)
        )
        self._planner = make_planner(mdp)
        self._theta: Floats = np.array(mdp.polytope.interior)
        self._policy: Ints = self._planner.policy.copy()
        self._error_bound = np.inf

    @property
    def policy(self) -> Ints:
        return self._policy

    @property
    def theta(self) -> Floats:
        """The draw in force."""
        return self._theta

    def _decide(self, state: int) -> None:
        rng = np.random.default_rng([self.seed, self.counts.total])
        self._theta[...] = self._sampler.draw(self.counts, rng)
        planner = self._planner
        planner.put(theta=self._theta, policy=self._policy, V=0.0)
        planner.assemble()  # from V = 0, so that a plan depends on theta and the policy alone
        self._error_bound = planner.optimal()
        self._policy[...] = planner.policy

    def _outcome(self) -> Decision:
        fine = self._error_bound < np.inf
        status = "converged" if fine else "no error is promised"
        return Decision("a plan for a draw from the posterior", status, fine, error_bound=self._error_bound)
