"""Ratios of what two agents have in the same worlds, and local exponents of growth, each with a 95% interval."""

from __future__ import annotations

import math

import numpy as np

from vbmle.common.validation import Floats, Ints
from vbmle.experiments.stopping import hall
from vbmle.report import statistics
from vbmle.report.comparisons import SAME_REGRET
from vbmle.report.statistics import FEWER, SEED, Interval

NONE = Interval(math.nan, math.nan, math.nan)
USABLE = 0.9
"""The share of resamples that must have a value for there to be an interval."""

PER_DRAW = 20
"""Trials behind a standard deviation that the paper prints."""


def geometric(ours: Floats, theirs: Floats) -> Interval:
    """The geometric mean of theirs / ours; logarithms have light tails, so Student's interval holds."""
    both = (ours > 0.0) & (theirs > 0.0)
    logs = np.log(theirs[both] / ours[both])
    if len(logs) < 2:
        return NONE
    low, high = hall(logs)
    return Interval(*(math.exp(value) for value in (float(logs.mean()), low, high)))


def spread(ours: Floats, theirs: Floats) -> Interval:
    """The ratio of the standard deviations, theirs over ours; by resampling worlds, both agents in the same ones."""
    if len(ours) < 2 or ours.std() <= SAME_REGRET:
        return NONE
    picked = statistics.weights(len(ours), FEWER)
    value = statistics.std(theirs) / statistics.std(ours)
    below = _deviations(picked, ours)
    usable = below > SAME_REGRET
    if usable.mean() < USABLE:
        return Interval(value, math.nan, math.nan)
    low, high = statistics.ends(_deviations(picked, theirs)[usable] / below[usable], [len(ours)])
    return Interval(value, float(low), float(high))


def _deviations(weights: Floats, values: Floats) -> Floats:
    centred = values - values.mean()
    return np.sqrt(np.maximum(weights @ centred**2 - (weights @ centred) ** 2, 0.0))


def spread_of_few(values: Floats, count: int = PER_DRAW) -> tuple[float, float]:
    """Between which values the standard deviation of `count` trials drawn from these lies in 95% of draws."""
    rng = np.random.default_rng(np.random.SeedSequence(SEED))
    drawn = values[rng.integers(len(values), size=(FEWER, count))].std(axis=1, ddof=1)
    low, high = np.quantile(drawn, [0.025, 0.975])
    return float(low), float(high)


def local_exponent(steps: Ints, regret: Floats, until: int, factor: float = 10.0) -> Interval:
    """log(R(until) / R(until/factor)) / log(factor) of the mean curve; NaN where nothing was lost before."""
    last, first = (int(np.searchsorted(steps, step)) for step in (until, until / factor))
    span = math.log(steps[last] / steps[first])
    curves = regret[:, [first, last]]
    value = _exponents(curves.mean(axis=0)[None], span)
    if len(curves) == 1 or not np.isfinite(value[0]):
        return Interval(float(value[0]), math.nan, math.nan)
    found = _exponents(statistics.weights(len(curves), FEWER) @ curves, span)
    found = found[np.isfinite(found)]
    if len(found) < USABLE * FEWER:
        return Interval(float(value[0]), math.nan, math.nan)
    low, high = statistics.ends(found, [len(curves)])
    return Interval(float(value[0]), float(low), float(high))


def _exponents(pairs: Floats, span: float) -> Floats:
    usable = pairs[:, 0] > SAME_REGRET
    growth = np.where(usable[:, None], pairs, 1.0)
    return np.where(usable, np.log(growth[:, 1] / growth[:, 0]) / span, np.nan)
