"""Feel-good sampling: the tilt is that of its definition, and vanishes where it should. MEX is a schedule of VBMLE."""

import numpy as np
import pytest
from small_worlds import EXAMPLES

import vbmle
from vbmle.agents.bias import BiasSchedule
from vbmle.agents.posterior import HitAndRun

WORLD = EXAMPLES["simplex mixture"]


def candidates(agent: vbmle.FeelGoodSampling, seed: int) -> np.ndarray:
    """The draws that its first decision chooses among, made by a sampler of the test's own."""
    rng, chain = np.random.default_rng([seed, 0]), HitAndRun(WORLD.mdp, agent.settings["thinning"])
    found = []
    for _ in range(agent.settings["draws"]):
        found.append(chain.draw(agent.counts, rng))
        rng.gumbel()
    return np.array(found)


def test_a_large_bias_takes_the_draw_of_the_highest_value():
    for seed in range(5):
        agent = vbmle.FeelGoodSampling(WORLD.mdp, bias=1e9, seed=seed)
        agent.act(1)
        values = [vbmle.plan(WORLD.mdp, theta).V[1] for theta in candidates(agent, seed)]
        assert agent.theta.tolist() == candidates(agent, seed)[int(np.argmax(values))].tolist()


def test_the_chance_of_each_draw_is_proportional_to_exp_of_its_value():
    bias, runs = 3.0, 4000
    shares, hits = [], []
    for seed in range(runs):
        agent = vbmle.FeelGoodSampling(WORLD.mdp, bias=bias, draws=2, thinning=1, seed=seed)
        agent.act(0)
        drawn = candidates(agent, seed)
        one, two = (
            bias / np.ptp(WORLD.mdp.pair_reward) * vbmle.plan(WORLD.mdp, theta).V[0] for theta in drawn
        )
        shares.append(1.0 / (1.0 + np.exp(two - one)))
        hits.append(np.array_equal(agent.theta, drawn[0]))
        if seed == 0:
            assert any(np.array_equal(agent.theta, theta) for theta in drawn)
    share = np.array(shares)
    error = np.sqrt((share * (1.0 - share)).sum()) / runs
    assert abs(np.mean(hits) - share.mean()) <= 4.0 * error  # standard errors


def test_the_optimal_policy_of_the_draw_is_played():
    agent = vbmle.FeelGoodSampling(WORLD.mdp, seed=2)
    agent.act(0)
    V = vbmle.evaluate(WORLD.mdp, agent.theta, agent.policy)
    assert pytest.approx(vbmle.plan(WORLD.mdp, agent.theta).V, abs=1e-8) == V


def test_the_constant_schedule_is_constant():
    schedule = BiasSchedule("constant", 2.5)
    assert [schedule.at(t) for t in (1, 10, 10**6)] == [2.5, 2.5, 2.5]
    by_name = vbmle.simulate(vbmle.VBMLE(WORLD.mdp, bias="constant", bias_scale=2.5), WORLD, 60, seed=1)
    by_hand = vbmle.simulate(vbmle.VBMLE(WORLD.mdp, bias=lambda t: 2.5), WORLD, 60, seed=1)
    assert np.array_equal(by_name.actions, by_hand.actions)
