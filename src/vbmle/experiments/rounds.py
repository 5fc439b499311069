"""The rounds of an experiment: all trials at once, or look by look where comparisons decide how many it takes.

What a look decides is a function of the records alone, so that a run that was interrupted comes to the same
decisions when it goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from vbmle.common.validation import Floats
from vbmle.experiments import stopping
from vbmle.experiments.behind import behind
from vbmle.experiments.records import Record
from vbmle.experiments.spec import Experiment, Trial
from vbmle.experiments.stopping import Comparison
from vbmle.experiments.store import Store


@dataclass(frozen=True)
class Round:
    """Trials that run together, and how many each agent has by then, those with a record included."""

    name: str
    trials: list[Trial]
    totals: dict[str, int]


class Losses:
    """The final regret of every trial with a record; those from before are read when they are asked for."""

    def __init__(self, store: Store, missing: Sequence[Trial]) -> None:
        self._store = store
        self._missing = {(trial.world, trial.agent, trial.index) for trial in missing}
        self._known: dict[tuple[str, str, int], float] = {}

    def add(self, record: Record) -> None:
        trial = record.trial
        self._known[trial.world, trial.agent, trial.index] = float(record.columns["regret"][-1])

    def of(self, world: str, agent: str, count: int) -> Floats:
        """Of the first `count` trials, NaN where there is no record."""
        return np.array([self._loss(world, agent, index) for index in range(count)])

    def _loss(self, world: str, agent: str, index: int) -> float:
        key = (world, agent, index)
        if key not in self._known and key not in self._missing:
            record = self._store.read(self._store.experiment.trial(*key))
            assert record is not None, "it is not missing"
            self.add(record)
        return self._known.get(key, np.nan)


def rounds(
    experiment: Experiment, missing: Sequence[Trial], losses: Losses, say: Callable[[str], None]
) -> Iterator[Round]:
    """What to run next, given the losses so far; ask for a round when the one before is complete."""
    if experiment.stop is None:
        yield Round(experiment.name, list(missing), _totals(experiment, dict.fromkeys(experiment.worlds)))
        return
    looks = {world: list(experiment.stop.looks[world]) for world in experiment.worlds}
    most = max(len(found) for found in looks.values())
    for number in range(most):
        upto = {world: found[number] for world, found in looks.items() if number < len(found)}
        trials = [trial for trial in missing if _due(trial, upto, number, looks)]
        name = experiment.name if most == 1 else f"{experiment.name}, look {number + 1} of {most}"
        yield Round(name, trials, _totals(experiment, dict(upto)))
        for world, count in upto.items():
            enough, told = _enough(experiment, world, losses, count)
            if trials and most > 1:
                say(f"{world}, {count} worlds: {told}")
            if enough:
                looks[world] = looks[world][: number + 1]


def _enough(experiment: Experiment, world: str, losses: Losses, count: int) -> tuple[bool, str]:
    """Whether a world has seen enough trials, and what the look found."""
    stop = experiment.stop
    assert stop is not None
    if stop.measure is None:
        found = look(experiment, world, losses, count)
        return stopping.settled(stop, world, found), "; ".join(map(line, found))
    compared = {agent: losses.of(world, agent, count) for agent in (stop.reference, *stop.rivals)}
    chance = losses.of(world, stop.measure, min(count, experiment.budget(world, stop.measure)))
    stands = behind(stop.reference, compared, chance)
    return stands is not None and stands.known, str(stands or "nothing to compare")


def look(experiment: Experiment, world: str, losses: Losses, count: int) -> list[Comparison]:
    """The comparisons of a world after so many trials."""
    stop = experiment.stop
    assert stop is not None
    upto = {agent: losses.of(world, agent, count) for agent in (stop.reference, *stop.rivals)}
    return stopping.comparisons(stop, world, upto)


def line(found: Comparison) -> str:
    """A comparison in a few words."""
    words = {
        "less": "has lower regret than",
        "more": "has higher regret than",
        "the same": "has about the same regret as",
    }.get(found.outcome, "cannot be distinguished from")
    return f"{found.reference} {words} {found.rival} ({found.value:.3g} [{found.low:.3g}, {found.high:.3g}])"


def _due(trial: Trial, upto: dict[str, int], number: int, looks: dict[str, list[int]]) -> bool:
    """It belongs to this look: not to the one before."""
    if trial.world not in upto:
        return False
    before = looks[trial.world][number - 1] if number else 0
    return before <= trial.index < upto[trial.world]


def _totals(experiment: Experiment, upto: dict[str, int | None]) -> dict[str, int]:
    return {
        agent: sum(
            min(experiment.budget(world, agent), experiment.trials if count is None else count)
            for world, count in upto.items()
        )
        for agent in experiment.agents
    }
