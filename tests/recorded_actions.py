"""What every agent does in every example world, step by step: to compare two versions of the package.

    python tests/recorded_actions.py FILE          write what this version does
    python tests/recorded_actions.py FILE ANOTHER  write it, and name the runs that differ from those in ANOTHER
    python tests/recorded_actions.py --keep        write what tests/agents/test_recorded_actions.py compares with

A run is named by the agent, its settings and the world. It is kept as its actions and as a digest of every policy and
every theta on the way, so that two versions on one core can be compared to the last bit.
"""

from __future__ import annotations

import hashlib
import json
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from vbmle.common.settings import choices_of, settings_of
from vbmle.experiments import catalogue
from vbmle.testing import example_models

STEPS = 40
ODD_AT = 15
"""The step at which something impossible is observed, by agents that do not refuse it."""

KEPT = Path(__file__).parent / "agents" / "recorded_actions.json"
"""What every agent did by default when that was last looked at."""

TIED = (
    "hypercube, a cross-polytope",
    "duplicated base model",
    "duplicated base model on the simplex",
)
"""Worlds in which different models are exactly as good, so that the last bit of a sum decides between them."""

VARIANTS: dict[str, tuple[Any, ...]] = {
    "forget": (12.0, {"window": 10}),
    "bias_scale": (0.1,),
    "ridge": (0.05,),
    "seed": (3,),
    "epsilon": (0.3,),
    "learning_rate": ("visits", 0.2),
    "radius_scale": (0.01,),
    "sweeps": (20,),
    "optimistic": (False,),
    "multiples": ((0.0, 1.0),),
    "scale": (0.3,),
}
"""Values that are tried where an agent has the setting; what it lists in words is tried too."""


def variants(kind: Any) -> Iterator[dict[str, Any]]:
    """The default, and every other value of one setting at a time."""
    yield {}
    names = settings_of(kind)
    for name, choices in (choices_of(kind) | VARIANTS).items():
        for value in choices if name in names else ():
            if value != names[name]:
                yield {name: value}
    if {"forget", "on_impossible", "update"} <= set(names):
        yield {"forget": 12.0, "on_impossible": "widen", "update": "doubling"}
        yield {"restart": "on-alarm", "on_impossible": "widen"}


def impossible(mdp: Any) -> tuple[int, int, int] | None:
    """A transition that the model leaves out."""
    table, actions = mdp.transitions, mdp.num_actions
    for pair, (start, stop) in enumerate(zip(table.indptr, table.indptr[1:], strict=False)):
        absent = np.setdiff1d(np.arange(mdp.num_states), table.successor[start:stop])
        if len(absent):
            return *divmod(pair, actions), int(absent[0])
    return None


def play(agent: Any, world: Any, odd: tuple[int, int, int] | None) -> tuple[str, str]:
    """The actions of a run as one string of digits, and a digest of all policies and thetas."""
    uniforms = np.random.default_rng(7).random(STEPS + 1)
    state, actions, seen = world.first_state(uniforms[0]), "", hashlib.sha256()
    for step in range(STEPS):
        action = agent.act(state)
        actions += str(action)
        seen.update(np.asarray(agent.policy).tobytes())
        seen.update(np.asarray(getattr(agent, "theta", ())).tobytes())
        if step == ODD_AT and odd:
            agent.observe(*odd)
        following = world.next_state(state, action, uniforms[step + 1])
        agent.observe(state, action, following)
        state = following
    return actions, seen.hexdigest()[:12]


def record(only: str = "") -> dict[str, tuple[str, str]]:
    """All runs of the agents whose name contains `only`; one that is refused has the reason in place of actions."""
    found = {}
    for name, kind in catalogue.general().items():
        for place, world in example_models().items() if only in name else ():
            for settings in variants(kind):
                told = json.dumps(settings, sort_keys=True)
                truth = {"theta": world.theta} if kind.needs_truth else {}
                odd = impossible(world.mdp) if settings.get("on_impossible", "raise") != "raise" else None
                try:
                    run = play(kind(world.mdp, **truth, **settings), world, odd)
                except ValueError as error:
                    run = (f"refused: {error}", "")
                found[f"{name} {told} in {place}"] = run
    return found


def by_default() -> dict[str, dict[str, str]]:
    """The actions of every agent with its default settings, by agent and world, but for worlds with ties."""
    found: dict[str, dict[str, str]] = {}
    for name, kind in catalogue.general().items():
        worlds = {place: world for place, world in example_models().items() if place not in TIED}
        truth = {place: {"theta": world.theta} if kind.needs_truth else {} for place, world in worlds.items()}
        found[name] = {
            place: play(kind(world.mdp, **truth[place]), world, None)[0] for place, world in worlds.items()
        }
    return found


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    if sys.argv[1] == "--keep":
        KEPT.write_text(json.dumps(by_default(), indent=1, sort_keys=True) + "\n")
        sys.exit()
    runs = record()
    Path(sys.argv[1]).write_text(json.dumps(runs, indent=0, sort_keys=True) + "\n")
    if len(sys.argv) > 2:
        other = {name: tuple(run) for name, run in json.loads(Path(sys.argv[2]).read_text()).items()}
        for name in sorted(set(runs) | set(other)):
            if runs.get(name) != other.get(name):
                print(f"{name}: {runs.get(name)}, there {other.get(name)}")
        print(f"{len(runs)} runs, {sum(runs.get(name) != run for name, run in other.items())} differ")
