"""Estimation from transition counts: maximum likelihood, and maximum likelihood biased by value.

    l(theta) = sum_(s,a,s') n(s,a,s') log <phi(s'|s,a), theta> - ridge/2 |theta|^2
    f(theta) = l(theta) + bias * V*(state; theta)            equation (7) of the paper, ridge subtracted

Counts are all that the likelihood needs, so nothing here grows with the number of steps taken. l is concave
over the feasible set; f is not, because V* is not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vbmle import validation
from vbmle.kernels.layout import Objective
from vbmle.model import LinearMixtureMDP
from vbmle.planning import DENSE_STATES
from vbmle.validation import Floats, Ints

CONVERGED = 1e-7
"""The relative KKT residual up to which an estimate counts as converged."""

MAX_ITERATIONS = 300


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
        if not (0 <= state < mdp.num_states and 0 <= action < mdp.num_actions and 0 <= next_state < mdp.num_states):
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


class Ascent:
    """A solver that keeps its point, policy and active rows from one solve to the next.

    `climb` goes from where it stands (or from a given theta) to a KKT point of the objective, never downhill.
    """

    def __init__(self, mdp: LinearMixtureMDP) -> None:
        self.mdp, self._domain = mdp, mdp.flat_domain
        states = mdp.num_states
        factors = states if states <= DENSE_STATES else 0
        self.y = np.zeros(int(self._domain.free_ptr[-1]))
        self.theta = mdp.polytope.interior.copy()
        self.policy = np.zeros(states, np.int64)
        self.V = np.zeros(states)
        self.active = np.zeros(len(self.y), np.int64)
        self.active_count = np.zeros(len(self._domain.diameter), np.int64)
        self._p = np.empty(mdp.transitions.count)
        self._lu = np.empty((factors, factors))
        self.objective, self.residual, self.gap, self.iterations = 0.0, np.inf, np.inf, 0

    def start(self, theta: Floats) -> None:
        """Stand at theta, moved inside the feasible set where it is outside."""
        from vbmle.kernels.ascent import place

        place(self._domain, theta, self.y)
        self.active_count[:] = 0

    def climb(self, goal: Objective, max_iterations: int = MAX_ITERATIONS) -> None:
        """Go up to a KKT point of the goal."""
        from vbmle.kernels.ascent import ascend

        self.objective, self.residual, self.gap, self.iterations = ascend(
            self.mdp.flat,
            self._domain,
            goal,
            self.y,
            self.theta,
            self._p,
            self.policy,
            self._lu,
            self.V,
            self.active,
            self.active_count,
            max_iterations,
        )

    def plan(self) -> None:
        """Set policy and V to the optimal ones at theta, starting from the policy at hand."""
        from vbmle.kernels.objective import plan_at

        plan_at(self.mdp.flat, self.theta, self._p, self.policy, self._lu, self.V)

    def state(self) -> dict[str, NDArray[Any]]:
        """What the next solve depends on, to be continued exactly by `restore`."""
        names = ("y", "theta", "policy", "V", "active", "active_count")
        return {f"ascent.{name}": getattr(self, name) for name in names}

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        """Continue from a `state`."""
        for name in self.state():
            getattr(self, name.removeprefix("ascent."))[...] = state[name]

    def estimate(self, with_value: bool) -> Estimate:
        """A copy of where it stands."""
        return Estimate(
            self.theta.copy(),
            float(self.objective),
            bool(self.residual <= CONVERGED),
            float(self.residual),
            float(self.gap),
            self.policy.copy() if with_value else None,
            self.V.copy() if with_value else None,
        )


NOTHING = np.zeros(0)


def goal(
    counts: TransitionCounts, ridge: float, bias: float = 0.0, state: int = 0, linear: Floats = NOTHING
) -> Objective:
    """The objective as the kernels see it."""
    return Objective(counts.values, counts.observed, counts.num_observed, linear, ridge, bias, state)


def log_likelihood(mdp: LinearMixtureMDP, counts: TransitionCounts, theta: ArrayLike, ridge: float = 1.0) -> float:
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
    solver = Ascent(mdp)
    solver.climb(goal(counts, validation.non_negative("ridge", ridge)))
    return solver.estimate(with_value=False)


def value_biased(
    mdp: LinearMixtureMDP,
    counts: TransitionCounts,
    state: int,
    bias: float,
    ridge: float = 1.0,
    start: ArrayLike | None = None,
) -> Estimate:
    """A maximiser of l(theta) + bias * V*(state; theta) over the feasible set."""
    _require_same(mdp, counts)
    state = validation.index("state", state, mdp.num_states)
    bias = validation.non_negative("bias", bias)
    solver = Ascent(mdp)
    if start is not None:
        solver.start(mdp.require_theta(start))
    solver.climb(goal(counts, validation.non_negative("ridge", ridge), bias, state))
    return solver.estimate(with_value=True)


def _require_same(mdp: LinearMixtureMDP, counts: TransitionCounts) -> None:
    if counts.mdp is not mdp and counts.mdp.fingerprint() != mdp.fingerprint():
        raise ValueError("counts belong to another model; make them with TransitionCounts(mdp) of this one")
