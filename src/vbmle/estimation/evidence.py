"""Evidence: the counts of what was observed, under a memory that says what to do with the odd, the old and a change.

    on_impossible   what no feasible theta allows is refused or skipped, or its pair (s, a) is widened
                    (`vbmle.model.widening`)
    forget          old observations weigh less, or nothing (`vbmle.estimation.counts`): for a mix that drifts
    restart         all before a change of theta is forgotten when a test finds one (`vbmle.estimation.change_point`):
                    for a mix that jumps

Widening changes the model, and restarting the counts. Whoever builds on them has to begin again, from the evidence as
it is then; the one that hands in observations is told so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from vbmle.common.files import Snapshot
from vbmle.common.stated import AmongOwn, Check
from vbmle.common.validation import Among, Ints
from vbmle.estimation.counts import (
    Forget,
    ForgettingCounts,
    ImpossibleTransition,
    TransitionCounts,
    read_forget,
)
from vbmle.model.mdp import LinearMixtureMDP

if TYPE_CHECKING:
    from vbmle.estimation.change_point import ChangePoint

Restart = Annotated[str, Among(("on-alarm",))] | None
"""When an agent forgets everything and starts over: "on-alarm" of the test for changes, or None for never."""

Told = Callable[[bool, Ints], None]
"""Is told what was counted, by index, and first whether the model or the counts are others than before."""


def _forgets(name: str, value: Forget) -> Forget:
    read_forget(value)
    return value


@dataclass(kw_only=True)
class Refusal:
    """The setting of whoever counts transitions."""

    ways_out: ClassVar[tuple[str, ...]] = ("raise", "skip")

    on_impossible: Annotated[
        str,
        AmongOwn("ways_out"),
        "What to do with an observed transition that the model calls impossible: refuse it; note it in "
        "`counts.skipped` and learn nothing from it; or, for agents that learn by likelihood, from then on give every "
        "next state of its pair (s, a) a small probability.",
    ] = "raise"


@dataclass(kw_only=True)
class Memory(Refusal):
    """The settings of whoever learns from counts alone."""

    ways_out: ClassVar[tuple[str, ...]] = ("raise", "skip", "widen")

    forget: Annotated[
        Forget,
        Check("", _forgets),
        'How old observations fade: a half-life in steps, or {"window": steps} for the last ones alone. By default '
        "none is forgotten.",
    ] = None
    restart: Annotated[
        Restart,
        "Start over, with the observations since the change, when a test finds that theta has changed. By default "
        "there is no such test.",
    ] = None


def counted(
    counts: TransitionCounts, refusal: Refusal, state: int, action: int, next_state: int
) -> int | None:
    """Count a transition and return its index; None for one that no feasible theta allows, where it is skipped."""
    try:
        return counts.add(state, action, next_state)
    except ImpossibleTransition:
        if refusal.on_impossible == "raise":
            raise
        counts.skip(state, action, next_state)
        return None


class Evidence:
    """Counts on a model, kept as a memory says.

    given: the model that was given; wide: its pairs that were widened; mdp: the model that came of it;
    counts, and watch, the test for changes, or None: on that model.
    """

    def __init__(self, mdp: LinearMixtureMDP, memory: Memory) -> None:
        self.given, self.wide = mdp, list[int]()
        self._rule, self._forget, self._watches = memory.on_impossible, memory.forget, bool(memory.restart)
        self._on(mdp)

    def _on(self, mdp: LinearMixtureMDP) -> None:
        """Begin anew on a model."""
        self.mdp, self.counts = mdp, self._fresh(mdp)
        self.watch = self._new_watch() if self._watches else None

    def _new_watch(self) -> ChangePoint:
        from vbmle.estimation.change_point import ChangePoint

        return ChangePoint(self.mdp)

    def _fresh(self, mdp: LinearMixtureMDP) -> TransitionCounts:
        return TransitionCounts(mdp) if self._forget is None else ForgettingCounts(mdp, self._forget)

    def add(self, state: int, action: int, next_state: int) -> int:
        """Count a transition and return its index; -1 where nothing was counted, and `take` is needed."""
        if self.watch is not None:
            return -1
        try:
            return self.counts.add(state, action, next_state)
        except ImpossibleTransition:
            if self._rule == "raise":
                raise
            return -1

    def take(self, states: ArrayLike, actions: ArrayLike, next_states: ArrayLike, told: Told) -> Ints:
        """Count transitions in their order; those that no feasible theta allows as the memory says.

        Returns the places of these. All are refused where one is.
        """
        found = self.counts.find_many(states, actions, next_states)
        odd = np.nonzero(found < 0)[0]
        if len(odd) and self._rule == "raise":
            self.counts.add_many(states, actions, next_states)  # says which
        s, a, to = (column[odd] for column in self.counts.path(states, actions, next_states))
        if len(odd) and self._rule == "widen":
            told(True, self.widen((s * self.mdp.num_actions + a).tolist()))
            found = self.counts.find_many(states, actions, next_states)
        else:
            self.counts.skip(s, a, to)
        self._add_found(found[found >= 0], told)
        return odd

    def _add_found(self, found: Ints, told: Told) -> None:
        """Count transitions by index, and start over as often as the test for changes says."""
        while len(found):
            now, alarm = (len(found), False) if self.watch is None else self.watch.seen_many(found)
            told(False, self.counts.add_found(found[:now]))
            found = found[now:]
            if alarm and self.watch is not None:
                kept = self.watch.restart()
                self.counts = self._fresh(self.mdp)
                told(True, self.counts.add_found(kept))

    def widen(self, pairs: Sequence[int]) -> Ints:
        """Go on with a model that gives those pairs a small chance of anything, and with all that was counted.

        Returns what was counted, by its new indices.
        """
        from vbmle.model.widening import widened

        counts, watch = self.counts, self.watch
        self.wide = sorted({*self.wide, *pairs})
        self._on(widened(self.given, self.wide))
        if self.watch and watch:  # it looks for changes from here on
            self.watch.steps, self.watch.restarts = watch.steps, watch.restarts
        return self.counts.continue_from(counts)

    def counted_transitions(self) -> Ints:
        """(s, a, s') of every transition that was counted, (n, 3), in the order of `counts.observed`."""
        possible, seen = self.mdp.transitions, self.counts.observed
        state, action = np.divmod(possible.pair_of[seen], possible.num_actions)
        return np.column_stack([state, action, possible.successor[seen]]).astype(np.int64)

    def recount(self, snapshot: Snapshot, where: Ints) -> Ints:
        """Count again what a snapshot of evidence on another model had counted, at `where` (`counted_transitions`).

        Counts do not depend on rewards, discount or features: after one of these was corrected they carry over, as far
        as the new model has the same states and actions. Transitions that it calls impossible are dealt with as the
        memory says. Returns what was counted, by index.
        """
        kept = snapshot["counts.observed"]
        weights = snapshot["counts.values"][kept]
        if where.shape != (len(kept), 3):
            raise ValueError(f"where has shape {where.shape}; it needs {(len(kept), 3)}")
        steps, skipped = np.column_stack([where, weights]), snapshot["counts.skipped"]
        fades = isinstance(self.counts, ForgettingCounts)
        if (
            not fades
        ):  # what was impossible then may be possible now; where old ones fade it is too late for them
            steps = np.vstack([steps, skipped.astype(np.float64)])
        at = self._find_again(steps, refuse=fades or self._rule == "raise")
        known = at >= 0
        values = np.zeros_like(self.counts.values)
        np.add.at(values, at[known], steps[known, 3])
        self.counts.load_values(values, np.array(list(dict.fromkeys(at[known].tolist())), dtype=np.int64))
        odd = skipped if fades else steps[~known]
        self.counts.skipped = {(int(s), int(a), int(to)): int(times) for s, a, to, times in odd}
        if isinstance(self.counts, ForgettingCounts):
            self.counts.carry(snapshot, dict(zip(kept.tolist(), at.tolist(), strict=True)))
        if self.watch and "watch.numbers" in snapshot:  # it looks for changes from here on
            self.watch.steps = int(snapshot["watch.numbers"][0])
            self.watch.restarts = [int(step) for step in snapshot["watch.restarts"]]
        return np.repeat(at[known], steps[known, 3].astype(np.int64))

    def _find_again(self, steps: np.ndarray, refuse: bool) -> Ints:
        """The index of each transition in the model at hand, -1 where it is skipped."""
        s, a, to = steps[:, :3].astype(np.int64).T
        at = self.counts.find_many(s, a, to)
        odd = np.nonzero(at < 0)[0]
        if len(odd) and self._rule == "widen":
            self.widen((s[odd] * self.mdp.num_actions + a[odd]).tolist())
            return self.counts.find_many(s, a, to)
        if len(odd) and refuse:
            i, names = int(odd[0]), self.mdp.names
            raise ImpossibleTransition(
                f"{names.pair(int(s[i]), int(a[i]))} led to {names.state(int(to[i]))}, which has probability 0 for "
                f"every feasible theta of the new model; {len(odd)} counted transitions are such"
            )
        return at
