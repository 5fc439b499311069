"""Estimation from transition counts: maximum likelihood, and maximum likelihood biased by value.

    l(theta) = sum_(s,a,s') n(s,a,s') log <phi(s'|s,a), theta> - ridge/2 |theta|^2
    f(theta) = l(theta) + bias * V*(state; theta)            equation (7) of the paper, ridge subtracted

Counts are all that the likelihood needs, so nothing here grows with the number of steps taken. l is concave
over the feasible set; f is not, because V* is not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from vbmle import validation
from vbmle.model import LinearMixtureMDP
from vbmle.solver import POOL, Solver, goal
from vbmle.validation import Floats, Ints

CONVERGED = 1e-7
"""The relative KKT residual up to which an estimate counts as converged."""

SEARCHES = ("global", "local")


class TransitionCounts:
    """How often each possible transition was seen: n(s, a, s'), the sufficient statistic of the likelihood."""

    def __init__(self, mdp: LinearMixtureMDP) -> None:
        self.mdp = mdp
        self.values: Floats = np.zeros(mdp.transitions.count)
        self.observed: Ints = np.zeros(mdp.transitions.count, np.int64)
        self.num_observed = 0
        self._total = 0
        self._possible = mdp.transitions.probabilities(mdp.polytope.interior) > 0.0

    @property
    def total(self) -> int:
        """How many transitions were added."""
        return self._total

    def add(self, state: int, action: int, next_state: int, times: int = 1) -> None:
        """Count a transition. One that no feasible theta allows is refused, and nothing is lost."""
        mdp = self.mdp
        if not (
            0 <= state < mdp.num_states and 0 <= action < mdp.num_actions and 0 <= next_state < mdp.num_states
        ):
            validation.index("state", state, mdp.num_states)
            validation.index("action", action, mdp.num_actions)
            validation.index("next_state", next_state, mdp.num_states)
        i = mdp.transitions.find(state, action, next_state)
        if i < 0 or not self._possible[i]:
            raise ValueError(
                f"the transition (s={state}, a={action}, s'={next_state}) has probability 0 for every feasible "
                "theta, yet it was observed; check the features and the impossible set (it was not counted)"
            )
        if self.values[i] == 0.0:
            self.observed[self.num_observed] = i
            self.num_observed += 1
        self.values[i] += times
        self._total += times

    def load_values(self, values: Floats, observed: Ints) -> None:
        """Replace all counts, in the order in which transitions were first observed."""
        self.values = values.copy()
        self.num_observed = len(observed)
        self.observed[: len(observed)] = observed
        self._total = int(values.sum())

    def __repr__(self) -> str:
        return f"TransitionCounts(total={self.total}, distinct={self.num_observed})"


@dataclass(frozen=True, eq=False)
class Estimate:
    """A maximiser and how good it is.

    theta, the objective there, the relative KKT `residual`, and whether it `converged` (residual <= 1e-7).
    `gap` bounds max <grad f, v - theta> over the feasible set: for a concave objective, the distance of
    `objective` from its maximum. `policy` and `V` are optimal for theta where the objective has a value bias.
    """

    theta: Floats
    objective: float
    converged: bool
    residual: float
    gap: float
    policy: Ints | None = None
    V: Floats | None = None
    upper_bound: float | None = None


def log_likelihood(
    mdp: LinearMixtureMDP, counts: TransitionCounts, theta: ArrayLike, ridge: float = 1.0
) -> float:
    """l(theta); minus infinity where an observed transition has probability 0."""
    point = mdp.require_theta(theta)
    _require_same(mdp, counts)
    seen = counts.observed[: counts.num_observed]
    p = mdp.transitions.probabilities(point)[seen]
    penalty = 0.5 * validation.non_negative("ridge", ridge) * float(point @ point)
    if (p <= 0.0).any():
        return -np.inf
    return float(counts.values[seen] @ np.log(p)) - penalty


def maximum_likelihood(mdp: LinearMixtureMDP, counts: TransitionCounts, ridge: float = 1.0) -> Estimate:
    """The maximiser of l over the feasible set."""
    _require_same(mdp, counts)
    solver = Solver(mdp)
    solver.climb(goal(counts, validation.non_negative("ridge", ridge)))
    return _estimate(solver, with_value=False)


def value_biased(
    mdp: LinearMixtureMDP,
    counts: TransitionCounts,
    state: int,
    bias: float,
    ridge: float = 1.0,
    search: str = "global",
    start: ArrayLike | None = None,
    certify: bool = False,
    seed: int = 0,
) -> Estimate:
    """The maximiser of l(theta) + bias * V*(state; theta) over the feasible set.

    search="global" looks in every basin it can think of (see `vbmle.solver`), "local" climbs from `start` only
    (by default the interior point). `seed` orders and draws the starts of a global search.
    """
    _require_same(mdp, counts)
    validation.one_of("search", search, SEARCHES)
    state = validation.index("state", state, mdp.num_states)
    objective = goal(
        counts, validation.non_negative("ridge", ridge), validation.non_negative("bias", bias), state
    )
    solver = Solver(mdp, places=1 if search == "local" else POOL, seed=seed)
    if start is not None:
        solver.start(mdp.require_theta(start))
    if search == "local":
        solver.climb(objective)
    else:
        likely = Solver(mdp)
        likely.climb(objective._replace(bias=0.0))
        solver.search(objective, likely.theta)
    if bias == 0.0:
        solver.plan()
    return _estimate(solver, with_value=True)


def _estimate(solver: Solver, with_value: bool) -> Estimate:
    return Estimate(
        solver.theta.copy(),
        solver.objective,
        solver.residual <= CONVERGED,
        solver.residual,
        solver.gap,
        solver.policy.copy() if with_value else None,
        solver.V.copy() if with_value else None,
    )


def _require_same(mdp: LinearMixtureMDP, counts: TransitionCounts) -> None:
    if counts.mdp is not mdp and counts.mdp.fingerprint() != mdp.fingerprint():
        raise ValueError("counts belong to another model; make them with TransitionCounts(mdp) of this one")
