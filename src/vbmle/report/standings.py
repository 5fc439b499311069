"""How far behind the best each agent is, over many worlds.

For each world the ratio of an agent's mean regret to that of the best agent (`vbmle.experiments.behind`). Over the
worlds: the geometric mean of the ratios, the worst, and the share of worlds where the agent is within NEAR of the best.

Intervals are 95% bootstrap intervals over both worlds and trials: the trials of each world are drawn anew (the same
for all agents, since trials are paired), then the worlds. They say what other worlds of the same kinds, with other
luck, might have shown. With few trials, ratios are biased upwards, since the best agent is picked with the same luck.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vbmle.common.validation import Floats
from vbmle.experiments.behind import NEAR, ratios
from vbmle.report.statistics import SEED, Interval
from vbmle.report.world_runs import WorldRuns

RESAMPLES = 2000


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
    found = np.array([ratios(loss.mean(axis=1), most) for loss, most in zip(losses, chance, strict=True)])
    rng = np.random.default_rng(np.random.SeedSequence(SEED))
    by_luck = np.array(
        [_resampled(*pair, rng) for pair in zip(losses, chance, strict=True)]
    )  # (worlds, resamples, agents)
    drawn = by_luck[rng.integers(len(losses), size=(RESAMPLES, len(losses))), np.arange(RESAMPLES)[:, None]]
    reference = agents.index(recommended) if recommended in agents else 0
    lines = [_line(label, k, reference, found, by_luck, drawn) for k, label in enumerate(agents)]
    lines.sort(key=lambda line: line.geometric_mean.value)
    return Standings(complete, [loss.shape[1] for loss in losses], lines)


def _losses(world: WorldRuns, agents: Sequence[str]) -> Floats:
    """(agents, trials) final regrets of the trials that all agents have."""
    shared = world.agents[agents[0]].trials
    for label in agents[1:]:
        shared = np.intersect1d(shared, world.agents[label].trials)
    return np.array([world.agents[label].at(shared) for label in agents])


def _resampled(losses: Floats, chance: float, rng: np.random.Generator) -> Floats:
    """(resamples, agents) ratios in one world with its trials drawn anew."""
    count = losses.shape[1]
    weights = rng.multinomial(count, np.full(count, 1.0 / count), RESAMPLES) / count
    return ratios(weights @ losses.T, chance)


def _line(label: str, k: int, reference: int, found: Floats, luck: Floats, drawn: Floats) -> Standing:
    logs, drawn_logs = np.log(found), np.log(drawn)
    lead, drawn_lead = logs - logs[:, [reference]], drawn_logs - drawn_logs[..., [reference]]
    return Standing(
        label,
        [_interval(ratio, replicates) for ratio, replicates in zip(found[:, k], luck[..., k], strict=True)],
        _interval(np.exp(logs[:, k].mean()), np.exp(drawn_logs[..., k].mean(axis=1))),
        _interval(found[:, k].max(), drawn[..., k].max(axis=1)),
        _interval((found[:, k] <= NEAR).mean(), (drawn[..., k] <= NEAR).mean(axis=1)),
        _interval(np.exp(lead[:, k].mean()), np.exp(drawn_lead[..., k].mean(axis=1))),
    )


def _interval(value: float, replicates: Floats) -> Interval:
    low, high = np.quantile(replicates, [0.025, 0.975])
    return Interval(float(value), float(low), float(high))
