"""Who has the least regret in a world, and how far behind the others are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from vbmle.common import statistics
from vbmle.common.statistics import Interval
from vbmle.experiments.behind import FLOOR
from vbmle.report import significance
from vbmle.report.runs import WorldRuns
from vbmle.report.significance import Difference

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
    below_floor: bool
    """Whether the leader's regret is less than that, so that the ratio is a bound: one to the floor."""
    behind: Difference | None
    """Its regret minus the leader's in the same trials; None for the leader itself."""

    @property
    def leads(self) -> bool:
        """Whether nobody has lower regret, to what counts."""
        return self.ratio == 1.0

    @property
    def clear(self) -> bool:
        """Whether it is significantly worse than the leader."""
        return not self.leads and self.behind is not None and self.behind.outcome == "worse"


_PLACES: WeakKeyDictionary[WorldRuns, dict[str, Place]] = WeakKeyDictionary()


def places(world: WorldRuns) -> dict[str, Place]:
    """Every agent with enough trials but those that only serve as a measure, in the order of the experiment.

    Found once for each world, however often it is asked.
    """
    if world not in _PLACES:
        _PLACES[world] = _places(world)
    return dict(_PLACES[world])


def _places(world: WorldRuns) -> dict[str, Place]:
    playing = world.contenders
    if not playing:
        return {}
    most = max(len(runs.trials) for runs in playing.values())
    fewest = min(TRIALS_TO_BE_PLACED, most / 2.0)
    means = _means(world, [label for label, runs in playing.items() if len(runs.trials) >= fewest])
    leader = min(means, key=means.__getitem__)
    floor = max(FLOOR * world.scale, np.finfo(float).tiny)
    best = max(means[leader], floor)
    return {
        label: Place(
            agent=label,
            leader=leader,
            mean=statistics.mean_interval(playing[label].final),
            ratio=max(mean, floor) / best,
            below_floor=means[leader] < floor,
            behind=None if label == leader else significance.difference(world, label, leader),
        )
        for label, mean in means.items()
    }


def _means(world: WorldRuns, agents: Sequence[str]) -> dict[str, float]:
    """Mean regret of each in the trials of the agent that has most.

    For one with fewer of them that is the mean of the other plus the mean difference where both ran: it may have met
    only easy worlds, or only hard ones.
    """
    longest = max(agents, key=lambda label: len(world.agents[label].trials))
    base, found = float(world.agents[longest].final.mean()), {}
    for label in agents:
        alike = len(world.agents[label].trials) == len(world.agents[longest].trials)
        if alike or not world.has(label, longest):
            found[label] = float(world.agents[label].final.mean())
        else:
            lost, theirs = world.paired(label, longest)
            found[label] = base + float((lost - theirs).mean())
    return found


def order(worlds: Sequence[WorldRuns]) -> list[str]:
    """All agents, the best first: by their regret on (geometric) average relative to all agents of each world."""
    logs: dict[str, list[float]] = {}
    for world in worlds:
        found = {label: float(np.log(place.ratio)) for label, place in places(world).items()}
        usual = float(np.mean(list(found.values()))) if found else 0.0
        for label, value in found.items():
            logs.setdefault(label, []).append(value - usual)
    return sorted(logs, key=lambda label: float(np.mean(logs[label])))
