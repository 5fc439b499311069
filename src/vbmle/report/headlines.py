"""The comparisons that an experiment with a stopping rule was run for, with intervals that hold whenever one stops."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from vbmle.common.validation import Floats
from vbmle.experiments import stopping
from vbmle.experiments.records import Results
from vbmle.experiments.spec import Experiment
from vbmle.experiments.stopping import Comparison, Stopping
from vbmle.report.world_runs import WorldRuns, by_world


def headlines(results: Results) -> dict[tuple[str, str], Comparison]:
    """By world and rival; nothing where there are no two agents with records, or fewer than two trials.

    Without a stopping rule the first agent is compared with all others, once, after all trials.
    """
    found = {}
    for world in by_world(results):
        rule = results.experiment.stop or _one_look(results.experiment, world)
        losses = _losses(world)
        if rule is not None and rule.reference in losses:
            here = [rival for rival in rule.rivals if rival in losses]
            kept = Stopping(rule.reference, tuple(here), {world.label: rule.looks[world.label]})
            for comparison in stopping.comparisons(kept, world.label, losses):
                found[world.label, comparison.rival] = comparison
    return found


def _one_look(experiment: Experiment, world: WorldRuns) -> Stopping | None:
    reference, *rivals = experiment.agents
    count = max(int(runs.trials[-1]) + 1 for runs in world.agents.values())
    return Stopping(reference, tuple(rivals), {world.label: (count,)}) if rivals and count > 1 else None


def _losses(world: WorldRuns) -> Mapping[str, Floats]:
    """Final regret by agent and trial; NaN where there is no record."""
    count = max(int(runs.trials[-1]) + 1 for runs in world.agents.values())
    found = {}
    for agent, runs in world.agents.items():
        found[agent] = np.full(count, np.nan)
        found[agent][runs.trials] = runs.final
    return found
