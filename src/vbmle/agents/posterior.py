"""Draws from the posterior of theta: the likelihood of the counts times the uniform prior on P.

`Dirichlet` is exact, for tabular models: with one simplex per (s, a) the posterior of its row is a Dirichlet
distribution with parameters 1 + n(s, a, .). `HitAndRun` is a Markov chain for every P
(core/src/sampling); it goes on from its last draw, under the counts of now.
"""

from __future__ import annotations

from typing import Annotated, Protocol

import numpy as np

from vbmle.agents.tabular_models import tabular_coordinates
from vbmle.common import keeper
from vbmle.common.files import Snapshot
from vbmle.common.keeper import Keeper, Part
from vbmle.common.stated import up_to
from vbmle.common.validation import Floats, Ints
from vbmle.core import sampling as core
from vbmle.estimation.candidates import posterior
from vbmle.estimation.counts import TransitionCounts
from vbmle.model.core_model import lies_inside
from vbmle.model.mdp import LinearMixtureMDP

MOST_THINNING = 100_000
"""Steps of the chain per free coordinate and draw; more would take minutes."""

Thinning = Annotated[
    int, up_to(MOST_THINNING), "Steps of the chain per free coordinate between two draws from the posterior."
]

MOST_DRAWS = 1000
"""Draws, or biases, that are kept at once."""

BURN_IN = 10
"""The first draw of a chain takes this many times the steps of the others."""


class Sampler(Part, Protocol):
    """Draws theta, and can be saved."""

    def draw(self, counts: TransitionCounts, rng: np.random.Generator) -> Floats: ...


class Dirichlet(Keeper):
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


class CandidateDraws(Keeper):
    """Exact and independent draws where theta is one of the candidates."""

    def __init__(self, mdp: LinearMixtureMDP) -> None:
        self._dimension = mdp.dimension

    def draw(self, counts: TransitionCounts, rng: np.random.Generator) -> Floats:
        """The vertex of a candidate, drawn with its posterior probability."""
        below = np.cumsum(posterior(counts))
        candidate = int(np.searchsorted(below, rng.random() * below[-1], side="right"))
        return np.eye(self._dimension)[min(candidate, self._dimension - 1)]


class HitAndRun:
    """A chain in the coordinates y of P, `thinning` steps per free coordinate and draw."""

    def __init__(self, mdp: LinearMixtureMDP, thinning: int) -> None:
        self._mdp = mdp
        self._chain, self._thinning, self._draws = core.Sampler(mdp.core), thinning, 0

    def draw(self, counts: TransitionCounts, rng: np.random.Generator) -> Floats:
        """theta after another stretch of the chain."""
        thinning = self._thinning * (BURN_IN if self._draws == 0 else 1)
        self._draws += 1
        return self._chain.sample(counts.values, thinning, rng)

    def snapshot(self) -> Snapshot:
        return self._chain.snapshot() | {"draws": np.array(self._draws)}

    def restore(self, snapshot: Snapshot) -> None:
        keeper.require_like("", snapshot, self.snapshot())
        keeper.require_within("draws", snapshot["draws"], 0, 2**62)
        for name in ("y", "reference"):
            keeper.require_finite(name, snapshot[name])
            if not lies_inside(self._mdp.flat_set, snapshot[name]):
                raise ValueError(f"{name} lies outside the feasible set")
        self._chain.restore(snapshot)
        self._draws = int(snapshot["draws"])


def sampler_for(mdp: LinearMixtureMDP, thinning: int, sampler: str = "auto") -> Sampler:
    """The sampler of that name; "auto" is an exact one where there is one."""
    if mdp.domain == "vertices":
        if sampler != "auto":
            raise ValueError(f"sampler is {sampler!r}, but theta is one of the candidates; it needs 'auto'")
        return CandidateDraws(mdp)
    exact = sampler == "dirichlet" or (sampler == "auto" and tabular_coordinates(mdp) is not None)
    return Dirichlet(mdp) if exact else HitAndRun(mdp, thinning)
