"""The core's handle on a maximiser of likelihood plus value bias."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, byref, c_double, c_int32, c_int64, c_void_p
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbmle.core.handle import Handle
from vbmle.core.library import REFUSED, check, declare
from vbmle.core.memory import Floats, Ints, floats, ints, view
from vbmle.core.model import Model
from vbmle.core.transition_counts import Counts

STATUSES = ("converged", "stalled", "no step", "line search failed", "out of iterations", "no start")


class Objective(ctypes.Structure):
    """sum n log p - ridge/2 |theta|^2 + <linear, theta> + bias * V*(state; theta)."""

    _fields_ = (
        ("counts", c_void_p),
        ("linear", c_void_p),
        ("ridge", c_double),
        ("bias", c_double),
        ("state", c_int64),
    )
    counts_used: Counts
    linear_used: Floats | None

    def replaced(self, **changes: Any) -> Objective:
        """The same with other settings of `make_objective`."""
        given = {"bias": self.bias, "state": self.state, "linear": self.linear_used}
        return make_objective(self.counts_used, **({"ridge": self.ridge} | given | changes))


def make_objective(
    counts: Counts, ridge: float, bias: float = 0.0, state: int = 0, linear: Floats | None = None
) -> Objective:
    """An objective that keeps the counts, and the linear part, alive."""
    address = None if linear is None else floats(linear, counts.model.dimension)
    made = Objective(counts.handle, address, ridge, bias, state)
    made.counts_used, made.linear_used = counts, linear
    return made


class _Starts(ctypes.Structure):
    _fields_ = (
        ("fixed", c_void_p),
        ("num_fixed", c_int64),
        ("best", c_void_p),
        ("pairs", c_void_p),
        ("num_pairs", c_int64),
    )


_VIEWS = (
    "y",
    "theta",
    "V",
    "policy",
    "active",
    "num_active",
    "result",
    "status",
    "iterations",
    "evaluated",
    "factored",
    "factors",
)


class _Fields(ctypes.Structure):
    _fields_ = (
        *((name, c_void_p) for name in _VIEWS),
        ("factor_size", c_int64),
        ("size", c_int64),
        ("turn", c_int64),
        ("climbs", c_int64),
    )


_new = declare("vb_solver_new", c_int32, c_void_p, c_int64, c_int32, POINTER(c_void_p))
_free = declare("vb_solver_free", None, c_void_p)
_set_starts = declare("vb_solver_set_starts", c_int32, c_void_p, POINTER(_Starts))
_look = declare("vb_solver_fields", c_int32, c_void_p, POINTER(_Fields))
_stand_at = declare("vb_solver_stand_at", c_int32, c_void_p, c_void_p)
_plan = declare("vb_solver_plan", c_int32, c_void_p)
_restore = declare("vb_solver_restore", c_int32, c_void_p, c_int64, c_int64)
_add_start = declare("vb_solver_add_start", c_int32, c_void_p, POINTER(Objective), c_void_p)
_climb, _search, _follow, _few = (
    declare(f"vb_solver_{name}", c_int32, c_void_p, POINTER(Objective))
    for name in ("climb", "search", "follow", "climb_from_few")
)


class Solver:
    """Local maxima kept from one call to the next; row 0 of every view is the incumbent, the last row scratch."""

    def __init__(self, model: Model, places: int, factors: bool) -> None:
        self.model, self.places = model, places
        owner = self._owner = Handle(_new, _free, model, model.handle, places, int(factors))
        self.handle = owner.address
        self._fields = _Fields()
        self._reference = byref(self._fields)
        _look(self.handle, self._reference)
        self.views: dict[str, NDArray[Any]] = {
            name: view(owner, getattr(self._fields, name), kind, shape)
            for name, (kind, shape) in self._shapes().items()
        }

    def _shapes(self) -> dict[str, tuple[Any, tuple[int, ...]]]:
        model, slots = self.model, self.places + 1
        return {
            "y": (np.float64, (slots, model.num_free)),
            "theta": (np.float64, (slots, model.dimension)),
            "V": (np.float64, (slots, model.num_states)),
            "policy": (np.int64, (slots, model.num_states)),
            "active": (np.int64, (slots, model.num_free)),
            "num_active": (np.int64, (slots, model.num_blocks)),
            "result": (np.float64, (slots, 3)),
            "status": (np.int32, (slots,)),
            "iterations": (np.int32, (slots,)),
            "evaluated": (np.uint8, (slots,)),
            "factored": (np.uint8, (slots,)),
            "factors": (np.float64, (slots, int(self._fields.factor_size))),
        }

    @property
    def size(self) -> int:
        """Local maxima held."""
        _look(self.handle, self._reference)
        return int(self._fields.size)

    @property
    def turn(self) -> int:
        """How often it has followed."""
        _look(self.handle, self._reference)
        return int(self._fields.turn)

    @property
    def climbs(self) -> int:
        """How often it has climbed, from wherever."""
        _look(self.handle, self._reference)
        return int(self._fields.climbs)

    def set_starts(self, fixed: Floats, best: Floats | None, pairs: Ints) -> None:
        """Where searches start from."""
        free = self.model.num_free
        best_at = None if best is None else floats(best, free)
        given = _Starts(floats(fixed, len(fixed), free), len(fixed), best_at, ints(pairs), len(pairs))
        check(_set_starts(self.handle, byref(given)))

    def climb(self, objective: Objective) -> None:
        """Go up to local maxima from where it stands."""
        if (status := _climb(self.handle, objective)) >= REFUSED:
            check(status)

    def search(self, objective: Objective) -> None:
        """Climb from everywhere."""
        check(_search(self.handle, objective))

    def follow(self, objective: Objective) -> None:
        """Climb from the pool and from one start and one policy more."""
        if (status := _follow(self.handle, objective)) >= REFUSED:
            check(status)

    def climb_from_few(self, objective: Objective) -> None:
        """Climb from where it stands, from the most likely theta and from the interior point."""
        check(_few(self.handle, objective))

    def add_start(self, objective: Objective, theta: Floats) -> None:
        """Climb from theta too."""
        check(_add_start(self.handle, objective, floats(theta, self.model.dimension)))

    def stand_at(self, theta: Floats) -> None:
        """Stand at theta alone."""
        check(_stand_at(self.handle, floats(theta, self.model.dimension)))

    def plan(self) -> None:
        """Make the incumbent's policy and V optimal for its theta."""
        check(_plan(self.handle))

    def restore(self, size: int, turn: int) -> None:
        """Take over what was written into the views; where it is refused, the solver is as new."""
        check(_restore(self.handle, size, turn))
