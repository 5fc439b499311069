"""The core's handle on a model: transitions, features, rewards and the feasible set."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, byref, c_double, c_int32, c_int64, c_void_p
from typing import Any

import numpy as np

from vbmle.core.handle import Handle
from vbmle.core.library import check, declare
from vbmle.core.memory import Floats, floats, ints


class ModelData(ctypes.Structure):
    """`vb_model_data` of vbmle.h, field by field."""

    _fields_ = (
        ("num_states", c_int64),
        ("num_actions", c_int64),
        ("num_transitions", c_int64),
        ("dimension", c_int64),
        ("discount", c_double),
        ("pair_begin", c_void_p),
        ("successor", c_void_p),
        ("reward", c_void_p),
        ("reward_next", c_void_p),
        ("phi", c_void_p),
        ("feature_begin", c_void_p),
        ("feature_coordinate", c_void_p),
        ("feature_weight", c_void_p),
        ("num_blocks", c_int64),
        ("center", c_void_p),
        ("coordinates", c_void_p),
        ("coordinate_begin", c_void_p),
        ("basis", c_void_p),
        ("free_begin", c_void_p),
        ("normals", c_void_p),
        ("offsets", c_void_p),
        ("facet_begin", c_void_p),
        ("diameter", c_void_p),
    )


_new = declare("vb_model_new", c_int32, POINTER(ModelData), POINTER(c_void_p))
_free = declare("vb_model_free", None, c_void_p)
_probabilities = declare("vb_model_probabilities", c_int32, c_void_p, c_void_p, c_void_p)
_assemble = declare("vb_model_assemble", c_int32, c_void_p, c_void_p, c_void_p)
_place = declare("vb_model_place", c_int32, c_void_p, c_void_p, c_void_p)
_value_feature = declare("vb_model_value_feature", c_int32, c_void_p, c_int64, c_void_p, c_double, c_void_p)


class Model:
    """A model as the core sees it. Keeps the arrays it was made from, which the core does not copy."""

    def __init__(self, sizes: dict[str, int], discount: float, arrays: dict[str, Any]) -> None:
        self._kept = {name: array for name, array in arrays.items() if array is not None}
        addresses = {
            name: floats(array) if array.dtype == np.float64 else ints(array)
            for name, array in self._kept.items()
        }
        data = ModelData(**sizes, discount=discount, **addresses)
        self._handle = Handle(_new, _free, self._kept, byref(data))
        self.handle = self._handle.address
        self.num_states, self.num_actions = sizes["num_states"], sizes["num_actions"]
        self.num_transitions, self.dimension = sizes["num_transitions"], sizes["dimension"]
        self.num_blocks, self.discount = sizes["num_blocks"], discount
        self.num_free = int(arrays["free_begin"][-1])

    def probabilities(self, theta: Floats, out: Floats | None = None) -> Floats:
        """<phi, theta> of every transition."""
        p = np.empty(self.num_transitions) if out is None else out
        check(_probabilities(self.handle, floats(theta, self.dimension), floats(p, self.num_transitions)))
        return p

    def assemble(self, y: Floats) -> Floats:
        """theta = center + basis y."""
        theta = np.empty(self.dimension)
        check(_assemble(self.handle, floats(y, self.num_free), floats(theta)))
        return theta

    def value_feature(self, pair: int, V: Floats, out: Floats, weight: float = 1.0) -> None:
        """out = weight * phi_V(s, a) = weight * sum_s' phi(s'|s,a) V(s'), for the pair s * A + a."""
        check(
            _value_feature(self.handle, pair, floats(V, self.num_states), weight, floats(out, self.dimension))
        )

    def place(self, theta: Floats) -> Floats:
        """The y of theta, moved inside the feasible set where theta is outside."""
        y = np.empty(self.num_free)
        check(_place(self.handle, floats(theta, self.dimension), floats(y)))
        return y
