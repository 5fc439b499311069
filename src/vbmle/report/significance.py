"""What is significant: the one place that decides, with one method for each kind of comparison.

A difference is that of mean regrets, agent minus the one it is compared with, in the trials that both have: below 0 the
agent is better. Its interval is Student's, corrected for skewness (Hall 1992). Where comparisons decided how
many trials
there are, it is the one that they decided by, which holds at all looks together and is guarded against a tail that no
trial has met (`vbmle.experiments.stopping`).

A ratio of positive numbers has the same interval on logarithms, which have light tails; a ratio of standard deviations,
and one to the best agent over many worlds, is resampled. The probability that an agent has lower regret is a share of
trials (`vbmle.common.statistics.shares`). A rank correlation has Fisher's interval, with the variance
(1 + r^2/2)/(n - 3) of Bonett and Wright (2000).

All intervals are of 95%, one comparison at a time. From fewer than FEWEST trials there is no interval and no verdict.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from vbmle.common import statistics
from vbmle.common.statistics import FEWER, FEWEST, NONE, SAME_REGRET, SEED, Interval, alone
from vbmle.common.validation import Floats
from vbmle.experiments import stopping
from vbmle.experiments.behind import ratios
from vbmle.report.runs import Runs, WorldRuns

Outcome = Literal["better", "worse", "the same", "open", "too few"]
"""Of an agent beside another: better, worse or (to within a tenth of the larger mean) the same; "open" where
the trials cannot tell."""

NORMAL = 1.959963984540054
"""The 97.5% quantile."""

OVER_WORLDS = 2000
"""Resamples of worlds and trials."""


@dataclass(frozen=True)
class Difference:
    """Mean regret of an agent minus that of another, in the trials that both have."""

    agent: str
    against: str
    trials: int
    found: Interval
    mean: float
    """Of the agent."""
    against_mean: float

    @property
    def outcome(self) -> Outcome:
        if not self.found.known:
            return "too few"
        if self.found.low > 0.0 or self.found.high < 0.0:
            return "worse" if self.found.low > 0.0 else "better"
        short = self.found.high - self.found.low < stopping.SHARE * max(self.mean, self.against_mean)
        return "the same" if short or self.found.low == self.found.high else "open"

    @property
    def decided(self) -> bool:
        """Whether one of the two is significantly better."""
        return self.outcome in ("better", "worse")

    @property
    def share(self) -> Interval:
        """The difference as a share of the other's mean regret, from -1 (all of it avoided) up."""
        ends = (self.found.value, self.found.low, self.found.high)
        return Interval(*(max(end / self.against_mean, -1.0) for end in ends))

    def turned(self) -> Difference:
        """The same from the other's side."""
        found = Interval(-self.found.value, -self.found.high, -self.found.low)
        return Difference(self.against, self.agent, self.trials, found, self.against_mean, self.mean)


def difference(world: WorldRuns, agent: str, against: str) -> Difference | None:
    """The comparison of two agents in a world; None where they have no trial in common."""
    if not world.has(agent, against):
        return None
    rule = world.stop if world.stop is not None and world.stop.measure is None else None
    if rule is not None and agent == rule.reference and against in rule.rivals:
        looked = difference(world, against, agent)
        return looked.turned() if looked else None
    if rule is not None and against == rule.reference and agent in rule.rivals:
        looked = _at_looks(world, rule, agent)
        if looked is not None:
            return looked
    ours, theirs = world.paired(agent, against)
    value = float((ours - theirs).mean())
    found = alone(value)
    if len(ours) >= FEWEST:
        found = (
            Interval(*stopping.paired(theirs, ours))
            if rule
            else Interval(value, *statistics.hall(ours - theirs))
        )
    return Difference(agent, against, len(ours), found, float(ours.mean()), float(theirs.mean()))


def _at_looks(world: WorldRuns, rule: stopping.Stopping, rival: str) -> Difference | None:
    """As it stood at the last look that there are trials for; None before the first."""
    count = max(int(runs.trials[-1]) + 1 for runs in world.agents.values())
    ours, theirs = (_by_trial(world.agents[agent], count) for agent in (rule.reference, rival))
    at = stopping.compare((rule.reference, rival), ours, theirs, rule.looks[world.label])
    if at is None or at.trials < FEWEST:
        return None
    found = Interval(at.value, at.low, at.high)
    return Difference(rival, rule.reference, at.trials, found, at.rival_mean, at.mean)


def _by_trial(runs: Runs, count: int) -> Floats:
    """Final regret by trial; NaN where there is no record."""
    found = np.full(count, np.nan)
    found[runs.trials] = runs.final
    return found


# Probabilities


def probability(worlds: Sequence[WorldRuns], agent: str, against: str) -> Interval:
    """That an agent has lower regret in the same world with the same luck; worlds weigh the same, a tie counts half."""
    found = np.array([_outcomes(world, agent, against) for world in worlds], dtype=float)
    value, low, high = statistics.shares(*found.transpose(1, 0, 2))
    return Interval(float(value[0]), float(low[0]), float(high[0]))


def share_of_wins(world: WorldRuns, agent: str, against: str) -> float:
    """The same of one world, without its interval."""
    lower, same, higher = _outcomes(world, agent, against)
    return float(statistics.share(*(np.array([part], dtype=float) for part in (lower, same, higher)))[0])


def _outcomes(world: WorldRuns, agent: str, against: str) -> list[list[int]]:
    """In how many trials the agent had lower regret, the same, and higher."""
    ours, theirs = world.paired(agent, against)
    return [[number] for number in outcomes(ours - theirs)]


def outcomes(gaps: Floats) -> tuple[int, int, int]:
    """How many differences are below nothing, nothing, and above it."""
    lower, higher = int((gaps < -SAME_REGRET).sum()), int((gaps > SAME_REGRET).sum())
    return lower, len(gaps) - lower - higher, higher


# Ratios


def times(ours: Floats, theirs: Floats) -> Interval:
    """The geometric mean of ours / theirs."""
    both = (ours > 0.0) & (theirs > 0.0)
    logs = np.log(ours[both] / theirs[both])
    if not len(logs):
        return NONE
    value = math.exp(float(logs.mean()))
    if len(logs) < FEWEST:
        return alone(value)
    return Interval(value, *(math.exp(end) for end in statistics.hall(logs)))


def spread(ours: Floats, theirs: Floats) -> Interval:
    """The ratio of the standard deviations, ours over theirs; by resampling worlds, both agents in the same ones."""
    if len(ours) < 2 or theirs.std() <= SAME_REGRET:
        return NONE
    value = statistics.std(ours) / statistics.std(theirs)
    if len(ours) < FEWEST:
        return alone(value)
    picked = statistics.weights(len(ours), FEWER)
    below = statistics.deviations(picked, theirs)
    usable = below > SAME_REGRET
    drawn = statistics.deviations(picked, ours) / np.where(usable, below, np.nan)
    return statistics.resampled(value, drawn, [len(ours)])


@dataclass(frozen=True, eq=False)
class ToTheBest:
    """Ratios of mean regret to the best agent's by world, and what they might have been with other luck."""

    ratios: Floats
    """(worlds, agents)."""
    by_luck: Floats
    """(worlds, resamples, agents): the trials of each world drawn anew."""
    drawn: Floats
    """(resamples, worlds, agents): the worlds too."""


def to_the_best(losses: Sequence[Floats], chance: Sequence[float]) -> ToTheBest:
    """From (agents, trials) final regrets by world, and the random policy's mean there.

    Trials are drawn the same for all agents, since they are paired.
    """
    found = np.array([ratios(loss.mean(axis=1), most) for loss, most in zip(losses, chance, strict=True)])
    rng = np.random.default_rng(np.random.SeedSequence(SEED))
    by_luck = np.array([_with_other_luck(*pair, rng) for pair in zip(losses, chance, strict=True)])
    picked = rng.integers(len(losses), size=(OVER_WORLDS, len(losses)))
    return ToTheBest(found, by_luck, by_luck[picked, np.arange(OVER_WORLDS)[:, None]])


def _with_other_luck(losses: Floats, chance: float, rng: np.random.Generator) -> Floats:
    """(resamples, agents) ratios in one world with its trials drawn anew."""
    count = losses.shape[1]
    weights = rng.multinomial(count, np.full(count, 1.0 / count), OVER_WORLDS) / count
    return ratios(weights @ losses.T, chance)


def middle(value: float, replicates: Floats, count: int) -> Interval:
    """An estimate with the middle 95% of its resampled values, where so many trials or worlds are enough for that."""
    if count < FEWEST:
        return alone(float(value))
    low, high = np.quantile(replicates, [0.025, 0.975])
    return Interval(float(value), float(low), float(high))


# Rank correlations


def rank_correlation(one: Floats, two: Floats) -> Interval:
    """Spearman's correlation; NaN where one of them does not vary."""
    ranks = [_ranks(values) - (len(values) + 1) / 2.0 for values in (one, two)]
    sizes = [float(np.sqrt((rank**2).sum())) for rank in ranks]
    if len(one) < FEWEST or min(sizes) == 0.0:
        return NONE
    value = float(ranks[0] @ ranks[1]) / (sizes[0] * sizes[1])
    reach = NORMAL * math.sqrt((1.0 + value**2 / 2.0) / (len(one) - 3))
    middle = math.atanh(min(max(value, -1.0 + 1e-15), 1.0 - 1e-15))
    return Interval(value, math.tanh(middle - reach), math.tanh(middle + reach))


def _ranks(values: Floats) -> Floats:
    """From 1 on; equal values share the mean of theirs. (To load scipy.stats for this would take seconds.)"""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2.0)[places])
