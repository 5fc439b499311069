"""The bias schedule: how much the value of a model counts beside its likelihood, alpha(t) = scale * schedule(t)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated

from vbmle.agents.base import Knob
from vbmle.common.stated import AT_LEAST_0
from vbmle.common.validation import Among


def constant(t: int) -> float:
    """1 at all times."""
    return 1.0


BIASES: dict[str, Callable[[int], float]] = {"sqrt": math.sqrt, "log": math.log1p, "constant": constant}
"""Schedules by name: sqrt(t), that of the VBMLE paper; log(1 + t), that of tabular RBMLE; and a constant.

MEX (Liu et al. 2023, "Maximize to Explore") maximises V* minus eta times the negative log-likelihood with a fixed eta:
VBMLE's objective with the constant bias 1 / eta.
"""

BIAS_SCALE = Knob("bias_scale", (0.01, 0.03, 0.1, 0.3, 1.0, 3.0))

Bias = Annotated[str, Among(BIASES)] | Callable[[int], float]


Schedule = Annotated[
    Bias,
    "The schedule alpha(t), t = 1, 2, ...: sqrt(t) as in the paper of VBMLE; log(1 + t), as in that of RBMLE, which "
    "fades sooner; 1 at all times, as in MEX; or any function of t that returns a finite number of at least 0.",
]
BiasScale = Annotated[
    float,
    AT_LEAST_0,
    "Multiplies the schedule: log-likelihood (nats) per unit of value. 0 turns exploration off; larger explores more.",
]


class BiasSchedule:
    """alpha(t), from the name of a schedule or from any function of t = 1, 2, ..."""

    def __init__(self, bias: Bias, scale: float) -> None:
        self.scale = scale
        self._schedule = bias if callable(bias) else BIASES[bias]

    def at(self, t: int) -> float:
        """alpha(t); ValueError where the schedule gives no weight."""
        value = self.scale * self._schedule(t)
        if 0.0 <= value < math.inf:
            return float(value)
        raise ValueError(f"the bias is {value} at t = {t}; it needs a finite number that is at least 0")
