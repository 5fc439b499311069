"""Seconds of work, on a machine that others use too.

Wall time counts what others did meanwhile: a step of microseconds is rarely interrupted, one of
milliseconds nearly always on a busy machine, so ratios of the two would measure the others. Processor time does
not, but costs most of a microsecond to read. Both bound the work from above, so the smaller one is taken.
"""

from __future__ import annotations

from time import get_clock_info, perf_counter, process_time

FINE = get_clock_info("process_time").resolution <= 1e-6
"""Whether processor time can be trusted for one step; elsewhere wall time is all there is."""


def start() -> tuple[float, float]:
    """What `since` needs."""
    return process_time() if FINE else 0.0, perf_counter()


def since(begun: tuple[float, float]) -> float:
    """Seconds of work since then."""
    wall = perf_counter() - begun[1]
    return min(wall, process_time() - begun[0]) if FINE else wall
