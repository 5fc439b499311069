"""The loop: every trial of an experiment that has no record yet is run, and its record kept.

Run it again to resume. Workers only compute; this process alone writes, so a worker may die at any point.
"""

from __future__ import annotations

import textwrap
import traceback
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeVar

from vbmle.common.files import alone_in
from vbmle.experiments import InputError, playing, record_file, rounds
from vbmle.experiments.compute import Lost, PoolGone, Workers
from vbmle.experiments.playing import Played
from vbmle.experiments.records import Record
from vbmle.experiments.resume_key import code_version
from vbmle.experiments.rounds import Round
from vbmle.experiments.spec import Experiment, Trial
from vbmle.experiments.store import Store, Task, about

T = TypeVar("T")

MESSAGE = 300
"""Characters of an error that are shown; some libraries write pages."""


class Watcher(Protocol):
    """What hears about the progress of a run."""

    def say(self, line: str) -> None:
        """Something the user should know."""

    def begin(self, name: str, totals: dict[str, int], done: dict[str, int]) -> None:
        """An experiment starts: how many trials each agent has, and how many of them have a record already."""

    def finished(self, agent: str) -> None:
        """One more trial of an agent."""


@dataclass(frozen=True)
class Failure:
    """A trial that raised, or whose worker died."""

    trial: Trial
    message: str
    details: str = ""

    def __str__(self) -> str:
        return f"{self.trial.name} failed: {self.message}\n  to see it again: {self.trial.recipe()}"


@dataclass(frozen=True, eq=False)
class Done:
    """A trial that was played, and what played it."""

    played: Played
    code: str
    """The version of the sources."""
    about: dict[str, str]
    """Versions and machine."""


Answer = Done | Failure


@dataclass
class Summary:
    """What a run did."""

    kept: int = 0
    made: int = 0
    begun_anew: int = 0
    """Of those made: trials that could not be continued from where a shorter run stood."""
    failures: list[Failure] = field(default_factory=list)


class Stopped(Exception):
    """The run cannot go on, for a reason outside of it (a full disk); what is complete is kept."""


def run(experiment: Experiment, folder: Path, jobs: int, watcher: Watcher) -> Summary:
    """Run what is missing of an experiment in `jobs` processes; records go to `folder`."""
    return run_all([experiment], folder, Workers(jobs), watcher)[0]


def run_all(
    experiments: Sequence[Experiment], folder: Path, workers: Workers, watcher: Watcher
) -> list[Summary]:
    """Run what is missing of each, one after the other, by the same workers; records go to `folder`."""
    try:
        with alone_in(folder) as alone:
            if not alone:
                raise InputError(
                    f"--out {folder}: another run is writing there; wait for it, or choose another folder"
                )
            with record_file.writing(folder) as file:
                work = [_open(Store(file, experiment), watcher) for experiment in experiments]
                with workers:
                    return [_complete(store, trials, workers, watcher) for store, trials in work]
    except (FileExistsError, FileNotFoundError, NotADirectoryError, PermissionError) as error:
        raise InputError(f"--out {folder}: cannot write there ({error.strerror})") from None


def is_complete(experiments: Sequence[Experiment], folder: Path) -> bool:
    """Whether these experiments were run there as they are, and have all their records."""
    if not (folder / record_file.NAME).exists():
        return False
    with record_file.reading(folder) as file:
        return all(_has_all(Store(file, experiment)) for experiment in experiments)


def _has_all(store: Store) -> bool:
    if not store.is_begun:
        return False
    trials, _ = store.missing()
    losses = rounds.Losses(store, trials)
    return not any(part.trials for part in rounds.rounds(store.experiment, trials, losses, lambda line: None))


def _open(store: Store, watcher: Watcher) -> tuple[Store, list[Trial]]:
    """Where the records go, and the trials that have none."""
    try:
        store.begin()
    except OSError as error:
        raise Stopped(f"cannot write {store.file.path} ({error}); run again to go on") from None
    trials, lines = store.missing()
    for line in lines:
        watcher.say(line)
    return store, trials


def _complete(store: Store, trials: list[Trial], workers: Workers, watcher: Watcher) -> Summary:
    """Run the trials and keep their records; where comparisons decide how many it takes, look by look."""
    summary = Summary(kept=len(store.experiment.all_trials()) - len(trials))
    losses = rounds.Losses(store, trials)

    def keep(task: Task, result: Answer | Lost) -> None:
        kept = _keep(store, task, result, summary)
        if kept is not None:
            losses.add(kept)
        watcher.finished(task.trial.agent)

    for part in rounds.rounds(store.experiment, trials, losses, watcher.say):
        if part.trials:
            watcher.begin(part.name, *_counts(store.experiment, part))
            _collect(workers, store.tasks(part.trials), keep)
    if summary.begun_anew:
        were = "1 trial was" if summary.begun_anew == 1 else f"{summary.begun_anew} trials were"
        watcher.say(f"{were} run from the beginning: what a shorter run had left could not be loaded")
    return summary


def _collect(workers: Workers, tasks: Iterable[Task], take: Callable[[Task, Answer | Lost], None]) -> None:
    try:
        for task, result in workers.results(play, tasks):
            take(task, result)
    except PoolGone:
        raise Stopped("the cluster is gone; what is complete is kept, run again to go on") from None


def _keep(store: Store, task: Task, result: Answer | Lost, summary: Summary) -> Record | None:
    """Write the record, and return it; None for what failed."""
    if isinstance(result, Lost):
        summary.failures.append(Failure(task.trial, result.message))
    elif isinstance(result, Failure):
        summary.failures.append(result)
    elif result.code != store.code:
        other = f"its worker has another version of vbmle ({result.code}, not {store.code})"
        summary.failures.append(Failure(task.trial, other))
    else:
        try:
            record = store.write(task, result.played, result.about)
        except OSError as error:
            raise Stopped(f"cannot write {store.file.path} ({error}); run again to go on") from None
        summary.made += 1
        summary.begun_anew += task.state is not None and not result.played.since
        return record
    return None


def play(task: Task) -> Answer:
    """One trial, in a worker: whatever it raises is its result, so that the others go on."""
    try:
        played = playing.play(task.trial, task.state)
    except Exception as error:
        message = " ".join(f"{type(error).__name__}: {error}".split())
        return Failure(task.trial, textwrap.shorten(message, MESSAGE), traceback.format_exc())
    return Done(played, code_version(), about())


def _counts(experiment: Experiment, part: Round) -> tuple[dict[str, int], dict[str, int]]:
    """How many trials each agent has in a round, and how many of them have a record."""
    missing = {agent: sum(trial.agent == agent for trial in part.trials) for agent in experiment.agents}
    return part.totals, {agent: part.totals[agent] - n for agent, n in missing.items()}
