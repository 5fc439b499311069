"""A model as the core sees it: flat arrays, made once on first use, and a handle on them (`vbmle.core.model`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import sparse

from vbmle.common.validation import Floats, Ints
from vbmle.core.model import Model
from vbmle.model.feasible_set import MANY_FACETS, Block, Polytope

if TYPE_CHECKING:
    from vbmle.model.mdp import LinearMixtureMDP

COMPUTED = ("core", "flat_set", "block_of_pair", "possible")
"""What a model computes on first use."""

PRUNE_LIMIT = 20_000  # facets * free coordinates; above, solvers scan all facets and remember the active ones


class FlatSet(NamedTuple):
    """The feasible set, block after block: theta[coordinates] = center + basis @ y, normals @ y + offsets >= 0."""

    center: Floats  # (d,) in the order of theta
    coordinates: Ints  # (d,) entries of theta, block after block
    coordinate_begin: Ints  # (blocks + 1,)
    basis: Floats  # blocks of (coordinates, free), flat
    free_begin: Ints  # (blocks + 1,) into y
    normals: Floats  # blocks of (facets, free), flat
    offsets: Floats  # (all facets,)
    facet_begin: Ints  # (blocks + 1,)
    diameter: Floats  # (blocks,) bound on the distance of two points of the block

    @property
    def num_free(self) -> int:
        """How many free coordinates y there are."""
        return int(self.free_begin[-1])


def flat_set(polytope: Polytope) -> FlatSet:
    """The polytope's blocks one after another, without the facets that others make redundant."""
    blocks = [_prune(block) for block in polytope.blocks]
    return FlatSet(
        center=polytope.interior,
        coordinates=np.concatenate([block.coordinates for block in blocks]).astype(np.int64),
        coordinate_begin=_pointers([len(block.coordinates) for block in blocks]),
        basis=_joined([block.basis for block in blocks]),
        free_begin=_pointers([block.dimension for block in blocks]),
        normals=_joined([block.normals for block in blocks]),
        offsets=_joined([block.offsets for block in blocks]),
        facet_begin=_pointers([len(block.offsets) for block in blocks]),
        diameter=np.array([_diameter(block) for block in blocks]),
    )


def lies_inside(flat: FlatSet, y: Floats, slack: float = 1e-6) -> bool:
    """Whether y keeps every facet, up to `slack`."""
    normal = 0
    for b in range(len(flat.diameter)):
        free, facets = (slice(begin[b], begin[b + 1]) for begin in (flat.free_begin, flat.facet_begin))
        width, count = free.stop - free.start, facets.stop - facets.start
        rows = flat.normals[normal : normal + width * count].reshape(count, width)
        normal += width * count
        if not (rows @ y[free] + flat.offsets[facets] >= -slack).all():
            return False
    return True


def core_model(
    mdp: LinearMixtureMDP, reward: Floats | None = None, reward_next: Floats | None = None
) -> Model:
    """The core's handle on a model, with other rewards by pair and by transition where they are given."""
    transitions, flat = mdp.transitions, mdp.flat_set
    by_transition = mdp.transition_reward if reward_next is None else reward_next
    sizes = {
        "num_states": mdp.num_states,
        "num_actions": mdp.num_actions,
        "num_transitions": transitions.count,
        "dimension": mdp.dimension,
        "num_blocks": len(flat.diameter),
    }
    arrays: dict[str, Floats | Ints | None] = {
        "pair_begin": transitions.indptr,
        "successor": transitions.successor,
        "reward": mdp.pair_reward if reward is None else reward,
        "reward_next": by_transition if len(by_transition) else None,
    }
    return Model(sizes, mdp.discount, arrays | _features(mdp) | flat._asdict())


def block_of_pairs(mdp: LinearMixtureMDP) -> Ints:
    """The block that the features of each pair (s, a) act in: never more than one."""
    transitions, flat = mdp.transitions, mdp.flat_set
    if len(flat.diameter) == 1:
        return np.zeros(len(transitions.indptr) - 1, np.int64)
    features = sparse.csr_array(transitions.phi)
    first = features.indices[features.indptr[transitions.indptr[:-1]]]
    block_of = np.empty(mdp.dimension, np.int64)
    block_of[flat.coordinates] = np.repeat(np.arange(len(flat.diameter)), np.diff(flat.coordinate_begin))
    blocks: Ints = block_of[first]
    return blocks


def _features(mdp: LinearMixtureMDP) -> dict[str, Floats | Ints | None]:
    """Dense features, or sparse ones. A product of several blocks always has sparse features."""
    phi = mdp.transitions.phi
    if isinstance(phi, np.ndarray) and len(mdp.polytope.blocks) == 1:
        return {"phi": np.ascontiguousarray(phi)}
    features = sparse.csr_array(phi)
    return {
        "feature_begin": features.indptr.astype(np.int64),
        "feature_coordinate": features.indices.astype(np.int64),
        "feature_weight": features.data.astype(np.float64),
    }


def _pointers(sizes: list[int]) -> Ints:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def _joined(arrays: list[Floats]) -> Floats:
    """All of them in one flat array; a single one is not copied, for it may be as large as the features."""
    return arrays[0].reshape(-1) if len(arrays) == 1 else np.concatenate([array.ravel() for array in arrays])


def _prune(block: Block) -> Block:
    if block.is_simplex or block.dimension == 0 or block.normals.size > PRUNE_LIMIT:
        return block
    from vbmle.core import linear_program

    keep = linear_program.needed_facets(block.normals, block.offsets)
    normals: Floats = np.ascontiguousarray(block.normals[keep])
    return Block(block.coordinates, block.center, block.basis, normals, block.offsets[keep])


def _diameter(block: Block) -> float:
    """An upper bound on the distance between two points of the block."""
    if block.dimension == 0:
        return 1.0
    if block.is_simplex:
        return float(np.sqrt(2.0))
    if len(block.normals) > MANY_FACETS:
        from vbmle.model.interior_points import bounds_on_widths

        return float(np.linalg.norm(bounds_on_widths(block.normals, block.offsets)))
    from vbmle.core import linear_program

    return float(np.linalg.norm(linear_program.widths(block.normals, block.offsets)))
