"""The paper's martingale, turned into a confidence set that needs no p_min.

Lemma 4: L_t(theta_MLE_{t-1}) prod exp(-z_i) is a martingale. It equals the likelihood ratio of a
predictor that uses p(.|s_i,a_i; theta_i) with the theta_i of the past, here the (ridge-penalised) maximum-likelihood
estimate mixed with 1/(i+1) of the interior point of P, so that nothing possible has probability 0:

    q_t / L_t(theta*) = prod_{i<t} p(s_{i+1}; theta_i) / p(s_{i+1}; theta*)     has mean 1,

so {theta in P: l_t(theta) >= log q_t - log(1/delta)} contains theta* at all times at once with probability at least
1 - delta (Ville). It is smaller than the set of `likelihood_set`, which needs counts alone, and costs one solve a step.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from vbmle.common.validation import Floats, fraction, non_negative
from vbmle.estimation.confidence import Confidence, certify
from vbmle.estimation.counts import TransitionCounts
from vbmle.estimation.likelihood_set import LikelihoodSet
from vbmle.estimation.maximiser import Solver, make_objective
from vbmle.model.mdp import LinearMixtureMDP


class Prequential:
    """Watches transitions one by one; `log_q` is the log-probability that it gave to them in advance.

    Parameters
    ----------
    mdp : LinearMixtureMDP
        The model.
    ridge : float, default 1.0
        lambda of the estimate that it predicts with; at least 0.

    Raises
    ------
    ValueError
        If a setting is out of range; the message names it and what it needs.

    Examples
    --------
    >>> import vbmle
    >>> world = vbmle.worlds.riverswim(features="mixture")
    >>> predictor = vbmle.theory.Prequential(world.mdp)
    >>> predictor.observe(1, 1, 2)
    >>> round(predictor.log_q, 4), predictor.set(delta=0.1).contains(world.theta)  # log(1/3)
    (-1.0986, True)
    """

    def __init__(self, mdp: LinearMixtureMDP, ridge: float = 1.0) -> None:
        self.counts = TransitionCounts(mdp)
        self.log_q = 0.0
        self._ridge, self._solver = non_negative("ridge", ridge), Solver(mdp)
        self._solver.climb(make_objective(self.counts, self._ridge))

    def theta(self) -> Floats:
        """The theta that the next transition is predicted with."""
        share = 1.0 / (self.counts.total + 2.0)
        return (1.0 - share) * self._solver.theta + share * self.counts.mdp.polytope.interior

    def observe(self, state: int, action: int, next_state: int) -> None:
        """Predict, then learn."""
        mdp, theta = self.counts.mdp, self.theta()
        seen = self.counts.add(state, action, next_state)
        self.log_q += float(np.log(max((mdp.transitions.phi[[seen]] @ theta).item(), 0.0)))
        self._solver.climb(make_objective(self.counts, self._ridge))

    def set(self, delta: float = 0.1) -> LikelihoodSet:
        """The thetas that are not ruled out, at confidence 1 - delta."""
        return LikelihoodSet(self.counts, self.log_q - float(np.log(1.0 / fraction("delta", delta))))

    def confidence(self, policy: ArrayLike, delta: float = 0.1, state: int | None = None) -> Confidence:
        """What the set proves about V* and about a policy."""
        return certify(self.set(delta), policy, delta, state)
