"""The maximiser of likelihood plus value bias, in the core."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbmle.core.generated import vb_objective, vb_solver_view, vb_starts, vb_statuses
from vbmle.core.library import REFUSED, Floats, Handle, Ints, Stateful, check, floats, ints, lib, shown
from vbmle.core.model import Counts, Model

_climb, _follow, _look = lib.vb_solver_climb, lib.vb_solver_follow, lib.vb_solver_look

STATUSES = (
    "converged",
    *(
        one.name.removeprefix("VB_").replace("_", " ").lower()
        for one in vb_statuses
        if vb_statuses.VB_OK < one <= vb_statuses.VB_OUT_OF_TIME
    ),
)
"""How a climb ends, in words."""


class Objective:
    """sum n log p - ridge/2 |theta|^2 + <linear, theta> + bias * V*(state; theta).

    It follows the counts, and the linear part, as they change.
    """

    __slots__ = ("_bias", "_state", "counts", "given", "is_biased", "linear", "ridge")
    bias = property(attrgetter("_bias"))
    state = property(attrgetter("_state"))

    def __init__(
        self, counts: Counts, ridge: float, bias: float = 0.0, state: int = 0, linear: Floats | None = None
    ) -> None:
        self.counts, self.ridge, self.linear = counts, ridge, linear
        self._bias, self._state, self.is_biased = bias, state, bias != 0.0
        address = None if linear is None else floats(linear, counts.model.dimension)
        self.given = vb_objective(counts.handle, address, ridge, bias, state)
        """What the core reads; `aim` alone changes it, and `is_biased`, whether a value counts at all."""

    def aim(self, state: int, bias: float) -> None:
        """Let the value of another state count, with another weight."""
        given = self.given
        given.state = self._state = state
        given.bias = self._bias = bias
        self.is_biased = bias != 0.0

    def replaced(self, **changes: Any) -> Objective:
        """The same but for the settings that are named."""
        own = {"ridge": self.ridge, "bias": self.bias, "state": self.state, "linear": self.linear}
        return Objective(self.counts, **(own | changes))


class Solver(Stateful):
    """Local maxima kept from one call to the next; row 0 of every view is the incumbent, the last row scratch."""

    def __init__(self, model: Model, places: int, factors: bool, host: Solver | None = None) -> None:
        """With a host on the model, it works in the host's memory, and stands where that one does."""
        self.model, self.places = model, places
        if host is None:
            handle = Handle("solver", model, model.handle, places, int(factors))
        else:
            handle = Handle("solver", host._handle, host.handle, how="new_beside")
        self._handle: Handle = handle
        self.handle: int | None = handle.address
        self._view = handle.look(vb_solver_view())
        rows, free, states = places + 1, model.num_free, model.num_states
        self._state = handle.arrays(
            self._view,
            y=(rows, free),
            theta=(rows, model.dimension),
            V=(rows, states),
            policy=(rows, states),
            active=(rows, free),
            num_active=(rows, model.num_blocks),
            result=(rows, 3),
            status=(rows,),
            iterations=(rows,),
            evaluated=(rows,),
            factored=(rows,),
            factors=(rows, self._view.factor_size),
        )
        self.views: dict[str, NDArray[Any]] = {name: shown(array) for name, array in self._state.items()}

    @property
    def size(self) -> int:
        """Local maxima held."""
        _look(self.handle, self._view)
        return int(self._view.size)

    @property
    def turn(self) -> int:
        """How often it has followed."""
        _look(self.handle, self._view)
        return int(self._view.turn)

    @property
    def climbs(self) -> int:
        """How often it has climbed, from wherever."""
        _look(self.handle, self._view)
        return int(self._view.climbs)

    def set_starts(self, fixed: Floats, best: Floats | None, pairs: Ints) -> None:
        """Where searches start from."""
        free = self.model.num_free
        best_at = None if best is None else floats(best, free)
        given = vb_starts(floats(fixed, len(fixed), free), len(fixed), best_at, ints(pairs), len(pairs))
        check(lib.vb_solver_set_starts(self.handle, given))

    def climb(self, objective: Objective) -> None:
        """Go up to local maxima from where it stands."""
        if (status := _climb(self.handle, objective.given)) >= REFUSED:
            check(status)

    def search(self, objective: Objective) -> None:
        """Climb from everywhere."""
        check(lib.vb_solver_search(self.handle, objective.given))

    def follow(self, objective: Objective) -> None:
        """Climb from the pool and from one start and one policy more."""
        if (status := _follow(self.handle, objective.given)) >= REFUSED:
            check(status)

    def climb_from_few(self, objective: Objective) -> None:
        """Climb from where it stands, from the most likely theta and from the interior point."""
        check(lib.vb_solver_climb_from_few(self.handle, objective.given))

    def add_start(self, objective: Objective, theta: Floats) -> None:
        """Climb from theta too."""
        given = objective.given, floats(theta, self.model.dimension)
        check(lib.vb_solver_add_start(self.handle, *given))

    def join(self, objective: Objective, other: Solver) -> None:
        """Climb from where another on the same model stands."""
        check(lib.vb_solver_join(self.handle, objective.given, other.handle))

    def stand_at(self, theta: Floats) -> None:
        """Stand at theta alone."""
        check(lib.vb_solver_stand_at(self.handle, floats(theta, self.model.dimension)))

    def plan(self) -> None:
        """Make the incumbent's policy and V optimal for its theta."""
        check(lib.vb_solver_plan(self.handle))

    def snapshot(self) -> dict[str, NDArray[Any]]:
        """What `restore` continues from: copies."""
        return super().snapshot() | {"place": np.array([self.size, self.turn])}

    def restore(self, snapshot: dict[str, NDArray[Any]]) -> None:
        """Continue from a snapshot, which the core checks; where it is refused, the solver is as new."""
        super().restore(snapshot)
        check(lib.vb_solver_restore(self.handle, *snapshot["place"].tolist()))
