"""What is tuned in a comparison: one setting of an agent, and the values that are tried."""

from __future__ import annotations

from typing import NamedTuple

BIASES_TRIED = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
RADII_TRIED = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)


class Knob(NamedTuple):
    """A setting, and the values tried."""

    setting: str
    grid: tuple[float | str, ...]


BIAS_SCALE = Knob("bias_scale", BIASES_TRIED)
RADIUS_SCALE = Knob("radius_scale", RADII_TRIED)
