"""The core's planners: on a model, again and again, and once for a model that is fully known."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, byref, c_double, c_int32, c_int64, c_void_p
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vbmle.core.handle import Handle
from vbmle.core.library import REFUSED, check, declare
from vbmle.core.memory import Floats, Ints, address, floats, ints, short_ints, view
from vbmle.core.model import Model

MOST_SWEEPS = 10_000_000
_INT = np.dtype(np.int64)
_ARRAYS = ("theta", "p", "policy", "V", "next", "Q", "visits", "gradient", "error", "change")


class _Arrays(ctypes.Structure):
    _fields_ = tuple((name, c_void_p) for name in _ARRAYS)


_new = declare("vb_planner_new", c_int32, c_void_p, c_int32, POINTER(c_void_p))
_free = declare("vb_planner_free", None, c_void_p)
_look = declare("vb_planner_look", c_int32, c_void_p, POINTER(_Arrays))
_assemble, _optimal, _evaluate, _sweep, _settle = (
    declare(f"vb_planner_{name}", c_int32, c_void_p)
    for name in ("assemble", "optimal", "evaluate", "sweep", "settle")
)
_iterate = declare("vb_planner_iterate", c_int32, c_void_p, c_double, c_int64)
_evaluate_to = declare("vb_planner_evaluate_to", c_int32, c_void_p, c_double, c_int64)
_visits = declare("vb_planner_visits", c_int32, c_void_p, c_int64)
_solve = declare("vb_planner_solve", c_int32, c_void_p, c_void_p, c_int64, c_double)
_floor = declare("vb_planner_floor", c_int32, c_void_p, c_int64)
_broken_pair = declare("vb_planner_broken_pair", c_int64, c_void_p)
_precision = declare("vb_sweep_precision", c_double, c_double)
_rounding = declare("vb_rounding_of_values", c_double, c_double, c_double)


def sweep_precision(discount: float) -> float:
    """The error of values and visits where sweeps compute them for agents."""
    return float(_precision(discount))


def rounding(discount: float, largest_reward: float = 1.0) -> float:
    """The error of V below which sweeps can promise nothing."""
    return float(_rounding(discount, largest_reward))


class Planner:
    """Planning on a model: write `theta` or `p`, `policy` and `V`, call, read the arrays.

    By dense factors, or by sweeps. `error` bounds the error of V after each call that finds one.
    """

    def __init__(self, model: Model, factors: bool) -> None:
        owner = Handle(_new, _free, model, model.handle, int(factors))
        self.model, self._owner, self.handle = model, owner, owner.address
        arrays, states, dimension = _Arrays(), model.num_states, model.dimension
        check(_look(self.handle, byref(arrays)))

        def of(name: str, kind: Any, *shape: int) -> NDArray[Any]:
            return view(owner, getattr(arrays, name), kind, shape)

        self.theta: Floats = of("theta", np.float64, dimension)
        self.p: Floats = of("p", np.float64, model.num_transitions)
        self.policy: Ints = of("policy", np.int64, states)
        self.V: Floats = of("V", np.float64, states)
        self.next: Floats = of("next", np.float64, states)
        self.Q: Floats = of("Q", np.float64, states, model.num_actions)
        self.visits: Floats = of("visits", np.float64, states)
        self.gradient: Floats = of("gradient", np.float64, dimension)
        self._error: Floats = of("error", np.float64, 1)
        self.change: Floats = of("change", np.float64, 2)

    @property
    def error(self) -> float:
        """What bounds the error of V."""
        return float(self._error[0])

    def assemble(self) -> None:
        """p at theta."""
        check(_assemble(self.handle))

    def optimal(self) -> float:
        """V* and its policy at p, from the current policy (by sweeps, and V); returns the error of V."""
        check(_optimal(self.handle))
        return float(self._error[0])

    def iterate(self, tolerance: float, most_sweeps: int = MOST_SWEEPS) -> float:
        """The same by sweeps to a tolerance."""
        check(_iterate(self.handle, tolerance, most_sweeps))
        return float(self._error[0])

    def evaluate(self) -> float:
        """V of the current policy."""
        check(_evaluate(self.handle))
        return float(self._error[0])

    def evaluate_to(self, tolerance: float, most_sweeps: int = MOST_SWEEPS) -> float:
        """The same by sweeps from V on, to a tolerance."""
        check(_evaluate_to(self.handle, tolerance, most_sweeps))
        return float(self._error[0])

    def sweep(self) -> None:
        """next = T V, with the greedy policy, Q and `change`."""
        check(_sweep(self.handle))

    def settle(self) -> None:
        """Q for V, and the lowest of the best actions as policy."""
        check(_settle(self.handle))

    def visit_from(self, state: int) -> Floats:
        """The discounted visits under the policy, from a state on."""
        check(_visits(self.handle, state))
        return self.visits

    def solve(self, X: Floats, accuracy: float) -> None:
        """Every column of X, (S, any), becomes (I - gamma P_pi)^{-1} x."""
        check(_solve(self.handle, floats(X, self.model.num_states, X.shape[1]), X.shape[1], accuracy))

    def floor(self, state: int) -> None:
        """p at theta, V* from the current policy and its gradient: the least any method must do."""
        check(_floor(self.handle, state))

    def broken_pair(self) -> int:
        """The first pair whose p is not a probability distribution, or -1."""
        return int(_broken_pair(self.handle))


class _Known(ctypes.Structure):
    _fields_ = (
        ("num_states", c_int64),
        ("num_actions", c_int64),
        ("discount", c_double),
        ("reward", c_void_p),
        ("P", c_void_p),
        ("num_transitions", c_int64),
        ("pair_begin", c_void_p),
        ("successor", c_void_p),
        ("index_bytes", c_int64),
        ("p", c_void_p),
    )


class _Plan(ctypes.Structure):
    _fields_ = (
        ("V", c_void_p),
        ("Q", c_void_p),
        ("policy", c_void_p),
        ("error_bound", c_double),
        ("broken_pair", c_int64),
        ("least_reward", c_double),
    )


_plan_known = declare("vb_plan_known", c_int32, POINTER(_Known), c_double, POINTER(_Plan))


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
    known = _Known(states, actions, discount, floats(reward), floats(P, states, actions, states))
    return _plan(known, states, actions, tolerance)


def plan_sparse(
    pattern: tuple[NDArray[Any], NDArray[Any]], p: Floats, reward: Floats, discount: float, tolerance: float
) -> KnownPlan:
    """For a pattern (pair_begin (S*A + 1,), successor (n,)), both int32 or both int64, p (n,) and reward (S, A)."""
    begin, successor = pattern
    states, actions = reward.shape
    address = short_ints if begin.dtype == np.int32 else ints
    where = address(begin, states * actions + 1), address(successor, len(p))
    known = _Known(states, actions, discount, floats(reward), None, len(p), *where, begin.itemsize, floats(p))
    return _plan(known, states, actions, tolerance)


def _plan(known: _Known, states: int, actions: int, tolerance: float) -> KnownPlan:
    V, Q, policy = np.empty(states), np.empty((states, actions)), np.empty(states, _INT)
    plan = _Plan(address(V), address(Q), address(policy))
    status = _plan_known(byref(known), tolerance, byref(plan))
    if status >= REFUSED and plan.broken_pair < 0:
        check(status)
    return KnownPlan(V, Q, policy, plan.error_bound, plan.broken_pair, plan.least_reward)
