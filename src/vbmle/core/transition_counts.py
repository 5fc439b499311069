"""Transition counts in the core."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vbmle.core.generated import vb_counts_view, vb_not_counted
from vbmle.core.library import check, lib
from vbmle.core.memory import Floats, Handle, Ints, floats, ints, shown
from vbmle.core.model import Model

BAD_STATE = int(vb_not_counted.VB_BAD_STATE)

_add, _look = lib.vb_counts_add, lib.vb_counts_look


class Counts:
    """n(s, a, s') by transition. `values` and `observed` stay current; they are to look at."""

    def __init__(self, model: Model, possible: NDArray[np.bool_]) -> None:
        self.model, given = model, np.ascontiguousarray(possible, np.uint8)
        if given.shape != (model.num_transitions,):
            raise ValueError(
                f"possible has shape {given.shape}; the model has {model.num_transitions} transitions"
            )
        self._handle = handle = Handle("counts", model, model.handle, given.ctypes.data)
        self.handle = handle.address
        self._view = vb_counts_view()
        shape = (model.num_transitions,)
        at = handle.arrays(handle.look(self._view), values=shape, observed=shape)
        self.values: Floats = shown(at["values"])
        self.observed: Ints = shown(at["observed"])

    def add(self, state: int, action: int, next_state: int, times: int = 1) -> int:
        """Count a transition; its number, or one of `vb_not_counted` where it is refused."""
        number: int = _add(self.handle, state, action, next_state, times)
        return number

    def load(self, values: Floats, observed: Ints) -> None:
        """Replace all counts."""
        given = floats(values, *self.values.shape), ints(observed), len(observed)
        check(lib.vb_counts_load(self.handle, *given))

    @property
    def num_observed(self) -> int:
        """Transitions seen at least once."""
        _look(self.handle, self._view)
        number: int = self._view.num_observed
        return number

    @property
    def total(self) -> int:
        """Transitions added."""
        _look(self.handle, self._view)
        number: int = self._view.total
        return number
