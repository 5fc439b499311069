"""Doubling against every step, where both can run; and the worlds that growth is measured in."""

import numpy as np
import pytest

import vbmle
from vbmle.experiments import stopping
from vbmle.paper import growth as paper_growth

STEPS, TRIALS = 600, 96


def lost(update: str, world: vbmle.World, seed: int) -> float:
    agent = vbmle.VBMLE(world.mdp, update=update)
    return float(vbmle.simulate(agent, world, STEPS, seed=seed).regret[-1])


def test_doubling_does_not_lose_half_as_much_again_as_deciding_in_every_step():
    """On the hypercube, paired over 96 worlds: the interval of the difference ends below half of the mean."""
    made = [vbmle.worlds.hypercube(4, delta=0.1, gap=0.9, seed=seed) for seed in range(TRIALS)]
    every, doubling = (
        np.array([lost(update, world, seed) for seed, world in enumerate(made)])
        for update in ("every-step", "doubling")
    )
    _, _, high = stopping.paired(every, doubling)
    assert high < 0.5 * every.mean()


def test_a_doubling_agent_decides_as_one_that_is_asked_then_for_the_first_time():
    """At each of its decisions: the same data, state and time give the same theta."""
    world = vbmle.worlds.hypercube(3, delta=0.1, gap=0.9, seed=1)
    lazy = vbmle.VBMLE(world.mdp, update="doubling")
    path: list[tuple[int, int, int]] = []
    state, compared = 0, 0
    for uniform in np.random.default_rng(0).random(200):
        before = lazy.decisions
        action = lazy.act(state)
        if lazy.decisions > before:
            fresh = vbmle.VBMLE(world.mdp)
            for step in path:
                fresh.observe(*step)
            fresh.act(state)
            objective = [
                vbmle.log_likelihood(world.mdp, fresh.counts, agent.theta)
                + np.sqrt(len(path) + 1) * vbmle.plan(world.mdp, agent.theta).V[state]
                for agent in (lazy, fresh)
            ]
            assert objective[0] == pytest.approx(objective[1], rel=1e-6)
            compared += 1
        next_state = world.next_state(state, action, uniform)
        lazy.observe(state, action, next_state)
        path.append((state, action, next_state))
        state = next_state
    assert 5 <= compared < 100, "it decides now and then"


def test_growth_reaches_the_sizes_that_were_asked_for():
    steps = {e.name: e for e in paper_growth.experiments(paper_growth.THOROUGH)}
    assert steps["growth"].horizon == 100_000
    assert all(choice.settings["update"] == "doubling" for choice in steps["growth"].agents.values())
    networks = [c for c in steps["growth-dimension"].worlds.values() if c.name == "random_network"]
    assert [choice.settings["dimension"] for choice in networks] == [2, 4, 8, 16, 32]
    check = steps["growth-check"].agents
    assert check["VBMLE"].settings == {}
    assert check["VBMLE (doubling)"].settings == {"update": "doubling"}
