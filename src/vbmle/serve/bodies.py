"""Bodies of requests and answers. The OpenAPI document is made from these, so each field says what it is."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from vbmle.serve.events import Mode

NAME_PATTERN = "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"

Name = Annotated[
    str, Meta(pattern=NAME_PATTERN, description="Letters, digits, '.', '_' and '-'.", examples=["depot"])
]
Place = Annotated[
    int | str, Meta(description="A number from 0, or the name that the model gives it.", examples=[0])
]
Key = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=200,
        description="Your name for this request; keep it when you retry.",
        examples=["r-1"],
    ),
]
DecisionId = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=200,
        description="The id with which the decision was answered.",
        examples=["d2"],
    ),
]
Settings = Annotated[
    dict[str, Any], Meta(description="Arguments of the agent's class, by name.", examples=[{}])
]
Seconds = Annotated[float, Meta(gt=0, le=1e9)]


Priority = Literal["low", "normal", "high"]


class Request(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A body that is sent to the service."""


class LoopRequest(Request, frozen=True):
    """A controlled system: a model, an agent with its settings, and a mode."""

    model: Name
    agent: (
        Annotated[
            str,
            Meta(description="The class of the agent; by default the recommended one.", examples=["VBMLE"]),
        ]
        | None
    ) = None
    settings: Settings = {}
    mode: Mode = "live"
    expire_after: Annotated[
        Seconds, Meta(description="Seconds after which an outcome is no longer awaited.")
    ] = 7 * 86400.0


class DecisionRequest(Request, frozen=True):
    """Which action to take in a state."""

    state: Place
    request_id: Key
    allowed: (
        Annotated[list[Place], Meta(min_length=1, description="The actions to choose from; all by default.")]
        | None
    ) = None
    baseline_action: (
        Annotated[Place, Meta(description="What you would do without the agent; required in shadow mode.")]
        | None
    ) = None


class Observation(Request, frozen=True):
    """What a decision led to."""

    decision_id: DecisionId
    next_state: Place


class CancelRequest(Request, frozen=True):
    """A decision that was not carried out."""

    decision_id: DecisionId


class ModeRequest(Request, frozen=True):
    """How the loop goes on."""

    mode: Mode


class WorkRequest(Request, frozen=True):
    """What to do about the work for a loop."""

    stop: Annotated[
        bool,
        Meta(description="Whether to end what runs; a solve that is stopped leaves the policy in force."),
    ] = False
    priority: (
        Annotated[Priority, Meta(description="Whether it goes before the work of other loops.")] | None
    ) = None


class ReplayRequest(Request, frozen=True):
    """Another agent for the same log."""

    agent: Annotated[str, Meta(examples=["MaximumLikelihood"])]
    settings: Settings = {}


class Failure(msgspec.Struct, frozen=True):
    """Why a request was not carried out, in one line."""

    error: str


class ModelAnswer(msgspec.Struct, frozen=True):
    """A model that is kept."""

    name: str
    fingerprint: str
    states: int
    actions: int
    dimension: int


class WorkItem(msgspec.Struct, frozen=True):
    """Something that is computed, or waits for its turn."""

    loop: str
    kind: str
    state: Literal["waiting", "running"]
    seconds: float  # for which it has been so
    deadline: float | None  # seconds of processor time after which it is ended
    priority: Priority
    slow: bool  # whether it has a process of its own
    process: int | None


class WorkAnswer(msgspec.Struct, frozen=True):
    """What was done about the work for a loop."""

    loop: str
    stopped: int
    priority: Priority


class LoopAnswer(msgspec.Struct, frozen=True):
    """A loop, as it was asked for. While it is `making`, send the request again to learn what became of it."""

    loop: str
    model: str
    agent: str | None
    settings: dict[str, Any]
    mode: Mode
    expire_after: float
    state: Literal["ready", "making"] = "ready"


class DecisionAnswer(msgspec.Struct, frozen=True):
    """The action to take. In shadow it is the baseline's, and `suggested` is what the agent would do."""

    decision_id: str
    action: int
    policy_version: int
    mode: Mode
    suggested: int
    action_name: str | None = None


class ObservationAnswer(msgspec.Struct, frozen=True):
    """How many outcomes were new, and how many were known already and ignored."""

    recorded: int
    duplicates: int


class CancelAnswer(msgspec.Struct, frozen=True):
    """The decision counts as never carried out."""

    decision_id: str
    cancelled: bool = True


class ModeAnswer(msgspec.Struct, frozen=True):
    """The mode that the loop is in."""

    mode: Mode
