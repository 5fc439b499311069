"""Records arranged for figures and tables: for every experiment, world and agent, (trials, steps) arrays.

The one module of the report that knows how records are kept. From here on a curve is `Runs.regret`, and then
a line of a figure
(`vbmle.plot.panels.Series`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np

from vbmle.agents.base import Role
from vbmle.common.validation import Floats, Ints
from vbmle.experiments import records as kept
from vbmle.experiments.records import Record, Results
from vbmle.experiments.spec import Choice, Experiment, Trial
from vbmle.experiments.stopping import Stopping


@dataclass(frozen=True, eq=False)
class Runs:
    """The finished trials of one agent in one world."""

    trials: Ints
    """Their indices, increasing."""
    steps: Ints
    """The steps that were recorded, increasing; the first step is 1."""
    columns: Mapping[str, Floats]
    """What was recorded there, (trials, steps) each: regret, seconds, and what else there is."""

    @property
    def regret(self) -> Floats:
        """Cumulative."""
        return self.columns["regret"]

    @property
    def seconds(self) -> Floats:
        """Per step, on average since the recorded step before."""
        return self.columns["seconds"]

    @property
    def seconds_per_step(self) -> Floats:
        """Of each trial: the mean over all its steps, recorded or not."""
        passed = np.diff(self.steps, prepend=0)
        return self.seconds @ (passed / passed.sum())

    @property
    def final(self) -> Floats:
        """Regret after the last step."""
        return self.regret[:, -1]

    @property
    def trouble(self) -> int:
        """Failed steps, over all trials: see `vbmle.experiments.measures`."""
        found = self.columns.get("trouble")
        return 0 if found is None else int(found.sum())

    def at(self, trials: Ints) -> Floats:
        """Final regret of these trials."""
        return self.last("regret", trials)

    def last(self, column: str, trials: Ints) -> Floats:
        """The last value of a column in these trials."""
        return self.columns[column][np.searchsorted(self.trials, trials), -1]

    def seconds_of(self, trials: Ints) -> Floats:
        """Seconds per step of these trials."""
        return self.seconds_per_step[np.searchsorted(self.trials, trials)]


@dataclass(frozen=True, eq=False)
class WorldRuns:
    """All agents in one world (or in one family of worlds: each trial draws its own)."""

    experiment: str
    label: str
    facts: Mapping[str, float]
    """States, actions, dimension, and what else is known, of the first trial's world."""
    planned: int
    horizon: int
    agents: dict[str, Runs]
    """Those with at least one finished trial, in the order of the experiment."""
    choice: Choice | None = None
    """How the world was made."""
    reference: str = ""
    """The agent that the spec compares all others with; "" where it names none."""
    roles: Mapping[str, Role] = field(default_factory=dict)
    """What each agent is taken for; an explorer where nothing is said."""
    p_min: float = 0.0
    """The smallest positive transition probability of the truth, the median over trials; 0 if not on record."""
    beside: Mapping[str, int] = field(default_factory=dict)
    """Trials of the agents that were not to have as many as the others."""
    stop: Stopping | None = None
    """The rule that decided how many trials there are."""

    def expected(self, agent: str) -> int:
        """How many trials of an agent there should be."""
        return self.beside.get(agent, self.planned)

    def role(self, agent: str) -> Role:
        return self.roles.get(agent, "explorer")

    @property
    def contenders(self) -> dict[str, Runs]:
        """The agents that may win; the others are there to be measured by."""
        return {
            label: runs for label, runs in self.agents.items() if self.role(label) in ("explorer", "greedy")
        }

    @property
    def size(self) -> str:
        """The numbers a reader needs to place the world."""
        return "S = {states}, A = {actions}, d = {dimension}".format(**self.facts)

    @property
    def chance(self) -> str:
        """The agent that ignores what it sees, by whose regret others are measured; "" where none was run."""
        return next((label for label in self.agents if self.role(label) == "random"), "")

    @property
    def scale(self) -> float:
        """What regret here is measured by: the mean of the random policy where it was run, otherwise of the
        worst agent."""
        if self.chance:
            return float(self.agents[self.chance].final.mean())
        return max(float(runs.final.mean()) for runs in self.agents.values())

    def has(self, *agents: str) -> bool:
        """Whether all of them have a trial in common."""
        return set(agents) <= set(self.agents) and len(self.shared(*agents)) > 0

    def shared(self, *agents: str) -> Ints:
        """The trials that all of these agents have finished."""
        return reduce(np.intersect1d, [self.agents[agent].trials for agent in agents])

    def paired(self, one: str, two: str) -> tuple[Floats, Floats]:
        """The final regret of both in the trials that both have finished."""
        shared = self.shared(one, two)
        return self.agents[one].at(shared), self.agents[two].at(shared)


@dataclass(frozen=True, eq=False)
class Part:
    """One experiment, and what there is of it."""

    experiment: Experiment
    worlds: Sequence[WorldRuns]
    """Those that have records, in the order of the experiment."""
    trials: Sequence[Trial]
    """Those with a record."""
    about: Mapping[str, str]
    """Versions and machine."""
    left_out: Sequence[str]
    """Why files in the folder are not among the records, one line each."""


def read(folder: Path) -> list[Part]:
    """Every experiment that a folder holds."""
    return [arranged(results) for results in kept.load(folder)]


def arranged(results: Results) -> Part:
    """The records of one experiment by world and agent."""
    trials = [record.trial for record in results.records]
    return Part(results.experiment, by_world(results), trials, results.about, results.left_out)


def by_world(results: Results) -> list[WorldRuns]:
    """The worlds that have records, in the order of the experiment."""
    experiment, cells = results.experiment, dict[tuple[str, str], list[Record]]()
    for record in results.records:
        cells.setdefault((record.trial.world, record.trial.agent), []).append(record)
    found = []
    for world in experiment.worlds:
        here = {agent: cells[world, agent] for agent in experiment.agents if (world, agent) in cells}
        if here:
            found.append(_world(experiment, world, here))
    return found


def _world(experiment: Experiment, world: str, here: Mapping[str, Sequence[Record]]) -> WorldRuns:
    every = [record for records in here.values() for record in records]
    return WorldRuns(
        experiment=experiment.name,
        label=world,
        facts=every[0].facts,
        planned=_planned(experiment, here),
        horizon=experiment.horizon,
        agents={agent: _runs(records) for agent, records in here.items()},
        choice=experiment.worlds[world],
        reference=experiment.reference,
        roles={agent: experiment.role(agent) for agent in here},
        p_min=_p_min(every),
        beside=_beside(experiment, world),
        stop=experiment.stop,
    )


def _planned(experiment: Experiment, here: Mapping[str, Sequence[Record]]) -> int:
    """The number of trials; where a rule decided when to stop, as many as the agent with most has."""
    if experiment.stop is None:
        return experiment.trials
    return max(len(records) for records in here.values())


def _beside(experiment: Experiment, world: str) -> dict[str, int]:
    """Agents that a stopping rule does not compare."""
    stop = experiment.stop
    if stop is None:
        return {}
    compared = {stop.reference, *stop.rivals}
    return {agent: experiment.budget(world, agent) for agent in experiment.agents if agent not in compared}


def _p_min(records: Sequence[Record]) -> float:
    """The median over trials, which may all have drawn a world of their own; 0 where it was not recorded."""
    return float(np.median([record.facts.get("p_min_true", 0.0) for record in records]))


def _runs(records: Sequence[Record]) -> Runs:
    """Trials stacked: the columns and the steps that all of them have."""
    ordered = sorted(records, key=lambda record: record.trial.index)
    recorded = [record.steps for record in ordered]
    steps = reduce(np.intersect1d, {id(one): one for one in recorded}.values())  # most are one array
    rows = [np.searchsorted(one, steps) for one in recorded]
    names = [name for name in ordered[0].columns if all(name in record.columns for record in ordered)]
    columns = {
        name: np.stack([record.columns[name][row] for record, row in zip(ordered, rows, strict=True)])
        for name in names
    }
    return Runs(np.array([record.trial.index for record in ordered]), steps, columns)


# Parameters


@dataclass(frozen=True, eq=False)
class Sweep:
    """Worlds that differ in one number alone, by increasing value of it."""

    parameter: str
    values: Floats
    worlds: Sequence[WorldRuns]
    fixed: Mapping[str, Any]
    """The settings they share."""


def sweeps(worlds: Sequence[WorldRuns], parameter: str | None = None) -> list[Sweep]:
    """Every way in which one numeric setting of a world was varied while the others stood still."""
    made = [(world, world.choice) for world in worlds if world.choice]
    names = {key for _, choice in made for key, value in choice.settings.items() if _number(value)}
    found = []
    for name in sorted(names if parameter is None else names & {parameter}):
        groups: dict[str, list[WorldRuns]] = {}
        for world, choice in made:
            if _number(choice.settings.get(name)):
                rest = {key: value for key, value in choice.settings.items() if key != name}
                groups.setdefault(
                    json.dumps([world.experiment, choice.name, rest], sort_keys=True, default=str), []
                ).append(world)
        found += [_sweep(name, group) for group in groups.values()]
    return [sweep for sweep in found if len(set(sweep.values.tolist())) > 1]


def _sweep(name: str, worlds: Sequence[WorldRuns]) -> Sweep:
    settings = [world.choice.settings if world.choice else {} for world in worlds]
    values = np.array([float(setting[name]) for setting in settings])
    order = np.argsort(values, kind="stable")
    fixed = {key: value for key, value in settings[0].items() if key != name}
    return Sweep(name, values[order], [worlds[number] for number in order], fixed)


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
