"""How far behind the best each agent is, over many worlds.

For each world the ratio of an agent's mean regret to that of the best agent, where no regret counts as less than
FLOOR times what the random policy loses: below that all agents are equally good. Over the worlds: the geometric mean of
the ratios, the worst, and the share of worlds where the agent is within NEAR of the best.

Intervals are 95% bootstrap intervals over both worlds and trials: the trials of each world are drawn anew (the same
for all agents, since trials are paired), then the worlds. They say what other worlds of the same kinds, with other
luck, might have shown. With few trials, ratios are biased upwards, since the best agent is picked with the same luck.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vbmle.common.validation import Floats
from vbmle.report.statistics import SEED, Interval
from vbmle.report.world_runs import WorldRuns

FLOOR = 0.002
"""Of the random policy's loss."""

NEAR = 1.25
RESAMPLES = 2000


@dataclass(frozen=True, eq=False)
class Standing:
    """One agent over all worlds."""

    agent: str
    ratios: Floats
    """By world."""
    geometric_mean: Interval
    worst: Interval
    near: Interval
    """The share of worlds in which it is within NEAR of the best."""
    against: Interval
    """Its geometric mean over that of the recommended agent; above 1, the recommended agent is ahead."""


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
    losses = [_losses(world, [*agents, measure]) for world in complete]
    ratios = np.array([_ratios(loss.mean(axis=1)) for loss in losses])
    rng = np.random.default_rng(np.random.SeedSequence(SEED))
    drawn = np.array([_resampled(losses, rng) for _ in range(RESAMPLES)])  # (resamples, worlds, agents)
    reference = agents.index(recommended) if recommended in agents else 0
    lines = [_line(label, k, reference, ratios, drawn) for k, label in enumerate(agents)]
    lines.sort(key=lambda line: line.geometric_mean.value)
    return Standings(complete, [loss.shape[1] for loss in losses], lines)


def _losses(world: WorldRuns, agents: Sequence[str]) -> Floats:
    """(agents, trials) final regrets of the trials that all agents have."""
    shared = world.agents[agents[0]].trials
    for label in agents[1:]:
        shared = np.intersect1d(shared, world.agents[label].trials)
    return np.array([world.agents[label].at(shared) for label in agents])


def _ratios(means: Floats) -> Floats:
    """To the best, from mean regrets of which the last is the random policy's."""
    floor = max(FLOOR * float(means[-1]), np.finfo(float).tiny)
    held = np.maximum(means[:-1], floor)
    return held / held.min()


def _resampled(losses: Sequence[Floats], rng: np.random.Generator) -> Floats:
    """The ratios in worlds drawn anew, with trials drawn anew."""
    worlds = rng.integers(len(losses), size=len(losses))
    found = []
    for world in worlds:
        count = losses[world].shape[1]
        found.append(_ratios(losses[world][:, rng.integers(count, size=count)].mean(axis=1)))
    return np.array(found)


def _line(label: str, k: int, reference: int, ratios: Floats, drawn: Floats) -> Standing:
    logs, drawn_logs = np.log(ratios), np.log(drawn)
    lead, drawn_lead = logs - logs[:, [reference]], drawn_logs - drawn_logs[..., [reference]]
    return Standing(
        label,
        ratios[:, k],
        _interval(np.exp(logs[:, k].mean()), np.exp(drawn_logs[..., k].mean(axis=1))),
        _interval(ratios[:, k].max(), drawn[..., k].max(axis=1)),
        _interval((ratios[:, k] <= NEAR).mean(), (drawn[..., k] <= NEAR).mean(axis=1)),
        _interval(np.exp(lead[:, k].mean()), np.exp(drawn_lead[..., k].mean(axis=1))),
    )


def _interval(value: float, replicates: Floats) -> Interval:
    low, high = np.quantile(replicates, [0.025, 0.975])
    return Interval(float(value), float(low), float(high))
