"""Where a search over the feasible set starts from; everything in the coordinates y of `vbmle.model.feasible_set`."""

from __future__ import annotations

from itertools import product

import numpy as np

from vbmle.common.validation import Floats, Ints
from vbmle.core import linear_program
from vbmle.model.core_model import FlatSet
from vbmle.model.feasible_set import Block
from vbmle.model.mdp import LinearMixtureMDP

VERTICES_ALL_TRIED = 64  # up to this many vertices all are tried
HIT_AND_RUN_STEPS = 12  # of hit-and-run to a random point
SLACKS_AT_ONCE = 20_000  # distances from facets that chains side by side compute at a time
NEAR_BOUNDARY = 0.95  # how near the boundary a start stands: 1 is on it, 0 the interior point
VERTEX_LIMIT = (4, 400)  # free coordinates and rows up to which vertices are enumerated


class Starts:
    """The starts of one model for one seed.

    fixed: points (n, free); best: the point that is best for the controller everywhere, for product sets; pairs: the
    order in which other actions are tried. How they are used is in core/src/climbing/starts.hpp.
    """

    def __init__(self, mdp: LinearMixtureMDP, seed: int) -> None:
        rng = np.random.default_rng([seed, 0x5EED])
        anchors = _anchors(mdp) * NEAR_BOUNDARY
        free = mdp.flat_set.num_free
        many = min(40, 8 + 4 * free)
        fixed = np.vstack([np.zeros((1, free)), anchors, _mixtures(anchors, rng, many)])
        fixed = np.vstack([fixed, _random_points(mdp, rng, 8 if len(anchors) else many)])
        self.fixed: Floats = fixed[rng.permutation(len(fixed))]
        self.best = _best_everywhere(mdp) if len(mdp.polytope.blocks) > 1 else None
        self.pairs: Ints = rng.permutation(mdp.num_states * mdp.num_actions)


def _anchors(mdp: LinearMixtureMDP) -> Floats:
    """Vertices of P where they are few; else base models that lie in P; else ends of P along the axes."""
    blocks = mdp.polytope.blocks
    free = mdp.polytope.dimension
    if free == 0:
        return np.zeros((0, 0))
    corners = [block.vertices if _small(block) else np.zeros((0, block.dimension)) for block in blocks]
    count = np.prod([float(max(1, len(c))) for c in corners])
    complete = all(len(c) or block.dimension == 0 for c, block in zip(corners, blocks, strict=True))
    if complete and count <= VERTICES_ALL_TRIED:
        parts = [c if len(c) else np.zeros((1, 0)) for c in corners]
        return np.array([np.concatenate(choice) for choice in product(*parts)])
    if len(blocks) > 1:
        return np.zeros((0, free))
    if blocks[0].is_simplex:
        return blocks[0].vertices
    models = np.array([row for row in np.eye(mdp.dimension) if mdp.contains(row)]).reshape(-1, mdp.dimension)
    if len(models):
        return (models - blocks[0].center) @ blocks[0].basis
    return _axis_ends(mdp.flat_set)


def _small(block: Block) -> bool:
    return block.dimension <= VERTEX_LIMIT[0] and len(block.normals) <= VERTEX_LIMIT[1]


def _axis_ends(flat: FlatSet) -> Floats:
    """The points of P that lie furthest along every axis of y, both ways (one block)."""
    free, count = flat.num_free, len(flat.offsets)
    axes = np.vstack([np.eye(free), -np.eye(free)])
    return linear_program.furthest(flat.normals.reshape(count, free), flat.offsets, axes)


def _mixtures(anchors: Floats, rng: np.random.Generator, count: int) -> Floats:
    """Random points between the anchors, more often near few of them than amid all."""
    if len(anchors) == 0:
        return anchors
    return rng.dirichlet(np.full(len(anchors), 0.5), size=count) @ anchors


def _random_points(mdp: LinearMixtureMDP, rng: np.random.Generator, count: int) -> Floats:
    """Points of P: uniform on simplices, by hit-and-run from the interior point elsewhere."""
    parts = []
    for block in mdp.polytope.blocks:
        if block.dimension == 0:
            continue
        if block.is_simplex:
            draws = rng.dirichlet(np.ones(len(block.coordinates)), size=count)
            k = len(block.coordinates)
            shrink = block.offsets[0] * np.sqrt(1.0 - 1.0 / k) * k  # 1 - k p_min
            parts.append(shrink * (draws - block.center) @ block.basis)
        else:
            parts.append(_hit_and_run(block, rng, count))
    return np.hstack(parts) if parts else np.zeros((count, 0))


def _hit_and_run(block: Block, rng: np.random.Generator, count: int) -> Floats:
    """The ends of chains from the interior point: side by side, but where facets are many one after another."""
    beside = min(count, max(1, SLACKS_AT_ONCE // len(block.offsets)))
    y, ends = np.zeros((beside, block.dimension)), []
    for _ in range(-(-count // beside)):
        for _ in range(min(HIT_AND_RUN_STEPS, 2 * block.dimension + 2)):
            y = _run(block, y, rng)
        ends.append(y)
    return np.vstack(ends)[:count]


def _run(block: Block, y: Floats, rng: np.random.Generator) -> Floats:
    """From each row of y to a point drawn uniformly from the chord in a random direction."""
    direction = rng.normal(size=y.shape)
    slack, rate = np.maximum(block.offsets + y @ block.normals.T, 0.0), direction @ block.normals.T
    with np.errstate(divide="ignore", invalid="ignore"):
        meets = -slack / rate
    low = np.where(rate > 0.0, meets, -1e6).max(axis=1)
    high = np.where(rate < 0.0, meets, 1e6).min(axis=1)
    return y + rng.uniform(low, high)[:, None] * direction


def _best_everywhere(mdp: LinearMixtureMDP) -> Floats:
    """For a product of blocks: each block at the point that is best for an optimistic controller.

    It lets every pair (s, a) move to the best successor it has; each block then takes its vertex that is best for
    those values, weighted equally over the pairs it governs.
    """
    from vbmle.planning.optimistic_planner import BestSuccessors

    weight = np.asarray(mdp.transitions.phi.T @ BestSuccessors(mdp).worth)
    parts = []
    for block in mdp.polytope.blocks:
        if block.dimension:
            direction = np.atleast_2d(block.basis.T @ weight[block.coordinates])
            parts.append(linear_program.furthest(block.normals, block.offsets, direction)[0])
    return np.concatenate(parts) if parts else np.zeros(0)
