"""What a comparison needs to know of an agent: the role it plays, and what is tuned (one setting, and the
values tried)."""

from __future__ import annotations

from typing import Literal, NamedTuple

Role = Literal["explorer", "greedy", "random", "oracle"]
"""What a comparison takes an agent for: one that explores in order to learn, one that learns and does not explore, one
that ignores what it sees, one that knows the truth. The last two are there to be measured by, not to win."""

BIASES_TRIED = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
RADII_TRIED = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)


class Knob(NamedTuple):
    """A setting, and the values tried."""

    setting: str
    grid: tuple[float | str, ...]


BIAS_SCALE = Knob("bias_scale", BIASES_TRIED)
RADIUS_SCALE = Knob("radius_scale", RADII_TRIED)
