"""A true upper bound on the maximum of the value-biased objective: how sure you can be of a search's answer.

Where the feasible set has few vertices it is triangulated and handed to branch and bound (see
core/src/certifying). Elsewhere the bound is the maximum of the concave part plus the value of a controller
who may choose another theta in every state, which is valid but loose.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from vbmle.common.validation import Floats, Ints
from vbmle.core.certifying import Target, branch_and_bound
from vbmle.core.model import Model
from vbmle.core.solver import Objective
from vbmle.model.core_model import core_model
from vbmle.model.mdp import LinearMixtureMDP
from vbmle.planning.optimistic_planner import BestSuccessors

MAX_FREE = 6  # free coordinates up to which P is triangulated
MAX_VERTICES = 400
MAX_ROWS = 2000
WORK_LIMIT = 6e9  # multiplications, roughly: a couple of seconds
MEMORY_LIMIT = 4e7  # numbers kept for vertices


def upper_bound(
    mdp: LinearMixtureMDP, objective: Objective, best: float, concave: float, tolerance: float
) -> tuple[float, Floats | None]:
    """A bound on the maximum, and the theta of a vertex that beats `best`, if one was met.

    `best` is the value of a known feasible point, `concave` the maximum of the part without value; the work
    stops when the bound is within `tolerance` of the best value.
    """
    crude = concave + objective.bias * float(optimistic_value(mdp)[objective.state])
    crude += 1e-9 * (1.0 + abs(crude))
    if crude <= best + tolerance:
        return max(crude, best), None
    parts = triangulate(mdp)
    if parts is None:
        return crude, None
    points, cells = parts
    n = cells.shape[1]
    each = n * n * max(200, mdp.transitions.count) + 4 * mdp.num_states**3
    most_bisections = int(min(WORK_LIMIT / each, MEMORY_LIMIT / mdp.transitions.count, 2e5))
    if most_bisections < len(cells):
        return crude, None
    counts = objective.counts
    target = Target(
        counts.values,
        counts.observed[: counts.num_observed].copy(),
        objective.ridge,
        objective.bias,
        objective.state,
    )
    triangulation = np.ascontiguousarray(points), np.ascontiguousarray(cells)
    found = branch_and_bound(_finite(mdp), target, triangulation, best, tolerance, most_bisections)
    bound = found.bound + 1e-9 * (1.0 + abs(found.bound))  # rounding in vertices and factors
    return min(bound, crude), found.theta


def _finite(mdp: LinearMixtureMDP) -> Model:
    """The model with finite rewards: an action that is not allowed earns so little that it is never worth taking.

    Values lie between 0 and 1/(1-gamma), so with the reward -1/(1-gamma) an action is worth at most -1.
    """
    if mdp.allowed.all():
        return mdp.core
    reward = np.where(mdp.allowed.ravel(), mdp.pair_reward, -1.0 / (1.0 - mdp.discount))
    return core_model(mdp, reward)


def optimistic_value(mdp: LinearMixtureMDP) -> Floats:
    """V of a controller who also picks the most favourable successor of every pair: at least V* for any theta."""
    plan = BestSuccessors(mdp)
    return np.minimum(plan.V + plan.error_bound, 1.0 / (1.0 - mdp.discount))


def triangulate(mdp: LinearMixtureMDP) -> tuple[Floats, Ints] | None:
    """Vertices of P, as rows of y, and simplices that cover it; None where there are too many."""
    blocks = [block for block in mdp.polytope.blocks if block.dimension]
    free = mdp.polytope.dimension
    if free == 0:
        return np.zeros((1, 0)), np.zeros((1, 1), np.int64)
    if len(blocks) == 1 and blocks[0].is_simplex:
        points = blocks[0].vertices
        return points, np.arange(len(points))[None, :]
    if free > MAX_FREE or any(len(block.normals) > MAX_ROWS for block in blocks):
        return None
    from scipy.spatial import Delaunay, QhullError

    try:
        corners = [block.vertices for block in blocks]
        if not 0 < np.prod([float(len(c)) for c in corners]) <= MAX_VERTICES:
            return None
        points = np.array([np.concatenate(choice) for choice in product(*corners)])
        if free == 1:
            return points, np.array([[0, 1]])
        middle, width = points.mean(axis=0), np.ptp(points, axis=0)
        return points, Delaunay((points - middle) / width).simplices.astype(np.int64)
    except QhullError:
        return None
