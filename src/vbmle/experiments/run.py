"""The loop: every trial of an experiment that has no record yet is run, and its record kept.

Run it again to resume. Workers only compute; this process alone writes, so a worker may die at any point.
"""

from __future__ import annotations

import textwrap
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeVar

from vbmle.common.files import alone_in
from vbmle.experiments import InputError, playing, rounds
from vbmle.experiments.compute import Lost, PoolGone, Workers
from vbmle.experiments.recent import Recent
from vbmle.experiments.records import Record
from vbmle.experiments.resume_key import code_version
from vbmle.experiments.rounds import Round
from vbmle.experiments.spec import Experiment, Trial
from vbmle.experiments.store import Store, about

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


@dataclass
class Summary:
    """What a run did."""

    kept: int = 0
    made: int = 0
    failures: list[Failure] = field(default_factory=list)


class Stopped(Exception):
    """The run cannot go on, for a reason outside of it (a full disk); what is complete is kept."""


def run(experiment: Experiment, folder: Path, jobs: int, watcher: Watcher) -> Summary:
    """Run what is missing of an experiment in `jobs` processes; records go to `folder`."""
    return run_all([experiment], folder, Workers(jobs), watcher)[0]


def run_all(
    experiments: Sequence[Experiment],
    folder: Path,
    workers: Workers,
    watcher: Watcher,
    recent: Recent | None = None,
) -> list[Summary]:
    """Run what is missing of each, one after the other, by the same workers; records go to `folder` and `recent`."""
    try:
        with alone_in(folder / "records") as alone:
            if not alone:
                raise InputError(
                    f"--out {folder}: another run is writing there; wait for it, or choose another folder"
                )
            work = [_open(Store(folder, experiment, recent=recent), watcher) for experiment in experiments]
            with workers:
                return [_complete(store, trials, workers, watcher) for store, trials in work]
    except (FileExistsError, NotADirectoryError, PermissionError) as error:
        raise InputError(f"--out {folder}: cannot write there ({error.strerror})") from None


def _open(store: Store, watcher: Watcher) -> tuple[Store, list[Trial]]:
    """Where the records go, and the trials that have none."""
    store.begin()
    try:
        trials, lines = store.missing()
    except OSError as error:
        raise Stopped(f"cannot set records aside in {store.folder} ({error.strerror or error})") from None
    for line in lines:
        watcher.say(line)
    return store, trials


def _complete(store: Store, trials: list[Trial], workers: Workers, watcher: Watcher) -> Summary:
    """Run the trials and keep their records; where comparisons decide how many it takes, look by look."""
    summary = Summary(kept=len(store.experiment.all_trials()) - len(trials))
    losses = rounds.Losses(store, trials)

    def keep(trial: Trial, result: Record | Failure | Lost) -> None:
        kept = _keep(store, trial, result, summary)
        if kept is not None:
            losses.add(kept)
        watcher.finished(trial.agent)

    for part in rounds.rounds(store.experiment, trials, losses, watcher.say):
        if part.trials:
            watcher.begin(part.name, *_counts(store.experiment, part))
            _collect(workers, part.trials, keep)
    return summary


def _collect(
    workers: Workers, trials: list[Trial], take: Callable[[Trial, Record | Failure | Lost], None]
) -> None:
    try:
        for trial, result in workers.results(play, trials):
            take(trial, result)
    except PoolGone:
        raise Stopped("the cluster is gone; what is complete is kept, run again to go on") from None


def _keep(store: Store, trial: Trial, result: Record | Failure | Lost, summary: Summary) -> Record | None:
    """Write the record, and return it; None for what failed."""
    if isinstance(result, Lost):
        summary.failures.append(Failure(trial, result.message))
    elif isinstance(result, Failure):
        summary.failures.append(result)
    elif result.code not in (None, store.code):
        other = f"its worker has another version of vbmle ({result.code}, not {store.code})"
        summary.failures.append(Failure(trial, other))
    else:
        try:
            store.write(result)
        except OSError as error:
            reason = error.strerror or error
            raise Stopped(f"cannot write {store.path(trial)} ({reason}); run again to go on") from None
        summary.made += 1
        return result
    return None


def play(trial: Trial) -> Record | Failure:
    """One trial, in a worker: whatever it raises is its result, so that the others go on."""
    try:
        columns, facts = playing.play(trial)
    except Exception as error:
        message = " ".join(f"{type(error).__name__}: {error}".split())
        return Failure(trial, textwrap.shorten(message, MESSAGE), traceback.format_exc())
    return Record(trial, columns, facts, code_version(), about())


def _counts(experiment: Experiment, part: Round) -> tuple[dict[str, int], dict[str, int]]:
    """How many trials each agent has in a round, and how many of them have a record."""
    missing = {agent: sum(trial.agent == agent for trial in part.trials) for agent in experiment.agents}
    return part.totals, {agent: part.totals[agent] - n for agent, n in missing.items()}
