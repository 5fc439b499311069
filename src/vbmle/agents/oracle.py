"""The oracle: knows the hidden theta and plays its optimal policy, so that its regret is exactly 0.

The floor of every comparison: what an agent loses is measured against this policy. The truth comes in by the
setting `theta`; no other agent has it.
"""

from __future__ import annotations

from numpy.typing import ArrayLike

from vbmle.agents.base import Agent
from vbmle.common.validation import Floats, Ints
from vbmle.model.mdp import LinearMixtureMDP
from vbmle.planning import planner


class Oracle(Agent):
    """Plays the optimal policy of the `theta` it is given: with the hidden truth, nothing is lost."""

    needs_truth = True

    def __init__(self, mdp: LinearMixtureMDP, theta: ArrayLike) -> None:
        self.theta: Floats = mdp.require_feasible(theta)
        super().__init__(mdp, theta=self.theta.tolist())
        self._policy = planner.plan(mdp, self.theta).policy

    @property
    def policy(self) -> Ints:
        return self._policy

    def observe(self, state: int, action: int, next_state: int) -> None:
        """There is nothing to learn."""
