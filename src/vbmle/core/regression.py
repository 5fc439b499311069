"""Value-targeted regression, and the information of observed transitions."""

from __future__ import annotations

import ctypes
import math
from ctypes import POINTER, byref, c_double, c_int32, c_int64, c_void_p
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbmle.core.handle import Handle
from vbmle.core.library import check, declare
from vbmle.core.memory import Floats, Ints, Remembered, floats, ints, view
from vbmle.core.model import Model

LOG_TWO = math.log(2.0)
"""How much a log-determinant grows when what is known doubles."""


class _RegressionView(ctypes.Structure):
    """`vb_regression_view`."""

    _fields_ = (
        ("num_squares", c_int64),
        ("sigma", c_void_p),
        ("inverse", c_void_p),
        ("b", c_void_p),
        ("log_det", c_void_p),
    )


class _InformationView(ctypes.Structure):
    """`vb_information_view`."""

    _fields_ = (
        ("num_squares", c_int64),
        ("inverse", c_void_p),
        ("growth", c_void_p),
        ("due", c_void_p),
    )


_new = declare("vb_regression_new", c_int32, c_void_p, c_double, POINTER(c_void_p))
_free = declare("vb_regression_free", None, c_void_p)
_get_view = declare("vb_regression_get_view", c_int32, c_void_p, POINTER(_RegressionView))
_add = declare("vb_regression_add", c_int32, c_void_p, c_int64, c_void_p, c_double, c_double)
_predict = declare("vb_regression_predict", c_int32, c_void_p, c_int64, c_void_p, c_void_p)
_estimate = declare("vb_regression_estimate", c_int32, c_void_p, c_void_p)
_information_new = declare("vb_information_new", c_int32, c_void_p, c_double, c_double, POINTER(c_void_p))
_information_free = declare("vb_information_free", None, c_void_p)
_information_get_view = declare("vb_information_get_view", c_int32, c_void_p, POINTER(_InformationView))
_information_add = declare("vb_information_add", c_int32, c_void_p, c_int64)
_information_follow = declare("vb_information_follow", c_int32, c_void_p, c_void_p, c_int64, c_void_p)
_information_decided = declare("vb_information_decided", c_int32, c_void_p)


class Regression:
    """Sigma, its inverse and b, by rank-one updates: views, as is all that `snapshot` has."""

    def __init__(self, model: Model, ridge: float) -> None:
        self._handle = Handle(_new, _free, model, model.handle, ridge)
        self._address = self._handle.address
        seen = _RegressionView()
        check(_get_view(self._address, byref(seen)))
        self.sigma: Floats = view(self._handle, seen.sigma, np.float64, (int(seen.num_squares),))
        self.inverse: Floats = view(self._handle, seen.inverse, np.float64, (int(seen.num_squares),))
        self.b: Floats = view(self._handle, seen.b, np.float64, (model.dimension,))
        self._log_det = c_double.from_address(seen.log_det)
        self._values = Remembered(model.num_states)
        self._found = (c_double * 2)()

    @property
    def log_det(self) -> float:
        """log det Sigma - log det (ridge I)."""
        return self._log_det.value

    @log_det.setter
    def log_det(self, value: float) -> None:
        self._log_det.value = value

    def add(self, pair: int, V: Floats, target: float, weight: float = 1.0) -> None:
        """Take in that V was `target` after the pair s * A + a."""
        check(_add(self._address, pair, self._values.of(V), target, weight))

    def predict(self, pair: int, V: Floats) -> tuple[float, float]:
        """<phi_V(s, a), estimate> and |phi_V(s, a)| in Sigma^{-1}."""
        check(_predict(self._address, pair, self._values.of(V), self._found))
        return self._found[0], self._found[1]

    def estimate(self) -> Floats:
        """Sigma^{-1} b, which need not be feasible."""
        theta = np.empty_like(self.b)
        check(_estimate(self._address, floats(theta)))
        return theta

    def snapshot(self) -> dict[str, NDArray[Any]]:
        """What `restore` continues from: copies."""
        return {
            "sigma": self.sigma.copy(),
            "inverse": self.inverse.copy(),
            "b": self.b.copy(),
            "log_det": np.array(self.log_det),
        }

    def restore(self, snapshot: dict[str, NDArray[Any]]) -> None:
        """Continue from a snapshot."""
        self.sigma[...], self.inverse[...], self.b[...] = (
            snapshot["sigma"],
            snapshot["inverse"],
            snapshot["b"],
        )
        self.log_det = float(snapshot["log_det"])


class Information:
    """Says when the log-determinant of a block's information has grown enough to decide again."""

    def __init__(self, model: Model, ridge: float, enough: float = LOG_TWO) -> None:
        self._handle = Handle(_information_new, _information_free, model, model.handle, ridge, enough)
        self._address = self._handle.address
        seen = _InformationView()
        check(_information_get_view(self._address, byref(seen)))
        self.inverse: Floats = view(self._handle, seen.inverse, np.float64, (int(seen.num_squares),))
        self.growth: Floats = view(self._handle, seen.growth, np.float64, (model.num_blocks,))
        self._due = c_int64.from_address(seen.due)

    @property
    def due(self) -> bool:
        """Whether to decide again."""
        return self._due.value != 0

    @due.setter
    def due(self, value: bool) -> None:
        self._due.value = int(value)

    def add(self, transition: int) -> None:
        """Take in one observed transition, by its index."""
        check(_information_add(self._address, transition))

    def follow(self, transitions: Ints) -> Floats:
        """Take in a path; |phi|^2 in A^{-1} of each transition just before it was taken in."""
        squares = np.empty(len(transitions))
        check(_information_follow(self._address, ints(transitions), len(transitions), floats(squares)))
        return squares

    def decided(self) -> None:
        """Start to wait again: a decision has been taken with all that is known."""
        check(_information_decided(self._address))

    def snapshot(self) -> dict[str, NDArray[Any]]:
        """What `restore` continues from: copies."""
        return {"inverse": self.inverse.copy(), "growth": self.growth.copy(), "due": np.array(self.due)}

    def restore(self, snapshot: dict[str, NDArray[Any]]) -> None:
        """Continue from a snapshot."""
        self.inverse[...], self.growth[...] = snapshot["inverse"], snapshot["growth"]
        self.due = bool(snapshot["due"])
