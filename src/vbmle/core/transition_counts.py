"""The core's handle on transition counts."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, byref, c_int32, c_int64, c_void_p

import numpy as np
from numpy.typing import NDArray

from vbmle.core.handle import Handle
from vbmle.core.library import check, declare
from vbmle.core.memory import Floats, Ints, floats, ints, shown, view
from vbmle.core.model import Model

BAD_STATE, BAD_ACTION, BAD_NEXT_STATE, IMPOSSIBLE, BAD_TIMES = -1, -2, -3, -4, -5


class _Fields(ctypes.Structure):
    _fields_ = (("values", c_void_p), ("observed", c_void_p), ("num_observed", c_int64), ("total", c_int64))


_new = declare("vb_counts_new", c_int32, c_void_p, c_void_p, POINTER(c_void_p))
_free = declare("vb_counts_free", None, c_void_p)
_add = declare("vb_counts_add", c_int64, c_void_p, c_int64, c_int64, c_int64, c_int64)
_load = declare("vb_counts_load", c_int32, c_void_p, c_void_p, c_void_p, c_int64)
_look = declare("vb_counts_fields", c_int32, c_void_p, POINTER(_Fields))


class Counts:
    """n(s, a, s') by transition. `values` and `observed` are views that stay current, to look at."""

    def __init__(self, model: Model, possible: NDArray[np.bool_]) -> None:
        self.model, given = model, np.ascontiguousarray(possible, np.uint8)
        if given.shape != (model.num_transitions,):
            raise ValueError(
                f"possible has shape {given.shape}; the model has {model.num_transitions} transitions"
            )
        owner = self._owner = Handle(_new, _free, model, model.handle, given.ctypes.data)
        self.handle = owner.address
        self._fields = _Fields()
        self._reference = byref(self._fields)
        _look(self.handle, self._reference)
        shape = (model.num_transitions,)
        self.values: Floats = shown(view(owner, self._fields.values, np.float64, shape))
        self.observed: Ints = shown(view(owner, self._fields.observed, np.int64, shape))

    def add(self, state: int, action: int, next_state: int, times: int = 1) -> int:
        """Count a transition; its number, or one of the negative codes where it is refused."""
        return int(_add(self.handle, state, action, next_state, times))

    def load(self, values: Floats, observed: Ints) -> None:
        """Replace all counts."""
        check(_load(self.handle, floats(values, *self.values.shape), ints(observed), len(observed)))

    @property
    def num_observed(self) -> int:
        """Transitions seen at least once."""
        _look(self.handle, self._reference)
        return int(self._fields.num_observed)

    @property
    def total(self) -> int:
        """Transitions added."""
        _look(self.handle, self._reference)
        return int(self._fields.total)
