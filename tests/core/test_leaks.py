"""Nothing leaks: handles are made and dropped by the thousand, and the process does not grow."""

import gc
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from parts.climbing import Probe

from vbmle import LinearMixtureMDP
from vbmle.core.model import Counts, Model
from vbmle.core.optimism import L1Optimist, Optimist
from vbmle.core.planning import Planner
from vbmle.core.regression import Information, Regression
from vbmle.core.sampling import Sampler
from vbmle.core.solver import Solver
from vbmle.core.tabular import RewardBiasedRows
from vbmle.worlds import random_network

MDP = random_network(30, 4, 10, seed=0).mdp
CORE = MDP.core
SMALL = random_network(3, 2, 3, seed=0).mdp
MANY, SEVERAL = 10_000, 3_000
ROOM = 4 * 2**20
"""Bytes. A handle of `MDP` has two thousand at the very least, so that three thousand lost ones would be more."""

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="the size of a process is read as Linux tells it"
)


def resident() -> int:
    """Bytes of this process in memory now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def growth(make: Callable[[], Any], many: int) -> int:
    """By how much the process grows, in the best of three rounds: a leak is there in each, and chance is not."""
    for _ in range(many // 10):
        make()
    least = sys.maxsize
    for _ in range(3):
        gc.collect()
        before = resident()
        for _ in range(many):
            make()
        least = min(least, resident() - before)
        if least < ROOM:
            break
    return least


def again(mdp: LinearMixtureMDP, discount: float = 0.9) -> Model:
    names = ("num_states", "num_actions", "num_transitions", "dimension", "num_blocks")
    return Model({name: getattr(mdp.core, name) for name in names}, discount, mdp.core._kept)


def refused() -> None:
    with pytest.raises(ValueError, match="out of range"):
        again(MDP, 2.0)


def model_counts_and_solver() -> None:
    """A view is kept a little longer than what it belongs to."""
    core = again(SMALL)
    counts, solver = Counts(core, np.ones(core.num_transitions, bool)), Solver(core, 2, factors=True)
    theta = solver.views["theta"]
    del core, counts, solver
    assert np.isfinite(theta).all()


def test_no_model_counts_or_solver_leaks():
    assert growth(model_counts_and_solver, MANY) < ROOM


KINDS: dict[str, Callable[[], Any]] = {
    "model": lambda: again(MDP),
    "refused model": refused,
    "counts": lambda: Counts(CORE, np.ones(CORE.num_transitions, bool)),
    "solver by sweeps": lambda: Solver(CORE, 2, factors=False),
    "probe": lambda: Probe(CORE, copies=False),
    "planner": lambda: Planner(CORE, factors=True),
    "optimist": lambda: Optimist(CORE, factors=True),
    "L1 optimist": lambda: L1Optimist(CORE),
    "regression": lambda: Regression(CORE, 1.0),
    "information": lambda: Information(CORE, 1.0),
    "rows": lambda: RewardBiasedRows(CORE, True, 1e-9, 100),
}


@pytest.mark.parametrize("kind", KINDS)
def test_no_handle_leaks(kind: str):
    assert growth(KINDS[kind], SEVERAL) < ROOM


def test_no_sampler_leaks():
    assert growth(lambda: Sampler(SMALL.core), MANY) < ROOM


def test_a_leak_would_be_seen():
    kept: list[Any] = []
    rounds = (growth(lambda: kept.append(Information(CORE, 1.0)), SEVERAL) for _ in range(20))
    assert any(grown > ROOM for grown in rounds)  # the first may fill memory that others have freed
