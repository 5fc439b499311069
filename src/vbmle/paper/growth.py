"""How regret grows: with T, where the theorem says sqrt(T) up to logarithms, and with d.

growth            VBMLE with sqrt and log bias on the hypercube and on the paper's worlds, up to 100,000 steps. Both
                  solve again only when their information has doubled, which makes the steps in between free.
growth-check      the same agent every step and doubling, where both can run: what the doubling costs in regret.
growth-dimension  d from 2 to 32 on the paper's worlds, and from 2 to 10 on the hypercube (2^(d-1) actions).
"""

from __future__ import annotations

from typing import NamedTuple

from vbmle.experiments.spec import Choice, Experiment, Recording
from vbmle.paper.network import random_network

DOUBLING, EVERY_STEP, LOG_DOUBLING = "VBMLE (doubling)", "VBMLE", "VBMLE (log bias, doubling)"
DOUBLERS = {
    DOUBLING: Choice("VBMLE", {"update": "doubling"}),
    LOG_DOUBLING: Choice("VBMLE", {"bias": "log", "update": "doubling"}),
}
HYPERCUBE, NETWORK = "hypercube", "random network"


class GrowthSize(NamedTuple):
    """Trials and steps against T, of the check, and against d."""

    trials: int
    steps: int
    check_trials: int
    check_steps: int
    dimension_trials: int
    dimension_steps: int


QUICK = GrowthSize(2, 400, 2, 60, 2, 100)
FULL = GrowthSize(20, 20_000, 20, 2_000, 20, 2_000)
THOROUGH = GrowthSize(40, 100_000, 40, 5_000, 40, 10_000)


def hypercube(dimension: int = 4) -> Choice:
    """The lower-bound instance; its signs are drawn anew in every trial."""
    return Choice("hypercube", {"dimension": dimension, "delta": 0.1, "gap": 0.9})


def experiments(size: GrowthSize) -> list[Experiment]:
    """All three."""
    both = {HYPERCUBE: hypercube(), NETWORK: random_network()}
    check = {EVERY_STEP: Choice("VBMLE"), DOUBLING: DOUBLERS[DOUBLING]}
    dimensions = {f"{NETWORK}, d = {d}": random_network(dimension=d) for d in (2, 4, 8, 16, 32)}
    dimensions |= {f"{HYPERCUBE}, d = {d}": hypercube(d) for d in (2, 4, 6, 8, 10)}
    return [
        _experiment("growth", both, DOUBLERS, size.trials, size.steps),
        _experiment("growth-check", both, check, size.check_trials, size.check_steps),
        _experiment("growth-dimension", dimensions, DOUBLERS, size.dimension_trials, size.dimension_steps),
    ]


def _experiment(
    name: str, worlds: dict[str, Choice], agents: dict[str, Choice], trials: int, steps: int
) -> Experiment:
    record = Recording(steps="log")
    return Experiment(name=name, worlds=worlds, agents=agents, trials=trials, horizon=steps, record=record)
