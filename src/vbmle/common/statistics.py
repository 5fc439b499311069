"""Statistics of the regret of trials: means, medians, shares and exponents, with 95% intervals. Comparisons are
in significance.py.

Intervals are percentile bootstrap intervals. With n trials the plain percentile interval is too narrow, by
about sqrt((n-1)/n) times the ratio of normal to Student quantiles, so the quantiles are taken at

    alpha' = Phi(-sqrt(n/(n-1)) t_{n-1, 1-alpha/2})

instead of alpha/2 (the expanded percentile interval of Hesterberg 2015), which covers normal means at their
nominal rate from about 8 trials on. Shares of trials have the Bayesian bootstrap, because percentiles of a resampled
share cover too little near 0 and 1. No method can see a tail that none of the trials has met, and below FEWEST trials
there is no interval at all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from vbmle.common.validation import Floats, Ints

LEVEL = 0.95
RESAMPLES = 10_000
FEWER = 4_000
"""Resamples of what costs a sort or a fit each."""

SEED = 20_260_101
"""Of the resampling: the same records give the same report."""

FEWEST = 6
"""Trials below which there is no interval and no verdict: when five trials all point one way, that has a
chance of 1 in 16 where there
is no difference, so they could not tell anything with 95% certainty; six have 1 in 32."""

SAME_REGRET = 1e-9
"""Regrets that differ by less are called the same; below it is nothing."""

VISIBLE = 0.01
"""The share of its final height from which on a curve enters the growth exponent."""

FIT_POINTS = 40

SHARES = 1_000
"""Draws for the interval of a share."""

STRAIGHT = 1e-6
"""Skewness below this needs no correction."""

USABLE = 0.9
"""The share of resamples that must have a value for there to be an interval."""


@dataclass(frozen=True)
class Interval:
    """An estimate and its 95% interval."""

    value: float
    low: float
    high: float

    @property
    def known(self) -> bool:
        """Whether there is an interval: not from too few trials."""
        return not math.isnan(self.low)


def alone(value: float) -> Interval:
    """An estimate without an interval."""
    return Interval(value, math.nan, math.nan)


NONE = alone(math.nan)


def iqm(values: Floats) -> float:
    """The interquartile mean: a quarter of the values (rounded down) is left out at each end."""
    return float(_iqm(values))


def _iqm(values: Floats) -> Floats:
    """The same along the last axis."""
    ordered = np.sort(values, axis=-1)
    cut = values.shape[-1] // 4
    return ordered[..., cut : values.shape[-1] - cut].mean(axis=-1)


def std(values: Floats) -> float:
    """The sample standard deviation; NaN for one value."""
    return float(values.std(ddof=1)) if len(values) > 1 else math.nan


def share_of_largest(values: Floats, count: int) -> float:
    """How much of the total the `count` largest values make; NaN when the total is 0."""
    total = values.sum()
    return float(np.sort(values)[-count:].sum() / total) if total > 0.0 else math.nan


# Intervals


def mean_interval(values: Floats) -> Interval:
    """The mean of a sample and its bootstrap interval."""
    low, high = mean_band(values[:, None])
    return Interval(float(values.mean()), float(low[0]), float(high[0]))


def mean_band(curves: Floats, resamples: int = RESAMPLES, seed: int = SEED) -> tuple[Floats, Floats]:
    """Lower and upper end of the interval of the mean curve, for (trials, steps); NaN for too few trials."""
    count, steps = curves.shape
    if count < FEWEST:
        return np.full(steps, np.nan), np.full(steps, np.nan)
    return ends(weights(count, resamples, seed) @ curves, [count])


def median_interval(values: Floats) -> Interval:
    """The median and its bootstrap interval."""
    return _resampled(values, lambda samples: np.median(samples, axis=-1))


def iqm_interval(values: Floats) -> Interval:
    """The interquartile mean and its bootstrap interval."""
    return _resampled(values, _iqm)


def _resampled(values: Floats, statistic: Callable[[Floats], Floats]) -> Interval:
    value = float(statistic(values))
    if len(values) < FEWEST:
        return alone(value)
    low, high = ends(statistic(values[_picks(len(values))]), [len(values)])
    return Interval(value, float(low), float(high))


# Means, without resampling


def hall(values: Floats, error: float = 1.0 - LEVEL) -> tuple[float, float]:
    """Ends of Student's interval of the mean, corrected for skewness by Hall's cubic transformation."""
    from scipy.special import stdtrit

    count, mean = len(values), float(values.mean())
    spread, skewness = float(values.std(ddof=1)), _skewness(values)
    reach = float(stdtrit(count - 1, 1.0 - error / 2.0)) / math.sqrt(count)
    ends = [mean - spread * _untransformed(end, skewness, count) for end in (reach, -reach)]
    return ends[0], ends[1]


def _skewness(values: Floats) -> float:
    gaps = values - values.mean()
    variance = float((gaps**2).mean())
    return float((gaps**3).mean()) / variance**1.5 if variance > 0.0 else 0.0


def _untransformed(y: float, skewness: float, count: int) -> float:
    """The t with t + g t^2/3 + g^2 t^3/27 + g/(6n) = y, for the skewness g."""
    if abs(skewness) < STRAIGHT:
        return y
    return 3.0 / skewness * (math.cbrt(1.0 + skewness * (y - skewness / (6.0 * count))) - 1.0)


# Resampling


@lru_cache(maxsize=64)
def weights(count: int, resamples: int, seed: int = SEED) -> Floats:
    """How much each of `count` trials weighs in each resample, (resamples, count); rows sum to 1."""
    rng = np.random.default_rng(np.random.SeedSequence(seed))
    found = rng.multinomial(count, np.full(count, 1.0 / count), size=resamples) / count
    found.flags.writeable = False
    return found


@lru_cache(maxsize=16)
def _picks(count: int) -> Ints:
    rng = np.random.default_rng(np.random.SeedSequence(SEED))
    return rng.integers(count, size=(FEWER, count))


def ends(replicates: Floats, counts: Sequence[int]) -> tuple[Floats, Floats]:
    """Ends of the expanded percentile interval from resampled statistics.

    `counts` are the trials of each stratum that was resampled on its own (a world, say): their resampled
    variances are all too small by (n-1)/n, and together they have sum (n_k - 1) degrees of freedom.
    """
    tail = _expanded_tail(min(counts), sum(count - 1 for count in counts))
    low, high = np.quantile(replicates, [tail, 1.0 - tail], axis=0)
    return low, high


def _expanded_tail(count: int, freedom: int) -> float:
    from scipy.special import ndtr, stdtrit

    student = stdtrit(freedom, 0.5 + LEVEL / 2.0)
    return float(ndtr(-math.sqrt(count / (count - 1)) * student))


def resampled(value: float, replicates: Floats, counts: Sequence[int]) -> Interval:
    """An estimate with the interval of its resampled values; without one where too many of them have no value."""
    found = replicates[np.isfinite(replicates)]
    if len(found) < USABLE * FEWER:
        return alone(value)
    low, high = ends(found, counts)
    return Interval(value, float(low), float(high))


def deviations(weights: Floats, values: Floats) -> Floats:
    """Standard deviations of resamples."""
    centred = values - values.mean()
    return np.sqrt(np.maximum(weights @ centred**2 - (weights @ centred) ** 2, 0.0))


# Shares of trials


def shares(yes: Floats, half: Floats, no: Floats) -> tuple[Floats, Floats, Floats]:
    """The mean over worlds of (yes + half/2) / n, and the ends of its interval, for (worlds, m) numbers
    of trials.

    By the Bayesian bootstrap (Rubin 1981): shares are drawn from Dirichlet distributions with the numbers of
    trials, plus 1/2 of a yes and of a no spread over the K worlds, so that n equal outcomes do not pass for
    certainty; with one world and no halves that is Jeffreys' interval. Numbers are scaled by 1 - 2 (1 - 1/K) / n,
    which makes up for the spread that resampling n trials in each of K worlds loses.
    """
    worlds, total, value = len(yes), yes + half + no, share(yes, half, no)
    if total[:, 0].sum() < FEWEST:
        return value, np.full_like(value, np.nan), np.full_like(value, np.nan)
    rng = np.random.default_rng(np.random.SeedSequence(SEED))
    shrink = np.maximum(1.0 - 2.0 * (1.0 - 1.0 / worlds) / total, 0.25)
    size = (SHARES, *yes.shape)
    draws = [
        rng.standard_gamma(shrink * counts + prior / worlds, size)
        for counts, prior in ((yes, 0.5), (half, 0.0), (no, 0.5))
    ]
    drawn = ((draws[0] + 0.5 * draws[1]) / (draws[0] + draws[1] + draws[2])).mean(axis=1)
    low, high = np.quantile(drawn, [(1.0 - LEVEL) / 2.0, (1.0 + LEVEL) / 2.0], axis=0)
    return value, np.minimum(low, value), np.maximum(high, value)


def share(yes: Floats, half: Floats, no: Floats) -> Floats:
    """The mean over worlds of (yes + half/2) / n."""
    return np.asarray(((yes + 0.5 * half) / (yes + half + no)).mean(axis=0))


def profile(lost: Sequence[Floats], scales: Sequence[float], taus: Floats) -> tuple[Floats, Floats, Floats]:
    """The share of runs whose regret is at most tau times the world's scale, and the ends of its interval.

    A world whose scale is 0 (nobody had any regret there) counts as kept to by everyone.
    """
    below = np.array([_kept(*world, taus) for world in zip(lost, scales, strict=True)], dtype=float)
    counts = np.array([[len(values)] for values in lost])
    return shares(below, np.zeros_like(below), counts - below)


def share_kept(values: Floats, scale: float, taus: Floats) -> Floats:
    """The same of one world, without its interval."""
    return np.asarray(_kept(values, scale, taus) / len(values))


def _kept(values: Floats, scale: float, taus: Floats) -> Floats:
    """In how many trials of a world the regret was at most each tau times its scale."""
    return np.asarray((values[:, None] <= np.maximum(taus * scale, SAME_REGRET)).sum(axis=0))


# Growth


def growth(steps: Ints, regret: Floats) -> Interval:
    """The exponent of regret in t: the slope of log mean regret against log t over the later half of log t.

    Fitted at up to 40 steps between sqrt(T) and T, spread evenly in log t. Steps at which the mean curve has
    not reached 1% of its end are left out; if what remains spans less than a factor 2 of time, or if there
    is no regret, there is no exponent (NaN). The interval is by resampling trials.
    """
    grid = np.geomspace(math.sqrt(steps[-1]), steps[-1], FIT_POINTS)
    shown = np.unique(np.clip(np.searchsorted(steps, grid), 0, len(steps) - 1))
    times, curves = np.log(steps[shown]), regret[:, shown]
    value = float(_slopes(times, curves.mean(axis=0)[None])[0])
    count = len(curves)
    if count < FEWEST or math.isnan(value):
        return alone(value)
    return resampled(value, _slopes(times, weights(count, FEWER) @ curves), [count])


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
    means = np.array([values.mean() for values in lost])
    if (
        np.min(parameter) <= 0.0
        or np.min(means) <= SAME_REGRET
        or len(set(np.asarray(parameter).tolist())) < 2
    ):
        return NONE
    across = np.log(parameter) - np.log(parameter).mean()
    slope = across / (across**2).sum()
    value = float(slope @ np.log(means))
    counts = [len(values) for values in lost]
    if min(counts) < FEWEST:
        return alone(value)
    drawn = np.column_stack([weights(len(v), FEWER, SEED + number) @ v for number, v in enumerate(lost)])
    return resampled(value, np.log(drawn[(drawn > SAME_REGRET).all(axis=1)]) @ slope, counts)


def local_exponent(steps: Ints, regret: Floats, until: int, factor: float = 10.0) -> Interval:
    """log(R(until) / R(until/factor)) / log(factor) of the mean curve; NaN where there was no regret before."""
    last, first = (int(np.searchsorted(steps, step)) for step in (until, until / factor))
    span = math.log(steps[last] / steps[first])
    curves = regret[:, [first, last]]
    value = _exponents(curves.mean(axis=0)[None], span)
    if len(curves) < FEWEST or not np.isfinite(value[0]):
        return alone(float(value[0]))
    return resampled(float(value[0]), _exponents(weights(len(curves), FEWER) @ curves, span), [len(curves)])


def _exponents(pairs: Floats, span: float) -> Floats:
    usable = pairs[:, 0] > SAME_REGRET
    growth = np.where(usable[:, None], pairs, 1.0)
    return np.where(usable, np.log(growth[:, 1] / growth[:, 0]) / span, np.nan)
