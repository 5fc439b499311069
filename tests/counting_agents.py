"""Agents that learn from counts alone, for tests of what happens to counts."""

from collections.abc import Callable
from typing import Any

import vbmle

COUNTING_AGENTS: list[Callable[..., Any]] = [
    vbmle.VBMLE,
    lambda mdp, **settings: vbmle.VBMLE(mdp, update="doubling", **settings),
    vbmle.ApproximateVBMLE,
    vbmle.MaximumLikelihood,
    vbmle.PSRL,
    vbmle.RBMLE,
    vbmle.UCRL2,
]
