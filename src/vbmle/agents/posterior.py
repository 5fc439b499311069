"""Draws from the posterior of theta: the likelihood of the counts times the uniform prior on P.

`Dirichlet` is exact, for tabular models: with one simplex per (s, a) the posterior of its row is a Dirichlet
distribution with parameters 1 + n(s, a, .). `HitAndRun` is a Markov chain for every P
(`vbmle.kernels.sampling`); it goes on from its last draw, under the counts of now.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from scipy import sparse

from vbmle.agents.base import tabular_coordinates
from vbmle.common.files import Snapshot
from vbmle.common.validation import Floats, Ints
from vbmle.estimation.counts import TransitionCounts
from vbmle.model.mdp import LinearMixtureMDP

BURN_IN = 10
"""The first draw of a chain takes this many times the steps of the others."""


class Sampler(Protocol):
    """Draws theta, and can be saved."""

    def draw(self, counts: TransitionCounts, rng: np.random.Generator) -> Floats: ...

    def snapshot(self) -> Snapshot: ...

    def restore(self, snapshot: Snapshot) -> None: ...


class Dirichlet:
    """Exact and independent draws for a tabular model."""

    def __init__(self, mdp: LinearMixtureMDP) -> None:
        coordinate = tabular_coordinates(mdp)
        if coordinate is None:
            raise ValueError(
                "sampler is 'dirichlet', but the model is not tabular (one parameter per transition, p_min = 0); "
                "it needs 'auto' or 'hit-and-run'"
            )
        self._coordinate: Ints = coordinate
        self._indptr = mdp.transitions.indptr

    def draw(self, counts: TransitionCounts, rng: np.random.Generator) -> Floats:
        """theta from the posterior."""
        parts = np.maximum(rng.standard_gamma(1.0 + counts.values), 1e-300)
        sums = np.add.reduceat(parts, self._indptr[:-1])
        theta = np.empty_like(parts)
        theta[self._coordinate] = parts / np.repeat(sums, np.diff(self._indptr))
        return theta

    def snapshot(self) -> Snapshot:
        return {}

    def restore(self, snapshot: Snapshot) -> None:
        pass


class HitAndRun:
    """A chain in the coordinates y of P, `thinning` steps per free coordinate and draw."""

    def __init__(self, mdp: LinearMixtureMDP, thinning: int) -> None:
        self._mdp, self._domain, self._thinning = mdp, mdp.flat_domain, thinning
        free = int(self._domain.free_ptr[-1])
        self._y, self._reference, self._draws = np.zeros(free), np.zeros(free), 0
        blocks = mdp.polytope.blocks
        phi = sparse.csr_array(mdp.transitions.phi)
        phi.eliminate_zeros()
        features = sparse.csr_array(phi @ _basis(mdp))
        block_of = self._domain.block_of[phi.indices[phi.indptr[:-1]]]  # a transition acts in one block only
        count, widest = mdp.transitions.count, max(block.dimension for block in blocks)
        rows = int(np.diff(self._domain.row_ptr).max())
        self._share = np.zeros(int(self._domain.row_ptr[-1]))
        self._layout = (
            features.indptr.astype(np.int64),
            features.indices.astype(np.int64),
            features.data.astype(np.float64),
            mdp.transitions.probabilities(mdp.polytope.interior),
            np.argsort(block_of, kind="stable"),
            np.concatenate([[0], np.cumsum(np.bincount(block_of, minlength=len(blocks)))]),
            np.empty((widest, widest)),
            np.empty(count, np.int64),
            *(np.empty(count) for _ in range(3)),
            *(np.empty(rows) for _ in range(2)),
            self._share,
            np.empty(free),
            *(np.empty(widest) for _ in range(2)),
        )

    def draw(self, counts: TransitionCounts, rng: np.random.Generator) -> Floats:
        """theta after another stretch of the chain."""
        from vbmle.kernels.objective import assemble
        from vbmle.kernels.sampling import Posterior, sample, share_out

        thinning = self._thinning * (BURN_IN if self._draws == 0 else 1)
        free = np.diff(self._domain.free_ptr)
        normals = rng.standard_normal(thinning * int((free**2).sum()))
        uniforms = rng.random((thinning * int(free.sum()), 2))
        post, own = Posterior(*self._layout), (self._y, self._reference)
        if not self._share.any():  # first use
            share_out(post, self._domain, np.zeros_like(self._reference))
        sample(post, self._domain, counts.values, *own, thinning, normals, uniforms)
        self._draws += 1
        theta = np.empty(self._mdp.dimension)
        assemble(self._domain, self._y, theta)
        return theta

    def snapshot(self) -> Snapshot:
        return {
            "chain.y": self._y,
            "chain.reference": self._reference,
            "chain.draws": np.array(self._draws),
        }

    def restore(self, snapshot: Snapshot) -> None:
        self._y[...], self._reference[...] = snapshot["chain.y"], snapshot["chain.reference"]
        self._draws = int(snapshot["chain.draws"])


def _basis(mdp: LinearMixtureMDP) -> sparse.csr_array:
    """theta = interior + basis @ y, all blocks in one sparse (d, free) array."""
    parts, rows, columns, first = [], [], [], 0
    for block in mdp.polytope.blocks:
        k, m = block.basis.shape
        parts.append(block.basis.ravel())
        rows.append(np.repeat(block.coordinates, m))
        columns.append(np.tile(np.arange(first, first + m), k))
        first += m
    where = (np.concatenate(rows), np.concatenate(columns))
    return sparse.csr_array((np.concatenate(parts), where), shape=(mdp.dimension, first))
