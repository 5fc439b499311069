"""Worlds whose mix changes, and regret against the moving optimum."""

from typing import Any

import numpy as np
import pytest
from refusals import refused

import vbmle
from vbmle.simulation import earned
from vbmle.worlds import suppliers

MDP = suppliers().mdp
ONE, TWO = [0.9, 0.1], [0.2, 0.8]


def test_a_jump_holds_until_the_next():
    world = vbmle.DriftingWorld(MDP, [(0, ONE), (5, TWO), (9, ONE)])
    found = [world.at(t).theta.tolist() for t in range(12)]
    assert found == [ONE] * 5 + [TWO] * 4 + [ONE] * 3
    assert world.at(3) is world.at(4)
    assert world.theta.tolist() == ONE


def test_a_slow_change_is_a_straight_line_in_small_steps():
    world = vbmle.DriftingWorld(MDP, [(0, ONE), (1000, TWO)], change="slow")
    line = np.array([np.array(ONE) + min(t / 1000, 1.0) * (np.array(TWO) - ONE) for t in range(1200)])
    found = np.array([world.at(t).theta for t in range(1200)])
    assert np.abs(found - line).max() <= 0.7 / 100 + 1e-12  # at most one of the 100 pieces behind
    np.testing.assert_allclose(found[1000:], [TWO] * 200, atol=1e-12)
    short = vbmle.DriftingWorld(MDP, [(0, ONE), (4, TWO)], change="slow")
    np.testing.assert_allclose(short.at(2).theta, [0.55, 0.45], atol=1e-12)


@pytest.mark.parametrize("change", ["jump", "slow"])
def test_regret_is_against_the_optimum_of_the_moment(change: str):
    world = suppliers(change=change, every=40, turns=2)
    history = vbmle.simulate(vbmle.Random(world.mdp), world, 150, seed=4, record=["distance"])
    agent, losses = vbmle.Random(world.mdp), []
    for t in range(150):
        theta = world.at(t).theta
        best = vbmle.plan(MDP, theta).V
        losses.append((best - vbmle.evaluate(MDP, theta, agent.policy))[history.states[t]])
        agent.observe(*(int(column[t]) for column in (history.states, history.actions, history.next_states)))
    np.testing.assert_allclose(history.regret, np.cumsum(losses), atol=1e-9)
    assert earned(world, history).shape == (150,)


def test_the_truth_that_moves_is_what_distances_are_taken_from():
    world = suppliers(every=20)
    agent = vbmle.VBMLE(world.mdp)
    history = vbmle.simulate(agent, world, 40, record=["thetas", "distance"])
    assert history.thetas is not None
    assert history.distance is not None
    truth = np.array([world.at(t).theta for t in range(40)])
    np.testing.assert_allclose(history.distance, ((history.thetas - truth) ** 2).sum(axis=1), atol=1e-12)


def test_steps_are_drawn_from_the_mix_of_the_moment():
    """Orders from the first supplier arrive with .84 under the first mix, .36 under the second: 5 standard errors."""
    world = suppliers(every=4000)
    history = vbmle.simulate(vbmle.Oracle(world.mdp, [0.9, 0.1]), world, 8000, seed=1)
    dropped = history.next_states < history.states
    for phase, odds in ((slice(0, 4000), 0.84), (slice(4000, 8000), 0.36)):
        able = history.states[phase] > 0
        share, p = dropped[phase][able].mean(), 0.8 * (1.0 - odds)
        assert abs(share - p) <= 5 * np.sqrt(p * (1 - p) / able.sum())


def test_the_best_policy_turns_with_the_mix():
    world = suppliers(every=10, turns=3)
    best = [vbmle.plan(MDP, world.at(t).theta).policy[1] for t in (0, 10, 20, 30, 500)]
    assert best == [0, 1, 0, 1, 1]


def test_gymnasium_meets_the_changes_too():
    env = vbmle.WorldEnv(vbmle.DriftingWorld(MDP, [(0, [1.0, 0.0]), (3, [0.0, 1.0])]))
    env.reset(seed=0)
    seen = []
    for _ in range(5):
        env.step(0)
        seen.append(env.now.theta.tolist())
    assert seen == [[1.0, 0.0]] * 2 + [[0.0, 1.0]] * 3  # the world of the step that comes next


@pytest.mark.parametrize(
    ("path", "change", "facts"),
    [
        ([], "jump", ("path", "empty")),
        ([(3, ONE)], "jump", ("path", "[3]", "0")),
        ([(0, ONE), (5, TWO), (5, ONE)], "jump", ("path", "[0, 5, 5]")),
        ([(0, ONE), (5, [2.0, -1.0])], "jump", ("theta",)),
        ([(0, ONE)], "sudden", ("change", "'sudden'", "'jump'", "'slow'")),
    ],
)
def test_paths_that_cannot_be_are_refused(path: Any, change: str, facts: tuple[str, ...]):
    with refused(*facts):
        vbmle.DriftingWorld(MDP, path, change)
