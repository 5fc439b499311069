"""`ModelAgent`: the base of agents that learn a model from transition counts and decide when their trigger says so."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from vbmle.agents.base import Agent, a_state_or_none, refuse_more
from vbmle.agents.triggers import EveryStep, Trigger
from vbmle.common.files import Snapshot
from vbmle.common.keeper import Saved, a_count, anything
from vbmle.common.stated import Check
from vbmle.common.validation import Ints, index, positive
from vbmle.core import library
from vbmle.estimation.counts import ForgettingCounts
from vbmle.estimation.evidence import Evidence, Memory
from vbmle.model.mdp import LinearMixtureMDP

if TYPE_CHECKING:
    from vbmle.agents.decision import Decision


def _seconds_or_none(name: str, value: Any) -> float | None:
    return None if value is None else positive(name, value)


class ModelAgent(Agent, Memory):
    """An agent that learns from transition counts, and decides at most once for each observation and state.

    A subclass states its settings as fields, makes in `_start` what it keeps between decisions, with the `mdp` and the
    `counts` at hand, and takes a decision in `_decide`; in `_start` it may choose another `_trigger`. It is started
    again when a memory (`vbmle.estimation.evidence`) has changed the model or begun to count anew. One with an
    `observe` of its own observes logged transitions one by one, unless it has an `observe_many` of its own too.
    """

    saved: ClassVar[Saved] = {"decisions": a_count, "_decided": a_state_or_none, "_late": anything}

    deadline: Annotated[
        float | None,
        Check("above 0, or None", _seconds_or_none),
        "Seconds that a decision may take. Where they pass, the best answer so far is in force, and `last.status` says "
        "so. Actions then depend on how fast the machine is. By default there is no limit.",
    ] = None

    learns_from_counts = True

    def __init_subclass__(cls, **extra: Any) -> None:
        super().__init_subclass__(**extra)
        if "observe" in vars(cls) and "learns_from_counts" not in vars(cls):
            cls.learns_from_counts = False

    def _set_up(self) -> None:
        memory = Memory(**{field.name: getattr(self, field.name) for field in fields(Memory)})
        self._evidence = Evidence(self.mdp, memory)
        self._begin()
        self._made = frozenset(vars(self)) | {"_made"}

    def _begin(self) -> None:
        """Start from the evidence as it is now; what was kept before is gone."""
        evidence = self._evidence
        self.mdp, self.counts, self._watch = evidence.mdp, evidence.counts, evidence.watch
        self._trigger: Trigger = EveryStep()
        self._decided = -1  # the state decided for since the last observation
        self._late = False  # whether the last decision ran out of time
        self._start()

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
                self._decide_in_time(state)
                self._trigger.decided()
                if fading:
                    fading.decided()
                self.decisions += 1
            self._decided = state
        return int(self.policy[state])  # checked already: this is the hot path

    def _decide_in_time(self, state: int) -> None:
        if self.deadline is None:
            return self._decide(state)
        library.give_seconds(self.deadline)
        try:
            self._decide(state)
            self._late = library.time_is_up()
        finally:
            library.give_seconds(math.inf)

    @property
    def last(self) -> Decision | None:
        found = super().last
        return replace(found, status="out of time", converged=False) if found and self._late else found

    def observe(self, state: int, action: int, next_state: int, *more: Any, **named: Any) -> None:
        if more or named:
            refuse_more(self, state, action, next_state, *more, **named)
        seen = self._evidence.add(state, action, next_state)
        if seen >= 0:  # the hot path
            self._trigger.seen(seen)
            self._decided = -1
        else:
            states, actions, next_states = (np.array([number]) for number in (state, action, next_state))
            self._evidence.take(states, actions, next_states, self._seen)

    def observe_many(self, states: ArrayLike, actions: ArrayLike, next_states: ArrayLike) -> Ints | None:
        """Learn from logged transitions at once: the same as one by one, and refused as a whole.

        Returns the indices of those that no feasible theta allows, after `on_impossible` was applied to them.
        """
        if not self.learns_from_counts:
            return super().observe_many(states, actions, next_states)
        return self._evidence.take(states, actions, next_states, self._seen)

    def _seen(self, anew: bool, transitions: Ints) -> None:
        """Hear from the evidence what was counted, and whether to begin anew on it."""
        if anew:
            self._begin()
        if len(transitions):
            self._trigger.seen_many(transitions)
            self._decided = -1

    @property
    def restarts(self) -> list[int]:
        """After how many observations it has started over (restart="on-alarm")."""
        return [] if self._watch is None else list(self._watch.restarts)

    @property
    def _given(self) -> LinearMixtureMDP:
        return self._evidence.given

    @property
    def _wide(self) -> list[int]:
        return self._evidence.wide

    def _widen(self, pairs: list[int]) -> None:
        """Go on with those pairs widened."""
        self._seen(True, self._evidence.widen(pairs))

    def _recount(self, snapshot: Snapshot, where: Ints) -> None:
        """Learn what a snapshot of one on another model had counted (`Evidence.recount`); all else begins anew."""
        self._seen(True, self._evidence.recount(snapshot, where))
        self.decisions = int(snapshot["decisions"])

    def __reduce__(self) -> tuple[Any, ...]:
        """How `pickle` and `copy` make another: from a snapshot, for much of it is memory of the core."""
        from vbmle.agents import agent_file

        own = {name: value for name, value in vars(self).items() if name not in self._made}
        return agent_file.again, (type(self), self._given, *agent_file.made_of(self), own)
