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

from vbmle.agents.decision import Decision
from vbmle.agents.model_agent import ModelAgent, OnImpossible
from vbmle.agents.posterior import MOST_THINNING, Sampler, sampler_for
from vbmle.agents.triggers import UPDATES, EveryObservation, InformationGrown, Update
from vbmle.agents.tuning import Knob
from vbmle.common.validation import Among, Floats, Ints, at_most, index, one_of
from vbmle.estimation.change_point import Restart
from vbmle.estimation.forgetting import Forget
from vbmle.model.mdp import LinearMixtureMDP
from vbmle.planning.planner import make_planner

SAMPLERS = ("auto", "hit-and-run", "dirichlet")


class PSRL(ModelAgent):
    """Plays the optimal policy of a theta drawn from the posterior, whose prior is uniform on the feasible set.

    Parameters
    ----------
    mdp : LinearMixtureMDP
        What is known. The agent never sees the hidden theta.
    update : {"every-step", "doubling"}, default "doubling"
        When to draw again: at every step, or only when the information has doubled; in between the
        policy in force is played.
    sampler : {"auto", "dirichlet", "hit-and-run"}, default "auto"
        "dirichlet" is exact and needs a tabular model without p_min; "hit-and-run" is a Markov chain for any
        mixture; "auto" is the first that fits. Where theta is one of the candidates, draws are exact too.
    thinning : int, default 10
        Steps of the chain per free coordinate between two draws; at least 1.
    seed : int, default 0
        Seeds everything that the agent draws for itself: the draws from the
        posterior. The world's luck has its own seed.
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
    >>> agent = vbmle.PSRL(world.mdp, seed=1)
    >>> world.mdp.contains(agent.theta)
    True
    """

    tuning = Knob("update", ("doubling", "every-step"))
    saved = ("_theta", "_policy", "_error_bound")

    def __init__(
        self,
        mdp: LinearMixtureMDP,
        update: Update = "doubling",
        sampler: Annotated[str, Among(SAMPLERS)] = "auto",
        thinning: int = 10,
        seed: int = 0,
        on_impossible: OnImpossible = "raise",
        forget: Forget = None,
        restart: Restart = None,
    ) -> None:
        one_of("update", update, UPDATES)
        one_of("sampler", sampler, SAMPLERS)
        at_most("thinning", thinning, MOST_THINNING)
        super().__init__(
            mdp,
            update=update,
            sampler=sampler,
            thinning=thinning,
            seed=index("seed", seed, 2**63),
            on_impossible=on_impossible,
            forget=forget,
            restart=restart,
        )
        if sampler == "dirichlet" and on_impossible == "widen":
            raise ValueError("sampler is 'dirichlet', but a widened model is not tabular; it needs 'auto'")
        self._sampler: Sampler = sampler_for(mdp, thinning, sampler)
        self._trigger = InformationGrown(mdp, ridge=1.0) if update == "doubling" else EveryObservation()
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
        rng = np.random.default_rng([self.settings["seed"], self.counts.total])
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
