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
from vbmle.experiments.spec import Experiment, Trial
from vbmle.experiments.stopping import Comparison
from vbmle.experiments.store import Record, Store


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
            self.add(self._store.read(self._store.experiment.trial(*key)))
        return self._known.get(key, np.nan)


def rounds(
    experiment: Experiment, missing: Sequence[Trial], losses: Losses, say: Callable[[str], None]
) -> Iterator[Round]:
    """What to run next, given the losses so far; ask for a round when the one before is complete."""
    if experiment.stop is None:
        everything = dict.fromkeys(experiment.agents, experiment.trials)
        yield Round(
            experiment.name, list(missing), _totals(experiment, dict.fromkeys(experiment.worlds, everything))
        )
        return
    stop, looks = experiment.stop, experiment.stop.looks
    playing = {world: set(stop.rivals) for world in experiment.worlds}
    reached = {world: dict.fromkeys(experiment.agents, 0) for world in experiment.worlds}
    most = max(len(found) for found in looks.values())
    for number in range(most):
        upto = {
            world: looks[world][number] for world in playing if playing[world] and number < len(looks[world])
        }
        trials = [trial for trial in missing if _due(experiment, trial, upto, number, playing)]
        for world, count in upto.items():
            left = set(stop.rivals) - playing[world]
            reached[world] |= {agent: count for agent in experiment.agents if agent not in left}
        name = experiment.name if most == 1 else f"{experiment.name}, look {number + 1} of {most}"
        yield Round(name, trials, _totals(experiment, {world: reached[world] for world in upto}))
        for world, count in upto.items():
            found = look(experiment, world, losses, count)
            if trials and most > 1:
                say(f"{world}, {count} worlds: {'; '.join(map(line, found))}")
            playing[world] &= stopping.remaining(stop, world, found)


def look(experiment: Experiment, world: str, losses: Losses, count: int) -> list[Comparison]:
    """The comparisons of a world after so many trials."""
    stop = experiment.stop
    assert stop is not None
    upto = {agent: losses.of(world, agent, count) for agent in (stop.reference, *stop.rivals)}
    return stopping.comparisons(stop, world, upto)


def line(found: Comparison) -> str:
    """A comparison in a few words."""
    others = {"open": "cannot be told from", "the same": "loses the same as"}
    words = others.get(found.outcome, f"loses {found.outcome} than")
    return f"{found.reference} {words} {found.rival} ({found.value:.3g} [{found.low:.3g}, {found.high:.3g}])"


def _due(
    experiment: Experiment, trial: Trial, upto: dict[str, int], number: int, playing: dict[str, set[str]]
) -> bool:
    """It belongs to this look, not to the one before, and its agent is still being compared."""
    stop = experiment.stop
    assert stop is not None
    if trial.world not in upto or trial.agent in set(stop.rivals) - playing[trial.world]:
        return False
    before = stop.looks[trial.world][number - 1] if number else 0
    return before <= trial.index < upto[trial.world]


def _totals(experiment: Experiment, reached: dict[str, dict[str, int]]) -> dict[str, int]:
    """By agent, the trials of the worlds at hand."""
    return {
        agent: sum(min(experiment.budget(world, agent), counts[agent]) for world, counts in reached.items())
        for agent in experiment.agents
    }
