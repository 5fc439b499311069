"""How far behind the best each agent is, over many worlds.

For each world the ratio of an agent's mean regret to that of the best agent (`vbmle.experiments.behind`). Over the
worlds: the geometric mean of the ratios, the worst, and the share of worlds where the agent is within NEAR of the best.

Intervals are over both worlds and trials (`significance.to_the_best`). They say what other worlds of the same
kinds, with other
luck, might have shown. With few trials, ratios are biased upwards, since the best agent is picked with the same luck.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vbmle.common.statistics import Interval
from vbmle.common.validation import Floats
from vbmle.experiments.behind import NEAR
from vbmle.report import significance
from vbmle.report.runs import WorldRuns
from vbmle.report.significance import ToTheBest, middle


@dataclass(frozen=True, eq=False)
class Standing:
    """One agent over all worlds."""

    agent: str
    behind: Sequence[Interval]
    """By world: the ratio, with an interval over trials."""
    geometric_mean: Interval
    worst: Interval
    near: Interval
    """The share of worlds in which it is within NEAR of the best."""
    against: Interval
    """Its geometric mean over that of the recommended agent; above 1, the recommended agent is ahead."""

    @property
    def ratios(self) -> Floats:
        """By world."""
        return np.array([interval.value for interval in self.behind])


@dataclass(frozen=True, eq=False)
class Standings:
    """All agents, the least geometric mean first."""

    worlds: list[WorldRuns]
    trials: list[int]
    """By world: those that all agents have finished."""
    lines: list[Standing]


def standings(worlds: Sequence[WorldRuns], measure: str, recommended: str) -> Standings:
    """From the records: `measure` is the random policy, by whose loss the floor is set; it takes no part."""
    complete = [world for world in worlds if measure in world.agents and len(world.agents) > 1]
    agents = [label for label in complete[0].agents if label != measure] if complete else []
    complete = [world for world in complete if all(label in world.agents for label in agents)]
    if not agents or not complete:
        raise ValueError(f"there is no world with records of {measure!r} and of another agent")
    losses = [_losses(world, agents) for world in complete]
    chance = [float(world.agents[measure].final.mean()) for world in complete]
    found = significance.to_the_best(losses, chance)
    reference = agents.index(recommended) if recommended in agents else 0
    trials = [loss.shape[1] for loss in losses]
    lines = [_line(label, k, reference, found, trials) for k, label in enumerate(agents)]
    lines.sort(key=lambda line: line.geometric_mean.value)
    return Standings(complete, trials, lines)


def _losses(world: WorldRuns, agents: Sequence[str]) -> Floats:
    """(agents, trials) final regrets of the trials that all agents have."""
    shared = world.agents[agents[0]].trials
    for label in agents[1:]:
        shared = np.intersect1d(shared, world.agents[label].trials)
    return np.array([world.agents[label].at(shared) for label in agents])


def _line(label: str, k: int, reference: int, found: ToTheBest, trials: Sequence[int]) -> Standing:
    logs, drawn_logs = np.log(found.ratios), np.log(found.drawn)
    lead, drawn_lead = logs - logs[:, [reference]], drawn_logs - drawn_logs[..., [reference]]
    ours, drawn, luck = found.ratios[:, k], found.drawn[..., k], found.by_luck[..., k]
    everywhere = len(trials)
    return Standing(
        label,
        [middle(*one) for one in zip(ours, luck, trials, strict=True)],
        middle(np.exp(logs[:, k].mean()), np.exp(drawn_logs[..., k].mean(axis=1)), everywhere),
        middle(ours.max(), drawn.max(axis=1), everywhere),
        middle((ours <= NEAR).mean(), (drawn <= NEAR).mean(axis=1), everywhere),
        middle(np.exp(lead[:, k].mean()), np.exp(drawn_lead[..., k].mean(axis=1)), everywhere),
    )
