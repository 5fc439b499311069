"""Records arranged for figures and tables: for every world and agent, (trials, steps) arrays."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from vbmle.common.validation import Floats, Ints
from vbmle.experiments.records import Record, Results
from vbmle.experiments.spec import Choice, Experiment
from vbmle.report.statistics import Interval, mean_interval

_STACKED: WeakKeyDictionary[Results, list[WorldRuns]] = WeakKeyDictionary()

REFERENCES = ("Oracle", "Random")
"""Agents that are there to be measured by, not to win."""


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
        """Decisions in trouble over all steps of all trials: see `vbmle.experiments.measures`."""
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
    references: frozenset[str] = frozenset()
    """Labels of the agents that only serve as a measure."""
    p_min: float = 0.0
    """The smallest positive transition probability of the truth, the median over trials; 0 if not on record."""
    beside: Mapping[str, int] = field(default_factory=dict)
    """Trials of the agents that were not to have as many as the others."""
    sequential: bool = False
    """Whether comparisons decided how many trials there are."""

    def expected(self, agent: str) -> int:
        """How many trials of an agent there should be."""
        return self.beside.get(agent, self.planned)

    @property
    def size(self) -> str:
        """The numbers a reader needs to place the world."""
        return "S = {states}, A = {actions}, d = {dimension}".format(**self.facts)

    @property
    def scale(self) -> float:
        """What regret here is measured by: the mean of Random where it was run, otherwise of the worst agent."""
        means = {agent: float(runs.final.mean()) for agent, runs in self.agents.items()}
        return next((mean for agent, mean in means.items() if agent.lower() == "random"), max(means.values()))

    def shared(self, one: str, two: str) -> Ints:
        """The trials that both agents have finished."""
        return np.intersect1d(self.agents[one].trials, self.agents[two].trials)

    def paired(self, one: str, two: str) -> tuple[Floats, Floats]:
        """What both lost in the trials that both have finished."""
        shared = self.shared(one, two)
        return self.agents[one].at(shared), self.agents[two].at(shared)

    def lead(self, one: str, two: str) -> Interval:
        """Regret of one minus that of the other, in the trials that both have: below 0, the one lost less."""
        lost, theirs = self.paired(one, two)
        return mean_interval(lost - theirs)


def by_world(results: Results) -> list[WorldRuns]:
    """The worlds that have records, in the order of the experiment; stacked once, however often it is asked."""
    if results not in _STACKED:
        _STACKED[results] = _by_world(results)
    return list(_STACKED[results])


def _by_world(results: Results) -> list[WorldRuns]:
    experiment, found = results.experiment, []
    cells: dict[tuple[str, str], list[Record]] = {}
    for record in results.records:
        cells.setdefault((record.trial.world, record.trial.agent), []).append(record)
    references = frozenset(
        label for label, choice in experiment.agents.items() if {label, choice.name} & set(REFERENCES)
    )
    for world, choice in experiment.worlds.items():
        here = {agent: cells[world, agent] for agent in experiment.agents if (world, agent) in cells}
        if here:
            every = [record for records in here.values() for record in records]
            found.append(
                WorldRuns(
                    experiment=experiment.name,
                    label=world,
                    facts=every[0].facts,
                    planned=_planned(experiment, here),
                    horizon=experiment.horizon,
                    agents={agent: _runs(records) for agent, records in here.items()},
                    choice=choice,
                    references=references,
                    p_min=_p_min(every),
                    beside=_beside(experiment, world),
                    sequential=experiment.stop is not None and experiment.stop.measure is None,
                )
            )
    return found


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
