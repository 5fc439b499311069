"""Certainty equivalence: plan for the maximum-likelihood theta, as if it were the truth.

    theta_t = argmax over P of  sum_i log <phi(s_{i+1}|s_i,a_i), theta> - ridge/2 |theta|^2,   a_t greedy for it.

It explores only by accident. Its estimate converges to some theta that predicts what its own policy visits
(closed-loop identification), which need not be the truth: see `worlds.closed_loop_trap` and RiverSwim.
"""

from __future__ import annotations

from vbmle.agents.base import SolvingAgent
from vbmle.common.validation import non_negative
from vbmle.estimation.maximiser import goal
from vbmle.model.mdp import LinearMixtureMDP


class MaximumLikelihood(SolvingAgent):
    """Plays the optimal policy of the (ridge-penalised) maximum-likelihood estimate."""

    def __init__(self, mdp: LinearMixtureMDP, ridge: float = 1.0) -> None:
        super().__init__(mdp, ridge=non_negative("ridge", ridge))

    def _decide(self, state: int) -> None:
        self._solver.climb(goal(self.counts, self.settings["ridge"]))
        self._solver.plan()
