"""`ModelAgent`: the base of agents that learn a model from transition counts and decide when their trigger says so."""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from vbmle.agents.base import Agent, refuse_more
from vbmle.agents.recount import counted_transitions
from vbmle.agents.triggers import EveryStep, Trigger
from vbmle.common.files import Snapshot
from vbmle.common.validation import Among, Ints, index, one_of
from vbmle.estimation.change_point import RESTARTS, ChangePoint, Restart
from vbmle.estimation.counts import ImpossibleTransition, TransitionCounts
from vbmle.estimation.forgetting import Forget, ForgettingCounts
from vbmle.model.mdp import LinearMixtureMDP
from vbmle.model.widening import widened

ON_IMPOSSIBLE = ("raise", "skip", "widen")
OnImpossible = Annotated[str, Among(ON_IMPOSSIBLE)]
"""What an agent does with an observation that no feasible theta allows."""


class ModelAgent(Agent):
    """An agent that learns from transition counts, and decides at most once for each observation and state.

    A subclass has `_decide`, and another `_trigger` where it need not decide every time. One with an `observe` of its
    own observes logged transitions one by one, unless it has an `observe_many` of its own too.

    on_impossible: what to do with an observation that no feasible theta allows. "raise" refuses it; "skip" notes it in
    `counts.skipped` and learns nothing from it; "widen" gives its pair (s, a) a chance of 1% of anything from then on
    (`vbmle.model.widening`), in `mdp`, and counts it.

    forget: a half-life in steps, or {"window": steps}: what is older weighs less, or nothing
    (`vbmle.estimation.forgetting`), for a mix that drifts. Decisions are due at least four times in that time.

    restart: "on-alarm" forgets all observations before a change of theta when a test finds one
    (`vbmle.estimation.change_point`), for a mix that jumps; `restarts` says when that was.
    """

    saved: ClassVar[tuple[str, ...]] = ("decisions", "_decided")

    learns_from_counts = True

    def __init_subclass__(cls, **extra: Any) -> None:
        super().__init_subclass__(**extra)
        if "observe" in vars(cls) and "learns_from_counts" not in vars(cls):
            cls.learns_from_counts = False

    def __init__(
        self,
        mdp: LinearMixtureMDP,
        on_impossible: OnImpossible = "raise",
        forget: Forget = None,
        restart: Restart = None,
        **settings: Any,
    ) -> None:
        one_of("on_impossible", on_impossible, ON_IMPOSSIBLE)
        if restart is not None:
            one_of("restart", restart, RESTARTS)
        # Only what a subclass handed over is among its settings: one that knows neither can still be rebuilt.
        own = {
            "on_impossible": (on_impossible, "raise"),
            "forget": (forget, None),
            "restart": (restart, None),
        }
        given = {name: value for name, (value, default) in own.items() if value != default}
        super().__init__(mdp, **given, **settings)
        self._on_impossible = on_impossible
        self.counts = TransitionCounts(mdp) if forget is None else ForgettingCounts(mdp, forget)
        self._trigger: Trigger = EveryStep()
        self._decided = -1  # the state decided for since the last observation
        self._watch = ChangePoint(mdp) if restart else None
        self._alarm = False

    def _learnt(self) -> Snapshot:
        return {"where": counted_transitions(self.counts), **super()._learnt()}

    @abstractmethod
    def _decide(self, state: int) -> None:
        """Update the policy, and what it rests on, for acting in `state`."""

    def act(self, state: Any) -> Any:
        if state != self._decided or state < 0:
            if isinstance(state, str):
                return self._act_by_name(state)
            if type(state) is not int or not 0 <= state < self.mdp.num_states:  # rarely
                state = index("state", state, self.mdp.num_states)
            fading = self.counts if isinstance(self.counts, ForgettingCounts) else None
            if self._trigger.due(state) or (fading and fading.aged):
                self._decide(state)
                self._trigger.decided()
                if fading:
                    fading.decided()
                self.decisions += 1
            self._decided = state
        return int(self.policy[state])  # checked already: this is the hot path

    def observe(self, state: int, action: int, next_state: int, *more: Any, **named: Any) -> None:
        if more or named:
            refuse_more(self, state, action, next_state, *more, **named)
        try:
            seen = self.counts.add(state, action, next_state)
            self._trigger.seen(seen)
            self._decided = -1
            if self._watch and self._watch.seen(seen):
                self._start_anew()
        except ImpossibleTransition:
            if self._on_impossible == "raise":
                raise
            self._count(*(np.array([number]) for number in (state, action, next_state)))

    def observe_many(self, states: ArrayLike, actions: ArrayLike, next_states: ArrayLike) -> Ints | None:
        """Learn from logged transitions at once: the same as one by one, and refused as a whole.

        Returns the indices of those that no feasible theta allows, after `on_impossible` was applied to them.
        """
        if not self.learns_from_counts:
            return super().observe_many(states, actions, next_states)
        return self._count(states, actions, next_states)

    def _count(self, states: ArrayLike, actions: ArrayLike, next_states: ArrayLike) -> Ints:
        """Count transitions, and treat those that no feasible theta allows as `on_impossible` says."""
        found = self.counts.find_many(states, actions, next_states)
        odd = np.nonzero(found < 0)[0]
        if len(odd) and self._on_impossible == "raise":
            self.counts.add_many(states, actions, next_states)  # says which
        s, a, to = (column[odd] for column in self.counts.path(states, actions, next_states))
        if len(odd) and self._on_impossible == "widen":
            self._widen(s * self.mdp.num_actions + a)
            found = self.counts.find_many(states, actions, next_states)
        else:
            self.counts.skip(s, a, to)
            found = found[found >= 0]
        while len(found):
            now = found if self._watch is None else found[: self._until_alarm(found)]
            self._trigger.seen_many(self.counts.add_found(now))
            self._decided, found = -1, found[len(now) :]
            if self._alarm:
                self._start_anew()
        return odd

    @property
    def restarts(self) -> list[int]:
        """After how many observations it has started over (restart="on-alarm")."""
        return [] if self._watch is None else list(self._watch.restarts)

    def _until_alarm(self, found: Ints) -> int:
        """How many of those transitions the watch takes before it alarms, that one included; all, where it does not."""
        watch = self._watch
        assert watch is not None
        for i, transition in enumerate(found.tolist()):
            if watch.seen(transition):
                self._alarm = True
                return i + 1
        return len(found)

    def _start_anew(self) -> None:
        """Forget all that was observed before the mix changed."""
        given, wide, watch, decisions = self._given, self._wide, self._watch, self.decisions
        assert watch is not None
        kept = watch.restart()
        type(self).__init__(self, self.mdp, **self.settings)
        self._given, self._wide, self._watch, self.decisions = given, wide, watch, decisions
        if len(kept):
            self._trigger.seen_many(self.counts.add_found(kept))

    def _widen(self, pairs: Ints) -> None:
        """Go on with a model that gives those pairs a small chance of anything, and with all that was counted."""
        given, wide, watch = self._given, sorted({*self._wide, *pairs.tolist()}), self._watch
        counts, decisions = self.counts, self.decisions
        type(self).__init__(self, widened(given, wide), **self.settings)
        if self._watch and watch:  # it looks for changes from here on
            self._watch.steps, self._watch.restarts = watch.steps, watch.restarts
        self._given, self._wide, self.decisions = given, wide, decisions
        self._trigger.seen_many(self.counts.continue_from(counts))
