"""A model as the kernels see it: flat arrays, made once on first use (see `vbmle.kernels.layout`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from vbmle.common.validation import Floats, Ints
from vbmle.kernels.layout import Domain, Model
from vbmle.model.feasible_set import Block, Polytope
from vbmle.model.interior_points import MANY, bounds_on_widths

if TYPE_CHECKING:
    from vbmle.model.mdp import LinearMixtureMDP

PRUNE_LIMIT = 20_000  # rows * free coordinates; above, solvers scan all rows and remember the active ones
FREE_STATES = 1000
"""Up to this many states features are kept in the coordinates y, too."""


def flat_model(mdp: LinearMixtureMDP) -> Model:
    """Transitions, features and rewards. A product of several blocks always has sparse features."""
    rows = mdp.transitions
    if isinstance(rows.phi, np.ndarray) and len(mdp.polytope.blocks) == 1:
        dense, features = rows.phi, sparse.csr_array((0, rows.dimension))
    else:
        dense, features = np.zeros((0, rows.dimension)), sparse.csr_array(rows.phi)
    small = len(dense) > 0 and mdp.num_states <= FREE_STATES
    return Model(
        rows.indptr,
        rows.successor,
        dense,
        dense @ mdp.polytope.blocks[0].basis if small else np.zeros((0, 0)),
        features.indptr.astype(np.int64),
        features.indices.astype(np.int64),
        features.data.astype(np.float64),
        mdp.row_reward,
        mdp.transition_reward,
        mdp.discount,
        mdp.num_actions,
    )


def flat_domain(polytope: Polytope) -> Domain:
    """The polytope's blocks one after another, without the rows that others make redundant."""
    blocks = [_prune(block) for block in polytope.blocks]
    dimension = len(polytope.interior)
    block_of, place_of = np.zeros(dimension, np.int64), np.zeros(dimension, np.int64)
    for b, block in enumerate(blocks):
        block_of[block.coordinates] = b
        place_of[block.coordinates] = np.arange(len(block.coordinates))
    return Domain(
        center=polytope.interior,
        coords=np.concatenate([block.coordinates for block in blocks]).astype(np.int64),
        coord_ptr=_pointers([len(block.coordinates) for block in blocks]),
        block_of=block_of,
        place_of=place_of,
        basis=np.concatenate([block.basis.ravel() for block in blocks]),
        basis_ptr=_pointers([block.basis.size for block in blocks]),
        free_ptr=_pointers([block.dimension for block in blocks]),
        rows=_joined([block.rows for block in blocks]),
        rows_ptr=_pointers([block.rows.size for block in blocks]),
        offsets=_joined([block.offsets for block in blocks]),
        row_ptr=_pointers([len(block.offsets) for block in blocks]),
        hessian_ptr=_pointers([len(block.coordinates) ** 2 for block in blocks]),
        diameter=np.array([_diameter(block) for block in blocks]),
    )


def block_of_rows(mdp: LinearMixtureMDP) -> Ints:
    """The block that the features of each row (s, a) act in: never more than one."""
    rows = mdp.transitions
    if len(mdp.polytope.blocks) == 1:
        return np.zeros(len(rows.indptr) - 1, np.int64)
    features = sparse.csr_array(rows.phi)
    first = features.indices[features.indptr[rows.indptr[:-1]]]
    blocks: Ints = mdp.flat_domain.block_of[first]
    return blocks


def _pointers(sizes: list[int]) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def _joined(arrays: list[Floats]) -> Floats:
    """All of them in one flat array; a single one is not copied, for it may be as large as the features."""
    return arrays[0].reshape(-1) if len(arrays) == 1 else np.concatenate([array.ravel() for array in arrays])


def _prune(block: Block) -> Block:
    if block.is_simplex or block.dimension == 0 or block.rows.size > PRUNE_LIMIT:
        return block
    from vbmle.kernels.faces import needed_rows

    keep = needed_rows(block.rows, block.offsets)
    rows: Floats = np.ascontiguousarray(block.rows[keep])
    return Block(block.coordinates, block.center, block.basis, rows, block.offsets[keep])


def _diameter(block: Block) -> float:
    """An upper bound on the distance between two points of the block."""
    if block.dimension == 0:
        return 1.0
    if block.is_simplex:
        return float(np.sqrt(2.0))
    if len(block.rows) > MANY:
        return float(np.linalg.norm(bounds_on_widths(block.rows, block.offsets)))
    from vbmle.kernels.faces import widths

    return float(np.linalg.norm(widths(block.rows, block.offsets)))
