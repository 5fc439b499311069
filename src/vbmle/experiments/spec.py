"""An experiment is data: worlds x agents x trials, a horizon, and what is recorded.

Chance is keyed by names. A trial is (experiment, world label, agent label, index); the seed of its world and
the chance of its run come from a hash of (experiment, world label, index) alone, so every agent meets the same
worlds with the same luck (paired), and adding an agent, a world or a trial changes no other record. Only what
the agent itself draws has the agent's label in its key.
"""

from __future__ import annotations

import hashlib
import json
import re
from functools import lru_cache
from typing import Any, Literal

import msgspec
import numpy as np

from vbmle.agents.base import Role
from vbmle.common import validation
from vbmle.common.settings import nearest, settings_of
from vbmle.common.validation import Ints
from vbmle.experiments import InputError, catalogue, measures, own_parts
from vbmle.experiments.own_parts import Metric, Own
from vbmle.experiments.stopping import Stopping


class Choice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A world or an agent: its name in the catalogue, or "module:name", and the settings that differ from the defaults.

    `own` is what `own_parts.describe` says of a part of your own; ours have none.
    """

    name: str
    settings: dict[str, Any] = {}
    own: Own | msgspec.UnsetType = msgspec.UNSET
    role: Role | msgspec.UnsetType = msgspec.UNSET
    """What comparisons take an agent for, where that is not what its class says (`vbmle.agents.base.Role`)."""

    def python(self, home: str) -> str:
        """How Python calls its maker; `home` is where ours are."""
        return own_parts.python(self.name) if own_parts.is_own(self.name) else f"{home}.{self.name}"

    def call(self, *first: str, **seeds: int) -> str:
        """The call that makes it, as text."""
        return self.name + self.arguments(*first, **seeds)

    def arguments(self, *first: str, **seeds: int) -> str:
        """What that call has in brackets."""
        written = [f"{key}={value!r}" for key, value in {**self.settings, **seeds}.items()]
        return f"({', '.join([*first, *written])})"


class Recording(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is recorded of every trial, beside regret and seconds: see `vbmle.experiments.measures`."""

    steps: Literal["every", "log"] = "every"
    distance: bool = False
    mle_error: bool = False
    trajectories: bool = False
    metrics: dict[str, Metric] = {}
    """Of your own, by name."""

    def told(self) -> dict[str, Any]:
        """As a table of a file: what differs from the defaults."""
        given: dict[str, Any] = {"steps": self.steps} if self.steps != "every" else {}
        given |= {name: True for name in ("distance", "mle_error", "trajectories") if getattr(self, name)}
        metrics = {label: metric.name for label, metric in self.metrics.items()}
        return given | ({"metrics": metrics} if metrics else {})

    def at(self, horizon: int) -> Ints:
        """The recorded steps, from 1."""
        spaced = measures.log_spaced if self.steps == "log" else measures.every_step
        return spaced(horizon)

    def shared(self, horizon: int) -> int:
        """The last of the recorded steps that every longer run has as well; 0 where there is none."""
        steps, longer = self.at(horizon), self.at(2 * horizon)
        return int(steps[np.isin(steps, longer)].max(initial=0))


LONGEST_LABEL = 100
MOST_TRIALS = 10_000_000
"""In all of a sweep: what a list of them may take."""
"""Characters of a label."""


class Experiment(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Worlds and agents by the labels they have in the report, each with each, `trials` times."""

    name: str
    worlds: dict[str, Choice]
    agents: dict[str, Choice]
    trials: int
    horizon: int
    record: Recording = Recording()
    title: str = ""
    """What the report is called; by default its name."""
    reference: str = ""
    """The agent that the report compares all others with; without one it compares all with all."""
    sections: str = ""
    """The name, "module:attribute", of what adds to the report (`vbmle.report.sections.Sections`)."""
    stop: Stopping | None = None
    """Where it is given, `trials` is the most there are anywhere, and comparisons decide how many it takes."""

    def __post_init__(self) -> None:
        _require_short("experiment", self.name)
        for field in ("trials", "horizon"):
            try:
                validation.positive_integer(field, getattr(self, field))
            except ValueError as error:
                raise InputError(f"{self.name}: {error}") from None
        if (asked := self.trials * len(self.worlds) * len(self.agents)) > MOST_TRIALS:
            raise InputError(f"{self.name}: {asked:,} trials in all; a sweep has {MOST_TRIALS:,} at most")
        for kind, choices in (("world", self.worlds), ("agent", self.agents)):
            if not choices:
                raise InputError(f"{self.name}: there are no {kind}s; it needs at least one")
            folders: dict[str, str] = {}
            for label, choice in choices.items():
                if not choice.own:  # those of your own were checked when the spec was read
                    catalogue.require(kind, choice.name, choice.settings, f"{self.name}: {kind} {label!r}")
                _require_short(kind, label)
                other = folders.setdefault(folder_name(label).lower(), label)
                if other != label:
                    raise InputError(
                        f"{self.name}: {kind}s {other!r} and {label!r} map to the same folder name; rename one"
                    )
        if self.reference and self.reference not in self.agents:
            known = nearest(self.reference, self.agents, "Its agents")
            raise InputError(f"{self.name}: reference: unknown agent {self.reference!r}{known}")
        if self.stop is not None:
            self.stop.check(self.name, list(self.worlds), list(self.agents))

    def all_trials(self) -> list[Trial]:
        """Every trial; the first of all worlds and agents come first, so that half a run is half of each."""
        return [
            self.trial(world, agent, index)
            for index in range(self.trials)
            for world in self.worlds
            for agent in self.agents
            if index < self.budget(world, agent)
        ]

    def budget(self, world: str, agent: str) -> int:
        """The most trials of an agent in a world."""
        return self.trials if self.stop is None else min(self.trials, self.stop.budget(world, agent))

    def role(self, agent: str) -> Role:
        """What an agent is taken for: what the spec says, or else its class."""
        choice = self.agents[agent]
        if choice.role:
            return choice.role
        role: Role = getattr(catalogue.agents().get(choice.name), "role", "explorer")
        return role

    def trial(self, world: str, agent: str, index: int) -> Trial:
        """One of them."""
        choices = (self.worlds[world], self.agents[agent])
        return Trial(self.name, world, agent, index, *choices, self.horizon, self.record)

    def digest(self) -> str:
        """A hash of the whole spec."""
        return _digest(msgspec.to_builtins(self))[:16]


class Trial(msgspec.Struct, frozen=True):
    """One run of one agent in one world: everything that its record depends on."""

    experiment: str
    world: str
    agent: str
    index: int
    world_choice: Choice
    agent_choice: Choice
    horizon: int
    record: Recording = Recording()

    @property
    def name(self) -> str:
        return f"{self.experiment}, world {self.world}, agent {self.agent}, trial {self.index}"

    @property
    def chance(self) -> int:
        """The seed of the run: first state and transitions."""
        return seed("chance", self.experiment, self.world, self.index)

    @property
    def steps(self) -> Ints:
        """The steps that its record has a row for."""
        return self.record.at(self.horizon)

    def seeds(self) -> dict[str, int]:
        """What the run, the world and the agent are seeded with; the latter two only if they ask for it."""
        asked = {"world": self._world_seed(), "agent": self._agent_seed()}
        return {"chance": self.chance} | {name: found["seed"] for name, found in asked.items() if found}

    def recipe(self) -> str:
        """One line of Python that runs this trial again."""
        world, agent = self.world_choice, self.agent_choice
        maker = None if agent.own else catalogue.maker("agent", agent.name)
        truth = ["theta=w.theta"] if getattr(maker, "needs_truth", False) else []
        made = world.python("vbmle.worlds")
        if not (world.own and world.own.made):
            made += world.arguments(**self._world_seed())
        player = agent.python("vbmle") + agent.arguments("w.mdp", *truth, **self._agent_seed())
        asked = [f"{label!r}: {metric.python()}" for label, metric in self.record.metrics.items()]
        metrics = f", metrics={{{', '.join(asked)}}}" if asked else ""
        run = f"vbmle.simulate({player}, w, {self.horizon}, seed={self.chance}{metrics})"
        return f"import vbmle; w = {made}; {run}"

    def _world_seed(self) -> dict[str, int]:
        key = ("world", self.experiment, self.world, self.index)
        return _seed_if_asked("world", self.world_choice, *key)

    def _agent_seed(self) -> dict[str, int]:
        key = ("agent", self.experiment, self.world, self.agent, self.index)
        return _seed_if_asked("agent", self.agent_choice, *key)

    def key(self, code: str) -> str:
        """A hash of all that decides its numbers: settings, seeds, and `code`, the version of the sources.

        Not the horizon: a longer run begins like a shorter one.
        """
        about = msgspec.to_builtins(self)
        del about["horizon"]
        for choice in ("world_choice", "agent_choice"):
            about[choice].pop("role", None)  # of the report alone
            own = about[choice].pop("own", None)
            about[choice] |= {} if own is None else {"code": own["code"]}  # wherever it was found
        for metric in about["record"]["metrics"].values():
            del metric["home"]
        return _digest([code, about, self.seeds()])[:16]


@lru_cache(maxsize=64, typed=True)
def seed(*key: str | int) -> int:
    """A seed in 0 .. 2^63 - 1 that belongs to this key, on every machine, at any time."""
    entropy = int(_digest(list(key)), 16)
    words = np.random.SeedSequence(entropy).generate_state(1, np.uint64)
    return int(words[0] >> np.uint64(1))


def _require_short(kind: str, label: str) -> None:
    """Refuse a label that would make the name of a file too long."""
    if len(label) > LONGEST_LABEL:
        shown = f"{label[:20]}..."
        raise InputError(
            f"the label of the {kind} {shown!r} has {len(label)} characters; {LONGEST_LABEL} is the most, "
            "for files are named after it"
        )


def folder_name(label: str) -> str:
    """A label as the name of a file or folder."""
    return re.sub(r"[^A-Za-z0-9_.=+]+", "-", label).strip("-.") or "unnamed"


def _seed_if_asked(kind: str, choice: Choice, *key: str | int) -> dict[str, int]:
    """The argument `seed`, if there is one and the settings leave it open."""
    takes = choice.own.seeded if choice.own else "seed" in settings_of(catalogue.maker(kind, choice.name))
    asked = takes and "seed" not in choice.settings
    return {"seed": seed(*key)} if asked else {}


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
