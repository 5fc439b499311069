"""The end of the page: the spec, versions, machine and seeds, and where the records are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vbmle.experiments.records import Results
from vbmle.experiments.spec import Trial


@dataclass(frozen=True)
class Run:
    """What the end of the page says of one experiment."""

    name: str
    count: str
    entries: Sequence[tuple[str, str]]
    records: Sequence[tuple[str, str, Sequence[int]]]
    """World, agent, and the trials that have a record."""
    seeds: Sequence[tuple[str, str, str, str]]
    """World, trial, seed of the run and of the world."""

    @property
    def world_seeds(self) -> bool:
        """Whether any world was drawn by a seed of its own."""
        return any(seed[3] != "-" for seed in self.seeds)


def build(results: Results) -> Run:
    """From the records of one experiment."""
    experiment = results.experiment
    entries = [(f"world {label}", choice.call()) for label, choice in experiment.worlds.items()]
    entries += [(f"agent {label}", choice.call("mdp")) for label, choice in experiment.agents.items()]
    entries.append(("horizon", f"{experiment.horizon} steps"))
    count = f"{len(results.records)} of {len(experiment.all_trials())} trials"
    about = dict(results.about)
    entries.append(("machine", about.pop("machine", "unknown")))
    entries.append(("versions", ", ".join(f"{name} {value}" for name, value in about.items())))
    if results.left_out:
        entries.append(("left out", "; ".join(results.left_out)))
    return Run(experiment.name, count, entries, *_records(results))


def _records(
    results: Results,
) -> tuple[list[tuple[str, str, list[int]]], list[tuple[str, str, str, str]]]:
    """A line for each world and agent with its trials, and one for each world and trial with its seeds."""
    places = list(results.experiment.worlds)
    cells: dict[tuple[str, str], list[Trial]] = {}
    drawn: dict[tuple[str, int], Trial] = {}
    for trial in sorted((r.trial for r in results.records), key=lambda t: (places.index(t.world), t.index)):
        cells.setdefault((trial.world, trial.agent), []).append(trial)
        drawn.setdefault((trial.world, trial.index), trial)
    records = [(world, agent, [t.index for t in trials]) for (world, agent), trials in cells.items()]
    seeds = []
    for (world, index), trial in drawn.items():
        found = trial.seeds()
        seeds.append((world, str(index), str(found["chance"]), str(found.get("world", "-"))))
    return records, seeds
