"""How long something takes on this machine, where others may be at work too."""

from __future__ import annotations

from collections.abc import Callable
from time import process_time

TRIES, LONG = 5, 0.05
"""The least of so many tries is taken, or of fewer where they take so many seconds together."""


def seconds_of(work: Callable[[], object]) -> float:
    """Processor seconds of a call, the least of a few tries."""
    least, begun = float("inf"), process_time()
    for _ in range(TRIES):
        before = process_time()
        work()
        now = process_time()
        least = min(least, now - before)
        if now - begun > LONG:
            break
    return max(least, 1e-7)  # clocks may be coarse
