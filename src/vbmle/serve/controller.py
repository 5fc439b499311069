"""One loop in service: what its requests mean.

Every request is checked against what is recorded, then recorded, then answered. Between the check and the record
nothing waits, so that requests that arrive together are as good as one after the other. The answer waits until the
record is on disk.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import Executor
from typing import NamedTuple

import numpy as np

from vbmle.common.validation import Floats
from vbmle.serve import events
from vbmle.serve.bodies import (
    CancelAnswer,
    DecisionAnswer,
    DecisionRequest,
    ModeAnswer,
    Observation,
    ObservationAnswer,
)
from vbmle.serve.clock import Clock
from vbmle.serve.event_log import EventLog, StorageError
from vbmle.serve.events import AnyEvent, Cancelled, Decided, Entry, Expired, Mode, ModeSet, Observed, Refused
from vbmle.serve.insight import Insights, Looking
from vbmle.serve.learner import Policy, preferences
from vbmle.serve.ledger import Ledger
from vbmle.serve.outcomes import Outcomes
from vbmle.serve.refusals import BadInput, Conflict
from vbmle.serve.solves import SNAPSHOT_EVERY, Hand, Solves

EXPIRED_AT_ONCE = 1000
"""Decisions in one event of expiry."""


class Means(NamedTuple):
    """What loops share: threads, and the turn to look at an agent."""

    threads: Executor
    turn: asyncio.Lock
    looking: Looking


class Asked(NamedTuple):
    """A request for a decision, in numbers: what makes two requests the same."""

    state: int
    allowed: list[int] | None
    baseline_action: int | None


class Controller:
    """A loop that answers. All methods are for the thread of the event loop."""

    def __init__(
        self,
        ledger: Ledger,
        hand: Hand,
        log: EventLog,
        means: Means,
        snapshot_every: int = SNAPSHOT_EVERY,
    ) -> None:
        self.ledger, self.name, self.outcomes = ledger, ledger.name, Outcomes(hand.mdp)
        self.log, self.clock = log, log.clock
        self.solves = Solves(ledger, hand, log, means.threads, self._append, snapshot_every)
        self.insights = Insights(self.solves, self.outcomes, means.turn, means.looking)
        self.solves.on_policy = self.insights.refresh
        self.duplicates = 0
        self._flying: dict[tuple[str, str], Entry] = {}  # appended, and not known to be on disk
        self._ranks: tuple[Policy, Floats | None] | None = None
        self._deadlines = {
            name: _deadline(self.clock, waiting.time, self.expire_after)
            for name, waiting in ledger.pending.items()
        }
        self._closed = False

    @property
    def expire_after(self) -> float:
        """Seconds for which an outcome is waited for."""
        assert self.ledger.created is not None
        return self.ledger.created.expire_after

    async def decide(self, request: DecisionRequest) -> DecisionAnswer:
        """Choose an action; the same request again gets the same answer."""
        asked = self._asked(request)
        while (known := self._known("decided", request.request_id)) is None:
            policy = self.solves.policy
            suggested = policy.actions[asked.state]
            if asked.allowed is not None and suggested not in asked.allowed:
                if self._ranks is None or self._ranks[0] is not policy:
                    await self._rank(policy)
                    continue  # meanwhile everything may have changed
                suggested = _best(self._ranks[1], asked.state, asked.allowed)
            known = self._decided(request.request_id, asked, policy.version, suggested)
            break
        else:
            self._require_same(request.request_id, asked, known)
            self.duplicates += 1
        if ("decided", request.request_id) in self._flying:
            await self._settled()
        return self._answer(known)

    def _asked(self, request: DecisionRequest) -> Asked:
        state, allowed, baseline = (
            self.outcomes.state(request.state),
            request.allowed,
            request.baseline_action,
        )

        def action(given: int | str, where: str) -> int:
            return self.outcomes.require_allowed(state, self.outcomes.action(given, where), where)

        return Asked(
            state,
            None if allowed is None else [action(a, f"allowed[{i}]") for i, a in enumerate(allowed)],
            None if baseline is None else action(baseline, "baseline_action"),
        )

    def _decided(self, request_id: str, asked: Asked, version: int, suggested: int) -> Entry:
        mode, action = self.ledger.mode, suggested
        if mode == "shadow":
            if asked.baseline_action is None:
                raise BadInput(
                    "baseline_action is missing; in shadow mode it is what will be done, so send it"
                )
            action = asked.baseline_action
        event = Decided(
            request_id, asked.state, action, suggested, version, mode, asked.allowed, asked.baseline_action
        )
        entry = self._append(event)
        self._deadlines[events.decision_id(entry.seq)] = self.clock.steady() + self.expire_after
        return entry

    def _require_same(self, request_id: str, asked: Asked, known: Entry) -> None:
        event = known.event
        assert isinstance(event, Decided)
        before = Asked(event.state, event.allowed, event.baseline_action)
        for place, name in enumerate(Asked._fields):
            if asked[place] != before[place]:
                new, old = self._named(asked)[place], self._named(before)[place]
                raise Conflict(
                    f"request_id {request_id!r} was used before with {name} {old}, now with {new}; "
                    "a new request needs an id of its own"
                )

    def _named(self, asked: Asked) -> tuple[str, str, str]:
        """A request as people read it."""
        state, allowed, baseline = asked
        action = self.outcomes.action_name
        return (
            self.outcomes.state_name(state),
            "all actions" if allowed is None else ", ".join(map(action, allowed)),
            "none" if baseline is None else action(baseline),
        )

    def _answer(self, entry: Entry) -> DecisionAnswer:
        event = entry.event
        assert isinstance(event, Decided)
        names = self.outcomes.action_names
        return DecisionAnswer(
            events.decision_id(entry.seq),
            event.action,
            event.policy_version,
            event.mode,
            event.suggested,
            names[event.action] if names else None,
        )

    async def _rank(self, policy: Policy) -> None:
        """Find out how good actions are that the policy does not play; a plan, so in a thread, and not after solves."""
        self._ranks = (policy, await asyncio.to_thread(preferences, self.outcomes.mdp, policy))

    async def observe(self, observations: Sequence[Observation], many: bool = False) -> ObservationAnswer:
        """Record outcomes, all or none. Those known already are ignored, those that contradict are refused."""
        fresh: dict[str, Observed] = {}
        for place, item in enumerate(observations):
            where = f"observations[{place}]: " if many else ""
            event = self._observed(item, where)
            told = fresh.get(event.decision_id) or self._told(event.decision_id)
            if told is None:
                await self._require_possible(event, where)
                fresh[event.decision_id] = event
            elif told.next_state != event.next_state:
                raise Conflict(
                    f"{where}decision {event.decision_id} was observed to lead to {self._state(told)}, "
                    f"not to {self._state(event)}; the first observation stands"
                )
        for event in fresh.values():
            self._append(event)
            self._deadlines.pop(event.decision_id, None)
        self.duplicates += len(observations) - len(fresh)
        self.solves.go_on()
        await self._settled()
        return ObservationAnswer(len(fresh), len(observations) - len(fresh))

    def _state(self, event: Observed) -> str:
        return f"state {self.outcomes.state_name(event.next_state)}"

    def _observed(self, item: Observation, where: str) -> Observed:
        """The event that an observation would be."""
        next_state = self.outcomes.state(item.next_state, f"{where}next_state")
        state, action = self._decision(item.decision_id, where)
        if item.decision_id not in self.ledger.pending and self._known("cancelled", item.decision_id):
            raise Conflict(f"{where}decision {item.decision_id} was cancelled, so it has no outcome")
        return Observed(item.decision_id, state, action, next_state)

    def _decision(self, name: str, where: str = "") -> tuple[int, int]:
        """State and action of a decision of this loop, waited for or not."""
        if (waiting := self.ledger.pending.get(name)) is not None:
            return waiting.state, waiting.action
        seq = events.decision_seq(name)
        entry = None if seq is None else self.log.event(self.name, seq)
        if entry is None or not isinstance(entry.event, Decided):
            raise BadInput(
                f"{where}decision_id is {name!r}; loop {self.name} has made no such decision, "
                "it needs one as POST .../decisions answered it"
            )
        return entry.event.state, entry.event.action

    def _told(self, name: str) -> Observed | None:
        """What is recorded as the outcome of a decision."""
        if name in self.ledger.pending:
            return None
        entry = self._known("observed", name)
        return entry.event if entry is not None and isinstance(entry.event, Observed) else None

    async def _require_possible(self, event: Observed, where: str) -> None:
        """An impossible outcome is the agent's to judge where it has a rule; else it is refused, and remembered."""
        try:
            self.outcomes.require_possible(event.state, event.action, event.next_state)
        except BadInput as error:
            assert self.ledger.created is not None
            if self.ledger.created.settings.get("on_impossible", "raise") != "raise":
                return
            refused = Refused(event.decision_id, event.state, event.action, event.next_state)
            if self._known("refused", refused.key) is None:
                self._append(refused)
            await self._settled()
            raise BadInput(f"{where}{error}") from error

    async def cancel(self, name: str) -> CancelAnswer:
        """Take back a decision that was not carried out."""
        self._decision(name)
        if self._told(name) is not None:
            raise Conflict(f"decision {name} was observed, so it was carried out and cannot be cancelled")
        if self._known("cancelled", name) is None:
            self._append(Cancelled(name))
            self._deadlines.pop(name, None)
        else:
            self.duplicates += 1
        await self._settled()
        return CancelAnswer(name)

    async def set_mode(self, mode: Mode) -> ModeAnswer:
        """Go on in a mode; the same again changes nothing."""
        if mode != self.ledger.mode:
            self._append(ModeSet(mode))
            self.solves.go_on()
        await self._settled()
        return ModeAnswer(mode)

    def expire(self) -> None:
        """Give up waiting for what is overdue."""
        now = self.clock.steady()
        overdue: list[str] = []
        for name, deadline in self._deadlines.items():
            if deadline > now or len(overdue) == EXPIRED_AT_ONCE:
                break  # all wait equally long, so they are in order
            overdue.append(name)
        if overdue:
            self._append(Expired(overdue))
            for name in overdue:
                del self._deadlines[name]

    def committed(self, seq: int) -> None:
        """Everything up to this number is on disk."""
        while self._flying:
            first = next(iter(self._flying))
            if self._flying[first].seq > seq:
                break
            del self._flying[first]

    def _known(self, kind: str, key: str) -> Entry | None:
        return self._flying.get((kind, key)) or self.log.lookup(self.name, kind, key)

    async def _settled(self) -> None:
        """Wait until what the answer rests on is on disk, and see that it is still this that answers for the loop."""
        await self.log.settled()
        self._require_open()

    def _require_open(self) -> None:
        if self._closed:
            raise StorageError(
                "the loop was read from disk again after a failed write; send the request again"
            )

    def _append(self, event: AnyEvent) -> Entry:
        self._require_open()
        entry = self.log.append(self.name, event)
        self.ledger.apply(entry, self.outcomes.reward)
        if event.key is not None:
            self._flying[event.kind, event.key] = entry
        return entry

    def abandon(self) -> None:
        """Do nothing more: what the loop is will be read from disk again."""
        self._closed = True
        self.insights.stop()
        self.solves.abandon()


def _best(ranks: Floats | None, state: int, allowed: list[int]) -> int:
    """The best of the allowed actions, the first of them where nothing ranks them."""
    if ranks is None:
        return min(allowed)
    return max(sorted(allowed), key=lambda action: float(np.asarray(ranks)[state, action]))


def _deadline(clock: Clock, since: float, after: float) -> float:
    """Until when to wait for a decision made before this start; a clock that was set back makes it at most `after`."""
    age = min(max(clock.wall() - since, 0.0), after)
    return clock.steady() + after - age
