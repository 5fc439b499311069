"""What a loop is, apart from its agent: the fold of its events.

`Ledger.apply` is the whole meaning of an event. It is used in the same way while the service runs, when it starts
again from the first event, and from a snapshot on.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from vbmle.model.mdp import LinearMixtureMDP
from vbmle.serve import events
from vbmle.serve.clock import day
from vbmle.serve.events import Created, Entry, Mode

Reward = Callable[[int, int, int], float | None]
"""The reward of a transition in the user's units; None for a transition that the model does not know."""


class Outcome(msgspec.Struct, frozen=True, array_like=True):
    """A transition, by the number of the event that told of it."""

    seq: int
    state: int
    action: int
    next_state: int


class Waiting(msgspec.Struct, frozen=True, array_like=True):
    """A decision whose outcome is waited for."""

    state: int
    action: int
    time: float


class Day(msgspec.Struct, array_like=True):
    """What was observed in one day."""

    outcomes: int = 0
    reward: float = 0.0


class Ledger(msgspec.Struct):
    """Everything about a loop that later answers depend on; the agent is the learner's."""

    name: str
    seq: int = 0  # of the last event
    length: int = 0  # events so far
    check: bytes = b""
    created: Created | None = None
    created_at: float = 0.0
    mode: Mode = "live"
    pending: dict[str, Waiting] = {}
    unseen: list[Outcome] = []  # observed, and not yet part of a solve
    solving: events.SolveBegun | None = None
    batch: list[Outcome] = []  # what that solve learns from
    version: int = 0  # of the policy in force
    through: int = 0  # the last event that the policy in force knows of
    last_state: int | None = None  # the state that the policy in force was decided for
    failure: str | None = None  # why the last solve failed, if it did
    decisions: int = 0
    observations: int = 0
    refusals: int = 0
    odd: list[str] = []  # decisions of which only an impossible outcome is known
    cancelled: int = 0
    expired: int = 0
    late: int = 0  # expired decisions of which something was heard after all
    compared: int = 0  # decisions that came with what the baseline does
    agreed: int = 0  # those where the policy in force would do the same
    last_decision: float | None = None
    last_observation: float | None = None
    days: dict[str, Day] = {}

    def require_fits(self, name: str, mdp: LinearMixtureMDP) -> None:
        """ValueError unless this is a ledger of the loop with that name, and its numbers are of its model."""
        if self.name != name or self.created is None:
            raise ValueError(
                f"it is of loop {self.name[:40]!r}; it needs to be of {name}, from its beginning on"
            )
        told = [*self.unseen, *self.batch]
        steps: list[Outcome | Waiting] = [*told, *self.pending.values()]
        states = [one.state for one in steps] + [one.next_state for one in told]
        states += [one.state for one in (self.solving,) if one] + [one for one in (self.last_state,) if one]
        if states and not 0 <= min(states) <= max(states) < mdp.num_states:
            raise ValueError(f"it has states from {min(states)} to {max(states)} of {mdp.num_states}")
        for one in steps:
            if not 0 <= one.action < mdp.num_actions or not mdp.allowed[one.state, one.action]:
                raise ValueError(
                    f"it has action {one.action} in state {one.state}, where that is not allowed"
                )

    def apply(self, entry: Entry, reward: Reward) -> None:
        """Take in the next event."""
        self.seq, self.check, self.length = entry.seq, entry.check, self.length + 1
        match entry.event:
            case Created(mode=mode):
                self.created, self.created_at, self.mode = entry.event, entry.time, mode
            case events.Decided() as event:
                self._decided(entry, event)
            case events.Observed() as event:
                self._observed(entry, event, reward(event.state, event.action, event.next_state))
            case events.Refused(decision_id=name):
                self.refusals += 1
                self.odd = [*(one for one in self.odd if one != name), name]
            case events.Cancelled(decision_id=name):
                self._heard(name)
                self._explained(name)
                self.cancelled += 1
            case events.Expired(decision_ids=names):
                for name in names:
                    self.pending.pop(name, None)
                self.expired += len(names)
            case events.ModeSet(mode=mode):
                self.mode = mode
            case events.SolveBegun() as event:
                self.solving = event
                self.batch = [outcome for outcome in self.unseen if outcome.seq <= event.through]
                self.unseen = [outcome for outcome in self.unseen if outcome.seq > event.through]
            case events.PolicySet(version=version, error=error):
                assert self.solving is not None
                assert self.solving.version == version
                self.version, self.through, self.failure = version, self.solving.through, error
                self.last_state = self.solving.state
                self.solving, self.batch = None, []

    def _decided(self, entry: Entry, event: events.Decided) -> None:
        name = events.decision_id(entry.seq)
        self.pending[name] = Waiting(event.state, event.action, entry.time)
        self.decisions += 1
        self.last_decision = entry.time
        if event.baseline_action is not None:
            self.compared += 1
            self.agreed += event.baseline_action == event.suggested

    @property
    def missing(self) -> int:
        """Decisions of which nothing was ever heard, though it was waited for."""
        return self.expired - self.late

    def _heard(self, name: str) -> None:
        if self.pending.pop(name, None) is None:  # it had expired
            self.late += 1

    def _explained(self, name: str) -> None:
        if name in self.odd:
            self.odd.remove(name)

    def _observed(self, entry: Entry, event: events.Observed, reward: float | None) -> None:
        self._heard(event.decision_id)
        self._explained(event.decision_id)
        self.unseen.append(Outcome(entry.seq, event.state, event.action, event.next_state))
        self.observations += 1
        self.last_observation = entry.time
        if reward is not None:
            today = self.days.setdefault(day(entry.time), Day())
            today.outcomes += 1
            today.reward += reward


encode_ledger = msgspec.json.Encoder(order="deterministic").encode
decode_ledger = msgspec.json.Decoder(Ledger).decode
