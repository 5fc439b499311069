"""What an object keeps, said once: the attributes that are saved and what they must keep, and the parts it is made of.

    saved = {"_policy": a_policy, "decisions": a_count}

From there come its snapshot, arrays by name, and `restore`, which goes on from one and refuses whatever does not fit.
A part is anything that has these two methods.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vbmle.common import saved_checks
from vbmle.common.files import Snapshot

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
    saved_checks.require_within(name, array, low, high)


def a_value(owner: Any, name: str, array: NDArray[Any]) -> None:
    """A saved V is no larger than a few times what a value may be in the owner's `mdp`."""
    worst = 2.0 / (1.0 - owner.mdp.discount)
    saved_checks.require_within(name, array, -worst, worst)


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
        saved_checks.require_like("", mine, own, self.grows)
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
