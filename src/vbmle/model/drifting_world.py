"""A world whose hidden mix changes: theta_t in place of theta, by jumps or slowly."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from vbmle.common import validation
from vbmle.common.validation import Floats, Ints
from vbmle.model.mdp import LinearMixtureMDP
from vbmle.model.world import World

CHANGES = ("jump", "slow")
PIECES = 100
"""A slow change is made of so many small ones."""


class DriftingWorld(World):
    """A model together with the hidden thetas that govern it, each from its step on.

    `simulate` and `vbmle.gym` ask `at(step)` for the world of each step; `theta` is that of the first step.

    Parameters
    ----------
    mdp : LinearMixtureMDP
        What is known.
    path : sequence of (step, theta)
        The thetas and the steps from which they hold, the first from step 0. After the last nothing changes.
    change : {"jump", "slow"}, default "jump"
        Whether each theta holds until the next, or moves to it in a straight line, in 100 small steps.

    Raises
    ------
    ValueError
        If steps do not begin at 0 and grow, or a theta is not feasible.

    Examples
    --------
    >>> import vbmle
    >>> mdp = vbmle.worlds.riverswim(length=6, features="mixture").mdp
    >>> world = vbmle.DriftingWorld(mdp, [(0, [0.5, 0.4, 0.1]), (100, [0.1, 0.4, 0.5])])
    >>> world.at(99).theta.tolist(), world.at(100).theta.tolist()
    ([0.5, 0.4, 0.1], [0.1, 0.4, 0.5])
    """

    def __init__(
        self, mdp: LinearMixtureMDP, path: Sequence[tuple[int, ArrayLike]], change: str = "jump"
    ) -> None:
        validation.one_of("change", change, CHANGES)
        if not len(path):
            raise ValueError("path is empty; it needs (step, theta) at least once, from step 0")
        super().__init__(mdp, path[0][1])
        steps = [validation.index("a step of path", step, 2**62) for step, _ in path]
        if steps[0] != 0 or any(b <= a for a, b in pairwise(steps)):
            raise ValueError(f"path has the steps {steps}; they begin at 0 and grow")
        thetas = [mdp.require_feasible(theta) for _, theta in path]
        if change == "slow":
            steps, thetas = _small_steps(steps, thetas)
        self.changes: Ints = np.array(steps, dtype=np.int64)
        """The steps from which another theta holds, the first of them 0."""
        self.thetas: list[Floats] = [mdp.require_feasible(theta) for theta in thetas]
        self._worlds: dict[int, World] = {}

    def at(self, step: int) -> World:
        """The world of a step, counted from 0: the same object while nothing changes."""
        i = int(np.searchsorted(self.changes, step, side="right")) - 1
        if i not in self._worlds:
            self._worlds[i] = World(self.mdp, self.thetas[i])
        return self._worlds[i]


def _small_steps(steps: list[int], thetas: list[Floats]) -> tuple[list[int], list[Floats]]:
    """Each leg in at most `PIECES` jumps: theta is that of the straight line where a piece begins."""
    when, what = [0], [thetas[0]]
    for (a, b), (one, other) in zip(pairwise(steps), pairwise(thetas), strict=True):
        for piece in range(1, min(PIECES, b - a) + 1):
            share = piece / min(PIECES, b - a)
            when.append(a + round(share * (b - a)))
            what.append((1.0 - share) * one + share * other if share < 1.0 else other)
    return when, what
