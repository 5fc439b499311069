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
from typing import Annotated, Any, ClassVar

import numpy as np

from vbmle.common import keeper
from vbmle.common.keeper import Keeper, Part, Saved, anything
from vbmle.common.validation import Among, Floats, Ints
from vbmle.estimation.counts import MOST_COUNTED, ForgettingCounts, TransitionCounts
from vbmle.model.mdp import LinearMixtureMDP

UPDATES = ("every-step", "doubling")
Update = Annotated[str, Among(UPDATES)]
SolveAgain = Annotated[
    Update,
    "When to solve again: at every step, or only when the information about what was just observed has doubled (see "
    "`vbmle.estimation.information`); in between the policy in force stays.",
]
DrawAgain = Annotated[
    Update,
    "When to draw again: at every step, or only when the information about what was just observed has doubled; in "
    "between the policy in force stays.",
]


class Trigger(Keeper):
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


class EveryStep(Trigger):
    """Always due."""


class EveryObservation(Trigger):
    """Due at first, and again after each observation."""

    saved: ClassVar[Saved] = {"_due": anything}

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


class InformationGrown(Trigger):
    """Due when the determinant of a block's information has grown by the factor since the last decision."""

    def __init__(self, mdp: LinearMixtureMDP, ridge: float, factor: float = 2.0) -> None:
        from vbmle.estimation.information import Information

        self._information = Information(mdp, ridge, factor)

    def seen(self, transition: int) -> None:
        self._information.add(transition)

    def seen_many(self, transitions: Ints) -> None:
        self._information.follow(transitions)

    def due(self, state: int = 0) -> bool:
        return self._information.due

    def decided(self) -> None:
        self._information.decided()

    def _parts(self) -> dict[str, Part]:
        return {"information": self._information}


def _no_later_than_now(trigger: Any, name: str, then: Ints) -> None:
    keeper.require_within(name, then, 0, trigger._counts.total)


class OrTimeDoubled(Trigger):
    """Due when the `inner` trigger is, and when as many observations have come since the last decision as before it.

    For agents that weigh how long they have run: a policy that teaches nothing would never be looked at again.
    """

    saved: ClassVar[Saved] = {"_decided_at": _no_later_than_now}

    def __init__(self, inner: Trigger, counts: TransitionCounts) -> None:
        self._inner, self._counts, self._decided_at = inner, counts, 0

    def _parts(self) -> dict[str, Part]:
        return {"inner": self._inner}

    def seen(self, transition: int) -> None:
        self._inner.seen(transition)

    def seen_many(self, transitions: Ints) -> None:
        self._inner.seen_many(transitions)

    def due(self, state: int = 0) -> bool:
        return self._inner.due(state) or self._counts.total >= max(1, 2 * self._decided_at)

    def decided(self) -> None:
        self._inner.decided()
        self._decided_at = self._counts.total


def _visits_then(trigger: Any, name: str, then: Floats) -> None:
    """What was seen then was seen by now; where old observations fade, it may weigh less now."""
    if isinstance(trigger._counts, ForgettingCounts):
        keeper.require_within(name, then, 0.0, float(MOST_COUNTED))
        return
    keeper.require_within(name, then, 0.0, trigger._counts.visits())
    if (then != np.floor(then)).any():
        raise ValueError(f"{name} holds fractions; visits are whole numbers")


class VisitsDoubled(Trigger):
    """Episodes that end when the visits of a pair have doubled (Jaksch, Ortner and Auer 2010).

    The pair is that of the current state and of the `policy` in force, an array that stays current.
    """

    saved: ClassVar[Saved] = {"_before": _visits_then, "_begun": anything}

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


def _some_of_now(trigger: Any, name: str, then: Floats) -> None:
    keeper.require_finite(name, then)
    if len(then) > len(trigger._current()):
        raise ValueError(f"{name} has {len(then)} entries; {len(trigger._current())} is the most")


class LogDeterminantDoubled(Trigger):
    """Due at first, and when one of the log-determinants that `current()` gives is new or has grown by log 2."""

    saved: ClassVar[Saved] = {"_before": _some_of_now, "_due": anything}
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
