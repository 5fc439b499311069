"""Statistics of small samples with heavy tails.

Intervals are percentile bootstrap intervals. With n trials the plain percentile interval is too narrow, by
about sqrt((n-1)/n) times the ratio of normal to Student quantiles, so the quantiles are taken at

    alpha' = Phi(-sqrt(n/(n-1)) t_{n-1, 1-alpha/2})

instead of alpha/2 (the expanded percentile interval of Hesterberg 2015), which covers normal means at their
nominal rate from about 8 trials on (5 trials: 92%). No method can see a tail that none of the trials has met.
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


@dataclass(frozen=True)
class Interval:
    """An estimate and its 95% interval."""

    value: float
    low: float
    high: float

    @property
    def excludes_zero(self) -> bool:
        return self.low > 0.0 or self.high < 0.0


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
    """Lower and upper end of the interval of the mean curve, for (trials, steps); NaN for one trial."""
    count, steps = curves.shape
    if count == 1:
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
    if len(values) == 1:
        return Interval(value, math.nan, math.nan)
    low, high = ends(statistic(values[_picks(len(values))]), [len(values)])
    return Interval(value, float(low), float(high))


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
