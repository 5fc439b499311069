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

import numpy as np

from vbmle.agents.base import require_convex
from vbmle.agents.decision import Decision
from vbmle.agents.informed_vbmle import reward_range
from vbmle.agents.model_agent import ModelAgent, OnImpossible
from vbmle.agents.posterior import MOST_DRAWS, MOST_THINNING, Sampler, sampler_for
from vbmle.agents.triggers import UPDATES, EveryObservation, InformationGrown, Update
from vbmle.common.validation import Floats, Ints, at_most, index, non_negative, one_of
from vbmle.estimation.change_point import Restart
from vbmle.estimation.forgetting import Forget
from vbmle.model.mdp import LinearMixtureMDP
from vbmle.planning.planner import make_planner


class FeelGoodSampling(ModelAgent):
    """Plays the optimal policy of a draw from the posterior, tilted towards models of high value.

    Parameters
    ----------
    mdp : LinearMixtureMDP
        What is known. The agent never sees the hidden theta.
    bias : float, default 1.0
        The weight of the value of the current state, in nats per range of the reward; at least 0. 0 is PSRL.
    draws : int, default 8
        Draws from the posterior for each decision, one of which is chosen; at least 1.
    update : {"every-step", "doubling"}, default "doubling"
        When to draw again: at every step, or only when the information has doubled; in between the
        policy in force is played.
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
        Forget everything observed before a change of theta, when a test finds one. By default there is no such test.

    Raises
    ------
    ValueError
        If a setting is out of range, or theta is one of the candidates (domain "vertices").

    Examples
    --------
    >>> import vbmle
    >>> world = vbmle.worlds.riverswim(features="mixture")
    >>> agent = vbmle.FeelGoodSampling(world.mdp, bias=3.0, seed=1)
    >>> agent.act(0) in (0, 1), world.mdp.contains(agent.theta)
    (True, True)
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
        restart: Restart = None,
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
            restart=restart,
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
        planner.put(policy=self._policy)
        for _ in range(self.settings["draws"]):
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
