"""Records arranged for figures and tables: for every world and agent, regret as a (trials, steps) array."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vbmle.experiments.store import Record, Results
from vbmle.validation import Floats, Ints


@dataclass(frozen=True, eq=False)
class Runs:
    """The finished trials of one agent in one world."""

    trials: Ints
    """Their indices, increasing."""
    regret: Floats
    """Cumulative, (trials, steps)."""
    seconds: Floats
    """Of each step, (trials, steps)."""

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
    facts: dict[str, int]
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
    return Runs(
        np.array([record.trial.index for record in ordered]),
        np.stack([record.columns["regret"] for record in ordered]),
        np.stack([record.columns["seconds"] for record in ordered]),
    )
