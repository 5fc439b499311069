"""How the cost of a local step grows: with time, with states, actions and dimension; and memory."""

from __future__ import annotations

import tracemalloc
from collections.abc import Sequence

import numpy as np

from benchmarks.effort import Effort
from benchmarks.speed_table import Row, at_most
from benchmarks.walks import FlooredWalk, Walk, median, take_turns
from vbmle.agents.vbmle import VBMLE
from vbmle.worlds import random_network

SECTION = "scaling"
FLAT_COST = 1.2
GROWING_SIZES: dict[str, tuple[tuple[int, int, int], ...]] = {
    "S": ((10, 4, 10), (20, 4, 10), (40, 4, 10), (80, 4, 10)),
    "A": ((10, 4, 10), (10, 8, 10), (10, 16, 10), (10, 32, 10)),
    "d": ((15, 4, 8), (15, 4, 16), (15, 4, 32), (15, 4, 64)),
}
"""States, actions and dimension, by what grows."""

TRACED_STEPS = 20
"""Steps whose allocations are traced: those of the first are the largest."""


def in_time(effort: Effort) -> list[Row]:
    """Late steps against early ones: two runs, one far ahead of the other, that then take turns."""
    world = random_network(3, 2, 5)
    (begin, end), (late, horizon) = effort.early, effort.late
    walks = [Walk(VBMLE(world.mdp, search="local"), world, horizon) for _ in range(2)]
    walks[0].go(begin)
    walks[1].go(late)
    take_turns(walks, end - begin)
    before, after = median(walks[0].act_seconds[begin:]), median(walks[1].act_seconds[late:])
    case = f"steps {late}-{horizon} over {begin}-{end}"
    details = {"early_step": before, "late_step": after}
    measure = "local step, median, at (3,2) d=5: late over early"
    return [Row(SECTION, measure, case, after / before, "times", at_most(FLAT_COST), details)]


def in_size(letter: str, effort: Effort) -> list[Row]:
    """Exponents of the local step, and of the floor, in states, actions or dimension."""
    axis = "SAd".index(letter)
    walks = []
    for size in GROWING_SIZES[letter]:
        world = random_network(*size)
        walks.append(FlooredWalk(VBMLE(world.mdp, search="local"), world, effort.size_steps))
    take_turns(walks, effort.size_steps)
    half = effort.size_steps // 2
    sizes = [size[axis] for size in GROWING_SIZES[letter]]
    steps = [median(walk.act_seconds[half:]) for walk in walks]
    floors = [median(walk.floor.seconds) for walk in walks]
    details = {f"{letter}={size}": second for size, second in zip(sizes, steps, strict=True)}
    plain = {f"{letter}={size}": second for size, second in zip(sizes, floors, strict=True)}
    others = ", ".join(
        f"{name}={value}"
        for name, value in zip("SAd", GROWING_SIZES[letter][0], strict=True)
        if name != letter
    )
    case = f"{letter} = {sizes[0]} to {sizes[-1]} at {others}"
    return [
        Row(SECTION, "local step: exponent", case, exponent(sizes, steps), "exponent", details=details),
        Row(SECTION, "floor: exponent", case, exponent(sizes, floors), "exponent", details=plain),
    ]


def exponent(sizes: Sequence[float], seconds: Sequence[float]) -> float:
    """b of the least-squares fit log(seconds) = a + b log(size)."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def memory() -> list[Row]:
    """Memory of model and agent relative to the features, (S, A, S, d) floats: at the peak, and kept.

    Traced are Python's and NumPy's allocations; what the core keeps is not seen.
    """
    states, actions, dimension = 15, 4, 60
    features = 8.0 * states * actions * states * dimension
    tracemalloc.start()
    try:
        world = random_network(states, actions, dimension)
        walk = Walk(VBMLE(world.mdp), world, TRACED_STEPS)
        walk.go(TRACED_STEPS)
        kept, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    del walk  # what it holds was to be counted
    details = {"features_bytes": features, "peak_bytes": float(peak), "kept_bytes": float(kept)}
    case = f"({states},{actions}) d={dimension}"
    return [
        Row(SECTION, "memory, peak: multiples of the features", case, peak / features, details=details),
        Row(SECTION, "memory, kept: multiples of the features", case, kept / features, details=details),
    ]
