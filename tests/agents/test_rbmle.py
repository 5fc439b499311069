"""RBMLE: rows in closed form, fixed points against the general solver, and what it shares with VBMLE."""

import numpy as np
import pytest

from vbmle import (
    RBMLE,
    VBMLE,
    LinearMixtureMDP,
    World,
    log_likelihood,
    plan,
    simulate,
    value_biased,
)
from vbmle.worlds import riverswim

# ---- the whole model


def problem(case: int) -> tuple[World, RBMLE, int]:
    """A tabular world, an agent that saw some of it, and a state."""
    rng = np.random.default_rng([case, 3])
    states, actions = int(rng.integers(2, 6)), int(rng.integers(2, 4))
    p = rng.dirichlet(np.ones(states), (states, actions))
    shape = (states, actions) if case % 2 else (states, actions, states)
    mdp = LinearMixtureMDP.tabular(np.ones((states, actions, states), bool), rng.random(shape), 0.9)
    world = World(mdp, p.reshape(-1))
    agent = RBMLE(mdp, bias="sqrt" if case % 3 == 0 else "log")
    for _ in range(int(rng.choice([5, 50, 1000]))):
        s, a = int(rng.integers(states)), int(rng.integers(actions))
        agent.observe(s, a, world.next_state(s, a, rng.random()))
    return world, agent, int(rng.integers(states))


def objective(agent: RBMLE, state: int) -> float:
    """sum n log p + alpha V*(state; p), from the public functions."""
    value = plan(agent.mdp, agent.theta).V[state]
    return log_likelihood(agent.mdp, agent.counts, agent.theta, ridge=0.0) + agent.alpha() * value


@pytest.mark.parametrize("case", range(30))
def test_fixed_points_are_local_maxima_of_the_general_objective(case: int):
    """The solver of VBMLE, started there, finds nothing better nearby; and its best of all is not below."""
    _, agent, state = problem(case)
    agent.act(state)
    assert agent.converged
    assert agent.objective == pytest.approx(objective(agent, state), rel=1e-10)
    problem_here = (agent.mdp, agent.counts, state, agent.alpha())
    near = value_biased(*problem_here, ridge=0.0, search="local", start=agent.theta)
    best = value_biased(*problem_here, ridge=0.0)
    scale = 1.0 + abs(agent.objective)
    assert near.objective <= agent.objective + 1e-8 * scale
    assert agent.objective <= max(best.objective, near.objective) + 1e-8 * scale


def test_it_is_nearly_always_the_global_maximum():
    """Of 30 problems the general search is better in few."""
    missed = 0
    for case in range(30):
        _, agent, state = problem(case)
        agent.act(state)
        best = value_biased(agent.mdp, agent.counts, state, agent.alpha(), ridge=0.0)
        missed += best.objective > agent.objective + 1e-6 * (1.0 + abs(agent.objective))
    assert missed <= 3


def test_no_feasible_theta_is_above_a_certified_bound():
    """Two states, one unknown row each: a certificate is cheap, and RBMLE reaches it."""
    support = np.zeros((2, 2, 2), bool)
    support[:, 0] = True
    support[[0, 1], 1, [0, 1]] = True
    mdp = LinearMixtureMDP.tabular(support, [[0.2, 0.4], [1.0, 0.3]], 0.9)
    agent = RBMLE(mdp)
    for s, a, to, times in ((0, 0, 0, 6), (0, 0, 1, 2), (1, 0, 0, 3), (1, 0, 1, 1), (0, 1, 0, 2)):
        for _ in range(times):
            agent.observe(s, a, to)
    agent.act(0)
    best = value_biased(mdp, agent.counts, 0, agent.alpha(), ridge=0.0, certify=True)
    assert best.upper_bound is not None
    assert agent.objective <= best.upper_bound + 1e-9
    assert agent.objective >= best.upper_bound - 1e-5 * (1.0 + abs(best.upper_bound))


def test_rows_off_the_policy_are_at_their_frequencies():
    _, agent, state = problem(4)
    agent.act(state)
    mdp, indptr = agent.mdp, agent.mdp.transitions.indptr
    for s in range(mdp.num_states):
        for a in range(mdp.num_actions):
            span = slice(*indptr[s * mdp.num_actions + a : s * mdp.num_actions + a + 2])
            counts = agent.counts.values[span]
            if a != agent.policy[s] and counts.sum() > 0.0:
                np.testing.assert_allclose(agent.p[span], counts / counts.sum(), rtol=0.0, atol=1e-5)


def test_without_bias_it_plans_for_the_frequencies():
    """bias_scale = 0, every pair visited: certainty equivalence."""
    world, agent, _ = problem(1)
    agent = RBMLE(world.mdp, bias_scale=0.0)
    rng = np.random.default_rng(0)
    for _ in range(5):
        for s in range(world.mdp.num_states):
            for a in range(world.mdp.num_actions):
                agent.observe(s, a, world.next_state(s, a, rng.random()))
    agent.act(0)
    visits = np.add.reduceat(agent.counts.values, world.mdp.transitions.indptr[:-1])
    expected = agent.counts.values / np.repeat(visits, np.diff(world.mdp.transitions.indptr))
    np.testing.assert_allclose(agent.theta, expected, rtol=0.0, atol=1e-12)
    np.testing.assert_array_equal(agent.policy, plan(world.mdp, expected).policy)


def test_the_policy_is_optimal_for_the_model_in_force():
    for case in range(10):
        _, agent, state = problem(case)
        agent.act(state)
        best = plan(agent.mdp, agent.theta)
        chosen = best.Q[np.arange(agent.mdp.num_states), agent.policy]
        np.testing.assert_allclose(chosen, best.V, rtol=0.0, atol=1e-9)


def test_on_the_same_path_it_is_vbmle_with_tabular_features():
    """RiverSwim, no ridge, log schedule, each step: the objectives of both agree at every step."""
    world = riverswim(5)
    mine = RBMLE(world.mdp, update="every-step")
    other = VBMLE(world.mdp, bias="log", ridge=0.0)
    rng, state = np.random.default_rng(0), 0
    for _ in range(60):
        action = mine.act(state)
        other.act(state)
        assert mine.converged
        value = plan(world.mdp, other.theta).V[state]
        theirs = log_likelihood(world.mdp, other.counts, other.theta, ridge=0.0) + other.alpha() * value
        assert mine.objective == pytest.approx(theirs, rel=1e-6, abs=1e-6)
        following = world.next_state(state, action, rng.random())
        for agent in (mine, other):
            agent.observe(state, action, following)
        state = following


def test_the_bias_is_what_riverswim_needs():
    """Six states, gamma = .9, 600 steps: without bias it loses hundreds, with it next to nothing."""
    world = riverswim(6)
    lost = {
        scale: np.mean(
            [simulate(RBMLE(world.mdp, bias_scale=scale), world, 600, seed=s).regret[-1] for s in range(5)]
        )
        for scale in (0.0, 1.0)
    }
    assert lost[0.0] > 300.0
    assert lost[1.0] < 30.0


def test_there_is_no_theta_without_a_table():
    agent = RBMLE(riverswim(4, features="mixture").mdp)
    assert not hasattr(agent, "theta")
    assert agent.p.shape == (agent.mdp.transitions.count,)


def test_raw_one_hot_features_are_a_table():
    """Coordinates in another order than the transitions: theta has them back in place."""
    rng = np.random.default_rng(0)
    order = rng.permutation(8)
    features = np.eye(8)[order].reshape(2, 2, 2, 8)
    mdp = LinearMixtureMDP(features, [[0.1, 0.2], [0.9, 0.4]], 0.9)
    agent = RBMLE(mdp)
    for _ in range(3):
        agent.observe(0, 1, 1)
    agent.act(0)
    np.testing.assert_allclose(mdp.transitions.probabilities(agent.theta), agent.p, rtol=0.0, atol=1e-15)
    assert mdp.contains(agent.theta)
