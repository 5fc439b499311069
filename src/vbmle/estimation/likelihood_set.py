"""The thetas that the data have not ruled out: a likelihood-ratio set that holds at all times at once.

    C_t = {theta in P: l_t(theta) >= max l_t - threshold_t},        l_t(theta) = sum_{i<t} log p_theta(s_{i+1}|s_i,a_i)

without ridge. Let q_t be the probability that some predictor, which knows only the past, gave to what was seen.
q_t / L_t(theta*) is a martingale of mean 1, whatever the actions depend on, so by Ville's inequality

    log L_t(theta*) >= log q_t - log(1/delta)   for all t at once, with probability at least 1 - delta.

Two predictors need counts alone. The first averages all theta of P, uniformly. In a block of P with m free
dimensions and n observations the thetas (1-e) theta' + e P have the share e^m, and each gives every path at
least (1-e)^n of what theta' gave; with e = m/(m+n), theta' most likely (Cover's argument for portfolios):

    log q_t >= max l_t - sum over blocks of  m log(1 + n/m) + n log(1 + m/n)

The second is the rule of Krichevsky and Trofimov for every pair (s, a), p(s') = (n(s') + 1/2) / (n + k/2), which
ignores theta but loses half as much where P is tabular. Their mean is a predictor too, so the better of
the two costs no more than log 2. Nothing is assumed about p_min, the horizon, or how actions are chosen.

To optimise over C_t there are an ellipsoid that contains it, and a dual bound that uses its shape. With u =
p_theta/p - 1 at the most likely theta', l_t(theta') - l_t(theta) >= sum n (u - log(1+u)), and u - log(1+u) >=
u^2 / (2 max(1, 1+u)), so that with any bounds p_high on p_theta over the set

    sum n (p_theta - p)^2 / (p p_high) <= 2 threshold,

which gives better p_high, and so on: it tends to the ellipsoid of the observed Fisher information.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from vbmle.common.validation import Floats, Ints, fraction
from vbmle.core.solver import Objective
from vbmle.estimation.candidates import CandidateSolver
from vbmle.estimation.counts import TransitionCounts
from vbmle.estimation.maximiser import Solver, make_objective, make_solver
from vbmle.model.mdp import LinearMixtureMDP
from vbmle.planning.optimistic_planner import Ellipsoid

ELLIPSOID_ROUNDS = 6  # of bounding probabilities by the ellipsoid and the ellipsoid by probabilities
DIAMETER_SHARE = (
    1e-3  # share of the radius that is given to the diameter of P, so that matrices have inverses
)
CLOSE_TO_LEVEL = (
    0.02  # relative: how near to the level a support point has to be; its bound errs by the square of it
)
MOST_SOLVES = 14  # at most, for one support point


@dataclass(frozen=True, eq=False)
class _Part:
    """A block of P: which transitions and coordinates are its, features in y, and its part of the ellipsoid."""

    transitions: Ints
    coordinates: Ints
    basis: Floats
    features: Floats
    diameter: float
    inverse: Floats


class LikelihoodSet:
    """The set {theta in P: l(theta) >= level}; `theta` is the most likely one and `threshold` = max l - level.

    `reach` and `support` bound linear functions over the set, from outside; `probability_reach` bounds
    |p_theta - p| by transition.

    Parameters
    ----------
    counts : TransitionCounts
        What was observed.
    level : float
        The least log-likelihood (nats, without ridge) that a theta of the set has.

    Examples
    --------
    >>> import vbmle
    >>> counts = vbmle.TransitionCounts(vbmle.worlds.riverswim(features="mixture").mdp)
    >>> for next_state in (2, 1, 1, 1):
    ...     _ = counts.add(1, 1, next_state)
    >>> found = vbmle.theory.LikelihoodSet(counts, level=-3.0)
    >>> found.theta.round(3).tolist(), round(found.threshold, 3)
    ([0.25, 0.75, 0.0], 0.751)
    """

    def __init__(self, counts: TransitionCounts, level: float) -> None:
        self.mdp, self.counts, self.level = counts.mdp, counts, level
        self._solver, self._objective = most_likely(counts)
        self.theta: Floats = self._solver.theta.copy()
        self.maximum = self._solver.objective
        self.threshold = self.maximum - level
        self.p: Floats = np.maximum(self.mdp.transitions.probabilities(self.theta), 0.0)
        # What l(theta') - l(theta) leaves open at a maximiser that is one up to the solver's gap.
        self._square = 2.0 * (1.0 + DIAMETER_SHARE) * (max(self.threshold, 0.0) + max(self._solver.gap, 0.0))
        self._parts = [self._part(*found) for found in _blocks(self.mdp)]
        self.probability_reach: Floats = np.ones(self.mdp.transitions.count)
        if not self.empty:
            self._fit()

    @property
    def empty(self) -> bool:
        """Whether no theta reaches the level: an event of probability at most delta."""
        return self.threshold < 0.0

    def contains(self, theta: ArrayLike) -> bool:
        """Whether theta is feasible and likely enough."""
        point = self.mdp.require_theta(theta)
        return self.mdp.contains(point) and self.log_likelihood(point) >= self.level

    def log_likelihood(self, theta: Floats) -> float:
        """l(theta), without ridge."""
        seen = self.counts.observed
        p = self.mdp.transitions.probabilities(theta)[seen]
        return float(self.counts.values[seen] @ np.log(p)) if (p > 0.0).all() else -np.inf

    def reach(self, functionals: Floats) -> Floats:
        """Bounds on `|<c, theta - self.theta>|` over the set, one for each row c, by the ellipsoid."""
        inside, outside = np.zeros(len(functionals)), np.zeros(len(functionals))
        for part in self._parts:
            c = functionals[:, part.coordinates] @ part.basis
            square = self._square * np.einsum("ij,jk,ik->i", c, part.inverse, c)
            cap = part.diameter * np.sqrt(np.einsum("ij,ij->i", c, c))  # where the block was hardly seen
            seen = square < cap**2
            inside += np.where(seen, square, 0.0)
            outside += np.where(seen, 0.0, cap)
        return np.sqrt(inside) + outside

    def support(self, c: Floats, guess: float) -> float:
        """A bound on max `<c, theta - self.theta>` over the set, by duality; `guess` from `reach`.

        `(max over P of l + k <c, .> - level) / k` bounds it for every k > 0, and is smallest where the maximiser
        is just likely enough.
        """
        if guess <= 0.0:
            return 0.0
        start, k = float(c @ self.theta), 2.0 * max(self.threshold, 1e-3) / guess
        low, high, best = 0.0, np.inf, guess
        self._solver.start(self.theta)
        for _ in range(MOST_SOLVES):
            self._solver.climb(self._objective.replaced(linear=k * c))
            top = self._solver.objective + max(self._solver.gap, 0.0)
            best = min(best, (top - self.level) / k - start)
            spare = self.log_likelihood(self._solver.theta) - self.level
            if abs(spare) <= CLOSE_TO_LEVEL * self.threshold:
                break
            if spare > 0.0:
                low, k = k, 4.0 * k if high == np.inf else float(np.sqrt(k * high))
            else:
                high, k = k, 0.25 * k if low == 0.0 else float(np.sqrt(k * low))
        return max(best, 0.0)

    def ellipsoid(self) -> Ellipsoid:
        """The ellipsoid around the set, in the form that optimistic plans are made for."""
        blocks = []
        for part in self._parts:
            weight = np.linalg.inv(part.inverse) if len(part.inverse) else part.inverse
            blocks.append((part.basis @ weight @ part.basis.T).ravel())
        return Ellipsoid(np.concatenate(blocks), self.theta, float(np.sqrt(self._square)))

    def _part(self, transitions: Ints, coordinates: Ints, basis: Floats, diameter: float) -> _Part:
        features = np.asarray(self.mdp.transitions.phi[transitions][:, coordinates] @ basis)
        return _Part(transitions, coordinates, basis, features, diameter, np.zeros((basis.shape[1],) * 2))

    def _fit(self) -> None:
        """Bound probabilities and fit the ellipsoid, in turn."""
        n, slack = self.counts.values, DIAMETER_SHARE / (1.0 + DIAMETER_SHARE) * self._square
        for _ in range(ELLIPSOID_ROUNDS):
            high = np.minimum(self.p + self.probability_reach, 1.0)
            weight = np.where(n > 0.0, n / np.maximum(self.p * high, 1e-300), 0.0)
            for part in self._parts:
                if part.basis.shape[1] == 0:
                    self.probability_reach[part.transitions] = 0.0
                    continue
                f = part.features
                own = slack / (len(self._parts) * part.diameter**2) * np.eye(f.shape[1])
                part.inverse[...] = np.linalg.inv(f.T @ (weight[part.transitions, None] * f) + own)
                square = self._square * np.einsum("ij,jk,ik->i", f, part.inverse, f)
                self.probability_reach[part.transitions] = np.minimum(np.sqrt(square), 1.0)


def likelihood_set(counts: TransitionCounts, delta: float = 0.1) -> LikelihoodSet:
    """C_t of the counts: it contains theta* at all times at once with probability at least 1 - delta.

    Parameters
    ----------
    counts : TransitionCounts
        What was observed.
    delta : float, default 0.1
        The probability with which the set may ever miss theta*, in (0, 1).

    Raises
    ------
    ValueError
        If delta is out of range, or theta is one of the candidates (domain "vertices").

    Examples
    --------
    >>> import vbmle
    >>> world = vbmle.worlds.riverswim(features="mixture")
    >>> counts = vbmle.TransitionCounts(world.mdp)
    >>> _ = counts.add(1, 1, 2)
    >>> found = vbmle.theory.likelihood_set(counts)
    >>> found.contains(world.theta), found.contains([0.0, 0.0, 1.0])  # the second never moves forward
    (True, False)
    """
    if counts.mdp.domain == "vertices":
        raise ValueError(
            "theta is one of the candidates (domain='vertices'): a set of those is in confidence(...)"
        )
    log_q = float(np.logaddexp(log_mixture(counts), log_krichevsky_trofimov(counts)) - np.log(2.0))
    return LikelihoodSet(counts, log_q - float(np.log(1.0 / fraction("delta", delta))))


def log_mixture(counts: TransitionCounts) -> float:
    """A lower bound on the log-probability that the uniform mixture over P gave to the path."""
    mdp, total = counts.mdp, most_likely(counts)[0].objective
    seen = np.zeros(len(mdp.polytope.blocks))
    pair_of = mdp.transitions.pair_of
    np.add.at(seen, mdp.block_of_pair[pair_of], counts.values)
    for n, block in zip(seen, mdp.polytope.blocks, strict=True):
        m = block.dimension
        if n > 0.0 and m > 0:
            total -= m * np.log1p(n / m) + n * np.log1p(m / n)
    return float(total)


def log_krichevsky_trofimov(counts: TransitionCounts) -> float:
    """The log-probability that the rule of Krichevsky and Trofimov for every pair gave to the path."""
    return float(log_by_pair(counts).sum())


def log_by_pair(counts: TransitionCounts) -> Floats:
    """The same for each pair (s, a) on its own, (S*A,)."""
    from scipy.special import gammaln

    starts = counts.mdp.transitions.indptr[:-1]
    n, k = np.add.reduceat(counts.values, starts), np.diff(counts.mdp.transitions.indptr)
    by_pair = np.add.reduceat(gammaln(counts.values + 0.5) - gammaln(0.5), starts)
    return np.asarray(by_pair + gammaln(0.5 * k) - gammaln(n + 0.5 * k))


def most_likely(counts: TransitionCounts) -> tuple[Solver | CandidateSolver, Objective]:
    """A solver that stands at the maximum of l over P, and l."""
    solver, objective = make_solver(counts.mdp), make_objective(counts, 0.0)
    solver.climb(objective)
    return solver, objective


def _blocks(mdp: LinearMixtureMDP) -> list[tuple[Ints, Ints, Floats, float]]:
    """For each block its transitions, coordinates, basis and diameter."""
    block_of = mdp.block_of_pair[mdp.transitions.pair_of]
    order = np.argsort(block_of, kind="stable")
    ends = np.searchsorted(block_of[order], np.arange(len(mdp.polytope.blocks) + 1))
    return [
        (order[ends[b] : ends[b + 1]], block.coordinates, block.basis, float(mdp.flat_set.diameter[b]))
        for b, block in enumerate(mdp.polytope.blocks)
    ]
