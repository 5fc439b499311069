"""The feasible set P of theta, in the coordinates that solvers use.

    P = { theta : <phi(s'|s,a), theta> >= p_min  for every possible transition,
                  <phi(s'|s,a), theta>  = 0      for the transitions known to be impossible (P_0),
                  sum_s' <phi(s'|s,a), theta> = 1 for every (s, a) }

(the upper bound 1 follows), intersected with {theta >= 0, sum theta = 1} where the domain is "simplex". Where it is
"vertices", theta is a vertex of that simplex, and the polytope here is the simplex around them.

P is a product over blocks of coordinates that no pair (s, a) links: one block for a mixture, one simplex per
(s, a) for a tabular model. Within a block theta = center + basis @ y, with an orthonormal basis of the
directions in which P is really extended (equalities and inequalities that can only hold tightly are gone),
y = 0 well inside, and the inequalities normals @ y + offsets >= 0 with normals of length one. Scaling matters: a
transition whose features are near 1e-12 still bounds theta.

Directions along which no probability changes (two identical base models, say) are left out of the basis:
theta is kept orthogonal to them, which is where the ridge would put it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache, cached_property

import numpy as np
from scipy import sparse

from vbmle.common.validation import Bools, Floats, Ints
from vbmle.model.transitions import Transitions, row_norms

RANK_TOLERANCE = 1e-10  # relative: singular values below count as zero
FLAT = 1e-9  # P is called flat in a direction in which it is thinner than this
MANY_FACETS = 20_000  # above so many facets programs see a working set of them

SIMPLICES = ("simplex", "vertices")
"""Domains in which weights are at least 0 and sum to 1."""

CANCELLING_WEIGHT = 10.0
"""Weights above this cancel each other, and with them the digits of what they add up to."""


@dataclass(frozen=True, eq=False)
class Constraints:
    """What is known of theta: the raw form from which the polytope is derived."""

    transitions: Transitions
    sums: Floats | sparse.csr_array  # (S*A, d): sum_s' phi(s'|s,a), impossible ones included
    zeros: Floats | sparse.csr_array  # (k, d): feature rows of the transitions known to be impossible
    zero_names: list[str]
    p_min: float
    domain: str

    def violation(self, theta: Floats) -> tuple[float, str]:
        """By how much theta lies outside P, beyond rounding, and in words where; inequality rows are scaled first."""
        worst, where = 0.0, ""
        probability = self.transitions.probabilities(theta)
        scale = np.minimum(1.0, row_norms(self.transitions.phi))
        lack = (self.p_min - probability - rounding_of(self.transitions.phi, theta)) / scale
        if len(lack) and lack.max() > worst:
            i = int(lack.argmax())
            worst = float(lack[i])
            where = f"P{self.transitions.name(i)} = {probability[i]:.6g}, below {self.p_min:g}"
        off = np.abs(self.sums @ theta - 1.0) - rounding_of(self.sums, theta)
        if off.max() > worst:
            pair = int(off.argmax())
            state, action = divmod(pair, self.transitions.num_actions)
            worst = float(off[pair])
            where = f"probabilities of (s={state}, a={action}) sum to {(self.sums @ theta)[pair]:.6g}, not 1"
        zero = np.abs(self.zeros @ theta) - rounding_of(self.zeros, theta)
        if len(zero) and zero.max() > worst:
            i = int(zero.argmax())
            worst, where = float(zero[i]), f"P{self.zero_names[i]} = {zero[i]:.6g}, known to be impossible"
        if self.domain in SIMPLICES and -theta.min() > worst:
            worst, where = float(-theta.min()), f"theta[{int(theta.argmin())}] = {theta.min():.6g}, below 0"
        if self.domain in SIMPLICES and abs(theta.sum() - 1.0) > worst:
            worst, where = float(abs(theta.sum() - 1.0)), f"theta sums to {theta.sum():.6g}, not 1"
        mixed = float(np.abs(theta - np.eye(len(theta))[int(theta.argmax())]).max())
        if self.domain == "vertices" and mixed > worst:
            worst, where = mixed, "theta is a mix, and domain='vertices' needs all weight on one candidate"
        return worst, where


def tabular(possible: Transitions, p_min: float) -> Constraints:
    """Of a model with one parameter per transition: those of each pair sum to 1."""
    count = possible.count
    sums = sparse.csr_array(
        (np.ones(count), np.arange(count), possible.indptr), shape=(len(possible.indptr) - 1, count)
    )
    return Constraints(possible, sums, sparse.csr_array((0, count)), [], p_min, "polytope")


def cancels(theta: Floats) -> bool:
    """Whether weights are so large that they cancel in probabilities."""
    return bool(np.abs(theta).max() > CANCELLING_WEIGHT)


def rounding_of(rows: Floats | sparse.csr_array, theta: Floats) -> Floats | float:
    """What rounding does to rows @ theta at most where weights cancel; 0 where none is large enough to.

    Base models that are nearly equal have thetas of huge weights, which no float can make sum to 1 more closely.
    """
    if not cancels(theta):
        return 0.0
    return 8.0 * float(np.finfo(np.float64).eps) * np.asarray(np.abs(rows) @ np.abs(theta))


@dataclass(frozen=True, eq=False)
class Block:
    """One factor of P: theta[coordinates] = center + basis @ y with normals @ y + offsets >= 0."""

    coordinates: Ints
    center: Floats
    basis: Floats
    normals: Floats
    offsets: Floats
    is_simplex: bool = False

    @property
    def dimension(self) -> int:
        return int(self.basis.shape[1])

    @cached_property
    def vertices(self) -> Floats:
        """All vertices, as rows of y; none where they cannot be told apart."""
        if self.dimension == 0:
            return np.zeros((0, 0))
        if self.is_simplex:
            k = len(self.coordinates)
            low = 1.0 / k - self.offsets[0] * np.sqrt(1.0 - 1.0 / k)  # p_min
            corners = np.full((k, k), low) + (1.0 - k * low) * np.eye(k)
            return (corners - self.center) @ self.basis
        if self.dimension == 1:
            ends = -self.offsets / self.normals[:, 0]
            return np.array([[ends[self.normals[:, 0] > 0].max()], [ends[self.normals[:, 0] < 0].min()]])
        return _corners(self.normals, self.offsets)


def _corners(normals: Floats, offsets: Floats) -> Floats:
    """The vertices of {y : normals @ y + offsets >= 0}, which has 0 inside, in two dimensions or more."""
    from scipy.spatial import HalfspaceIntersection, QhullError

    try:
        half = HalfspaceIntersection(np.column_stack([-normals, -offsets]), np.zeros(normals.shape[1]))
    except QhullError:  # rows that differ by rounding alone
        return np.zeros((0, normals.shape[1]))
    points = half.intersections[np.isfinite(half.intersections).all(axis=1)]
    scale = 1e-9 * max(1.0, np.abs(points).max())
    _, first = np.unique(np.round(points / scale), axis=0, return_index=True)
    return np.asarray(points[np.sort(first)])


@dataclass(frozen=True, eq=False)
class Polytope:
    """P as a product of blocks; `interior` is a point well inside, `dimension` that of P itself."""

    blocks: list[Block]
    interior: Floats = field(repr=False)

    @property
    def dimension(self) -> int:
        return sum(block.dimension for block in self.blocks)


def build(constraints: Constraints) -> Polytope:
    """The polytope of the constraints; ValueError names the conflict where it is empty."""
    blocks = list(_blocks(constraints))
    interior = np.zeros(constraints.transitions.dimension)
    for block in blocks:
        interior[block.coordinates] = block.center
    return Polytope(blocks, interior)


def _blocks(c: Constraints) -> list[Block]:
    if c.domain == "vertices" and not _is_plain_simplex(c):
        raise ValueError(
            "domain is 'vertices', but not every candidate is a transition law on its own: each needs rows that are at "
            "least 0 and sum to 1, p_min = 0, and no probability on transitions declared impossible"
        )
    if c.domain in SIMPLICES:
        whole = np.arange(c.transitions.dimension)
        return (
            [_simplex(whole, 0.0)] if _is_plain_simplex(c) else [_general(c, whole, slice(None), slice(None))]
        )
    if _is_tabular(c):
        return _tabular(c)
    if isinstance(c.sums, np.ndarray) and (c.sums != 0.0).all(axis=1).any():  # one pair links all coordinates
        return [_general(c, np.arange(c.transitions.dimension), slice(None), slice(None))]
    labels, pair_labels = _components(c)
    if labels.max(initial=0) == 0:
        return [_general(c, np.arange(len(labels)), slice(None), slice(None))]
    transition_labels = pair_labels[c.transitions.pair_of]
    order = [np.nonzero(labels == k)[0] for k in range(labels.max() + 1)]
    return [_general(c, cols, transition_labels == k, pair_labels == k) for k, cols in enumerate(order)]


def _is_plain_simplex(c: Constraints) -> bool:
    """Base models on the simplex: every row of every model is a distribution, so nothing else binds."""
    if c.p_min > 0.0 or len(c.zero_names) or (sparse.issparse(c.transitions.phi) and c.domain == "simplex"):
        return False
    return bool(c.transitions.phi.min() >= 0.0 and np.abs(_dense(c.sums) - 1.0).max() < 1e-9)


def _is_tabular(c: Constraints) -> bool:
    """Whether each transition has a coordinate of its own with weight one."""
    phi = c.transitions.phi
    if isinstance(phi, np.ndarray) or phi.nnz != phi.shape[0] or phi.shape[0] != phi.shape[1] or c.zero_names:
        return False
    return bool(np.all(phi.data == 1.0) and np.array_equal(np.sort(phi.indices), np.arange(phi.shape[1])))


def _tabular(c: Constraints) -> list[Block]:
    indptr, coordinate = c.transitions.indptr, sparse.csr_array(c.transitions.phi).indices.astype(np.int64)
    blocks = []
    for pair in range(len(indptr) - 1):
        cols = coordinate[indptr[pair] : indptr[pair + 1]]
        state, action = divmod(pair, c.transitions.num_actions)
        if len(cols) * c.p_min > 1.0:
            raise ValueError(
                f"the feasible set is empty: p_min = {c.p_min:g} for each of the {len(cols)} successors of "
                f"(s={state}, a={action}) exceeds 1; p_min may be at most {1 / len(cols):.6g}"
            )
        blocks.append(_simplex(cols, c.p_min))
    return blocks


def _simplex(coordinates: Ints, p_min: float) -> Block:
    k = len(coordinates)
    basis, normals, offsets = _simplex_parts(k, p_min)
    return Block(coordinates, np.full(k, 1.0 / k), basis, normals, offsets, is_simplex=True)


@cache
def _simplex_parts(k: int, p_min: float) -> tuple[Floats, Floats, Floats]:
    """Basis, normals and offsets of {theta >= p_min, sum theta = 1} around its centre."""
    if k == 1 or 1.0 / k - p_min < FLAT:
        return np.zeros((k, 0)), np.zeros((0, 0)), np.zeros(0)
    basis = np.linalg.qr(np.column_stack([np.ones(k), np.eye(k)[:, :-1]]))[0][:, 1:]
    basis = np.ascontiguousarray(basis)
    norm = np.sqrt(1.0 - 1.0 / k)
    return basis, basis / norm, np.full(k, (1.0 / k - p_min) / norm)


def _components(c: Constraints) -> tuple[Ints, Ints]:
    """Coordinates, and pairs (s, a), labelled by the block they belong to."""
    from scipy.sparse.csgraph import connected_components

    t = c.transitions
    phi = sparse.coo_array(t.phi)
    acting = sparse.coo_array(
        (np.ones(phi.nnz), (t.pair_of[phi.row], phi.col)), (len(t.indptr) - 1, t.dimension)
    )
    zeros = sparse.coo_array(c.zeros)
    link = sparse.vstack([acting, abs(sparse.coo_array(c.sums)), abs(zeros)]).tocsr()
    graph = sparse.block_array([[None, link], [link.T, None]]).tocsr()
    _, labels = connected_components(graph, directed=False)
    of_pairs, of_coordinates = labels[: len(t.indptr) - 1], labels[link.shape[0] :]
    names, of_coordinates = np.unique(of_coordinates, return_inverse=True)
    return of_coordinates, np.searchsorted(names, of_pairs)


def _general(c: Constraints, cols: Ints, mine: Bools | slice, mine_pairs: Bools | slice) -> Block:
    """A block of arbitrary shape: equalities to a null space, then an interior point by linear programming."""
    phi, equal, names = c.transitions.phi, c.sums, np.arange(c.transitions.count)[mine]
    if not (isinstance(mine, slice) and isinstance(phi, np.ndarray)):  # all of them may be large: not copied
        phi, equal = _dense(phi[mine][:, cols]), _dense(c.sums[mine_pairs][:, cols])

    def label(i: int) -> str:
        if i < len(names):
            return f"P{c.transitions.name(int(names[i]))} >= {c.p_min:g}"
        return f"theta[{cols[i - len(names)]}] >= 0"

    lower, equal = np.full(len(phi), c.p_min), _dense(equal)
    target = np.ones(len(equal))
    if len(c.zero_names):
        equal = np.vstack([equal, _dense(c.zeros[:, cols])])
        target = np.append(target, np.zeros(len(c.zero_names)))
    if c.domain in SIMPLICES:
        phi, lower = np.vstack([phi, np.eye(len(cols))]), np.concatenate([lower, np.zeros(len(cols))])
        equal, target = np.vstack([equal, np.ones((1, len(cols)))]), np.append(target, 1.0)
    pairs = np.arange(c.sums.shape[0])[mine_pairs]
    center, basis = _solve_equalities(c, equal, target, pairs)
    from vbmle.model.interior_points import move_inside

    return Block(cols, *move_inside(center, _identifiable(phi, basis), phi, lower, label))


def _dense(matrix: Floats | sparse.csr_array) -> Floats:
    return np.asarray(matrix) if isinstance(matrix, np.ndarray) else matrix.toarray()


def _solve_equalities(c: Constraints, equal: Floats, target: Floats, pairs: Ints) -> tuple[Floats, Floats]:
    """The solutions of equal @ theta = target as center + basis @ y, basis orthonormal."""
    first = np.column_stack([equal, target])
    if len(first) == 0:  # coordinates that act nowhere
        return np.zeros(equal.shape[1]), np.eye(equal.shape[1])
    if (first == first[0]).all():  # all base models: one row says it all
        equal, target = equal[:1], target[:1]
    _, sigma, right = np.linalg.svd(np.linalg.qr(equal, mode="r"), full_matrices=True)
    rank = int((sigma > RANK_TOLERANCE * max(1.0, sigma.max(initial=0.0))).sum())
    center: Floats = np.linalg.lstsq(equal, target, rcond=RANK_TOLERANCE)[0].astype(np.float64)
    off = np.abs(equal @ center - target)
    if off.max() > 1e-8:
        row = int(off.argmax())
        if row < len(pairs):
            state, action = divmod(int(pairs[row]), c.transitions.num_actions)
            what = f"the probabilities of (s={state}, a={action}) sum to 1 for no theta that serves the other rows"
        else:
            what = "the transitions declared impossible cannot all have probability 0 while the rows sum to 1"
        raise ValueError(f"the feasible set is empty: {what} (best theta misses by {off.max():.3g})")
    return center, right[rank:].T


def _identifiable(phi: Floats, basis: Floats) -> Floats:
    """The part of the basis along which some probability changes."""
    if basis.shape[1] == 0:
        return basis
    triangle = np.zeros((0, basis.shape[1]))
    for first in range(0, len(phi), MANY_FACETS):  # piece by piece: no second copy of large features
        piece = np.vstack([triangle, phi[first : first + MANY_FACETS] @ basis])
        triangle = np.asarray(np.linalg.qr(piece, mode="r"))
    _, sigma, right = np.linalg.svd(triangle, full_matrices=True)
    rank = int((sigma > RANK_TOLERANCE * max(1.0, sigma.max(initial=0.0))).sum())
    return basis @ right[:rank].T
