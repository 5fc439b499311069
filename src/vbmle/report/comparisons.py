"""Agents against each other, across worlds, over time and along a parameter.

All take what trials lost in the end, world by world, as a sequence of arrays; worlds weigh the same, whatever
their number of trials, and each is resampled on its own. Shares of trials (who lost less, profiles) have their own
intervals, because percentiles of a resampled share cover too little near 0 and 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from vbmle.common.validation import Floats, Ints
from vbmle.report import statistics
from vbmle.report.statistics import FEWER, LEVEL, SEED, Interval

SAME_REGRET = 1e-9
"""Regrets that differ by less are called the same; below it is nothing."""

VISIBLE = 0.01
"""The share of its final height from which on a curve enters the growth exponent."""

FIT_POINTS = 40

SHARES = 1_000
"""Draws for the interval of a share."""


def improvement(ours: Sequence[Floats], theirs: Sequence[Floats]) -> Interval:
    """The probability that we lose less in the same world with the same luck; a tie counts half."""
    value, low, high = _shares(*_outcomes(ours, theirs))
    return Interval(float(value[0]), float(low[0]), float(high[0]))


def share_improved(ours: Floats, theirs: Floats) -> float:
    """The same of one world, without its interval."""
    return float(_share(*_outcomes([ours], [theirs]))[0])


def _outcomes(ours: Sequence[Floats], theirs: Sequence[Floats]) -> tuple[Floats, Floats, Floats]:
    """By world: in how many trials we lost less, the same, and more."""
    gaps = [one - two for one, two in zip(ours, theirs, strict=True)]
    less = np.array([[np.sum(gap < -SAME_REGRET)] for gap in gaps], dtype=float)
    more = np.array([[np.sum(gap > SAME_REGRET)] for gap in gaps], dtype=float)
    return less, np.array([[len(gap)] for gap in gaps]) - less - more, more


def profile(lost: Sequence[Floats], scales: Sequence[float], taus: Floats) -> tuple[Floats, Floats, Floats]:
    """The share of runs whose regret is at most tau times the world's scale, and the ends of its interval.

    A world whose scale is 0 (nobody lost anything there) counts as kept to by everyone.
    """
    below = np.array([_kept(*world, taus) for world in zip(lost, scales, strict=True)], dtype=float)
    counts = np.array([[len(values)] for values in lost])
    return _shares(below, np.zeros_like(below), counts - below)


def share_kept(values: Floats, scale: float, taus: Floats) -> Floats:
    """The same of one world, without its interval."""
    return np.asarray(_kept(values, scale, taus) / len(values))


def _kept(values: Floats, scale: float, taus: Floats) -> Floats:
    """In how many trials of a world the regret was at most each tau times its scale."""
    return np.asarray((values[:, None] <= np.maximum(taus * scale, SAME_REGRET)).sum(axis=0))


def _shares(yes: Floats, half: Floats, no: Floats) -> tuple[Floats, Floats, Floats]:
    """The mean over worlds of (yes + half/2) / n, and the ends of its interval, for (worlds, m) numbers of trials.

    By the Bayesian bootstrap (Rubin 1981): shares are drawn from Dirichlet distributions with the numbers of
    trials, plus 1/2 of a yes and of a no spread over the K worlds, so that n equal outcomes do not pass for
    certainty; with one world and no halves that is Jeffreys' interval. Numbers are scaled by 1 - 2 (1 - 1/K) / n,
    which makes up for the spread that resampling n trials in each of K worlds loses.
    """
    worlds, total = len(yes), yes + half + no
    rng = np.random.default_rng(np.random.SeedSequence(SEED))
    shrink = np.maximum(1.0 - 2.0 * (1.0 - 1.0 / worlds) / total, 0.25)
    size = (SHARES, *yes.shape)
    draws = [
        rng.standard_gamma(shrink * counts + prior / worlds, size)
        for counts, prior in ((yes, 0.5), (half, 0.0), (no, 0.5))
    ]
    shares = ((draws[0] + 0.5 * draws[1]) / (draws[0] + draws[1] + draws[2])).mean(axis=1)
    low, high = np.quantile(shares, [(1.0 - LEVEL) / 2.0, (1.0 + LEVEL) / 2.0], axis=0)
    value = _share(yes, half, no)
    return value, np.minimum(low, value), np.maximum(high, value)


def _share(yes: Floats, half: Floats, no: Floats) -> Floats:
    """The mean over worlds of (yes + half/2) / n."""
    return np.asarray(((yes + 0.5 * half) / (yes + half + no)).mean(axis=0))


# Growth


def growth(steps: Ints, regret: Floats) -> Interval:
    """The exponent of regret in t: the slope of log mean regret against log t over the later half of log t.

    Fitted at up to 40 steps between sqrt(T) and T, spread evenly in log t. Steps at which the mean curve has
    not reached 1% of its end are left out; if what remains spans less than a factor 2 of time, or if nothing
    was lost, there is no exponent (NaN). The interval is by resampling trials.
    """
    grid = np.geomspace(math.sqrt(steps[-1]), steps[-1], FIT_POINTS)
    shown = np.unique(np.clip(np.searchsorted(steps, grid), 0, len(steps) - 1))
    times, curves = np.log(steps[shown]), regret[:, shown]
    value = float(_slopes(times, curves.mean(axis=0)[None])[0])
    count = len(curves)
    if count == 1 or math.isnan(value):
        return Interval(value, math.nan, math.nan)
    found = _slopes(times, statistics.weights(count, FEWER) @ curves)
    found = found[np.isfinite(found)]
    if len(found) < 0.9 * FEWER:
        return Interval(value, math.nan, math.nan)
    low, high = statistics.ends(found, [count])
    return Interval(value, float(low), float(high))


def _slopes(times: Floats, curves: Floats) -> Floats:
    """Least-squares slopes of log curves against times; NaN where there is too little to fit."""
    used = (curves > VISIBLE * curves[:, -1:]) & (curves > SAME_REGRET)
    logs = np.log(np.where(used, curves, 1.0))
    number = np.maximum(used.sum(axis=1), 1)
    centred = np.where(used, times - ((used * times).sum(axis=1) / number)[:, None], 0.0)
    spread = (centred**2).sum(axis=1)
    span = times[-1] - np.where(used, times, times[-1]).min(axis=1)
    fine = (span >= math.log(2.0)) & (number >= 3)
    return np.where(fine, (centred * logs).sum(axis=1) / np.where(fine, spread, 1.0), np.nan)


def trend(parameter: Floats, lost: Sequence[Floats]) -> Interval:
    """The exponent of mean regret in a positive parameter: slope of log against log over the worlds.

    NaN where the parameter is not positive, or some world's mean regret is 0.
    """
    none = Interval(math.nan, math.nan, math.nan)
    means = np.array([values.mean() for values in lost])
    if (
        np.min(parameter) <= 0.0
        or np.min(means) <= SAME_REGRET
        or len(set(np.asarray(parameter).tolist())) < 2
    ):
        return none
    across = np.log(parameter) - np.log(parameter).mean()
    slope = across / (across**2).sum()
    value = float(slope @ np.log(means))
    counts = [len(values) for values in lost]
    if min(counts) == 1:
        return Interval(value, math.nan, math.nan)
    resampled = np.column_stack(
        [statistics.weights(len(v), FEWER, SEED + number) @ v for number, v in enumerate(lost)]
    )
    found = np.log(resampled[(resampled > SAME_REGRET).all(axis=1)]) @ slope
    if len(found) < 0.9 * FEWER:
        return Interval(value, math.nan, math.nan)
    low, high = statistics.ends(found, counts)
    return Interval(value, float(low), float(high))
