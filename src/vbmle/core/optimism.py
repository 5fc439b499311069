"""Optimistic plans: the best policy in the best model of a confidence set, by ellipsoids or by L1 balls."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import POINTER, byref, c_double, c_int32, c_int64, c_void_p
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from vbmle.core.library import check, declare
from vbmle.core.memory import Floats, Ints, floats, view
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

    Views of the core's memory: V, policy, theta (of P, nearest to the estimate) and p (of the models chosen). `last`
    says how the last plan ended.
    """

    def __init__(self, model: Model, factors: bool) -> None:
        self._model = model
        handle, seen = c_void_p(), _OptimistView()
        self.handle: int | None = None
        check(_new(model.handle, int(factors), byref(handle)))
        self.handle = handle.value
        check(_get_view(self.handle, byref(seen)))
        self._pairs = model.num_states * model.num_actions
        self._free, self._ellipsoids = int(seen.most_free), 1
        self.V: Floats = view(self, seen.V, np.float64, (model.num_states,))
        self.policy: Ints = view(self, seen.policy, np.int64, (model.num_states,))
        self.theta: Floats = view(self, seen.theta, np.float64, (model.dimension,))
        self.p: Floats = view(self, seen.p, np.float64, (model.num_transitions,))
        self._tight: Ints = view(self, seen.tight, np.int64, (self._pairs,))
        self._chosen: Floats = view(self, seen.chosen, np.float64, (self._pairs, self._free))
        self._plan_address = int(seen.plan)

    def __del__(self) -> None:
        if getattr(self, "handle", None):
            _free(self.handle)
