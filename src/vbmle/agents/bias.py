"""The bias schedule: how much the value of a model counts beside its likelihood, alpha(t) = scale * schedule(t)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated

from vbmle.common.validation import Among, non_negative, one_of


def constant(t: int) -> float:
    """1 at all times."""
    return 1.0


BIASES: dict[str, Callable[[int], float]] = {"sqrt": math.sqrt, "log": math.log1p, "constant": constant}
"""Schedules by name: sqrt(t), that of the VBMLE paper; log(1 + t), that of tabular RBMLE; and a constant.

MEX (Liu et al. 2023, "Maximize to Explore") maximises V* minus eta times the negative log-likelihood with a fixed eta:
VBMLE's objective with the constant bias 1 / eta.
"""

Bias = Annotated[str, Among(BIASES)] | Callable[[int], float]


class BiasSchedule:
    """alpha(t), from the name of a schedule or from any function of t = 1, 2, ..."""

    def __init__(self, bias: Bias, scale: float) -> None:
        self.scale = non_negative("bias_scale", scale)
        self._schedule = bias if callable(bias) else BIASES[one_of("bias", bias, tuple(BIASES))]

    def at(self, t: int) -> float:
        """alpha(t); ValueError where the schedule gives no weight."""
        value = self.scale * self._schedule(t)
        if 0.0 <= value < math.inf:
            return float(value)
        raise ValueError(f"the bias is {value} at t = {t}; it needs a finite number that is at least 0")
