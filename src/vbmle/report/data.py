"""Records arranged for figures and tables: for every world and agent, columns as (trials, recorded steps) arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from vbmle.experiments.store import Record, Results
from vbmle.validation import Floats, Ints


@dataclass(frozen=True, eq=False)
class Runs:
    """The finished trials of one agent in one world."""

    trials: Ints
    """Their indices, increasing."""
    regret: Floats
    """Cumulative, (trials, recorded steps)."""
    seconds: Floats
    """Per step, on average since the recorded one before, (trials, recorded steps)."""
    columns: dict[str, Floats] = field(default_factory=dict)
    """All that was recorded, by name, (trials, recorded steps)."""
    recorded: Ints | None = None
    """The recorded steps; None stands for every step."""

    @property
    def steps(self) -> Ints:
        """The recorded steps, from 1."""
        return np.arange(1, self.regret.shape[1] + 1) if self.recorded is None else self.recorded

    @property
    def seconds_per_step(self) -> float:
        """The mean over all steps of all trials, however few of them were recorded."""
        return float(np.average(self.seconds.mean(axis=0), weights=np.diff(self.steps, prepend=0)))

    @property
    def final(self) -> Floats:
        """Regret after the last step."""
        return self.regret[:, -1]

    def at(self, trials: Ints) -> Floats:
        """Final regret of these trials."""
        return self.final[np.searchsorted(self.trials, trials)]


@dataclass(frozen=True, eq=False)
class WorldRuns:
    """All agents in one world (or in one family of worlds: each trial draws its own)."""

    experiment: str
    label: str
    facts: Mapping[str, float]
    planned: int
    horizon: int
    agents: dict[str, Runs]
    """Those with at least one finished trial, in the order of the experiment."""

    @property
    def size(self) -> str:
        """The numbers a reader needs to place the world."""
        return "S = {states}, A = {actions}, d = {dimension}".format(**self.facts)

    def shared(self, one: str, two: str) -> Ints:
        """The trials that both agents have finished."""
        return np.intersect1d(self.agents[one].trials, self.agents[two].trials)


def by_world(results: Results) -> list[WorldRuns]:
    """The worlds that have records, in the order of the experiment."""
    experiment, found = results.experiment, []
    for world in experiment.worlds:
        here = [record for record in results.records if record.trial.world == world]
        cells = {agent: [r for r in here if r.trial.agent == agent] for agent in experiment.agents}
        agents = {agent: _runs(records) for agent, records in cells.items() if records}
        if agents:
            facts = here[0].facts
            found.append(
                WorldRuns(experiment.name, world, facts, experiment.trials, experiment.horizon, agents)
            )
    return found


def _runs(records: list[Record]) -> Runs:
    ordered = sorted(records, key=lambda record: record.trial.index)
    trials = np.array([record.trial.index for record in ordered])
    columns = {name: np.stack([r.columns[name] for r in ordered]) for name in ordered[0].columns}
    return Runs(trials, columns["regret"], columns["seconds"], columns, ordered[0].trial.steps)
