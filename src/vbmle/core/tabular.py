"""The core's solver for reward-biased maximum likelihood with one distribution per (s, a)."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, byref, c_double, c_int32, c_int64, c_void_p

import numpy as np

from vbmle.core.handle import Handle
from vbmle.core.library import check, declare
from vbmle.core.memory import Floats, Ints, floats, view
from vbmle.core.model import Model


class _Task(ctypes.Structure):
    """`vb_rows_task` of vbmle.h."""

    _fields_ = (
        ("counts", c_void_p),
        ("visits", c_void_p),
        ("bias", c_double),
        ("state", c_int64),
        ("tolerance", c_double),
        ("limit", c_int64),
    )


class _Result(ctypes.Structure):
    """`vb_rows_result` of vbmle.h."""

    _fields_ = (("objective", c_double), ("gap", c_double))


_new = declare("vb_rows_new", c_int32, c_void_p, c_int32, POINTER(c_void_p))
_free = declare("vb_rows_free", None, c_void_p)
_look = declare("vb_rows_look", c_int32, c_void_p, POINTER(c_void_p), POINTER(c_void_p))
_solve = declare("vb_rows_solve", c_int32, c_void_p, POINTER(_Task), POINTER(_Result))


class RewardBiasedRows:
    """The model in force: `p` of each possible transition, and the `policy` that is optimal for it, as views.

    factors: evaluate policies by dense (S, S) factors, else by sweeps. At first p is uniform.
    """

    def __init__(self, model: Model, factors: bool, tolerance: float = 1e-12, limit: int = 1000) -> None:
        self.model, p, policy = model, c_void_p(), c_void_p()
        self.handle = handle = Handle(_new, _free, model, model.handle, int(factors))
        check(_look(handle.address, byref(p), byref(policy)))
        self.p: Floats = view(handle, p.value or 0, np.float64, (model.num_transitions,))
        self.policy: Ints = view(handle, policy.value or 0, np.int64, (model.num_states,))
        self._task, self._result = _Task(tolerance=tolerance, limit=limit), _Result()

    def solve(self, counts: Floats, visits: Floats, bias: float, state: int) -> tuple[float, float]:
        """Move p and policy to a fixed point; the objective there, and what its linearised form may still gain."""
        model, task, result = self.model, self._task, self._result
        task.counts = floats(counts, model.num_transitions)
        task.visits = floats(visits, model.num_states * model.num_actions)
        task.bias, task.state = bias, state
        check(_solve(self.handle.address, byref(task), byref(result)))
        return float(result.objective), float(result.gap)
