"""Chance: a policy drawn uniformly from all deterministic ones, again at each step.

Regret is defined by the stationary policy in force. So this agent draws a whole policy in each step, one
uniform action per state, and plays it for that step: actions are uniform and independent, as you would expect of a
random agent, and its regret in a step is the mean over all policies of V* - V^pi.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from vbmle.agents.base import Agent, refuse_more
from vbmle.common.files import Snapshot
from vbmle.common.keeper import Saved, a_count
from vbmle.common.stated import Seed
from vbmle.common.validation import Ints
from vbmle.model.mdp import LinearMixtureMDP


class Random(Agent):
    """Plays a deterministic policy drawn uniformly at random, a new one in each step.

    Examples
    --------
    >>> import vbmle
    >>> world = vbmle.worlds.riverswim(length=6)
    >>> vbmle.Random(world.mdp).act(0) in (0, 1)
    True
    """

    label = "random"
    role = "random"
    saved: ClassVar[Saved] = {"_steps": a_count}

    seed: Seed = 0

    def _start(self) -> None:
        self._steps = 0
        self._policy = self._draw()

    @property
    def policy(self) -> Ints:
        return self._policy

    def observe(self, state: int, action: int, next_state: int, *more: Any, **named: Any) -> None:
        """Nothing is learnt; the next policy is drawn."""
        if more or named:
            refuse_more(self, state, action, next_state, *more, **named)
        self._require_transition(state, action, next_state)
        self._steps += 1
        self._policy = self._draw()

    def _draw(self) -> Ints:
        """The policy of this step: it depends on the seed and the step alone."""
        return draw_policy(np.random.default_rng([self.seed, self._steps]), self.mdp)

    def restore(self, snapshot: Snapshot) -> None:
        super().restore(snapshot)
        self._policy = self._draw()


def draw_policy(rng: np.random.Generator, mdp: LinearMixtureMDP) -> Ints:
    """One uniform action per state, among those allowed."""
    if mdp.allowed.all():
        return rng.integers(mdp.num_actions, size=mdp.num_states)
    among = (rng.random(mdp.num_states) * mdp.allowed.sum(axis=1)).astype(np.int64)
    return np.asarray((mdp.allowed.cumsum(axis=1) > among[:, None]).argmax(axis=1), dtype=np.int64)
