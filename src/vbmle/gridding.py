"""From a simulator to a model: a continuous Gymnasium environment on a grid of cells.

In each cell, points are drawn uniformly; each action is tried from each of them, and where that leads is counted. What
is counted is the model of one simulator; simulators that differ, in gravity say, give the base models of a mixture.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from vbmle.common import extras, validation
from vbmle.common.keeper import Rows, Shown
from vbmle.common.validation import Floats

if TYPE_CHECKING:
    import gymnasium

MOST_CELLS = 1_000_000


@dataclass(frozen=True, eq=False, repr=False)
class Gridded(Shown):
    """A simulator on a grid, as `gridded` returns it. The last state is the end: it has no reward and is never left.

    Attributes
    ----------
    transitions : sparse (S A, S) array
        A base model for `LinearMixtureMDP.from_models`; row s * A + a.
    reward : (S, A) array
        The mean reward of each cell and action.
    cells : tuple of int
        How many cells there are in each dimension.
    low : (k,) array
        The lower ends of the grid.
    high : (k,) array
        The upper ends of the grid.

    Examples
    --------
    >>> import gymnasium, vbmle
    >>> grid = vbmle.gridded(gymnasium.make("MountainCar-v0"), cells=(6, 5), samples=4)
    >>> grid.transitions.shape, grid.state([-0.5, 0.0])
    ((93, 31), 12)
    """

    transitions: sparse.csr_array
    reward: Floats
    cells: tuple[int, ...]
    low: Floats
    high: Floats

    def state(self, observation: ArrayLike) -> int:
        """The cell of an observation; beyond the ends of the grid the nearest one."""
        return int(_cells(np.asarray(observation, dtype=float)[None], self.cells, self.low, self.high)[0])

    def centre(self, state: int) -> Floats:
        """The middle of a cell."""
        place = np.array(np.unravel_index(state, self.cells), dtype=float)
        return self.low + (place + 0.5) * (self.high - self.low) / np.array(self.cells)

    def _shown(self) -> Rows:
        from vbmle.common import showing

        ends = zip(self.low, self.high, strict=True)
        return [
            ("cells", " x ".join(map(str, self.cells)) + ", and the end"),
            ("actions", str(self.reward.shape[1])),
            ("from", showing.some(f"{low:.3g} to {high:.3g}" for low, high in ends)),
            ("transitions", str(self.transitions.nnz)),
        ]


def gridded(
    env: gymnasium.Env[Any, Any],
    cells: Sequence[int],
    samples: int = 10,
    low: ArrayLike | None = None,
    high: ArrayLike | None = None,
    seed: int = 0,
) -> Gridded:
    """Tabulate an environment with a continuous state, such as MountainCar or CartPole, on a grid.

    The environment needs a finite number of actions, and an attribute `state` that can be set and is what it shows
    (Gymnasium's classic control). It is used up: reset it before you play on.

    Parameters
    ----------
    env : gymnasium.Env
        The simulator.
    cells : sequence of int
        How many cells there are in each dimension.
    samples : int, default 10
        Points that are tried in each cell, for each action the same.
    low : (k,) array, optional
        The lower ends of the grid; by default those of the observations.
    high : (k,) array, optional
        The upper ends of the grid; by default those of the observations.
    seed : int, default 0
        Draws the points: simulators that are tabulated with one seed are compared at the same points.

    Raises
    ------
    ValueError
        If the environment is of another kind, or the grid has no ends.

    Examples
    --------
    >>> import gymnasium, vbmle
    >>> moon = gymnasium.make("MountainCar-v0")
    >>> moon.unwrapped.gravity = 0.0004
    >>> grids = [vbmle.gridded(env, (6, 5), samples=4) for env in (gymnasium.make("MountainCar-v0"), moon)]
    >>> models, reward = [grid.transitions for grid in grids], grids[0].reward
    >>> mdp = vbmle.LinearMixtureMDP.from_models(models, reward, 0.99, normalise_reward=True)
    >>> mdp.num_states, mdp.dimension
    (31, 2)
    """
    extras.require("gym")
    core: Any = env.unwrapped
    bounds, actions = _spaces(core, low, high)
    shape = tuple(validation.positive_integer("a number of cells", n) for n in cells)
    if len(shape) != len(bounds[0]):
        raise ValueError(f"cells has {len(shape)} numbers; the environment has {len(bounds[0])} dimensions")
    count, samples = int(np.prod(shape)), validation.positive_integer("samples", samples)
    if count > MOST_CELLS:
        raise ValueError(f"cells make {count} states; up to {MOST_CELLS} are tabulated")
    rng = np.random.default_rng(validation.index("seed", seed, 2**63))
    corners = np.stack(np.unravel_index(np.arange(count), shape), axis=1)
    points = (corners[:, None, :] + rng.random((count, samples, len(shape)))) / np.array(shape)
    points = bounds[0] + points.reshape(-1, len(shape)) * (bounds[1] - bounds[0])
    ended, reward, reached = _tried(core, points, actions)
    to = np.where(ended, count, _cells(reached.reshape(-1, len(shape)), shape, *bounds).reshape(ended.shape))
    return _counted(to, reward, (count, actions, samples), shape, bounds)


def _spaces(core: Any, low: ArrayLike | None, high: ArrayLike | None) -> tuple[tuple[Floats, Floats], int]:
    """The ends of the grid and the number of actions; refused where there is none."""
    core.reset(seed=0)
    space, choices = core.observation_space, getattr(core.action_space, "n", None)
    if choices is None or not hasattr(space, "low"):
        raise ValueError(f"{core} needs continuous observations and a finite number of actions")
    ends = [
        np.asarray(own if own is not None else given, dtype=float)
        for own, given in ((low, space.low), (high, space.high))
    ]
    for end in ends:
        validation.require_shape("low and high", end, space.shape, "(dimensions,)")
    if not (np.isfinite(ends).all() and (ends[0] < ends[1]).all() and np.abs(ends).max() < 1e30):
        raise ValueError("the observations have no ends; give low and high, finite and low below high")
    state: Any = getattr(core, "state", None)
    if np.shape(state) != space.shape:
        raise ValueError(f"{core} has no attribute state of the shape of its observations, {space.shape}")
    return (ends[0], ends[1]), int(choices)


def _tried(core: Any, points: Floats, actions: int) -> tuple[Any, Floats, Floats]:
    """From every point by every action: whether that ended, the reward, and where it led."""
    ended = np.zeros((len(points), actions), dtype=bool)
    reward, reached = np.zeros((len(points), actions)), np.zeros((len(points), actions, points.shape[1]))
    start = getattr(core.action_space, "start", 0)
    for i, point in enumerate(points):
        for action in range(actions):
            core.state = tuple(point.tolist())
            seen, reward[i, action], ended[i, action], _, _ = core.step(start + action)
            reached[i, action] = seen
            if ended[i, action]:
                core.reset()
    return ended, reward, reached


def _cells(points: Floats, shape: tuple[int, ...], low: Floats, high: Floats) -> Any:
    share = (points - low) / (high - low)
    place = np.clip(np.floor(share * np.array(shape)), 0, np.array(shape) - 1).astype(int)
    return np.ravel_multi_index(tuple(place.T), shape)


def _counted(
    to: Any,
    reward: Floats,
    sizes: tuple[int, int, int],
    shape: tuple[int, ...],
    bounds: tuple[Floats, Floats],
) -> Gridded:
    """Shares of the samples as probabilities; the end leads to itself."""
    count, actions, samples = sizes
    pair = np.arange(count)[:, None, None] * actions + np.arange(actions)  # (cells, 1, actions)
    rows = np.broadcast_to(pair, (count, samples, actions)).ravel()
    found = sparse.coo_array(
        (np.full(len(rows), 1.0 / samples), (rows, to.ravel())), shape=((count + 1) * actions, count + 1)
    )
    last = np.arange(count * actions, (count + 1) * actions)
    end = sparse.coo_array((np.ones(actions), (last, np.full(actions, count))), shape=found.shape)
    mean = reward.reshape(count, samples, actions).mean(axis=1)
    table = sparse.csr_array(found + end)
    table.sum_duplicates()
    return Gridded(table, np.vstack([mean, np.zeros(actions)]), shape, *bounds)
