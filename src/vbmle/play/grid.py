"""V*(s; theta) and the greedy policy on a barycentric grid of mixtures of three base models.

The points of the grid are theta = (i, j, N - i - j)/N, ordered by i and then by j. Neither values nor policies depend
on what was seen, so they are laid out once; the page looks for basins of likelihood plus bias on the grid,
and climbs from the best of them with plans of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vbmle.model.mdp import LinearMixtureMDP
from vbmle.planning.planner import plan

Floats = NDArray[np.float64]

RESOLUTION = 40
"""Parts into which a side of the triangle is divided: 861 points."""

LARGEST_GRID = 700_000
"""Bytes for the values and policies of one world, before they are encoded."""

LIVE_STATES = 120
"""Up to this many states a page plans as fast as it plays."""


@dataclass(frozen=True, eq=False)
class Grid:
    """Values (points, S) and greedy policies (points, S) at the thetas (points, 3) of a resolution."""

    resolution: int
    thetas: Floats
    values: NDArray[np.float32]
    policies: NDArray[np.uint8]


def points(resolution: int) -> Floats:
    """The thetas of the grid, ((N+1)(N+2)/2, 3)."""
    whole = [(i, j) for i in range(resolution + 1) for j in range(resolution + 1 - i)]
    first = np.array(whole, dtype=np.float64).reshape(-1, 2)
    return np.column_stack([first, resolution - first.sum(axis=1)]) / resolution


def lay(mdp: LinearMixtureMDP, resolution: int = RESOLUTION) -> Grid:
    """Plan at every point of the grid; large models get a coarser one, so that the page stays small."""
    per_point = 5 * mdp.num_states
    while resolution > 8 and (resolution + 1) * (resolution + 2) // 2 * per_point > LARGEST_GRID:
        resolution -= 1
    thetas = points(resolution)
    plans = [plan(mdp, theta) for theta in thetas]
    values = np.array([plan.V for plan in plans], dtype=np.float32)
    return Grid(resolution, thetas, values, np.array([plan.policy for plan in plans], dtype=np.uint8))


def is_triangle(mdp: LinearMixtureMDP) -> bool:
    """Whether the feasible set is the whole simplex of three base models, and nothing more.

    It is if it has the corners and the centre, and no point beyond the middle of a side: a convex set that goes
    past a side anywhere goes past its middle.
    """
    if mdp.dimension != 3:
        return False
    corners, centre = np.eye(3), np.full(3, 1 / 3)
    beyond = [(1.0 - corner) / 2 + 1e-3 * ((1.0 - corner) / 2 - corner) for corner in corners]
    inside = all(mdp.contains(theta) for theta in (*corners, centre))
    off_plane = mdp.contains(centre * 0.999) or mdp.contains(centre * 1.001)
    return inside and not off_plane and not any(mdp.contains(theta) for theta in beyond)
