"""What is hidden: a model together with the theta* that governs it, which draws transitions.

The mix may change on the way: a `DriftingWorld` has a theta_t.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from vbmle.common import keeper, validation
from vbmle.common.validation import Floats, Ints
from vbmle.model.mdp import LinearMixtureMDP

CHANGES = ("jump", "slow")
PIECES = 100
"""A slow change is made of so many small ones."""


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
        cumulative = self._cumulative
        # bisect, not searchsorted: rows are short, and a call of NumPy costs more than the search
        return int(
            self.mdp.transitions.successor[
                bisect_right(cumulative, uniform * cumulative[stop - 1], start, stop)
            ]
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, World) or type(self) is not type(other):
            return NotImplemented
        return self.mdp == other.mdp and keeper.same(self.theta, other.theta)

    def __hash__(self) -> int:
        return hash(self.mdp)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.mdp!r})"

    def _repr_html_(self) -> str:
        from vbmle.common import showing

        return showing.as_html(type(self).__name__, [*self.mdp._shown(), ("theta", "hidden")])


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

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DriftingWorld):
            return NotImplemented
        return self.mdp == other.mdp and keeper.same(
            [self.changes, *self.thetas], [other.changes, *other.thetas]
        )

    __hash__ = World.__hash__


def _small_steps(steps: list[int], thetas: list[Floats]) -> tuple[list[int], list[Floats]]:
    """Each leg in at most `PIECES` jumps: theta is that of the straight line where a piece begins."""
    when, what = [0], [thetas[0]]
    for (a, b), (one, other) in zip(pairwise(steps), pairwise(thetas), strict=True):
        for piece in range(1, min(PIECES, b - a) + 1):
            share = piece / min(PIECES, b - a)
            when.append(a + round(share * (b - a)))
            what.append((1.0 - share) * one + share * other if share < 1.0 else other)
    return when, what
