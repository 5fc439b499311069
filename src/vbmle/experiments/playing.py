"""One trial: its world and its agent are made, the agent plays, and what is recorded of it is measured.

Everything in this file decides numbers, so it is part of the resume key (`vbmle.experiments.resume_key`).
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from vbmle.agents.base import Agent
from vbmle.agents.uclk import EMPTY_SET
from vbmle.common.validation import Floats
from vbmle.experiments import catalogue, measures, own_parts
from vbmle.model.world import World
from vbmle.simulation import simulate

if TYPE_CHECKING:
    from vbmle.experiments.spec import Choice, Trial


def make_world(trial: Trial) -> World:
    """The world of a trial, with the trial's seed where it asks for one."""
    choice = trial.world_choice
    world = _made(
        _maker("world", choice), json.dumps(choice.settings | _seed(trial, "world"), sort_keys=True)
    )
    if not isinstance(world, World):
        raise ValueError(
            f"{choice.name} gave something of type {type(world).__name__}; it needs a vbmle.World"
        )
    return world


@lru_cache(maxsize=2)
def _made(maker: Callable[..., Any], settings: str) -> Any:
    """A world, kept for the agents that meet it next: of a small one, its feasible set takes longest."""
    return maker(**json.loads(settings))


def make_agent(trial: Trial, world: World) -> Agent:
    """The agent of a trial, with the trial's seed and the truth where it asks for them."""
    maker = _maker("agent", trial.agent_choice)
    truth = {"theta": world.theta.tolist()} if getattr(maker, "needs_truth", False) else {}
    agent: Agent = maker(world.mdp, **truth, **trial.agent_choice.settings, **_seed(trial, "agent"))
    return agent


def _maker(kind: str, choice: Choice) -> Callable[..., Any]:
    """What makes it; refused where a part of yours is not the one that the sweep was begun with."""
    if choice.own:
        own_parts.require_same(choice.name, choice.settings, choice.own)
    return catalogue.maker(kind, choice.name)


def play(trial: Trial) -> tuple[dict[str, Floats], dict[str, float]]:
    """The columns and the facts of its record."""
    world = make_world(trial)
    extra = ["trouble", "distance"] if trial.record.distance else ["trouble"]
    with warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", f".*{EMPTY_SET}", RuntimeWarning
        )  # the column `trouble` counts them
        history = simulate(make_agent(trial, world), world, trial.horizon, seed=trial.chance, record=extra)
    columns = measures.columns(world, history, trial.steps, mle=trial.record.mle_error)
    return columns, measures.facts(world)


def _seed(trial: Trial, what: str) -> dict[str, int]:
    """The argument `seed` of the world or the agent, if it asks for one."""
    found = trial.seeds()
    return {"seed": found[what]} if what in found else {}
