"""Optimistic plans: the best policy in the best model of a confidence set, by ellipsoids or by L1 balls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from vbmle.core.generated import (
    vb_ellipsoid,
    vb_l1_optimist_view,
    vb_optimist_view,
    vb_optimistic_plan,
    vb_statuses,
    vb_warm_start_view,
)
from vbmle.core.library import Floats, Handle, Ints, Remembered, Stateful, check, floats, lib, shown
from vbmle.core.model import Model

_plan, _l1_plan = lib.vb_optimist_plan, lib.vb_l1_optimist_plan

ENDED = tuple(name for name, _ in vb_optimistic_plan._fields_)
"""What there is to say of how a plan ended."""

LAST_STATUS = int(vb_statuses.VB_INFEASIBLE)
"""Of those that say how a plan ended."""


class EllipsoidLike(Protocol):
    """{theta: |theta - estimate| in the norm of Sigma <= radius}; Sigma block by block."""

    @property
    def sigma(self) -> Floats: ...
    @property
    def estimate(self) -> Floats: ...
    @property
    def radius(self) -> float: ...


class Optimist(Stateful):
    """Plans optimistically again and again, each time from where the last plan ended.

    To look at, and always current: V, policy, theta (of P, nearest to the estimate), p (of the models chosen), and
    `last`, how the last plan ended.
    """

    def __init__(self, model: Model, factors: bool) -> None:
        self._handle = handle = Handle("optimist", model, model.handle, int(factors))
        self._address = handle.address
        view, states = handle.look(vb_optimist_view()), model.num_states
        pairs = states * model.num_actions
        self._ellipsoids, self._dimension = 1, model.dimension
        self._squares = int(view.num_squares)
        self._sigmas, self._given = [Remembered(self._squares)], (vb_ellipsoid * 1)()
        self._shape = (states, model.num_actions, int(view.most_free))
        self._state = handle.arrays(
            view,
            V=(states,),
            policy=(states,),
            theta=(model.dimension,),
            tight=(pairs,),
            chosen=(pairs, self._shape[2]),
        )
        self.V: Floats = shown(self._state["V"])
        self.policy: Ints = shown(self._state["policy"])
        self.theta: Floats = shown(self._state["theta"])
        self.p: Floats = shown(handle.arrays(view, p=(model.num_transitions,))["p"])
        self._last = vb_optimistic_plan.from_address(view.plan)

    @property
    def last(self) -> vb_optimistic_plan:
        """How the last plan ended; a copy."""
        return vb_optimistic_plan.from_buffer_copy(self._last)

    @property
    def error_bound(self) -> float:
        """Of V, against the best value of all models in the set."""
        return float(self._last.error_bound)

    @property
    def empty(self) -> bool:
        """Whether no theta of P lay within some radius."""
        return bool(self._last.empty)

    def plan(self, sets: Sequence[EllipsoidLike], tolerance: float, sweeps: int | None = None) -> None:
        """Plan for the theta that all sets share; by `sweeps` sweeps where they are given, else to the tolerance."""
        count = len(sets)
        while len(self._sigmas) < count:
            self._sigmas.append(Remembered(self._squares))
        if len(self._given) < count:
            self._given = (vb_ellipsoid * count)()
        for given, sigma, one in zip(self._given, self._sigmas, sets, strict=False):
            given.sigma, given.radius = sigma.of(one.sigma), one.radius
            given.estimate = floats(one.estimate, self._dimension)
        check(_plan(self._address, self._given, count, tolerance, sweeps or 0))
        self._ellipsoids = max(self._ellipsoids, count)

    def thetas(self) -> Floats:
        """The theta chosen for every (s, a), (S, A, d)."""
        out = np.empty((*self._shape[:2], self._dimension))
        check(lib.vb_optimist_thetas(self._address, floats(out)))
        return out

    def _warm(self) -> list[dict[str, NDArray[Any]]]:
        """What the last problem of every pair ended with, ellipsoid by ellipsoid."""
        states, actions, free = self._shape
        pairs, found = states * actions, []
        for number in range(self._ellipsoids):
            view = vb_warm_start_view()
            check(lib.vb_optimist_warm_start(self._address, number, view))
            shapes = {"s": (pairs,), "num_active": (pairs,), "active": (pairs, free), "y": (pairs, free)}
            found.append(self._handle.arrays(view, **shapes))
        return found

    def snapshot(self) -> dict[str, NDArray[Any]]:
        """What `restore` continues from: copies."""
        warm, ended = self._warm(), [float(getattr(self._last, name)) for name in ENDED]
        kept = {f"warm.{name}": np.stack([one[name] for one in warm]) for name in warm[0]}
        return super().snapshot() | kept | {"ended": np.array(ended)}

    def restore(self, snapshot: dict[str, NDArray[Any]]) -> None:
        """Continue from a snapshot."""
        super().restore(snapshot)
        ellipsoids = len(snapshot["warm.s"])
        self._ellipsoids = max(self._ellipsoids, ellipsoids)
        check(lib.vb_optimist_grow(self._address, self._ellipsoids))
        for number, one in enumerate(self._warm()[:ellipsoids]):
            for name, array in one.items():
                array[...] = snapshot[f"warm.{name}"][number]
        for name, value in zip(ENDED, snapshot["ended"].tolist(), strict=True):
            setattr(self._last, name, type(getattr(self._last, name))(value))


class L1Optimist:
    """Plans for the best model within L1 balls around frequencies (UCRL2); V and policy are to look at."""

    def __init__(self, model: Model) -> None:
        self._handle = handle = Handle("l1_optimist", model, model.handle)
        states = (model.num_states,)
        at = handle.arrays(handle.look(vb_l1_optimist_view()), V=states, policy=states, error_bound=())
        self._pairs, self._transitions = model.num_states * model.num_actions, model.num_transitions
        self.V: Floats = shown(at["V"])
        self.policy: Ints = shown(at["policy"])
        self._error_bound = at["error_bound"].item

    @property
    def error_bound(self) -> float:
        """Of V, against the best value of all models in the balls."""
        return float(self._error_bound())

    def plan(self, estimate: Floats, radius: Floats, tolerance: float, most_sweeps: int = 10_000_000) -> bool:
        """Plan from 1/(1-gamma) to the tolerance; whether it was reached."""
        given = floats(estimate, self._transitions), floats(radius, self._pairs)
        status = _l1_plan(self._handle.address, *given, tolerance, most_sweeps)
        check(status)
        return bool(status == 0)
