"""The core's planners: on a model, again and again, and once for a model that is fully known."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vbmle.core.generated import vb_known_model, vb_known_plan, vb_planner_view
from vbmle.core.library import (
    REFUSED,
    Floats,
    Handle,
    Ints,
    address,
    check,
    floats,
    ints,
    lib,
    short_ints,
    shown,
)
from vbmle.core.model import Model

MOST_SWEEPS = 10_000_000
_INT = np.dtype(np.int64)
_optimal, _evaluate = lib.vb_planner_optimal, lib.vb_planner_evaluate


def sweep_precision(discount: float) -> float:
    """The error of values and visits where sweeps compute them for agents."""
    return float(lib.vb_sweep_precision(discount))


def rounding(discount: float, largest_reward: float = 1.0) -> float:
    """The error of V below which sweeps can promise nothing."""
    return float(lib.vb_rounding_of_values(discount, largest_reward))


class Planner:
    """Planning on a model: `put` theta or p, a policy and V, call, look at the arrays.

    By dense factors, or by sweeps. `error` bounds the error of V after each call that finds one.
    """

    def __init__(self, model: Model, factors: bool) -> None:
        self.model = model
        self._handle = handle = Handle("planner", model, model.handle, int(factors))
        self.handle = handle.address
        states, dimension = (model.num_states,), (model.dimension,)
        at = handle.arrays(
            handle.look(vb_planner_view()),
            theta=dimension,
            p=(model.num_transitions,),
            policy=states,
            V=states,
            next=states,
            Q=(model.num_states, model.num_actions),
            visits=states,
            gradient=dimension,
            error=(),
            change=(2,),
        )
        self.theta, self.p, self.policy, self.V = (shown(at[n]) for n in ("theta", "p", "policy", "V"))
        self.next, self.Q, self.visits = (shown(at[name]) for name in ("next", "Q", "visits"))
        self.gradient, self.change = shown(at["gradient"]), shown(at["change"])
        self._inputs = {name: at[name] for name in ("theta", "p", "policy", "V")}
        self._error = at["error"].item

    def put(self, **given: Any) -> None:
        """Write theta, p, policy or V: where the next call begins."""
        for name, values in given.items():
            self._inputs[name][...] = values

    @property
    def error(self) -> float:
        """What bounds the error of V."""
        return float(self._error())

    def assemble(self) -> None:
        """p at theta."""
        check(lib.vb_planner_assemble(self.handle))

    def optimal(self) -> float:
        """V* and its policy at p, from the current policy (by sweeps, and V); returns the error of V."""
        check(_optimal(self.handle))
        return float(self._error())

    def iterate(self, tolerance: float, most_sweeps: int = MOST_SWEEPS) -> float:
        """The same by sweeps to a tolerance."""
        check(lib.vb_planner_iterate(self.handle, tolerance, most_sweeps))
        return float(self._error())

    def evaluate(self) -> float:
        """V of the current policy."""
        check(_evaluate(self.handle))
        return float(self._error())

    def evaluate_to(self, tolerance: float, most_sweeps: int = MOST_SWEEPS) -> float:
        """The same by sweeps from V on, to a tolerance."""
        check(lib.vb_planner_evaluate_to(self.handle, tolerance, most_sweeps))
        return float(self._error())

    def sweep(self) -> None:
        """next = T V, with the greedy policy, Q and `change`."""
        check(lib.vb_planner_sweep(self.handle))

    def settle(self) -> None:
        """Q for V, and the lowest of the best actions as policy."""
        check(lib.vb_planner_settle(self.handle))

    def visit_from(self, state: int) -> Floats:
        """The discounted visits under the policy, from a state on."""
        check(lib.vb_planner_visits(self.handle, state))
        return self.visits

    def solve(self, X: Floats, accuracy: float) -> None:
        """Every column of X, (S, any), becomes (I - gamma P_pi)^{-1} x."""
        check(
            lib.vb_planner_solve(
                self.handle, floats(X, self.model.num_states, X.shape[1]), X.shape[1], accuracy
            )
        )

    def floor(self, state: int) -> None:
        """p at theta, V* from the current policy and its gradient: the least any method must do."""
        check(lib.vb_planner_floor(self.handle, state))

    def broken_pair(self) -> int:
        """The first pair whose p is not a probability distribution, or -1."""
        return int(lib.vb_planner_broken_pair(self.handle))


class KnownPlan(NamedTuple):
    """V (S,), Q (S, A), policy (S,), and what bounds the error of V; or the first pair that is not a distribution.

    `least_reward` is minus infinity where an action is not allowed.
    """

    V: Floats
    Q: Floats
    policy: Ints
    error_bound: float
    broken_pair: int
    least_reward: float


def plan_dense(P: Floats, reward: Floats, discount: float, tolerance: float) -> KnownPlan:
    """For P (S, A, S) and reward (S, A), both contiguous."""
    states, actions = reward.shape
    known = vb_known_model(states, actions, discount, floats(reward), floats(P, states, actions, states))
    return _plan(known, states, actions, tolerance)


def plan_sparse(
    pattern: tuple[NDArray[Any], NDArray[Any]], p: Floats, reward: Floats, discount: float, tolerance: float
) -> KnownPlan:
    """For a pattern (pair_begin (S*A + 1,), successor (n,)), both int32 or both int64, p (n,) and reward (S, A)."""
    begin, successor = pattern
    states, actions = reward.shape
    address = short_ints if begin.dtype == np.int32 else ints
    where = address(begin, states * actions + 1), address(successor, len(p))
    known = vb_known_model(
        states, actions, discount, floats(reward), None, len(p), *where, begin.itemsize, floats(p)
    )
    return _plan(known, states, actions, tolerance)


def _plan(known: vb_known_model, states: int, actions: int, tolerance: float) -> KnownPlan:
    V, Q, policy = np.empty(states), np.empty((states, actions)), np.empty(states, _INT)
    plan = vb_known_plan(address(V), address(Q), address(policy))
    status = lib.vb_plan_known(known, tolerance, plan)
    if status >= REFUSED and plan.broken_pair < 0:
        check(status)
    return KnownPlan(V, Q, policy, plan.error_bound, plan.broken_pair, plan.least_reward)
