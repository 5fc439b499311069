"""Optimistic plans: the best policy in the best model of a confidence set, by ellipsoids or by L1 balls."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import POINTER, byref, c_double, c_int32, c_int64, c_void_p
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from vbmle.core.handle import Handle
from vbmle.core.library import check, declare
from vbmle.core.memory import Floats, Ints, Remembered, floats, view
from vbmle.core.model import Model


class EllipsoidLike(Protocol):
    """{theta: |theta - estimate| in the norm of Sigma <= radius}; Sigma block by block."""

    @property
    def sigma(self) -> Floats: ...
    @property
    def estimate(self) -> Floats: ...
    @property
    def radius(self) -> float: ...


class _Ellipsoid(ctypes.Structure):
    """`vb_ellipsoid`."""

    _fields_ = (("sigma", c_void_p), ("estimate", c_void_p), ("radius", c_double))


LAST_STATUS = 7  # of those that say how a plan ended


class OptimisticPlan(ctypes.Structure):
    """`vb_optimistic_plan`: how a plan ended."""

    error_bound: float
    gap: float
    missed: float
    rounds: int
    status: int
    inner: int
    empty: int

    _fields_ = (
        ("error_bound", c_double),
        ("gap", c_double),
        ("missed", c_double),
        ("rounds", c_int64),
        ("status", c_int32),
        ("inner", c_int32),
        ("empty", c_int64),
    )


class _OptimistView(ctypes.Structure):
    """`vb_optimist_view`."""

    _fields_ = (
        ("num_squares", c_int64),
        ("most_free", c_int64),
        ("V", c_void_p),
        ("policy", c_void_p),
        ("theta", c_void_p),
        ("p", c_void_p),
        ("tight", c_void_p),
        ("chosen", c_void_p),
        ("plan", c_void_p),
    )


class _WarmStartView(ctypes.Structure):
    """`vb_warm_start_view`."""

    _fields_ = (("s", c_void_p), ("num_active", c_void_p), ("active", c_void_p), ("y", c_void_p))


class _L1OptimistView(ctypes.Structure):
    """`vb_l1_optimist_view`."""

    _fields_ = (("V", c_void_p), ("policy", c_void_p), ("error_bound", c_void_p))


_new = declare("vb_optimist_new", c_int32, c_void_p, c_int32, POINTER(c_void_p))
_free = declare("vb_optimist_free", None, c_void_p)
_get_view = declare("vb_optimist_get_view", c_int32, c_void_p, POINTER(_OptimistView))
_grow = declare("vb_optimist_grow", c_int32, c_void_p, c_int64)
_get_warm_start = declare("vb_optimist_get_warm_start", c_int32, c_void_p, c_int64, POINTER(_WarmStartView))
_plan = declare("vb_optimist_plan", c_int32, c_void_p, POINTER(_Ellipsoid), c_int64, c_double, c_int64)
_thetas = declare("vb_optimist_thetas", c_int32, c_void_p, c_void_p)
_l1_new = declare("vb_l1_optimist_new", c_int32, c_void_p, POINTER(c_void_p))
_l1_free = declare("vb_l1_optimist_free", None, c_void_p)
_l1_get_view = declare("vb_l1_optimist_get_view", c_int32, c_void_p, POINTER(_L1OptimistView))
_l1_plan = declare("vb_l1_optimist_plan", c_int32, c_void_p, c_void_p, c_void_p, c_double, c_int64)


class Optimist:
    """Plans optimistically again and again, each time from where the last plan ended.

    Views of the core's memory, which stay current: V, policy, theta (of P, nearest to the estimate) and p (of the
    models chosen). `last` says how the last plan ended.
    """

    def __init__(self, model: Model, factors: bool) -> None:
        self._handle = Handle(_new, _free, model, model.handle, int(factors))
        self._address = self._handle.address
        seen = _OptimistView()
        check(_get_view(self._address, byref(seen)))
        pairs = model.num_states * model.num_actions
        self._ellipsoids, self._dimension = 1, model.dimension
        self._sigmas, self._squares = [Remembered(int(seen.num_squares))], int(seen.num_squares)
        self._given = (_Ellipsoid * 1)()
        self._shape = (model.num_states, model.num_actions, int(seen.most_free))
        self.V: Floats = view(self._handle, seen.V, np.float64, (model.num_states,))
        self.policy: Ints = view(self._handle, seen.policy, np.int64, (model.num_states,))
        self.theta: Floats = view(self._handle, seen.theta, np.float64, (model.dimension,))
        self.p: Floats = view(self._handle, seen.p, np.float64, (model.num_transitions,))
        self._tight: Ints = view(self._handle, seen.tight, np.int64, (pairs,))
        self._chosen: Floats = view(self._handle, seen.chosen, np.float64, (pairs, int(seen.most_free)))
        self._last = OptimisticPlan.from_address(seen.plan)

    @property
    def last(self) -> OptimisticPlan:
        """How the last plan ended; a copy."""
        return OptimisticPlan.from_buffer_copy(self._last)

    @property
    def error_bound(self) -> float:
        """Of V, against the best value of all models in the set."""
        return float(self._last.error_bound)

    @property
    def empty(self) -> bool:
        """Whether no theta of P lay within some radius."""
        return bool(self._last.empty)

    def plan(self, sets: Sequence[EllipsoidLike], tolerance: float, sweeps: int | None = None) -> None:
        """Plan for the theta that all sets share; by `sweeps` sweeps where they are given, else to the tolerance."""
        count = len(sets)
        while len(self._sigmas) < count:
            self._sigmas.append(Remembered(self._squares))
        if len(self._given) < count:
            self._given = (_Ellipsoid * count)()
        for given, sigma, one in zip(self._given, self._sigmas, sets, strict=False):
            given.sigma, given.radius = sigma.of(one.sigma), one.radius
            given.estimate = floats(one.estimate, self._dimension)
        status = _plan(self._address, self._given, count, tolerance, sweeps or 0)
        check(status)
        self._ellipsoids = max(self._ellipsoids, count)

    def thetas(self) -> Floats:
        """The theta chosen for every (s, a), (S, A, d)."""
        out = np.empty((*self._shape[:2], self._dimension))
        check(_thetas(self._address, floats(out)))
        return out

    def warm(self) -> list[dict[str, NDArray[Any]]]:
        """Views of what the last problem of every pair ended with, ellipsoid by ellipsoid."""
        states, actions, free = self._shape
        pairs, found = states * actions, []
        kinds: dict[str, tuple[Any, tuple[int, ...]]] = {
            "s": (np.float64, (pairs,)),
            "num_active": (np.int64, (pairs,)),
            "active": (np.int64, (pairs, free)),
            "y": (np.float64, (pairs, free)),
        }
        for number in range(self._ellipsoids):
            seen = _WarmStartView()
            check(_get_warm_start(self._address, number, byref(seen)))
            found.append({name: view(self._handle, getattr(seen, name), *kinds[name]) for name in kinds})
        return found

    def snapshot(self) -> dict[str, NDArray[Any]]:
        """What `restore` continues from: copies."""
        warm = self.warm()
        kept = {f"warm.{name}": np.stack([one[name] for one in warm]) for name in warm[0]}
        kept |= {"warm.tight": self._tight.copy(), "warm.chosen": self._chosen.copy()}
        kept |= {"V": self.V.copy(), "policy": self.policy.copy(), "theta": self.theta.copy()}
        ended = [float(getattr(self._last, name)) for name, _ in OptimisticPlan._fields_]
        return kept | {"ended": np.array(ended)}

    def restore(self, snapshot: dict[str, NDArray[Any]]) -> None:
        """Continue from a snapshot."""
        self._ellipsoids = max(self._ellipsoids, len(snapshot["warm.s"]))
        check(_grow(self._address, self._ellipsoids))
        for number, one in enumerate(self.warm()[: len(snapshot["warm.s"])]):
            for name, array in one.items():
                array[...] = snapshot[f"warm.{name}"][number]
        self._tight[...], self._chosen[...] = snapshot["warm.tight"], snapshot["warm.chosen"]
        self.V[...], self.policy[...], self.theta[...] = snapshot["V"], snapshot["policy"], snapshot["theta"]
        for (name, kind), value in zip(OptimisticPlan._fields_, snapshot["ended"].tolist(), strict=True):
            setattr(self._last, name, value if kind is c_double else int(value))


class L1Optimist:
    """Plans for the best model within L1 balls around frequencies (UCRL2); V and policy are views."""

    def __init__(self, model: Model) -> None:
        self._handle = Handle(_l1_new, _l1_free, model, model.handle)
        self._address = self._handle.address
        seen = _L1OptimistView()
        check(_l1_get_view(self._address, byref(seen)))
        self._pairs, self._transitions = model.num_states * model.num_actions, model.num_transitions
        self.V: Floats = view(self._handle, seen.V, np.float64, (model.num_states,))
        self.policy: Ints = view(self._handle, seen.policy, np.int64, (model.num_states,))
        self._error: Floats = view(self._handle, seen.error_bound, np.float64, (1,))

    @property
    def error_bound(self) -> float:
        """Of V, against the best value of all models in the balls."""
        return float(self._error[0])

    def plan(self, estimate: Floats, radius: Floats, tolerance: float, most_sweeps: int = 10_000_000) -> bool:
        """Plan from 1/(1-gamma) to the tolerance; whether it was reached."""
        given = floats(estimate, self._transitions), floats(radius, self._pairs)
        status = _l1_plan(self._address, *given, tolerance, most_sweeps)
        check(status)
        return bool(status == 0)
