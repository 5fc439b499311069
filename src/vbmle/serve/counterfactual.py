"""The log through another agent: what it would have played, and how sure it would be now.

The other agent sees the same outcomes in the same order, each before the decisions that came after it, and is asked at
every decision. What its actions would have led to is not known, so nothing is said about what it would have earned.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import msgspec

from vbmle.model.mdp import LinearMixtureMDP
from vbmle.serve.events import Decided, Entry, Observed
from vbmle.serve.insight import Insight, look
from vbmle.serve.learner import agent_bytes, agent_class
from vbmle.serve.outcomes import Outcomes
from vbmle.serve.solves import Copy

SHOWN = 50
LONGEST = 100_000
"""Decisions at which another agent is asked; of a longer log, only the outcomes are used from there on."""


class Difference(msgspec.Struct, frozen=True):
    """How often one action was played in a state where the other agent would have played another."""

    state: str
    played: str
    would_play: str
    times: int


class Replay(msgspec.Struct, frozen=True):
    """What another agent would have played."""

    agent: str
    settings: dict[str, Any]
    decisions: int
    agreement: float | None
    differences: list[Difference]
    policy: list[str]
    insight: Insight


def replay(entries: Iterable[Entry], mdp: LinearMixtureMDP, name: str, settings: dict[str, Any]) -> Replay:
    """Lead an agent through a log. It may take long; InputError where agent or settings do not fit."""
    kind, fitted = agent_class(name, settings)
    agent, outcomes = kind(mdp, **fitted), Outcomes(mdp)
    same, asked, observed, state = 0, 0, 0, int(mdp.initial.argmax())
    differences: Counter[tuple[int, int, int]] = Counter()
    for entry in entries:
        match entry.event:
            case Observed(state=s, action=a, next_state=t):
                agent.observe(s, a, t)
                observed, state = observed + 1, t
            case Decided() as event if asked < LONGEST:
                asked, answer = asked + 1, agent.act(event.state)
                would = int(agent.policy[event.state]) if isinstance(answer, str) else int(answer)
                same += would == event.action
                if would != event.action:
                    differences[event.state, event.action, would] += 1
    agent.act(state)
    policy = [outcomes.action_name(int(action)) for action in agent.policy[:SHOWN]]
    insight = look(Copy(agent_bytes(agent), observed, 0, state), kind, outcomes)
    told = [
        Difference(outcomes.state_name(s), outcomes.action_name(a), outcomes.action_name(b), times)
        for (s, a, b), times in differences.most_common(SHOWN)
    ]
    return Replay(name, settings, asked, same / asked if asked else None, told, policy, insight)
