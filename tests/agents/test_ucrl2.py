"""UCRL2: radius, episodes, optimism. Its plans are tested in tests/core/test_l1_balls.py."""

from typing import Any

import numpy as np
import pytest

from vbmle import UCRL2, LinearMixtureMDP, World, plan, simulate
from vbmle.worlds import riverswim


def test_without_a_radius_it_plans_for_the_frequencies():
    """Every pair visited, radius_scale = 0: certainty equivalence."""
    world, rng = riverswim(5), np.random.default_rng(0)
    agent, mdp = UCRL2(world.mdp, radius_scale=0.0), world.mdp
    for _ in range(5):
        for row in range(10):
            state, action = divmod(row, 2)
            agent.observe(state, action, world.next_state(state, action, rng.random()))
    agent.act(0)
    visits = np.add.reduceat(agent.counts.values, mdp.transitions.indptr[:-1])
    frequencies = agent.counts.values / np.repeat(visits, np.diff(mdp.transitions.indptr))
    exact = plan(mdp, frequencies)
    np.testing.assert_allclose(agent.V, exact.V, rtol=0.0, atol=agent.error_bound)
    assert 0.0 < agent.error_bound <= 1e-6 * 11


def test_unvisited_pairs_may_lead_anywhere_however_small_the_radius():
    """Nothing seen: V is the value of a controller who chooses every successor, solved as a deterministic MDP."""
    world = riverswim(4)
    for scale in (1.0, 0.0):
        agent = UCRL2(world.mdp, radius_scale=scale)
        agent.act(0)
        # From state s straight to the right end, then reward 1 for ever: gamma^(3-s) * 10.
        np.testing.assert_allclose(
            agent.V, 10.0 * 0.9 ** np.arange(3, -1, -1), rtol=0.0, atol=agent.error_bound
        )
        assert agent.policy.tolist() == [1, 1, 1, 1]


def test_the_radius_is_the_published_one_on_the_known_support():
    """sqrt(14 m log(2 A t/delta) / n), by hand for RiverSwim: m = 3 inside to the right, 1 to the left."""
    world = riverswim(4)
    agent = UCRL2(world.mdp, delta=0.2, radius_scale=0.5)
    for _ in range(4):
        agent.observe(1, 1, 2)
    agent.observe(1, 0, 0)
    radius = agent.radius()
    log = np.log(2 * 2 * 6 / 0.2)
    assert radius[3] == pytest.approx(0.5 * np.sqrt(14 * 3 * log / 4), abs=1e-12)
    assert radius[2] == pytest.approx(0.5 * np.sqrt(14 * 1 * log / 1), abs=1e-12)
    assert radius[0] == 2.0


def test_plans_are_made_when_episodes_start_and_not_else():
    world, made = riverswim(4), list[int]()
    agent, rng, state = UCRL2(world.mdp), np.random.default_rng(0), 0
    for _ in range(2000):
        before = agent.decisions
        action = agent.act(state)
        if agent.decisions > before:
            made.append(agent.counts.total)
        following = world.next_state(state, action, rng.random())
        agent.observe(state, action, following)
        state = following
    pairs = world.mdp.num_states * world.mdp.num_actions
    # Each pair can end at most 1 + log2(visits) + 1 episodes.
    assert 5 < len(made) <= pairs * (2 + np.log2(2000))
    assert made == sorted(set(made))


def optimistic_runs(runs: int, **settings: Any) -> int:
    """In how many runs, in random worlds of three states, V >= V* held in every state and every episode."""
    rng, good = np.random.default_rng(0), 0
    for k in range(runs):
        p = rng.dirichlet(np.ones(3), (3, 2))
        mdp = LinearMixtureMDP.tabular(np.ones((3, 2, 3), bool), rng.random((3, 2)), 0.8)
        world = World(mdp, p.reshape(-1))
        best, agent, state, fine = plan(mdp, world.theta).V, UCRL2(mdp, **settings), 0, True
        for u in np.random.default_rng([k, 7]).random(300):
            action = agent.act(state)
            fine = fine and float((agent.V - best).min()) >= -1e-12
            following = world.next_state(state, action, u)
            agent.observe(state, action, following)
            state = following
        good += fine
    return good


def test_values_are_optimistic_as_often_as_promised():
    assert optimistic_runs(40, delta=0.1) >= 0.9 * 40


def test_optimism_is_lost_when_the_balls_are_too_small():
    assert optimistic_runs(40, delta=0.1, radius_scale=0.01) < 0.9 * 40


def test_values_shrink_to_the_truth_with_data():
    """Counts of a million per pair: the optimistic value is near V*, and still above."""
    world = riverswim(4)
    agent = UCRL2(world.mdp)
    mdp = world.mdp
    agent.counts.load_values(np.round(1e6 * world.theta), np.arange(mdp.transitions.count))
    agent.act(0)
    best = plan(mdp, world.theta).V
    # |V - V*| <= gamma/(1-gamma) * span/2 * radius, span <= 10.
    bound = 9.0 * 5.0 * agent.radius().max()
    assert (agent.V - best).min() >= -1e-12
    assert (agent.V - best).max() <= bound
    assert bound < 2.0


def test_features_are_ignored():
    """The three-parameter river as a mixture and as a table: the same moves, value and policy."""
    table, mixture = riverswim(5), riverswim(5, features="mixture")
    one, two = UCRL2(table.mdp), UCRL2(mixture.mdp)
    histories = [simulate(agent, world, 300) for agent, world in ((one, table), (two, mixture))]
    np.testing.assert_array_equal(histories[0].actions, histories[1].actions)
    np.testing.assert_array_equal(one.V, two.V)
