"""What a global search is for: the maximum on random problems, and regret where one basin is not enough."""

from typing import Any

import numpy as np
import pytest
from problems import draw, random_world

from vbmle import VBMLE, World, simulate, value_biased
from vbmle.worlds import hypercube, riverswim

RELATIVE = 1e-6  # the promise for small problems
PROBLEMS = 60


def small_world(seed: int) -> World:
    """The next world from `seed` on whose theta has at most four coordinates."""
    while True:
        world = random_world(seed)
        if world.mdp.dimension <= 4:
            return world
        seed += 1000


@pytest.mark.parametrize("part", range(4))
def test_a_search_finds_the_certified_maximum(part: int):
    """Branch and bound, which looks everywhere, finds nothing better, and its bound holds and closes."""
    for seed in range(part, PROBLEMS, 4):
        rng, world = np.random.default_rng(seed), small_world(seed)
        steps = int(np.exp(rng.uniform(0.0, np.log(3000.0))))
        counts = draw(world, steps, rng)
        bias = float(rng.choice([1.0, 10.0])) * np.sqrt(steps)
        state = int(rng.integers(world.mdp.num_states))
        found = value_biased(world.mdp, counts, state, bias)
        proved = value_biased(world.mdp, counts, state, bias, certify=True)
        allowed = RELATIVE * (1.0 + abs(found.objective))
        assert proved.upper_bound is not None
        assert found.objective >= proved.objective - allowed, f"problem {seed}"
        assert found.objective <= proved.upper_bound, f"problem {seed}"
        gap = proved.upper_bound - proved.objective
        assert gap <= 1e-2 * (1.0 + abs(proved.objective)), f"problem {seed}"


@pytest.fixture(scope="module")
def cube_runs() -> dict[str, np.ndarray]:
    """Regret on the hypercube (d = 4, delta .1, gap .9), 10 seeds, 3000 steps, by kind of agent."""
    kinds: dict[str, Any] = {"global": {}, "local": {"search": "local"}, "doubling": {"update": "doubling"}}
    runs: dict[str, list[np.ndarray]] = {kind: [] for kind in kinds}
    for seed in range(10):
        world = hypercube(4, gap=0.9, seed=seed)
        for kind, settings in kinds.items():
            agent = VBMLE(world.mdp, seed=seed, **settings)
            runs[kind].append(simulate(agent, world, 3000, seed=seed).regret)
    return {kind: np.array(regret) for kind, regret in runs.items()}


def test_one_basin_is_not_enough_on_the_hypercube(cube_runs: dict[str, np.ndarray]):
    """A single warm start keeps losing; a global search loses at most .3 times as much, and learns."""
    everywhere, one = cube_runs["global"].mean(axis=0), cube_runs["local"].mean(axis=0)
    assert everywhere[-1] <= 0.3 * one[-1]
    first, second = everywhere[1499], everywhere[-1] - everywhere[1499]
    assert second <= 0.5 * first


def test_deciding_lazily_costs_little(cube_runs: dict[str, np.ndarray]):
    assert cube_runs["doubling"][:, -1].mean() <= 1.5 * cube_runs["global"][:, -1].mean()


def test_deciding_lazily_costs_little_on_riverswim():
    """Both find the far end; were both to lose nothing, lazy may lose what one visit costs."""
    lost = {"every-step": 0.0, "doubling": 0.0}
    for update in lost:
        for seed in range(5):
            world = riverswim(6)
            lost[update] += simulate(
                VBMLE(world.mdp, update=update, seed=seed), world, 600, seed=seed
            ).regret[-1]
    assert lost["doubling"] <= 1.5 * lost["every-step"] + 1e-9
