"""How kernels see a model: named tuples of flat arrays, made once per model."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Model(NamedTuple):
    """Transitions, features and rewards. Exactly one of `phi` and the `f_` arrays is filled."""

    indptr: Ints  # (S*A + 1,) transitions of row (s, a)
    successor: Ints  # (nnz,)
    phi: Floats  # (nnz, d) dense feature rows, or (0, d)
    phi_free: (
        Floats  # (nnz, free) = phi @ basis, features in the coordinates y, where phi is dense and S small
    )
    f_indptr: Ints  # sparse feature rows, or (1,)
    f_indices: Ints
    f_data: Floats
    reward: Floats  # (S*A,)
    reward_next: Floats  # (nnz,) where the reward depends on the next state, or (0,)
    discount: float
    num_actions: int


class Domain(NamedTuple):
    """The polytope: theta[coords of b] = center + basis_b @ y_b, rows_b @ y_b + offsets_b >= 0."""

    center: Floats  # (d,) in the order of the coordinates
    coords: Ints  # (d,) coordinates, block after block
    coord_ptr: Ints  # (blocks + 1,)
    block_of: Ints  # (d,) block of a coordinate
    place_of: Ints  # (d,) its place within the block
    basis: Floats  # blocks of (coordinates, free), flat
    basis_ptr: Ints
    free_ptr: Ints  # (blocks + 1,) into y
    rows: Floats  # blocks of (rows, free), flat
    rows_ptr: Ints
    offsets: Floats  # (total rows,)
    row_ptr: Ints  # (blocks + 1,) into offsets
    hessian_ptr: Ints  # (blocks + 1,) into flat (coordinates, coordinates) blocks
    diameter: Floats  # (blocks,) bound on the distance of two points of the block


class Objective(NamedTuple):
    """sum_i n_i log p_i - ridge/2 |theta|^2 + <linear, theta> + bias * V*(state; theta).

    Where `fixed`, V is that of the policy at hand instead of the optimal one.
    """

    counts: Floats  # (nnz,)
    observed: Ints  # indices of the transitions with counts, the first `num_observed` of them
    num_observed: int
    linear: Floats  # (d,), or (0,) for none
    ridge: float
    bias: float
    state: int
    fixed: bool


class Pool(NamedTuple):
    """Local maxima kept side by side: row k is one solver's point, policy, active rows and result."""

    y: Floats  # (K + 1, free)
    theta: Floats  # (K + 1, d)
    policy: Ints  # (K + 1, S)
    V: Floats  # (K + 1, S)
    active: Ints  # (K + 1, free)
    counts: Ints  # (K + 1, blocks)
    result: Floats  # (K + 1, 3): objective, residual, gap
