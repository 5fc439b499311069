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

from typing import Annotated

import numpy as np

from vbmle.agents.base import CountingAgent, Lazy, tabular_coordinates
from vbmle.agents.posterior import Dirichlet, HitAndRun, Sampler
from vbmle.agents.vbmle import UPDATES
from vbmle.common.files import Snapshot
from vbmle.common.validation import Among, Floats, Ints, index, one_of, positive_integer
from vbmle.estimation.information import Information
from vbmle.model.mdp import LinearMixtureMDP
from vbmle.planning.planner import make_planner

SAMPLERS = ("auto", "hit-and-run", "dirichlet")


class PSRL(Lazy, CountingAgent):
    """Plays the optimal policy of a theta drawn from the posterior.

    update: "doubling" draws when information has doubled, "every-step" in each step. sampler: "dirichlet"
    (exact, tabular models without p_min), "hit-and-run" (any model), or "auto", the first that fits.
    """

    def __init__(
        self,
        mdp: LinearMixtureMDP,
        update: Annotated[str, Among(UPDATES)] = "doubling",
        sampler: Annotated[str, Among(SAMPLERS)] = "auto",
        thinning: int = 10,
        seed: int = 0,
    ) -> None:
        one_of("update", update, UPDATES)
        one_of("sampler", sampler, SAMPLERS)
        positive_integer("thinning", thinning)
        super().__init__(
            mdp, update=update, sampler=sampler, thinning=thinning, seed=index("seed", seed, 2**63)
        )
        exact = sampler == "dirichlet" or (sampler == "auto" and tabular_coordinates(mdp) is not None)
        self._sampler: Sampler = Dirichlet(mdp) if exact else HitAndRun(mdp, thinning)
        self._information = Information(mdp, ridge=1.0) if update == "doubling" else None
        self._theta: Floats = mdp.polytope.interior.copy()
        self._planner = make_planner(mdp)
        self._policy: Ints = self._planner.policy
        self._drawn_at = -1  # how many transitions had been seen at the last draw

    @property
    def policy(self) -> Ints:
        return self._policy

    @property
    def theta(self) -> Floats:
        """The draw in force."""
        return self._theta

    def _decide(self, state: int) -> None:
        if self._drawn_at == self.counts.total:  # asked about another state: the draw stands
            return
        if self._waits():
            return
        self._drawn_at = self.counts.total
        rng = np.random.default_rng([self.settings["seed"], self.counts.total])
        self._theta = self._sampler.draw(self.counts, rng)
        self._plan()

    def _plan(self) -> None:
        planner = self._planner
        planner.theta[:], planner.V[:] = self._theta, 0.0  # a plan depends on theta and the policy alone
        planner.assemble()
        planner.optimal()

    def _snapshot(self) -> Snapshot:
        own = {"theta": self._theta, "policy": self._policy, "drawn_at": np.array(self._drawn_at)}
        return super()._snapshot() | self._sampler.snapshot() | own

    def _restore(self, snapshot: Snapshot) -> None:
        super()._restore(snapshot)
        self._sampler.restore(snapshot)
        self._theta, self._drawn_at = snapshot["theta"].copy(), int(snapshot["drawn_at"])
        self._policy[...] = snapshot["policy"]
