"""Certainty equivalence: plan for the maximum-likelihood theta, as if it were the truth.

    theta_t = argmax over P of  sum_i log <phi(s_{i+1}|s_i,a_i), theta> - ridge/2 |theta|^2,   a_t greedy for it.

It explores only by accident. Its estimate converges to some theta that predicts what its own policy visits
(closed-loop identification), which need not be the truth: see `worlds.closed_loop_trap` and RiverSwim.
"""

from __future__ import annotations

from vbmle.agents.base import CountingAgent, State
from vbmle.estimation import Ascent, goal
from vbmle.model import LinearMixtureMDP
from vbmle.validation import Floats, Ints, non_negative


class MaximumLikelihood(CountingAgent):
    """Plays the optimal policy of the (ridge-penalised) maximum-likelihood estimate."""

    def __init__(self, mdp: LinearMixtureMDP, ridge: float = 1.0) -> None:
        super().__init__(mdp, ridge=non_negative("ridge", ridge))
        self._ascent = Ascent(mdp)
        self._ascent.plan()

    @property
    def policy(self) -> Ints:
        return self._ascent.policy

    @property
    def theta(self) -> Floats:
        return self._ascent.theta

    def _decide(self, state: int) -> None:
        self._ascent.climb(goal(self.counts, self.settings["ridge"]))
        self._ascent.plan()

    def _state(self) -> State:
        return super()._state() | self._ascent.state()

    def _restore(self, state: State) -> None:
        super()._restore(state)
        self._ascent.restore(state)
