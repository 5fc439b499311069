"""What is certain about value and policy where theta is one of d candidates: by looking at those that are left.

The set is that of `vbmle.estimation.likelihood_set`, with the average over the candidates in place of the one
over P: q_t = mean of L_t(k) and the rule of Krichevsky and Trofimov, half each.
"""

from __future__ import annotations

import numpy as np

from vbmle.common.validation import Bools, Floats, Ints
from vbmle.estimation.candidates import Candidates
from vbmle.estimation.counts import TransitionCounts
from vbmle.estimation.likelihood_set import log_krichevsky_trofimov
from vbmle.model.mdp import LinearMixtureMDP
from vbmle.planning.planner import evaluate, expected_reward


class CandidateSet:
    """The candidates that are left: `left` (d,), `likelihoods` (d,), and how far below the maximum the level is."""

    def __init__(self, counts: TransitionCounts, delta: float) -> None:
        self.candidates, found = Candidates(counts.mdp), counts
        self.likelihoods = self.candidates.log_likelihoods(found.values)
        top = float(self.likelihoods.max())
        mean = top + float(np.log(np.exp(self.likelihoods - top).mean()))
        level = float(np.logaddexp(mean, log_krichevsky_trofimov(found)) - np.log(2.0) + np.log(delta))
        self.threshold = top - level
        self.left: Bools = self.likelihoods >= level

    @property
    def most_likely(self) -> Floats:
        """The most likely theta."""
        return np.eye(len(self.likelihoods))[int(self.likelihoods.argmax())]


def losses(mdp: LinearMixtureMDP, found: CandidateSet, policy: Ints) -> tuple[Floats, Floats, Floats, Floats]:
    """Over the candidates that are left: least and largest V*, largest loss (S,), and largest advantage (S, A)."""
    best, states = found.candidates.plans[0], np.arange(mdp.num_states)
    loss, advantage = np.zeros(mdp.num_states), np.full((mdp.num_states, mdp.num_actions), -np.inf)
    for k in np.nonzero(found.left)[0]:
        theta = np.eye(mdp.dimension)[k]
        V = evaluate(mdp, theta, policy)
        p = mdp.transitions.probabilities(theta)
        Q = (expected_reward(mdp, p) + mdp.discount * (mdp.transitions.csr(p) @ V)).reshape(advantage.shape)
        loss = np.maximum(loss, best[k] - V)
        advantage = np.maximum(advantage, Q - V[:, None])
    advantage[states, policy] = 0.0
    return best[found.left].min(axis=0), best[found.left].max(axis=0), loss, advantage
