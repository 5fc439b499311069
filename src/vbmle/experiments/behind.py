"""How far an agent is behind the best one in a world, and when that is known well enough to stop.

The ratio is that of mean regrets, where no mean counts as less than FLOOR times what the measure, the random policy,
loses: below that all agents are equally good. After each look the trials are drawn anew, the same for all agents since
trials are paired, and the middle 95% of the ratios are its interval. The ratio is known when

    the interval holds neither NEAR nor FAR,  or its ends are within a factor of SHORT.

The interval is there to decide when to stop; what is reported is computed from all trials afterwards. The best agent
is picked with the same luck as it is measured by, so ratios are too large on average while trials are few.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from vbmle.common.validation import Floats

FLOOR = 0.002
"""Of the random policy's loss."""

NEAR, FAR = 1.25, 2.0
"""Up to the one an agent is as good as the best; from the other on it is far behind."""

SHORT = 1.15

RESAMPLES, SEED = 1000, 20


class Behind(NamedTuple):
    """How many times the best agent's regret an agent has, with an interval."""

    agent: str
    value: float
    low: float
    high: float

    @property
    def known(self) -> bool:
        """Well enough to stop."""
        apart = all(not self.low <= mark < self.high for mark in (NEAR, FAR))
        return apart or self.high <= SHORT * self.low

    def __str__(self) -> str:
        word = "known" if self.known else "open"
        interval = f"{self.value:.3g} [{self.low:.3g}, {self.high:.3g}]"
        return f"{self.agent} has {interval} times the regret of the best: {word}"


def ratios(means: Floats, measure: float) -> Floats:
    """To the best, of mean regrets (agents on the last axis), with the floor that the measure sets."""
    held = np.maximum(means, max(FLOOR * measure, np.finfo(float).tiny))
    return np.asarray(held / held.min(axis=-1, keepdims=True))


def behind(agent: str, losses: Mapping[str, Floats], measure: Floats) -> Behind | None:
    """Where an agent stands among all in `losses`, by trial with NaN where there is none; None for fewer than two."""
    table = np.array(list(losses.values()))
    table = table[:, np.isfinite(table).all(axis=0)]
    count, seen = table.shape[1], measure[np.isfinite(measure)]
    if count < 2 or not len(seen):
        return None
    place, chance = list(losses).index(agent), float(seen.mean())
    drawn = np.random.default_rng(SEED).multinomial(count, np.full(count, 1.0 / count), RESAMPLES) / count
    low, high = np.quantile(ratios(drawn @ table.T, chance)[:, place], [0.025, 0.975])
    return Behind(agent, float(ratios(table.mean(axis=1), chance)[place]), float(low), float(high))
