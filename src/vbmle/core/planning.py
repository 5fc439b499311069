"""The core's planner."""

from __future__ import annotations

from ctypes import POINTER, byref, c_double, c_int32, c_int64, c_void_p

from vbmle.core.handle import Handle
from vbmle.core.library import check, declare
from vbmle.core.memory import Floats, Ints, floats, ints
from vbmle.core.model import Model

_D = POINTER(c_double)
_new = declare("vb_planner_new", c_int32, c_void_p, c_int32, POINTER(c_void_p))
_free = declare("vb_planner_free", None, c_void_p)
_optimal_at = declare("vb_planner_optimal_at", c_int32, c_void_p, c_void_p, c_void_p, c_void_p, _D)
_iterate = declare(
    "vb_planner_iterate", c_int32, c_void_p, c_void_p, c_double, c_int64, c_void_p, c_void_p, _D
)
_evaluate = declare("vb_planner_evaluate", c_int32, c_void_p, c_void_p, c_void_p, c_void_p)
_sweep = declare("vb_planner_sweep", c_int32, c_void_p, c_void_p, c_void_p, c_void_p, c_void_p, c_void_p)
_gradient = declare("vb_planner_gradient", c_int32, c_void_p, c_void_p, c_int64, c_void_p, c_void_p, c_void_p)


class Planner:
    """Plans again and again for one model."""

    def __init__(self, model: Model, factors: bool) -> None:
        self._owner = Handle(_new, _free, model, model.handle, int(factors))
        self.handle, self._error, self._range = self._owner.address, c_double(), (c_double * 2)()

    def optimal_at(self, theta: Floats, policy: Ints, V: Floats) -> float:
        check(_optimal_at(self.handle, floats(theta), ints(policy), floats(V), byref(self._error)))
        return self._error.value

    def iterate(self, p: Floats, tolerance: float, most: int, policy: Ints, V: Floats) -> float:
        check(_iterate(self.handle, floats(p), tolerance, most, ints(policy), floats(V), byref(self._error)))
        return self._error.value

    def evaluate(self, p: Floats, policy: Ints, V: Floats) -> None:
        check(_evaluate(self.handle, floats(p), ints(policy), floats(V)))

    def sweep(self, p: Floats, V: Floats, out: Floats, policy: Ints) -> tuple[float, float]:
        check(_sweep(self.handle, floats(p), floats(V), floats(out), ints(policy), self._range))
        return self._range[0], self._range[1]

    def gradient(self, theta: Floats, state: int, policy: Ints, V: Floats, g: Floats) -> None:
        check(_gradient(self.handle, floats(theta), state, ints(policy), floats(V), floats(g)))
