"""The possible transitions of a model and their features: one layout for small dense and huge sparse models.

Number r = s * A + a stands for the pair (s, a). Its possible successors are
`successor[indptr[r]:indptr[r+1]]`, in increasing order, and transition i has the feature row `phi[i]`, so
that all probabilities are one product, p = phi @ theta. Impossible transitions simply are not there.
`phi` is a dense (nnz, d) array for mixtures (few coordinates, all of them acting everywhere) and a SciPy CSR
array where few coordinates act on each transition, as in a tabular model.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from vbmle.common import validation
from vbmle.common.validation import Bools, Floats, Ints

NEGLIGIBLE_FEATURE = 1e-12
"""A transition whose feature is below this in every coordinate counts as impossible."""

DENSE_DIMENSION = 64
"""Up to this many coordinates feature rows are kept dense however few of them act."""


@dataclass(frozen=True, eq=False)
class Transitions:
    """Pattern (indptr, successor) over pairs (s, a), and a feature row per possible transition."""

    num_states: int
    num_actions: int
    indptr: Ints
    successor: Ints
    phi: Floats | sparse.csr_array
    left_out: float = 0.0
    """Of every pair, the features of transitions that are too small to be kept: the largest sum, per unit of theta."""

    @property
    def dimension(self) -> int:
        return int(self.phi.shape[1])

    @property
    def count(self) -> int:
        """How many transitions are possible."""
        return len(self.successor)

    @property
    def pair_of(self) -> Ints:
        """The pair s * A + a of each transition."""
        return np.repeat(np.arange(len(self.indptr) - 1), np.diff(self.indptr))

    def probabilities(self, theta: Floats) -> Floats:
        """p[i] = <phi[i], theta> for every possible transition."""
        return np.asarray(self.phi @ theta)

    def find(self, state: int, action: int, next_state: int) -> int:
        """The index of a transition, or -1 where it is impossible."""
        pair = state * self.num_actions + action
        start, stop = self.indptr[pair], self.indptr[pair + 1]
        i = start + int(np.searchsorted(self.successor[start:stop], next_state))
        return int(i) if i < stop and self.successor[i] == next_state else -1

    def name(self, i: int) -> str:
        """Transition i in words, for messages."""
        pair = int(np.searchsorted(self.indptr, i, side="right")) - 1
        state, action = divmod(pair, self.num_actions)
        return f"(s={state}, a={action}, s'={self.successor[i]})"

    def dense(self, values: Floats) -> Floats:
        """Per-transition values as an (S, A, S) array, zero where a transition is impossible."""
        out = np.zeros((self.num_states * self.num_actions, self.num_states))
        out[self.pair_of, self.successor] = values
        return out.reshape(self.num_states, self.num_actions, self.num_states)

    def csr(self, values: Floats) -> sparse.csr_array:
        """Per-transition values as a sparse (S*A, S) array."""
        shape = (self.num_states * self.num_actions, self.num_states)
        return sparse.csr_array((values, self.successor, self.indptr), shape=shape)


def from_dense(features: Floats, impossible: Bools) -> Transitions:
    """Transitions from an (S, A, S, d) array; those impossible or with negligible features are left out."""
    states, actions, _, dimension = features.shape
    flat = features.reshape(states * actions, states, dimension)
    possible = (np.abs(flat).max(axis=2) >= NEGLIGIBLE_FEATURE) & ~impossible.reshape(
        states * actions, states
    )
    indptr = np.concatenate([[0], np.cumsum(possible.sum(axis=1))]).astype(np.int64)
    phi = np.ascontiguousarray(flat[possible])
    successor = np.nonzero(possible)[1].astype(np.int64)
    small = np.where(possible | impossible.reshape(possible.shape), 0.0, np.abs(flat).max(axis=2))
    return Transitions(states, actions, indptr, successor, compact(phi), float(small.sum(axis=1).max()))


def compact(phi: Floats) -> Floats | sparse.csr_array:
    """Feature rows as a CSR array where there are many coordinates of which few act, dense otherwise."""
    if phi.shape[1] <= DENSE_DIMENSION or np.count_nonzero(phi) > 0.1 * phi.size:
        return phi
    return sparse.csr_array(phi)


def row_norms(phi: Floats | sparse.csr_array) -> Floats:
    """Euclidean length of every feature row."""
    if isinstance(phi, np.ndarray):
        return np.sqrt(np.einsum("ij,ij->i", phi, phi))
    return np.sqrt(np.asarray(phi.multiply(phi).sum(axis=1)).ravel())


def as_csr(name: str, given: sparse.sparray) -> sparse.csr_array:
    """A sparse array by rows, refused where its indices are damaged: SciPy would read beyond its memory."""
    check = getattr(given, "check_format", None)
    try:
        if check is not None:
            check(full_check=True)
        return sparse.csr_array(given)
    except (ValueError, RuntimeError) as error:
        raise ValueError(f"{name} is a damaged sparse array: {' '.join(str(error).split())}") from error


def support_pattern(support: ArrayLike | sparse.sparray) -> tuple[sparse.csr_array, int]:
    """The transitions that are possible, (S*A, S), and the number of actions, for a boolean array or a sparse one."""
    if not sparse.issparse(support):
        mask = validation.mask("support", support, None)
        states = mask.shape[0]
        pattern = sparse.csr_array(mask.reshape(-1, states).astype(np.float64))
        return pattern, pattern.shape[0] // states
    pattern = as_csr("support", support).astype(np.float64)
    pairs, states = pattern.shape
    if states == 0 or pairs % states or pairs == 0:
        raise ValueError(f"support has shape {pattern.shape}; a sparse one needs (S*A, S)")
    return pattern, pairs // states


def one_parameter_each(support: sparse.csr_array, num_actions: int) -> Transitions:
    """The tabular layout: transition i has the single coordinate i, with weight 1."""
    pattern = support.copy()
    pattern.eliminate_zeros()
    pattern.sort_indices()
    nnz = pattern.nnz
    indptr = pattern.indptr.astype(np.int64)
    phi = sparse.csr_array(
        (np.ones(nnz), np.arange(nnz), np.arange(nnz + 1)),
        shape=(nnz, nnz),
    )
    return Transitions(pattern.shape[1], num_actions, indptr, pattern.indices.astype(np.int64), phi)


def sparse_mixture(models: list[sparse.csr_array]) -> Transitions:
    """Dense features on the union of the sparse models' patterns."""
    pairs, states = models[0].shape
    if states == 0 or pairs % states or pairs == 0:
        raise ValueError(f"models[0] has shape {models[0].shape}; a sparse model needs (S*A, S)")
    union = sparse.csr_array((pairs, states))
    for k, model in enumerate(models):
        validation.require_shape(f"models[{k}]", model, (pairs, states), "the shape of models[0], (S*A, S)")
        validation.require_finite(f"models[{k}]", model.data)
        off = np.abs(np.asarray(model.sum(axis=1)).ravel() - 1.0)
        if off.max() > 1e-9 or model.data.min(initial=0.0) < 0.0:
            state, action = divmod(int(off.argmax()), pairs // states)
            raise ValueError(
                f"models[{k}] is not a probability distribution at (s={state}, a={action}); rows are >= 0 and sum to 1"
            )
        union = union + (model > NEGLIGIBLE_FEATURE).astype(np.float64)
    union = sparse.csr_array(union)
    union.sort_indices()
    phi = np.zeros((union.nnz, len(models)))
    pair_of = np.repeat(np.arange(pairs), np.diff(union.indptr))
    key = pair_of * states + union.indices
    left_out = np.zeros(pairs)
    for k, model in enumerate(models):
        kept = sparse.coo_array(model)
        value = kept.data > NEGLIGIBLE_FEATURE
        np.add.at(left_out, kept.row[~value], kept.data[~value])
        at = np.searchsorted(key, kept.row[value].astype(np.int64) * states + kept.col[value])
        phi[at, k] = kept.data[value]
    indptr, successor = union.indptr.astype(np.int64), union.indices.astype(np.int64)
    return Transitions(states, pairs // states, indptr, successor, phi, float(left_out.max()))


def one_hot(transitions: Transitions) -> Ints | None:
    """The coordinate of each transition where each has one of its own, with weight 1; else None."""
    if transitions.count != transitions.dimension:
        return None
    phi = sparse.csr_array(transitions.phi)
    phi.eliminate_zeros()
    if phi.nnz != transitions.count or (np.diff(phi.indptr) != 1).any() or (phi.data != 1.0).any():
        return None
    coordinate: Ints = phi.indices.astype(np.int64)
    return coordinate if len(np.unique(coordinate)) == transitions.count else None


def reward_tables(
    transitions: Transitions, reward: ArrayLike | sparse.csr_array, allowed: Bools
) -> tuple[Floats, Floats]:
    """Reward by pair (s, a) and, where it depends on the next state, by transition (else empty).

    Those of pairs that are not allowed may be anything, and come out as 0.
    """
    states, actions = transitions.num_states, transitions.num_actions
    none = np.zeros(0)
    if sparse.issparse(reward):
        table = as_csr("reward", reward)
        validation.require_shape("reward", table, (states * actions, states), "(S*A, S)")
        pair_of = np.repeat(np.arange(table.shape[0]), np.diff(table.indptr))
        table.data = np.where(allowed.ravel()[pair_of], table.data, 0.0)
        validation.require_finite("reward", table.data)
        values = np.asarray(table[transitions.pair_of, transitions.successor]).ravel().astype(np.float64)
        return np.zeros(states * actions), values
    given = np.array(reward, dtype=np.float64)
    if given.shape[:2] == allowed.shape:
        given[~allowed] = 0.0
    array = validation.finite_array("reward", given, (2, 3))
    if array.ndim == 2:
        validation.require_shape("reward", array, (states, actions), "(S, A)")
        return array.reshape(-1), none
    validation.require_shape("reward", array, (states, actions, states), "(S, A, S)")
    return np.zeros(states * actions), array.reshape(-1, states)[transitions.pair_of, transitions.successor]
