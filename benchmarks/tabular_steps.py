"""Local steps in tabular models, where the feasible set is a product of one simplex per (s, a)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.effort import Effort
from benchmarks.speed_table import Row, at_most
from benchmarks.walks import FlooredWalk, mean, median
from vbmle.agents.vbmle import VBMLE
from vbmle.model.mdp import LinearMixtureMDP
from vbmle.model.world import World
from vbmle.worlds import riverswim

SECTION = "tabular"
FLOORS = 40.0


def random_tabular(states: int, actions: int, successors: int, seed: int = 0, discount: float = 0.9) -> World:
    """A tabular world: random successors, Dirichlet(1) probabilities, uniform rewards."""
    rng = np.random.default_rng(np.random.SeedSequence(seed))
    pairs = states * actions
    support = np.zeros((pairs, states), bool)
    for row in support:
        row[rng.choice(states, successors, replace=False)] = True
    mdp = LinearMixtureMDP.tabular(
        support.reshape(states, actions, states), rng.random((states, actions)), discount
    )
    return World(mdp, rng.dirichlet(np.ones(successors), pairs).ravel())


CASES: dict[str, Callable[[], World]] = {
    "RiverSwim(50)": lambda: riverswim(50),
    "100 states, d=2000": lambda: random_tabular(100, 4, 5),
}


def measure(name: str, effort: Effort) -> list[Row]:
    """Local steps in multiples of the floor."""
    world = CASES[name]()
    walk = FlooredWalk(VBMLE(world.mdp, search="local"), world, effort.tabular_horizon)
    walk.go(effort.tabular_horizon)
    step, floor = median(walk.act_seconds), median(walk.floor.seconds)
    details = {"local_step": step, "floor": floor, "mean_local_step": mean(walk.act_seconds)}
    measure = "local step, median: multiples of the floor (tabular)"
    return [Row(SECTION, measure, name, step / floor, "times", at_most(FLOORS), details)]
