"""Simulators on a grid: probabilities are shares of samples, and cells are where observations lie."""

import gymnasium
import numpy as np
import pytest

import vbmle


def car(gravity: float = 0.0025) -> gymnasium.Env:
    env = gymnasium.make("MountainCar-v0")
    env.unwrapped.gravity = gravity  # type: ignore[attr-defined]
    return env


def test_rows_are_shares_of_the_samples_and_agree_with_the_simulator():
    grid = vbmle.gridded(car(), cells=(8, 6), samples=5, seed=3)
    table = grid.transitions.toarray()
    np.testing.assert_allclose(table.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(table[:-3] * 5, np.round(table[:-3] * 5), atol=1e-12)
    assert (table[-3:, -1] == 1.0).all()
    rng, env = np.random.default_rng(3), car().unwrapped
    env.reset(seed=0)
    points = rng.random((48, 5, 2))
    for state in (0, 13, 40, 47):
        place = np.array(np.unravel_index(state, (8, 6)))
        for action in range(3):
            seen = np.zeros(49)
            for point in points[state]:
                env.state = tuple(grid.low + (place + point) / (8, 6) * (grid.high - grid.low))  # type: ignore[attr-defined]
                reached, _, ended, _, _ = env.step(action)
                seen[48 if ended else grid.state(reached)] += 0.2
            np.testing.assert_allclose(table[state * 3 + action], seen, atol=1e-12)
    assert (grid.reward[:-1] == -1.0).all()
    assert (grid.reward[-1] == 0.0).all()


def test_cells_and_centres():
    grid = vbmle.gridded(car(), cells=(8, 6), samples=1)
    assert [grid.state(grid.centre(state)) for state in range(48)] == list(range(48))
    assert grid.state([-99.0, 0.0]) == grid.state([-1.2, 0.0])
    assert grid.state([99.0, 0.0699]) == 47


def test_a_car_learns_its_gravity():
    grids = [vbmle.gridded(car(g), cells=(20, 20)) for g in (0.0025, 0.001)]
    models = [grid.transitions for grid in grids]
    start = np.zeros(401)
    start[grids[0].state([-0.5, 0.0])] = 1.0
    mdp = vbmle.LinearMixtureMDP.from_models(
        models, grids[0].reward, 0.95, domain="vertices", normalise_reward=True, initial=start
    )
    world = vbmle.World(mdp, [0.0, 1.0])
    agent = vbmle.VBMLE(mdp, on_impossible="widen")
    vbmle.simulate(agent, world, 200, seed=1)
    probability = agent.belief().probability
    assert probability is not None
    assert probability[1] > 0.95


def test_ends_can_be_given_where_observations_have_none():
    cart, ends = gymnasium.make("CartPole-v1"), np.array([2.4, 2.0, 0.2, 2.0])
    with pytest.raises(ValueError, match="low and high"):
        vbmle.gridded(cart, cells=(2, 2, 2, 2))
    grid = vbmle.gridded(cart, cells=(3, 3, 3, 3), samples=2, low=-ends, high=ends)
    assert grid.transitions.shape == (82 * 2, 82)
    assert "3 x 3 x 3 x 3" in repr(grid)


@pytest.mark.parametrize(
    ("name", "settings", "words"),
    [
        ("FrozenLake-v1", {"cells": (4,)}, "continuous"),
        ("Pendulum-v1", {"cells": (2, 2, 2)}, "finite number of actions"),
        ("Acrobot-v1", {"cells": (2,) * 6}, "attribute state"),
        ("MountainCar-v0", {"cells": (4,)}, "2 dimensions"),
        ("MountainCar-v0", {"cells": (4, 0)}, "cells"),
        ("MountainCar-v0", {"cells": (4, 4), "samples": 0}, "samples"),
        ("MountainCar-v0", {"cells": (2000, 2000)}, "up to"),
        ("MountainCar-v0", {"cells": (4, 4), "low": [1.0, 1.0]}, "low"),
    ],
)
def test_what_cannot_be_gridded_is_refused(name: str, settings: dict, words: str):
    with pytest.raises(ValueError, match=words):
        vbmle.gridded(gymnasium.make(name), **settings)
