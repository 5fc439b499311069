"""What an object keeps: when two are equal, what is saved of one, and the checks of what comes back.

    saved = {"_policy": a_policy, "decisions": a_count}

The attributes that are saved, and what they must keep, are stated once. From there come a snapshot, arrays by name,
and `restore`, which goes on from one and refuses whatever does not fit before any of it is used. A part is anything
that has these two methods.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from functools import partial
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vbmle.common.files import Snapshot

MOST_LAYERS = 64
"""How often something that grows by layers may have grown: each halves an error, so that none needs more."""


def require_like(
    name: str,
    given: Mapping[str, NDArray[Any]],
    like: Mapping[str, NDArray[Any]],
    grows: tuple[str, ...] = (),
) -> None:
    """Refuse a snapshot that lacks a field, has one too many, or one of another kind or shape.

    `like` is the snapshot of a fresh part on the same model. Fields that grow may differ in length; NaN is refused
    where a fresh part has none.
    """
    for key in like:
        if key not in given:
            raise ValueError(f"{name}{key} is missing")
        array, wanted = given[key], like[key]
        if array.dtype != wanted.dtype:
            raise ValueError(f"{name}{key} holds {array.dtype}; it needs {wanted.dtype}")
        same = array.shape == wanted.shape
        if key in grows and array.ndim == wanted.ndim:
            same = array.shape[1:] == wanted.shape[1:]
        if not same:
            raise ValueError(f"{name}{key} has shape {array.shape}; it needs {wanted.shape}")
        if array.dtype.kind == "f" and (np.isnan(array) & ~np.isnan(wanted).any()).any():
            raise ValueError(f"{name}{key} holds NaN; it needs numbers")
    for key in given:
        if key not in like:
            raise ValueError(f"there is no {name}{key[:40]}")


def require_layers(given: Mapping[str, NDArray[Any]], grows: tuple[str, ...]) -> int:
    """How many layers there are: as many in each field that grows, and at least one."""
    lengths = {len(given[key]) for key in grows}
    if len(lengths) != 1 or not 1 <= min(lengths) <= MOST_LAYERS:
        raise ValueError(
            f"{', '.join(grows)} have lengths {sorted(lengths)}; they need one, from 1 to {MOST_LAYERS}"
        )
    return lengths.pop()


def require_within(name: str, array: NDArray[Any], low: ArrayLike, high: ArrayLike) -> None:
    """Refuse numbers outside [low, high], naming the first."""
    bad = ~((array >= low) & (array <= high))
    if bad.any():
        at = tuple(int(i) for i in np.argwhere(bad)[0])
        least, most = (float(np.broadcast_to(end, array.shape)[at]) for end in (low, high))
        raise ValueError(f"{name} is {array[at]} at {at}; it needs numbers from {least:g} to {most:g}")


def require_finite(name: str, array: NDArray[Any]) -> None:
    """Refuse NaN and infinity."""
    require_within(name, array, -np.finfo(np.float64).max, np.finfo(np.float64).max)


def require_inverse(name: str, matrix: NDArray[Any], inverse: NDArray[Any]) -> float:
    """Refuse a matrix that is not symmetric and positive definite, or an inverse that is not its own; log det."""
    require_symmetric(name, matrix)
    require_symmetric(f"{name}'s inverse", inverse)
    sign, log_det = np.linalg.slogdet(matrix)
    if sign <= 0 or np.linalg.eigvalsh(matrix)[0] <= 0.0:
        raise ValueError(f"{name} is not positive definite")
    off = float(np.abs(matrix @ inverse - np.eye(len(matrix))).max())
    if not off <= 1e-6 + 1e-12 * float(np.linalg.cond(matrix)):
        raise ValueError(
            f"{name} and its inverse do not belong together: their product is {off:.2g} from one"
        )
    return float(log_det)


def require_symmetric(name: str, matrix: NDArray[Any]) -> None:
    """Refuse a matrix that is not symmetric up to rounding."""
    require_finite(name, matrix)
    if not np.abs(matrix - matrix.T).max(initial=0.0) <= 1e-8 * np.abs(matrix).max(initial=0.0):
        raise ValueError(f"{name} is not symmetric")


KeptCheck = Callable[[Any, str, NDArray[Any]], None]
"""Refuses a saved array by a ValueError: given the object that it was saved of, the name and the array."""

Saved = Mapping[str, KeptCheck] | Iterable[str]
"""The attributes that are saved, with what they must keep; names alone where nothing is asked."""


class Part(Protocol):
    """What a keeper is made of: anything that says what it saves, and goes on from there."""

    def snapshot(self) -> Snapshot:
        """What was learnt, as arrays by name."""

    def restore(self, snapshot: Snapshot) -> None:
        """Continue from a snapshot."""


def anything(owner: Any, name: str, array: NDArray[Any]) -> None:
    """Of the right kind and shape: no more is asked."""


def within(low: ArrayLike, high: ArrayLike) -> KeptCheck:
    """Numbers from `low` to `high`."""
    return partial(_within, low, high)


def _within(low: ArrayLike, high: ArrayLike, owner: Any, name: str, array: NDArray[Any]) -> None:
    require_within(name, array, low, high)


def a_value(owner: Any, name: str, array: NDArray[Any]) -> None:
    """A saved V is no larger than a few times what a value may be in the owner's `mdp`."""
    worst = 2.0 / (1.0 - owner.mdp.discount)
    require_within(name, array, -worst, worst)


a_count = within(0, 2**62)
at_least_0 = within(0.0, np.inf)


class Keeper:
    """Saves the attributes that its class and those above it name in `saved`, and its parts."""

    saved: ClassVar[Saved] = {}
    """What of its attributes, arrays or numbers."""

    grows: ClassVar[tuple[str, ...]] = ()
    """Those that may be longer than in a fresh object, by the names that they have in a snapshot."""

    def _parts(self) -> Mapping[str, Part]:
        """The parts by name, in the order in which they are restored."""
        return {}

    @classmethod
    def _kept(cls) -> dict[str, KeptCheck]:
        """What is saved beside the parts, those of base classes first."""
        found: dict[str, KeptCheck] = {}
        for kind in reversed(cls.__mro__):
            named = vars(kind).get("saved", ())
            found |= named if isinstance(named, Mapping) else dict.fromkeys(named, anything)
        return found

    def snapshot(self) -> Snapshot:
        """What was learnt, as arrays by name."""
        found = {name.lstrip("_"): np.array(getattr(self, name)) for name in self._kept()}
        for name, part in self._parts().items():
            found |= {f"{name}.{key}": np.array(value) for key, value in part.snapshot().items()}
        return found

    def restore(self, snapshot: Snapshot) -> None:
        """Continue from a snapshot of one that was made alike; ValueError names the field that does not fit."""
        kept, parts = self._kept(), self._parts()
        own = {name.lstrip("_"): np.array(getattr(self, name)) for name in kept}
        for key in snapshot:
            if key not in own and key.split(".")[0] not in parts:
                raise ValueError(f"{type(self).__name__} has no {key[:40]!r}")
        mine = {name: snapshot[name] for name in own if name in snapshot}
        require_like("", mine, own, self.grows)
        for name, check in kept.items():
            check(self, name.lstrip("_"), snapshot[name.lstrip("_")])
        for name in kept:
            self._take(name, snapshot[name.lstrip("_")])
        for name, part in parts.items():
            start = f"{name}."
            inner = {key.removeprefix(start): snapshot[key] for key in snapshot if key.startswith(start)}
            try:
                part.restore(inner)
            except ValueError as error:
                raise ValueError(f"{name}: {error}") from error

    def _take(self, name: str, kept: NDArray[Any]) -> None:
        """Set an attribute to what was saved."""
        value = getattr(self, name)
        if isinstance(value, np.ndarray):
            value[...] = kept  # in place: it may be a view of the core's memory
        else:
            setattr(self, name, kept.tolist() if isinstance(value, list) else type(value)(kept))


def same(one: Any, other: Any) -> bool:
    """Whether two things are equal; arrays where they have one type, one shape and equal entries, and NaN is NaN."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        alike = isinstance(one, np.ndarray) and isinstance(other, np.ndarray) and one.dtype == other.dtype
        return alike and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float) and isinstance(other, float) and one != one:
        return other != other
    return bool(one == other)


class Value:
    """Gives a frozen dataclass that holds arrays its `==`; declare it with `eq=False`."""

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return all(same(getattr(self, field.name), getattr(other, field.name)) for field in fields(self))  # type: ignore[arg-type]


Rows = Sequence[tuple[str, str]]
"""What there is to say of an object: a name and a text each."""


class Shown:
    """Shows itself by what `_shown` says: a line as text, a table in a notebook.

    A dataclass that has this among its bases is declared with `repr=False`.
    """

    def _shown(self) -> Rows:
        raise NotImplementedError

    def __repr__(self) -> str:
        from vbmle.common import showing

        return showing.as_text(type(self).__name__, self._shown())

    def _repr_html_(self) -> str:
        from vbmle.common import showing

        return showing.as_html(type(self).__name__, self._shown())
