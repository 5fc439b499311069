"""Who loses least in a world, how far behind the others are, and where that is sure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from vbmle.experiments import stopping
from vbmle.experiments.behind import FLOOR
from vbmle.report import statistics
from vbmle.report.statistics import Interval
from vbmle.report.world_runs import WorldRuns

TRIALS_TO_BE_PLACED = 50
"""Trials that an agent is judged by at least, or half of the most that any agent has if that is less."""


@dataclass(frozen=True)
class Place:
    """One agent in one world."""

    agent: str
    leader: str
    """The agent with the least mean regret there."""
    mean: Interval
    ratio: float
    """Its mean regret over the leader's, where no regret counts as less than FLOOR times the world's scale."""
    behind: Interval
    """What it lost more than the leader in the same trials; 0 for the leader itself."""

    @property
    def leads(self) -> bool:
        """Whether nobody lost less, to what counts."""
        return self.ratio == 1.0

    @property
    def sure(self) -> bool:
        """Whether it surely lost more than the leader: the interval of the paired difference excludes 0."""
        return not self.leads and self.behind.low > 0.0


_PLACES: WeakKeyDictionary[WorldRuns, dict[str, Place]] = WeakKeyDictionary()


def places(world: WorldRuns) -> dict[str, Place]:
    """Every agent with enough trials but those that only serve as a measure, in the order of the experiment.

    Found once for each world, however often it is asked.
    """
    if world not in _PLACES:
        _PLACES[world] = _places(world)
    return dict(_PLACES[world])


def _places(world: WorldRuns) -> dict[str, Place]:
    playing = {label: runs for label, runs in world.agents.items() if label not in world.references}
    if not playing:
        return {}
    most = max(len(runs.trials) for runs in playing.values())
    agents = {
        label: runs
        for label, runs in playing.items()
        if len(runs.trials) >= min(TRIALS_TO_BE_PLACED, most / 2.0)
    }
    means = _means(world, list(agents))
    leader = min(means, key=means.__getitem__)
    floor = max(FLOOR * world.scale, np.finfo(float).tiny)
    best = max(means[leader], floor)
    found = {}
    for label, runs in agents.items():
        mean = statistics.mean_interval(runs.final)
        found[label] = Place(
            label, leader, mean, max(means[label], floor) / best, _behind(world, label, leader)
        )
    return found


def _means(world: WorldRuns, agents: Sequence[str]) -> dict[str, float]:
    """Mean regret of each in the trials of the agent that has most.

    For one with fewer of them that is the mean of the other plus the mean difference where both ran: it may have met
    only easy worlds, or only hard ones.
    """
    longest = max(agents, key=lambda label: len(world.agents[label].trials))
    base, found = float(world.agents[longest].final.mean()), {}
    for label in agents:
        if len(world.agents[label].trials) == len(world.agents[longest].trials) or not len(
            world.shared(label, longest)
        ):
            found[label] = float(world.agents[label].final.mean())
        else:
            lost, theirs = world.paired(label, longest)
            found[label] = base + float((lost - theirs).mean())
    return found


def _behind(world: WorldRuns, agent: str, leader: str) -> Interval:
    if agent == leader or not len(world.shared(agent, leader)):
        return Interval(0.0, np.nan, np.nan)
    lost, least = world.paired(agent, leader)
    if (
        world.sequential and len(lost) > 1
    ):  # as careful as the comparisons that decided how many trials there are
        return Interval(*stopping.paired(least, lost))
    return statistics.mean_interval(lost - least)


def among_the_best(world: WorldRuns) -> list[str]:
    """The agent with the least mean regret, and those that cannot be told apart from it by paired differences."""
    return [label for label, place in places(world).items() if not place.sure]


def order(worlds: Sequence[WorldRuns]) -> list[str]:
    """All agents, the best first: by what they lose on (geometric) average relative to all agents of each world."""
    logs: dict[str, list[float]] = {}
    for world in worlds:
        found = {label: float(np.log(place.ratio)) for label, place in places(world).items()}
        usual = float(np.mean(list(found.values()))) if found else 0.0
        for label, value in found.items():
            logs.setdefault(label, []).append(value - usual)
    return sorted(logs, key=lambda label: float(np.mean(logs[label])))
