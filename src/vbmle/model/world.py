"""What is hidden: a model together with the theta* that governs it, which draws transitions."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from vbmle.common import validation
from vbmle.model.mdp import LinearMixtureMDP


class World:
    """A model together with the hidden theta that governs it: draws transitions, and nothing else.

    Parameters
    ----------
    mdp : LinearMixtureMDP
        What is known.
    theta : (d,) array
        The truth.

    Raises
    ------
    ValueError
        If theta lies outside the feasible set; the message says by how much and where.

    Examples
    --------
    >>> import vbmle
    >>> mdp = vbmle.worlds.riverswim(length=6, features="mixture").mdp
    >>> world = vbmle.World(mdp, [0.5, 0.4, 0.1])
    >>> world.next_state(0, 0, uniform=0.5)
    0
    """

    def __init__(self, mdp: LinearMixtureMDP, theta: ArrayLike) -> None:
        if not isinstance(mdp, LinearMixtureMDP):
            what = "a World" if isinstance(mdp, World) else f"of type {type(mdp).__name__}"
            raise ValueError(
                f"mdp is {what}; a World is made of a LinearMixtureMDP and its theta: World(mdp, theta)"
            )
        self.mdp = mdp
        self.theta = mdp.require_feasible(theta)
        p = np.maximum(mdp.transitions.probabilities(self.theta), 0.0)
        indptr = mdp.transitions.indptr
        total = np.cumsum(p)
        before = np.concatenate([[0.0], total])[indptr[:-1]]
        self._cumulative = total - np.repeat(before, np.diff(indptr))
        self._start = np.cumsum(mdp.initial)

    def at(self, step: int) -> World:
        """The world of a step, counted from 0: this one, where nothing changes (see `DriftingWorld`)."""
        return self

    def first_state(self, uniform: float) -> int:
        """The first state for a uniform draw in [0, 1)."""
        if not 0.0 <= uniform < 1.0:
            raise ValueError(f"uniform is {uniform}; it needs a number that is at least 0 and below 1")
        return int(np.searchsorted(self._start, uniform * self._start[-1], side="right"))

    def next_state(self, state: int, action: int, uniform: float) -> int:
        """The successor of (state, action) for a uniform draw in [0, 1)."""
        if not (0 <= state < self.mdp.num_states and 0 <= action < self.mdp.num_actions):
            validation.index("state", state, self.mdp.num_states)
            validation.index("action", action, self.mdp.num_actions)
        pair = state * self.mdp.num_actions + action
        start, stop = self.mdp.transitions.indptr[pair], self.mdp.transitions.indptr[pair + 1]
        cumulative = self._cumulative[start:stop]
        i = cumulative.searchsorted(uniform * cumulative[-1], side="right")
        return int(self.mdp.transitions.successor[start + i])

    def __repr__(self) -> str:
        return f"World({self.mdp!r})"
