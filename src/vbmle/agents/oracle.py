"""The oracle: knows the hidden theta and plays its optimal policy, so that its regret is exactly 0.

The floor of every comparison: regret is measured against this policy. The truth comes in by the
setting `theta`; no other agent has it.
"""

from __future__ import annotations

from typing import Annotated, Any

from numpy.typing import ArrayLike

from vbmle.agents.base import Agent, refuse_more
from vbmle.agents.decision import Decision
from vbmle.common.validation import Ints
from vbmle.planning import planner


class Oracle(Agent):
    """Plays the optimal policy of the `theta` it is given: with the hidden truth, its regret is exactly 0.

    Examples
    --------
    >>> import vbmle
    >>> world = vbmle.worlds.riverswim(length=6)
    >>> agent = vbmle.Oracle(world.mdp, world.theta)
    >>> float(vbmle.simulate(agent, world, horizon=20).regret[-1])
    0.0
    """

    label = "oracle"
    needs_truth = True
    role = "oracle"
    decisions = 1  # taken when it is made

    theta: Annotated[ArrayLike, "A feasible theta."]

    def _start(self) -> None:
        theta = vars(self)["theta"] = self.mdp.require_feasible(self.theta)
        # As close as rounding allows, where that is less close than usual.
        self._plan = planner.plan(self.mdp, theta, tolerance=max(1e-8, 4.0 * planner.rounding(self.mdp)))

    @property
    def policy(self) -> Ints:
        return self._plan.policy

    def observe(self, state: int, action: int, next_state: int, *more: Any, **named: Any) -> None:
        """There is nothing to learn."""
        if more or named:
            refuse_more(self, state, action, next_state, *more, **named)
        self._require_transition(state, action, next_state)

    def _outcome(self) -> Decision:
        fine, error = self._plan.converged, self._plan.error_bound
        status = "converged" if fine else "the error is above the tolerance"
        return Decision("a plan for the truth", status, fine, error_bound=error)
