"""What a first belief costs and tells, against a grid over all weights."""

import numpy as np
import pytest

import vbmle
from vbmle.theory.lure import lure


def mixture(seed: int) -> vbmle.World:
    """Two base models of three states, with random rewards."""
    rng = np.random.default_rng(seed)
    models = rng.dirichlet(np.full(3, 0.3), size=(2, 3, 2))
    mdp = vbmle.LinearMixtureMDP.from_models(list(models), rng.random((3, 2)), 0.8)
    weight = rng.random()
    return vbmle.World(mdp, [weight, 1.0 - weight])


def by_grid(world: vbmle.World) -> tuple[float, float, float]:
    """Loss, share and information of the most optimistic weights, from their definitions."""
    mdp, best = world.mdp, vbmle.plan(world.mdp, world.theta)
    truth = mdp.transition(world.theta)
    found = np.zeros((3, 3))
    for s in range(3):
        low, high = 0.0, 1.0
        for _ in range(4):  # a grid, and finer ones about its best point
            grid = np.linspace(low, high, 101)
            k = int(np.argmax([vbmle.plan(mdp, [w, 1.0 - w]).V[s] for w in grid]))
            low, high = grid[max(k - 1, 0)], grid[min(k + 1, 100)]
        theta = np.array([grid[k], 1.0 - grid[k]])
        policy, belief = vbmle.plan(mdp, theta).policy, mdp.transition(theta)
        found[s, 0] = best.V[s] - vbmle.evaluate(mdp, world.theta, policy)[s]
        found[s, 1] = np.mean([best.Q[x].max() - best.Q[x, policy[x]] > 1e-8 for x in range(3)])
        now = np.eye(3)[s]
        for _ in range(200):  # 0.8^200 is below rounding
            for x in range(3):
                p, q = truth[x, policy[x]], belief[x, policy[x]]
                found[s, 2] += 0.2 * now[x] * (1.0 - np.sqrt(p * q).sum())
            now = 0.8 * now @ truth[np.arange(3), policy]
    mean = found.mean(axis=0)
    return float(mean[0]), float(mean[1]), float(mean[2])


SEEDS = (3, 5, 10, 31, 46, 115)
"""In the last four the optimist is wrong somewhere."""


@pytest.mark.parametrize("seed", SEEDS)
def test_the_optimist_is_the_one_that_a_grid_finds(seed: int):
    world = mixture(seed)
    found, expected = lure(world), by_grid(world)
    assert found.optimistic_loss == pytest.approx(expected[0], abs=1e-6)
    assert found.optimistic_share == pytest.approx(expected[1], abs=1e-12)
    assert found.optimistic_information == pytest.approx(expected[2], abs=1e-6)


def test_some_of_these_optimists_are_wrong():
    """Else the test above would compare zeros."""
    assert [lure(mixture(seed)).optimistic_loss > 0.01 for seed in SEEDS] == [False] * 2 + [True] * 4


def test_the_likeliest_model_without_data_has_the_least_norm():
    """Of two base models that is the even mixture: it is told from a truth at its side by the Hellinger distance."""
    world = mixture(3)
    even = vbmle.plan(world.mdp, [0.5, 0.5]).policy
    best = vbmle.plan(world.mdp, world.theta)
    lost = best.V - vbmle.evaluate(world.mdp, world.theta, even)
    assert lure(world).likely_loss == pytest.approx(lost.mean(), abs=1e-7)


def test_who_knows_the_truth_is_told_nothing_and_loses_nothing():
    mdp = vbmle.worlds.riverswim(length=4, features="mixture").mdp
    alone = vbmle.LinearMixtureMDP.from_models([mdp.transition([0.35, 0.6, 0.05])], np.eye(4)[:, :2], 0.9)
    found = lure(vbmle.World(alone, [1.0]))
    assert (found.optimistic_loss, found.likely_loss, found.optimistic_share) == (0.0, 0.0, 0.0)
    assert found.optimistic_information == pytest.approx(0.0, abs=1e-15)
