"""Agents on disk: an .npz file (no pickle) with the settings that rebuild one, and the snapshot it goes on from.

The parts of an agent say what they save (`vbmle.agents.base.Part`); this is the file around that, and the checks of one
that comes back: it must be of the same class, and of the same model unless its counts are to be counted again.
"""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import numpy as np

from vbmle.common.files import Snapshot, field, load_npz, save_npz
from vbmle.common.validation import Ints
from vbmle.estimation.counts import ImpossibleTransition
from vbmle.model.mdp import LinearMixtureMDP

if TYPE_CHECKING:
    from vbmle.agents.base import Agent
    from vbmle.agents.model_agent import ModelAgent

AnAgent = TypeVar("AnAgent", bound="Agent")

FORMAT = "vbmle-agent-2"


class Meta(NamedTuple):
    """What a file says about the agent in it, checked for kinds."""

    agent: str
    """The name of its class."""
    model: str
    """The fingerprint of the model it was saved on."""
    settings: dict[str, Any]
    functions: list[str]
    """The settings that were functions: they are not in the file."""
    widened: list[int]
    """The pairs s * A + a that were widened."""
    shape: list[int]
    """[states, actions] of that model."""


def save(agent: Agent, path: str | os.PathLike[str]) -> None:
    """Write an agent."""
    save_npz(path, content(agent))


def content(agent: Agent) -> Snapshot:
    """The arrays of an agent's file."""
    settings, wide, arrays = made_of(agent)
    kept = {name: value for name, value in settings.items() if not callable(value)}
    meta = {
        "format": FORMAT,
        "class": type(agent).__name__,
        "model": agent._given.fingerprint(),
        "settings": kept,
        "functions": sorted(set(settings) - set(kept)),
        "widened": wide,
        "shape": [agent.mdp.num_states, agent.mdp.num_actions],
    }
    text = json.dumps(meta, default=np.ndarray.tolist)
    found = {"meta": np.frombuffer(text.encode(), dtype=np.uint8), **arrays}
    if agent.learns_from_counts:
        found["where"] = cast("ModelAgent", agent)._evidence.counted_transitions()
    return found


def made_of(agent: Agent) -> tuple[dict[str, Any], list[int], Snapshot]:
    """What an agent can be made of again: its settings, the pairs that were widened, and what it has learnt."""
    takes = inspect.signature(type(agent)).parameters.values()
    anything = any(one.kind is one.VAR_KEYWORD for one in takes)
    names = {one.name for one in takes}
    settings = {name: value for name, value in agent.settings.items() if anything or name in names}
    return settings, agent._wide, agent.snapshot()


def again(
    kind: type[AnAgent],
    mdp: LinearMixtureMDP,
    settings: Mapping[str, Any],
    wide: list[int],
    snapshot: Snapshot,
    own: Mapping[str, Any],
) -> AnAgent:
    """The agent that is made of this, and that has these attributes of its own beside."""
    agent = kind(mdp, **settings)
    if wide:
        agent._widen(wide)
    agent.restore(snapshot)
    vars(agent).update(own)
    return agent


def load(
    cls: type[AnAgent],
    path: str | os.PathLike[str],
    mdp: LinearMixtureMDP,
    may_recount: bool,
    functions: Mapping[str, Any],
) -> AnAgent:
    """Rebuild an agent on `mdp`; with `may_recount` from its counts alone, where it was saved on another model."""
    snapshot, meta = _read(path)
    if meta.agent != cls.__name__:
        raise ValueError(f"{path} holds a {meta.agent[:40]}; load it with {meta.agent[:40]}.load")
    where = snapshot.pop("where", None)
    changed = meta.model != mdp.fingerprint()
    if changed and not may_recount:
        raise ValueError(f"{path} was saved on another model ({meta.model[:40]}, not {mdp.fingerprint()})")
    if changed:
        _require_recountable(cls, path, meta, mdp, where)
    missing = [str(name)[:40] for name in meta.functions if name not in functions]
    if missing:
        raise ValueError(
            f"{path} used a function for {missing[0]!r}; give it again: load(..., {missing[0]}=...)"
        )
    pairs = mdp.num_states * mdp.num_actions
    if not all(type(pair) is int and 0 <= pair < pairs for pair in meta.widened):
        raise ValueError(f"{path} is a damaged agent file: widened needs pairs below {pairs}")
    try:
        if not changed:
            return again(cls, mdp, {**meta.settings, **functions}, meta.widened, snapshot, {})
        agent = cls(mdp, **meta.settings, **functions)
        if meta.widened:
            agent._widen(meta.widened)
        cast("ModelAgent", agent)._recount(snapshot, cast(Ints, where))
    except ImpossibleTransition as error:
        raise ImpossibleTransition(f"{path}: {error}") from error
    except (KeyError, ValueError, TypeError, ArithmeticError, MemoryError) as error:
        raise ValueError(f"{path} is a damaged agent file: {error}") from error
    return agent


def _read(path: str | os.PathLike[str]) -> tuple[Snapshot, Meta]:
    """The arrays of a file and what it says about them; ValueError names the file if it is damaged."""
    snapshot, meta = load_npz(path, FORMAT, "an agent written by Agent.save")
    try:
        functions = field(meta, "functions", list)
        if not all(isinstance(name, str) for name in functions):
            raise ValueError("functions holds something other than names")
        kind, model = field(meta, "class", str), field(meta, "model", str)
        wide, shape = field(meta, "widened", list), field(meta, "shape", list)
        return snapshot, Meta(kind, model, field(meta, "settings", dict), functions, wide, shape)
    except ValueError as error:
        raise ValueError(f"{path} is a damaged agent file: {error}") from error


def _require_recountable(
    cls: type[Agent], path: object, meta: Meta, mdp: LinearMixtureMDP, where: Ints | None
) -> None:
    """Refuse an agent that was saved on another model, unless its counts can be counted again on this one."""
    if not cls.learns_from_counts:
        raise ValueError(
            f"{cls.__name__} learns from more than counts; model_changed='recount' is not for it"
        )
    shape = [mdp.num_states, mdp.num_actions]
    if where is None or meta.shape != shape:
        rule = "it needs a file that says (states, actions) of the model it was saved on, and the same now"
        raise ValueError(f"{path} cannot be recounted on (states, actions) = {tuple(shape)}; {rule}")
