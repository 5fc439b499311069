"""A model as the core sees it (transitions, features, rewards, the feasible set), and counts of its transitions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbmle.core.generated import vb_counts_view, vb_model_data, vb_not_counted, vb_purposes
from vbmle.core.library import Floats, Handle, Ints, check, floats, ints, lib, shown

_probabilities = lib.vb_model_probabilities
Purpose = vb_purposes


class Model:
    """Keeps the arrays it was made from, which the core does not copy: `vb_model_data` names them all."""

    def __init__(self, sizes: dict[str, int], discount: float, arrays: dict[str, Any]) -> None:
        self._kept = {name: array for name, array in arrays.items() if array is not None}
        addresses = {
            name: floats(array) if vb_model_data.arrays[name] == "float64" else ints(array)
            for name, array in self._kept.items()
        }
        data = vb_model_data(**sizes, discount=discount, **addresses)
        self._handle = Handle("model", self._kept, data)
        self.handle = self._handle.address
        self.num_states, self.num_actions = sizes["num_states"], sizes["num_actions"]
        self.num_transitions, self.dimension = sizes["num_transitions"], sizes["dimension"]
        self.num_blocks, self.discount = sizes["num_blocks"], discount
        self.num_free = int(arrays["free_begin"][-1])

    def factors_pay(self, purpose: Purpose) -> bool:
        """Whether policies are evaluated by dense factors, or by sweeps: whichever is faster."""
        return bool(lib.vb_factors_pay(self.handle, purpose))

    def probabilities(self, theta: Floats, out: Floats | None = None) -> Floats:
        """<phi, theta> of every transition."""
        p = np.empty(self.num_transitions) if out is None else out
        check(_probabilities(self.handle, floats(theta, self.dimension), floats(p, self.num_transitions)))
        return p

    def assemble(self, y: Floats) -> Floats:
        """theta = center + basis y."""
        theta = np.empty(self.dimension)
        check(lib.vb_model_assemble(self.handle, floats(y, self.num_free), floats(theta)))
        return theta

    def value_feature(self, pair: int, V: Floats, out: Floats, weight: float = 1.0) -> None:
        """out = weight * phi_V(s, a) = weight * sum_s' phi(s'|s,a) V(s'), for the pair s * A + a."""
        given = floats(V, self.num_states), weight, floats(out, self.dimension)
        check(lib.vb_model_value_feature(self.handle, pair, *given))

    def place(self, theta: Floats) -> Floats:
        """The y of theta, moved inside the feasible set where theta is outside."""
        y = np.empty(self.num_free)
        check(lib.vb_model_place(self.handle, floats(theta, self.dimension), floats(y)))
        return y


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
