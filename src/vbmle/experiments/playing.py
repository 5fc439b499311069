"""One trial: its world and its agent are made, the agent plays, and what is recorded of it is measured.

Everything in this file decides numbers, so it is part of the resume key (`vbmle.experiments.resume_key`).
"""

from __future__ import annotations

import json
import warnings
from functools import lru_cache
from typing import TYPE_CHECKING

from vbmle.agents.base import Agent
from vbmle.agents.uclk import EMPTY_SET
from vbmle.common.validation import Floats
from vbmle.experiments import catalogue, measures
from vbmle.model.world import World
from vbmle.simulation import simulate

if TYPE_CHECKING:
    from vbmle.experiments.spec import Trial


def make_world(trial: Trial) -> World:
    """The world of a trial, with the trial's seed where it asks for one."""
    settings = trial.world_choice.settings | _seed(trial, "world")
    return _world(trial.world_choice.name, json.dumps(settings, sort_keys=True))


@lru_cache(maxsize=2)
def _world(name: str, settings: str) -> World:
    """Kept for the agents that meet it next: of a small world, its feasible set takes longest."""
    return catalogue.worlds()[name](**json.loads(settings))


def make_agent(trial: Trial, world: World) -> Agent:
    """The agent of a trial, with the trial's seed and the truth where it asks for them."""
    maker = catalogue.agents()[trial.agent_choice.name]
    truth = {"theta": world.theta.tolist()} if maker.needs_truth else {}
    return maker(world.mdp, **truth, **trial.agent_choice.settings, **_seed(trial, "agent"))


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
