"""OMLE: its theta is in the likelihood set, and on one free coordinate it is the best one there."""

import numpy as np
import pytest

import vbmle
from vbmle.agents.omle import LARGEST_ALPHA


def watched(agent: vbmle.OMLE, world: vbmle.World, steps: int) -> int:
    """Play; returns the last state."""
    history = vbmle.simulate(agent, world, steps, seed=2)
    state = int(history.next_states[-1])
    agent.act(state)
    return state


@pytest.mark.parametrize("scale", [0.1, 1.0])
def test_theta_is_in_the_likelihood_set_and_no_less_valuable_than_the_likeliest(scale: float):
    world = vbmle.worlds.random_network(4, 3, 4, seed=3)
    agent = vbmle.OMLE(world.mdp, radius_scale=scale)
    state = watched(agent, world, 120)
    best = vbmle.maximum_likelihood(world.mdp, agent.counts)
    reached = vbmle.log_likelihood(world.mdp, agent.counts, agent.theta)
    assert reached >= best.objective - agent.radius() - 1e-6 * (1.0 + abs(best.objective))
    value = vbmle.plan(world.mdp, agent.theta).V[state]
    assert value >= vbmle.plan(world.mdp, best.theta).V[state] - 1e-8


def test_nothing_as_likely_is_worth_more():
    """What maximises l + alpha V* beats every theta of at least its likelihood: on a fine grid of a segment P."""
    world = vbmle.worlds.random_network(3, 2, 2, seed=1)
    mdp = world.mdp
    agent = vbmle.OMLE(mdp, radius_scale=0.3)
    state = watched(agent, world, 80)
    reached = vbmle.log_likelihood(mdp, agent.counts, agent.theta)
    grid = np.array([0.5, 0.5]) + np.linspace(-3.0, 3.0, 6001)[:, None] * np.array([1.0, -1.0])
    rivals = [t for t in grid if mdp.contains(t) and vbmle.log_likelihood(mdp, agent.counts, t) >= reached]
    assert len(rivals) > 10
    most = max(vbmle.plan(mdp, theta).V[state] for theta in rivals)
    assert vbmle.plan(mdp, agent.theta).V[state] >= most - 1e-6


def test_without_a_radius_it_is_maximum_likelihood():
    world = vbmle.worlds.random_network(4, 2, 3, seed=2)
    one = vbmle.simulate(vbmle.OMLE(world.mdp, radius_scale=0.0), world, 100, seed=4)
    other = vbmle.simulate(vbmle.MaximumLikelihood(world.mdp), world, 100, seed=4)
    assert np.array_equal(one.actions, other.actions)


def test_it_gets_out_of_the_trap_that_holds_maximum_likelihood():
    world = vbmle.worlds.closed_loop_trap()
    regret = vbmle.simulate(vbmle.OMLE(world.mdp), world, 300, seed=3).regret
    assert regret[-1] == regret[-100]


def test_the_multiplier_stays_within_its_limits_where_every_theta_fits():
    """In a world whose radius excludes nothing, alpha would double in every step, and overflow after a thousand."""
    world = vbmle.worlds.riverswim(length=6)
    agent = vbmle.OMLE(world.mdp, radius_scale=1e6)
    for _ in range(60):
        agent.observe(0, 0, 0)
        agent.act(0)
    assert agent.snapshot()["alpha"] == LARGEST_ALPHA
