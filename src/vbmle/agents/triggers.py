"""When an agent decides again: at every step, or when what it has learnt has doubled in some sense.

    EveryStep              whenever it is asked, once for each observation and state
    EveryObservation       once after each observation, whatever the state
    InformationGrown       when the information about what was observed has doubled, or grown by another factor
                           (`vbmle.estimation.information`)
    OrTimeDoubled          when another trigger says so, or when as many observations have come as there were
    VisitsDoubled          when the pair about to be played was seen as often since the last decision as before it
    LogDeterminantDoubled  when the determinant of some regression has doubled

The setting `update` names the choice: "every-step", or "doubling" in the sense of the agent's paper.
`InformedVBMLE` also has "tenth": when the information has grown by a tenth.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Annotated

import numpy as np

from vbmle.common import saved_checks
from vbmle.common.files import Snapshot
from vbmle.common.validation import Among, Floats, Ints
from vbmle.estimation.counts import MOST_COUNTED, TransitionCounts
from vbmle.estimation.forgetting import ForgettingCounts
from vbmle.estimation.information import Information
from vbmle.model.mdp import LinearMixtureMDP

UPDATES = ("every-step", "doubling")
Update = Annotated[str, Among(UPDATES)]


class Trigger:
    """Says when a decision is due. Unless a subclass knows better, that is always."""

    def seen(self, transition: int) -> None:
        """Take in one observed transition, by its index."""

    def seen_many(self, transitions: Ints) -> None:
        """Take in observed transitions in their order: the same as one by one."""

    def due(self, state: int = 0) -> bool:
        """Whether to decide again before acting in `state`."""
        return True

    def decided(self) -> None:
        """A decision was taken with all that is known."""

    def snapshot(self) -> Snapshot:
        """What `restore` continues from."""
        return {}

    grows: tuple[str, ...] = ()
    """What of a snapshot may be longer than that of a fresh one."""

    def restore(self, snapshot: Snapshot) -> None:
        """Continue from a snapshot."""
        saved_checks.require_like("", snapshot, self.snapshot(), self.grows)
        self._resume(snapshot)

    def _resume(self, snapshot: Snapshot) -> None:
        """Take over what has the right kinds and shapes."""


class EveryStep(Trigger):
    """Always due."""


class EveryObservation(Trigger):
    """Due at first, and again after each observation."""

    def __init__(self) -> None:
        self._due = True

    def seen(self, transition: int) -> None:
        self._due = True

    def seen_many(self, transitions: Ints) -> None:
        self._due = self._due or len(transitions) > 0

    def due(self, state: int = 0) -> bool:
        return self._due

    def decided(self) -> None:
        self._due = False

    def snapshot(self) -> Snapshot:
        return {"due": np.array(self._due)}

    def _resume(self, snapshot: Snapshot) -> None:
        self._due = bool(snapshot["due"])


class InformationGrown(Trigger):
    """Due when the determinant of a block's information has grown by the factor since the last decision."""

    def __init__(self, mdp: LinearMixtureMDP, ridge: float, factor: float = 2.0) -> None:
        self._information = Information(mdp, ridge, factor)

    def seen(self, transition: int) -> None:
        self._information.add(transition)

    def seen_many(self, transitions: Ints) -> None:
        self._information.follow(transitions)

    def due(self, state: int = 0) -> bool:
        return self._information.due

    def decided(self) -> None:
        self._information.decided()

    def snapshot(self) -> Snapshot:
        return self._information.snapshot()

    def _resume(self, snapshot: Snapshot) -> None:
        self._information.restore(snapshot)


class OrTimeDoubled(Trigger):
    """Due when the `inner` trigger is, and when as many observations have come since the last decision as before it.

    For agents that weigh how long they have run: a policy that teaches nothing would never be looked at again.
    """

    def __init__(self, inner: Trigger, counts: TransitionCounts) -> None:
        self._inner, self._counts, self._before = inner, counts, 0
        self.grows = inner.grows

    def seen(self, transition: int) -> None:
        self._inner.seen(transition)

    def seen_many(self, transitions: Ints) -> None:
        self._inner.seen_many(transitions)

    def due(self, state: int = 0) -> bool:
        return self._inner.due(state) or self._counts.total >= max(1, 2 * self._before)

    def decided(self) -> None:
        self._inner.decided()
        self._before = self._counts.total

    def snapshot(self) -> Snapshot:
        return {"decided_at": np.array(self._before), **self._inner.snapshot()}

    def _resume(self, snapshot: Snapshot) -> None:
        saved_checks.require_within("decided_at", snapshot["decided_at"], 0, self._counts.total)
        self._inner.restore({name: array for name, array in snapshot.items() if name != "decided_at"})
        self._before = int(snapshot["decided_at"])


class VisitsDoubled(Trigger):
    """Episodes that end when the visits of a pair have doubled (Jaksch, Ortner and Auer 2010).

    The pair is that of the current state and of the `policy` in force, an array that stays current.
    """

    def __init__(self, counts: TransitionCounts, policy: Ints) -> None:
        self._counts, self._policy = counts, policy
        self._before: Floats = np.zeros(counts.mdp.num_states * counts.mdp.num_actions)
        self._begun = False

    def due(self, state: int = 0) -> bool:
        pair = state * self._counts.mdp.num_actions + int(self._policy[state])
        before = self._before[pair]
        return not self._begun or bool(self._counts.visits_of(pair) - before >= max(1.0, before))

    def decided(self) -> None:
        self._before[...] = self._counts.visits()
        self._begun = True

    def snapshot(self) -> Snapshot:
        return {"before": self._before, "begun": np.array(self._begun)}

    def _resume(self, snapshot: Snapshot) -> None:
        before = snapshot["before"]
        if isinstance(self._counts, ForgettingCounts):  # what was seen then may weigh less now
            saved_checks.require_within("before", before, 0.0, float(MOST_COUNTED))
        else:
            saved_checks.require_within("before", before, 0.0, self._counts.visits())
            if (before != np.floor(before)).any():
                raise ValueError("before holds fractions; visits are whole numbers")
        self._before[...] = before
        self._begun = bool(snapshot["begun"])


class LogDeterminantDoubled(Trigger):
    """Due at first, and when one of the log-determinants that `current()` gives is new or has grown by log 2."""

    grows = ("before",)

    def __init__(self, current: Callable[[], Sequence[float]]) -> None:
        self._current, self._due = current, True
        self._before: list[float] = []

    def seen(self, transition: int) -> None:
        now, then = self._current(), self._before
        grown = (a - b > math.log(2.0) for a, b in zip(now, then, strict=False))
        self._due = len(now) > len(then) or any(grown)

    def due(self, state: int = 0) -> bool:
        return self._due

    def decided(self) -> None:
        self._before, self._due = list(self._current()), False

    def snapshot(self) -> Snapshot:
        return {"before": np.array(self._before, dtype=np.float64), "due": np.array(self._due)}

    def _resume(self, snapshot: Snapshot) -> None:
        saved_checks.require_finite("before", snapshot["before"])
        if len(snapshot["before"]) > len(self._current()):
            raise ValueError(
                f"before has {len(snapshot['before'])} entries; {len(self._current())} is the most"
            )
        self._before, self._due = snapshot["before"].tolist(), bool(snapshot["due"])
