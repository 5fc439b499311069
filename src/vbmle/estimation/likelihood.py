"""Estimation from transition counts: maximum likelihood, and maximum likelihood biased by value.

    l(theta) = sum_(s,a,s') n(s,a,s') log <phi(s'|s,a), theta> - ridge/2 |theta|^2
    f(theta) = l(theta) + bias * V*(state; theta)            equation (10) of the paper, ridge subtracted

Counts are all that the likelihood needs, so nothing here grows with the number of steps taken. l is concave
over the feasible set; f is not, because V* is not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from vbmle.common import showing, validation
from vbmle.common.keeper import Rows, Shown, Value
from vbmle.common.validation import Floats, Ints
from vbmle.core.solver import Objective
from vbmle.estimation.candidates import TIED_OBJECTIVE, CandidateSolver
from vbmle.estimation.counts import TransitionCounts
from vbmle.estimation.maximiser import (
    CERTIFIED,
    CONVERGED,
    POOL,
    Solver,
    make_objective,
    make_solver,
    rounding_of_likelihood,
)
from vbmle.model.mdp import LinearMixtureMDP
from vbmle.model.naming import Names

SEARCHES = ("global", "local")


@dataclass(frozen=True, eq=False, repr=False)
class Estimate(Shown, Value):
    """A maximiser and how good it is, as `maximum_likelihood` and `value_biased` return it.

    Attributes
    ----------
    theta : (d,) array
        The maximiser.
    objective : float
        What was maximised, at theta (nats).
    converged : bool
        Whether `residual` is at most 1e-7.
    residual : float
        The relative KKT residual at theta.
    gap : float
        A bound on the largest `<grad f, v - theta>` of any feasible v: for a concave objective, how far `objective` is
        from its maximum at most; infinite where rounding leaves nothing to be said.
    policy : (S,) integer array, or None
        Optimal for theta, where the objective has a value bias.
    V : (S,) array, or None
        The optimal value at theta, where the objective has a value bias, of the reward in [0, 1] that is planned with.
    upper_bound : float, or None
        What no feasible theta exceeds, where it was asked for (`certify=True`).
    mdp : LinearMixtureMDP, or None
        The model. It knows the units of your reward, in which `value` gives V.

    Examples
    --------
    >>> import vbmle
    >>> mdp = vbmle.worlds.riverswim(features="mixture").mdp
    >>> counts = vbmle.TransitionCounts(mdp)
    >>> for next_state in (2, 2, 2, 1):
    ...     _ = counts.add(1, 1, next_state)
    >>> found = vbmle.maximum_likelihood(mdp, counts, ridge=0)
    >>> found.theta.round(4).tolist(), found.converged
    ([0.75, 0.25, 0.0], True)
    """

    theta: Floats
    objective: float
    converged: bool
    residual: float
    gap: float
    policy: Ints | None = None
    V: Floats | None = None
    upper_bound: float | None = None
    mdp: LinearMixtureMDP | None = None

    @property
    def value(self) -> Floats | None:
        """V in the units of your reward, (S,); None where there is no V."""
        return self.V if self.V is None or self.mdp is None else self.mdp.in_units(self.V)

    def _shown(self) -> Rows:
        names = self.mdp.names if self.mdp is not None else Names()
        ended = f"KKT residual {self.residual:.2g}, " + ("converged" if self.converged else "not converged")
        rows = [
            ("weights", showing.numbers(self.theta, names.models or ())),
            ("objective", showing.number(self.objective)),
            ("solver", ended),
        ]
        if self.upper_bound is not None:
            rows.append(("maximum at most", showing.number(self.upper_bound)))
        if self.policy is not None:
            rows.append(("policy", showing.choices(names.states, names.actions, self.policy)))
        return rows


def log_likelihood(
    mdp: LinearMixtureMDP, counts: TransitionCounts, theta: ArrayLike, ridge: float = 1.0
) -> float:
    """Log-likelihood (nats) minus ridge/2 |theta|^2; minus infinity where an observed transition cannot happen.

    Parameters
    ----------
    mdp : LinearMixtureMDP
        The model.
    counts : TransitionCounts
        What was observed, of the same model.
    theta : (d,) array
        Any theta, feasible or not.
    ridge : float, default 1.0
        lambda of the penalty lambda/2 |theta|^2 that is subtracted from the log-likelihood; at least 0. It matters
        while data are scarce.

    Raises
    ------
    ValueError
        If theta has the wrong shape or the counts belong to another model.

    Examples
    --------
    >>> import vbmle
    >>> world = vbmle.worlds.riverswim(length=6)
    >>> counts = vbmle.TransitionCounts(world.mdp)
    >>> float(vbmle.log_likelihood(world.mdp, counts, world.theta, ridge=0.0))
    0.0
    """
    point = mdp.require_theta(theta)
    _require_same(mdp, counts)
    seen = counts.observed
    p = mdp.transitions.probabilities(point)[seen]
    penalty = 0.5 * validation.non_negative("ridge", ridge) * float(point @ point)
    if (p <= 0.0).any():
        return -np.inf
    return float(counts.values[seen] @ np.log(p)) - penalty


def maximum_likelihood(mdp: LinearMixtureMDP, counts: TransitionCounts, ridge: float = 1.0) -> Estimate:
    """The maximiser of the ridge-penalised log-likelihood over the feasible set: a concave problem.

    Parameters
    ----------
    mdp : LinearMixtureMDP
        The model.
    counts : TransitionCounts
        What was observed, of the same model.
    ridge : float, default 1.0
        lambda of the penalty lambda/2 |theta|^2 that is subtracted from the log-likelihood; at least 0. It matters
        while data are scarce.

    Raises
    ------
    ValueError
        If a setting is out of range; the message names it and what it needs.

    Examples
    --------
    >>> import vbmle
    >>> world = vbmle.worlds.riverswim(length=6)
    >>> counts = vbmle.TransitionCounts(world.mdp)
    >>> vbmle.maximum_likelihood(world.mdp, counts).converged
    True
    """
    _require_same(mdp, counts)
    solver = make_solver(mdp)
    solver.climb(make_objective(counts, validation.non_negative("ridge", ridge)))
    return _estimate(solver, counts, with_value=False)


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

    Parameters
    ----------
    mdp : LinearMixtureMDP
        The model.
    counts : TransitionCounts
        What was observed, of the same model.
    state : int
        The state whose value enters.
    bias : float
        The weight of the value; at least 0.
    ridge : float, default 1.0
        lambda of the penalty lambda/2 |theta|^2 that is subtracted from the log-likelihood; at least 0. It matters
        while data are scarce.
    search : {"global", "local"}, default "global"
        Search all basins it knows of (see `vbmle.estimation.maximiser`), or climb from `start` only.
    start : (d,) array, optional
        Where a climb starts; the interior point by default.
    certify : bool, default False
        Also return `upper_bound`, which no feasible theta exceeds: found by branch and bound where the feasible set
        has few vertices, crude elsewhere (see `vbmle.estimation.certificate`).
    seed : int, default 0
        Orders and draws the starts of a global search.

    Raises
    ------
    ValueError
        If a setting is out of range; the message names it and what it needs.

    Examples
    --------
    >>> import vbmle
    >>> world = vbmle.worlds.riverswim(length=6)
    >>> river = vbmle.worlds.riverswim(length=6, features="mixture").mdp
    >>> found = vbmle.value_biased(river, vbmle.TransitionCounts(river), state=0, bias=1.0, certify=True)
    >>> found.converged, found.upper_bound >= found.objective
    (True, True)
    """
    _require_same(mdp, counts)
    validation.one_of("search", search, SEARCHES)
    state = validation.index("state", state, mdp.num_states)
    objective = make_objective(
        counts, validation.non_negative("ridge", ridge), validation.non_negative("bias", bias), state
    )
    seed = validation.index("seed", seed, 2**63)
    solver = make_solver(mdp, places=1 if search == "local" else POOL, seed=seed)
    if start is not None:
        solver.start(mdp.require_theta(start))
    if search == "local":
        solver.climb(objective)
    else:
        solver.search(objective)
    bound = prove(solver, objective, counts) if certify else None
    if bias == 0.0:
        solver.plan()
    return _estimate(solver, counts, with_value=True, upper_bound=bound)


def prove(solver: Solver | CandidateSolver, objective: Objective, counts: TransitionCounts) -> float:
    """A bound on the maximum, rounding counted; where the search meets a better point, the solver moves there."""
    from vbmle.estimation.certificate import upper_bound

    if isinstance(solver, CandidateSolver):
        return solver.objective + TIED_OBJECTIVE * (
            1.0 + abs(solver.objective)
        )  # all were looked at; near ties keep the last
    likely = Solver(solver.mdp)
    likely.climb(objective.replaced(bias=0.0))
    concave = likely.objective + max(likely.gap, 0.0) + rounding_of_likelihood(counts, likely.theta)
    if objective.bias == 0.0:
        return max(concave, solver.objective)
    tolerance = CERTIFIED * (1.0 + abs(solver.objective))
    bound, better = upper_bound(solver.mdp, objective, solver.objective, concave, tolerance)
    if better is not None:
        solver.add(objective, better)
    return max(bound, solver.objective) + rounding_of_likelihood(counts, solver.theta)


def _estimate(
    solver: Solver | CandidateSolver,
    counts: TransitionCounts,
    with_value: bool,
    upper_bound: float | None = None,
) -> Estimate:
    return Estimate(
        solver.theta.copy(),
        solver.objective,
        solver.residual <= CONVERGED,
        solver.residual,
        solver.gap + rounding_of_likelihood(counts, solver.theta),
        solver.policy.copy() if with_value else None,
        solver.V.copy() if with_value else None,
        upper_bound,
        counts.mdp,
    )


def _require_same(mdp: LinearMixtureMDP, counts: TransitionCounts) -> None:
    if counts.mdp is not mdp and counts.mdp.fingerprint() != mdp.fingerprint():
        raise ValueError("counts belong to another model; make them with TransitionCounts(mdp) of this one")
