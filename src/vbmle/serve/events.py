"""What is recorded: one event for everything that changes a loop, in the words of the log.

An event says what happened and never what follows from it, with one exception: an observation repeats the state and the
action of its decision, so that the log can be read from any place on.
"""

from __future__ import annotations

import hashlib
from typing import Any, Literal, NamedTuple

import msgspec

Mode = Literal["shadow", "live", "frozen"]
"""shadow: the baseline acts, the agent learns. live: the agent acts. frozen: the policy in force stays as it is."""


class Event(msgspec.Struct, frozen=True, tag_field="kind", omit_defaults=True, forbid_unknown_fields=True):
    """Something that happened to a loop."""

    @property
    def kind(self) -> str:
        """The word for what happened."""
        return str(self.__struct_config__.tag)

    @property
    def key(self) -> str | None:
        """What there may be only one event of this kind for, in one loop."""
        return None


class Created(Event, frozen=True, tag="created"):
    """The loop begins. `expire_after` is for how many seconds the outcome of a decision is waited for.

    `recommended` says that no agent was named: `agent` is the one that was recommended then, and stays.
    """

    model: str
    fingerprint: str
    agent: str
    settings: dict[str, Any]
    mode: Mode
    expire_after: float
    recommended: bool = False

    @property
    def key(self) -> str:
        return "created"


class Decided(Event, frozen=True, tag="decided"):
    """An action was chosen. `suggested` is what the policy in force plays; in shadow the action is the baseline's."""

    request_id: str
    state: int
    action: int
    suggested: int
    policy_version: int
    mode: Mode
    allowed: list[int] | None = None
    baseline_action: int | None = None

    @property
    def key(self) -> str:
        return self.request_id


class Observed(Event, frozen=True, tag="observed"):
    """What a decision led to."""

    decision_id: str
    state: int
    action: int
    next_state: int

    @property
    def key(self) -> str:
        return self.decision_id


class Refused(Event, frozen=True, tag="refused"):
    """An outcome that the model calls impossible: not learnt from, but not forgotten either."""

    decision_id: str
    state: int
    action: int
    next_state: int

    @property
    def key(self) -> str:
        return f"{self.decision_id}/{self.next_state}"


class Cancelled(Event, frozen=True, tag="cancelled"):
    """A decision was not carried out."""

    decision_id: str

    @property
    def key(self) -> str:
        return self.decision_id


class Expired(Event, frozen=True, tag="expired"):
    """Decisions that are no longer waited for. An observation that comes after all still counts."""

    decision_ids: list[str]


class ModeSet(Event, frozen=True, tag="mode"):
    """The loop goes on in another mode."""

    mode: Mode


class SolveBegun(Event, frozen=True, tag="solve"):
    """The agent observes everything up to the event `through`, and decides anew for `state`."""

    version: int
    through: int
    state: int


class PolicySet(Event, frozen=True, tag="policy"):
    """The policy of that solve comes into force; where it failed or was stopped, the one before stays."""

    version: int
    error: str | None = None
    stopped: bool = False


AnyEvent = Created | Decided | Observed | Refused | Cancelled | Expired | ModeSet | SolveBegun | PolicySet
KINDS = tuple(
    str(kind.__struct_config__.tag)
    for kind in (Created, Decided, Observed, Refused, Cancelled, Expired, ModeSet, SolveBegun, PolicySet)
)

encode = msgspec.json.Encoder().encode
decode = msgspec.json.Decoder(AnyEvent).decode


class Entry(NamedTuple):
    """An event in its place: its number, when it happened (seconds since 1970), and the check of the log so far."""

    seq: int
    time: float
    event: AnyEvent
    check: bytes


def chained(previous: bytes, seq: int, time: float, body: bytes) -> bytes:
    """The check of an event: a hash of it and of the check before, so that no event can change or vanish unseen."""
    return hashlib.sha256(b"%b|%d|%r|%b" % (previous, seq, time, body)).digest()[:16]


def decision_id(seq: int) -> str:
    """The name of the decision that is event number `seq`."""
    return f"d{seq}"


def decision_seq(name: str) -> int | None:
    """The number of the event that a decision is; None for what is no such name."""
    digits = name[1:]
    if name[:1] != "d" or not (digits.isascii() and digits.isdigit()) or len(digits) > 18 or digits[0] == "0":
        return None
    return int(digits)
