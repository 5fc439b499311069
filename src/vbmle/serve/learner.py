"""The agent as the fold of its events, and the policies that come of it.

An agent's state is what its calls of `observe` and `act` have made of it, in their order. The log fixes that order: at
every solve it observes what has come since the last one, by number, and is then asked about one state. So an agent made
anew and led through the same solves is the same, byte for byte.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from vbmle.agents import agent_file
from vbmle.agents.base import Agent
from vbmle.agents.catalogue import agents
from vbmle.agents.informed_vbmle import recommended
from vbmle.common.files import from_npz_bytes, npz_of
from vbmle.common.settings import require
from vbmle.common.validation import Floats, InputError
from vbmle.model.mdp import LinearMixtureMDP
from vbmle.planning.planner import plan
from vbmle.serve.events import PolicySet
from vbmle.serve.ledger import Outcome


class Policy(NamedTuple):
    """A policy with its number: an action for every state, and what ranks the others, where that is known."""

    version: int
    actions: list[int]
    theta: Floats | None
    Q: Floats | None
    error: str | None = None
    stopped: bool = False


def agent_class(name: str, settings: dict[str, Any]) -> tuple[type[Agent], dict[str, Any]]:
    """The class of an agent and its settings, or one line about what does not fit."""
    fitted = require("agent", agents(), name, settings, "agent")
    found = agents()[name]
    if found.needs_truth:
        raise InputError(f"agent: {name} needs the hidden truth, which only a simulation has")
    return found, fitted


def recommended_name(mdp: LinearMixtureMDP) -> str:
    """The agent of a loop for which none is named."""
    return type(recommended(mdp)).__name__


class Learner:
    """An agent that is led through solves. Its methods may take long, and only one at a time may run."""

    def __init__(self, mdp: LinearMixtureMDP, agent: Agent, policy: Policy | None = None) -> None:
        self.mdp, self.agent = mdp, agent
        self.kept = 0
        """How many events of its loop the snapshot has that it was loaded from; 0 where there was none."""
        self.policy = policy or self._asked(0, int(mdp.initial.argmax()))

    @classmethod
    def fresh(cls, mdp: LinearMixtureMDP, name: str, settings: dict[str, Any]) -> Learner:
        """An agent that has seen nothing, asked about the likeliest first state: policy number 0."""
        kind, fitted = agent_class(name, settings)
        try:
            return cls(mdp, kind(mdp, **fitted))
        except ValueError as error:
            raise InputError(f"settings: {error}") from error

    def solve(self, version: int, outcomes: Sequence[Outcome], state: int) -> Policy:
        """Learn from outcomes, then decide anew for `state`. Where that fails, the policy stays."""
        try:
            for outcome in outcomes:
                self.agent.observe(outcome.state, outcome.action, outcome.next_state)
            self.policy = self._asked(version, state)
        except Exception as error:  # whatever an agent does, the loop must go on
            text = " ".join(f"{type(error).__name__}: {error}".split())
            self.policy = self.policy._replace(version=version, error=text)
        return self.policy

    def follow(self, event: PolicySet, outcomes: Sequence[Outcome], state: int) -> None:
        """Do what a solve did that is on record; one that was stopped has learnt, and not decided."""
        if not event.stopped:
            self.solve(event.version, outcomes, state)
            return
        with suppress(Exception):  # as in `solve`
            for outcome in outcomes:
                self.agent.observe(outcome.state, outcome.action, outcome.next_state)
        self.policy = self.policy._replace(version=event.version, error=event.error, stopped=True)

    def _asked(self, version: int, state: int) -> Policy:
        action = self.agent.act(state)
        actions = np.asarray(self.agent.policy).tolist()
        if not isinstance(
            action, str
        ):  # an agent that is asked by number may answer by name: its policy has the number
            actions[state] = int(action)
        theta, Q = getattr(self.agent, "theta", None), getattr(self.agent, "Q", None)
        return Policy(version, actions, _copied(theta), _copied(Q))

    def save(self) -> dict[str, Any]:
        """The agent's own file, as bytes, and the policy in force, as arrays."""
        arrays: dict[str, Any] = {"agent": np.frombuffer(agent_bytes(self.agent), np.uint8)}
        arrays["policy.actions"] = np.array(self.policy.actions, np.int64)
        arrays["policy.version"] = np.array(self.policy.version)
        for name, value in (("theta", self.policy.theta), ("Q", self.policy.Q)):
            if value is not None:
                arrays[f"policy.{name}"] = value
        arrays["policy.error"] = np.frombuffer((self.policy.error or "").encode(), np.uint8)
        return arrays

    @classmethod
    def load(cls, mdp: LinearMixtureMDP, name: str, arrays: dict[str, Any]) -> Learner:
        """The learner that `save` took apart; refused where a part is not of the model."""
        _require_policy(mdp, arrays)
        policy = Policy(
            int(arrays["policy.version"]),
            arrays["policy.actions"].tolist(),
            arrays.get("policy.theta"),
            arrays.get("policy.Q"),
            arrays["policy.error"].tobytes().decode() or None,
        )
        agent = agent_from_bytes(agents()[name], arrays["agent"].tobytes(), mdp)
        return cls(mdp, agent, policy)


def _require_policy(mdp: LinearMixtureMDP, arrays: dict[str, Any]) -> None:
    """ValueError unless a saved policy plays allowed actions, for a feasible theta and values that are numbers."""
    actions, theta, Q = arrays["policy.actions"], arrays.get("policy.theta"), arrays.get("policy.Q")
    if actions.shape != (mdp.num_states,) or actions.dtype != np.int64:
        raise ValueError(
            f"policy.actions has shape {actions.shape} of {actions.dtype}; it needs (S,) of int64"
        )
    if actions.min() < 0 or actions.max() >= mdp.num_actions:
        raise ValueError(f"policy.actions are from {actions.min()} to {actions.max()} of {mdp.num_actions}")
    if not mdp.allowed[np.arange(mdp.num_states), actions].all():
        raise ValueError("policy.actions has one that is not allowed in its state")
    if theta is not None and theta.shape == (mdp.dimension,):
        mdp.require_feasible(theta)
    if Q is not None and (Q.dtype != np.float64 or np.isnan(Q).any()):
        raise ValueError("policy.Q is no array of numbers")


def preferences(mdp: LinearMixtureMDP, policy: Policy) -> Floats | None:
    """(S, A) values that rank actions where the policy's own is not allowed; None where nothing is known."""
    if policy.Q is not None and policy.Q.shape == (mdp.num_states, mdp.num_actions):
        return policy.Q
    if policy.theta is None or policy.theta.shape != (mdp.dimension,):
        return None
    return plan(mdp, policy.theta, tolerance=1e-6).Q


def agent_bytes(agent: Agent) -> bytes:
    """The .npz of an agent."""
    return npz_of(agent_file.content(agent))


def agent_from_bytes(kind: type[Agent], content: bytes, mdp: LinearMixtureMDP) -> Agent:
    """The agent of an .npz."""
    return from_npz_bytes(content, lambda path: kind.load(path, mdp))


def _copied(value: Any) -> Floats | None:
    return None if value is None else np.array(value, np.float64)
