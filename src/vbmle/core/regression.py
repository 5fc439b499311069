"""Value-targeted regression, and the information of observed transitions, in the core."""

from __future__ import annotations

import math
from ctypes import c_double

import numpy as np

from vbmle.core.generated import vb_information_view, vb_regression_view
from vbmle.core.library import Floats, Handle, Ints, Remembered, Stateful, check, floats, ints, lib, shown
from vbmle.core.model import Model

LOG_TWO = math.log(2.0)
"""How much a log-determinant grows when what is known doubles."""

_add, _predict, _learn = lib.vb_regression_add, lib.vb_regression_predict, lib.vb_information_add


class Regression(Stateful):
    """Sigma, its inverse and b, by rank-one updates; `log_det` is log det Sigma - log det (ridge I)."""

    def __init__(self, model: Model, ridge: float) -> None:
        self._handle = handle = Handle("regression", model, model.handle, ridge)
        self._address = handle.address
        view = handle.look(vb_regression_view())
        squares = (view.num_squares,)
        self._state = handle.arrays(view, sigma=squares, inverse=squares, b=(model.dimension,), log_det=())
        self.sigma, self.inverse, self.b = (shown(self._state[name]) for name in ("sigma", "inverse", "b"))
        self._values = Remembered(model.num_states)
        self._found = (c_double * 2)()

    @property
    def log_det(self) -> float:
        """log det Sigma - log det (ridge I)."""
        return float(self._state["log_det"])

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
        check(lib.vb_regression_estimate(self._address, floats(theta)))
        return theta


class Information(Stateful):
    """Says when the log-determinant of a block's information has grown enough to decide again."""

    def __init__(self, model: Model, ridge: float, enough: float = LOG_TWO) -> None:
        self._handle = handle = Handle("information", model, model.handle, ridge, enough)
        self._address = handle.address
        view = handle.look(vb_information_view())
        shapes = {"inverse": (view.num_squares,), "growth": (model.num_blocks,), "due": ()}
        self._state = handle.arrays(view, **shapes)
        self.inverse: Floats = shown(self._state["inverse"])
        self.growth: Floats = shown(self._state["growth"])
        self._due = self._state["due"].item

    @property
    def due(self) -> bool:
        """Whether to decide again."""
        return self._due() != 0

    def add(self, transition: int) -> None:
        """Take in one observed transition, by its index."""
        check(_learn(self._address, transition))

    def follow(self, transitions: Ints) -> Floats:
        """Take in a path; |phi|^2 in A^{-1} of each transition just before it was taken in."""
        squares = np.empty(len(transitions))
        given = ints(transitions), len(transitions), floats(squares)
        check(lib.vb_information_follow(self._address, *given))
        return squares

    def decided(self) -> None:
        """Start to wait again: a decision has been taken with all that is known."""
        check(lib.vb_information_decided(self._address))
