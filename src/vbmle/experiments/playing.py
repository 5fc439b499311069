"""One trial: its world and its agent are made, the agent plays, and what is recorded of it is measured.

Everything in this file decides numbers, so it is part of the resume key (`vbmle.experiments.resume_key`).
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from vbmle.agents.base import Agent
from vbmle.agents.uclk import EMPTY_SET
from vbmle.common.validation import Floats
from vbmle.experiments import catalogue, continuing, measures, own_parts
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


@dataclass(frozen=True, eq=False)
class Played:
    """What one trial gave: columns with a row for each recorded step after `since`, and what is known of its world."""

    columns: dict[str, Floats]
    facts: dict[str, float]
    since: int
    """Rows up to this step are those of a shorter run."""
    state: bytes | None
    """What a longer run goes on from (`vbmle.experiments.continuing`); None where nothing can be kept."""


def play(trial: Trial, state: bytes | None = None) -> Played:
    """Play a trial, from the beginning or from where a shorter run of it stood."""
    world = make_world(trial)
    player, rest = _on_stage(trial, world, state)
    extra = ["trouble", "distance"] if trial.record.distance else ["trouble"]
    with warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", f".*{EMPTY_SET}", RuntimeWarning
        )  # the column `trouble` counts them
        after = None if rest is None else rest.history
        metrics = {name: metric.function() for name, metric in trial.record.metrics.items()}
        history = simulate(player, world, trial.horizon, trial.chance, extra, after=after, metrics=metrics)
    path = continuing.paths(rest, history) if trial.record.mle_error else None
    steps = trial.steps[trial.steps > history.begun]
    columns = measures.columns(history, steps - history.begun)
    if trial.record.trajectories:
        columns |= measures.trajectories(history, steps - history.begun)
    if path is not None:
        columns["mle_error"] = measures.mle_error(world, path, trial.steps)[-len(steps) :]
    left = continuing.packed(trial, player, history, path)
    return Played(columns, measures.facts(world), history.begun, left)


def _on_stage(trial: Trial, world: World, state: bytes | None) -> tuple[Agent, continuing.Rest | None]:
    """The agent, as it was where a shorter run stood; a new one where there was none, or it cannot be loaded."""
    player = make_agent(trial, world)
    if state is not None:
        with suppress(Exception):  # whatever code of yours raises
            rest = continuing.unpacked(state)
            return rest.player(player, world.mdp), rest
    return player, None


def _seed(trial: Trial, what: str) -> dict[str, int]:
    """The argument `seed` of the world or the agent, if it asks for one."""
    found = trial.seeds()
    return {"seed": found[what]} if what in found else {}
