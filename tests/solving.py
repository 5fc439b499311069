"""What tests of the core's solver share: a small world, an objective on it, solvers with starts."""

from typing import Any

import numpy as np
from problems import draw

from vbmle import World
from vbmle.core.model import Model
from vbmle.core.solver import STATUSES, Objective, Solver
from vbmle.estimation.starts import Starts
from vbmle.worlds import random_network

NETWORK = random_network(4, 2, 3, seed=0)


def status(solver: Solver) -> str:
    return STATUSES[solver.views["status"][0]]


def again(core: Model, **changes: Any) -> Model:
    """The same model with other arrays; all are copies."""
    names = ("num_states", "num_actions", "num_transitions", "dimension", "num_blocks")
    arrays = {name: array.copy() for name, array in core._kept.items()} | changes
    return Model({name: getattr(core, name) for name in names}, core.discount, arrays)


def objective(**changes: Any) -> Objective:
    counts = draw(NETWORK, 30, np.random.default_rng(0))
    return Objective(counts.core, **({"ridge": 1.0, "bias": 1.0, "state": 0} | changes))


def started(world: World, factors: bool) -> Solver:
    solver, starts = Solver(world.mdp.core, 4, factors), Starts(world.mdp, 0)
    solver.set_starts(starts.fixed, starts.best, starts.pairs)
    return solver
