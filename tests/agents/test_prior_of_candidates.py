"""Agents that are Bayesian begin with the prior of the model, where theta is one of several candidates."""

import numpy as np
import pytest

import vbmle


def two(prior: list[float] | None) -> vbmle.LinearMixtureMDP:
    """Under one candidate the second action pays, under the other the first."""
    stay, go = np.array([[[0.9, 0.1], [0.1, 0.9]]] * 2), np.array([[[0.2, 0.8], [0.7, 0.3]]] * 2)
    return vbmle.LinearMixtureMDP.from_models(
        [stay, go], [[0, 0], [1, 1]], 0.5, domain="vertices", prior=prior
    )


def chances(belief: vbmle.Belief) -> list[float]:
    assert belief.probability is not None
    return belief.probability.tolist()


def test_a_belief_is_bayes_rule():
    agent = vbmle.PSRL(two([0.25, 0.75]))
    agent.observe(0, 1, 1)
    agent.observe(1, 0, 0)
    odds = 0.25 * 0.9 * 0.9, 0.75 * 0.3 * 0.2
    assert chances(agent.belief()) == pytest.approx([one / sum(odds) for one in odds], rel=1e-12)
    even = 0.9 * 0.9, 0.3 * 0.2
    assert chances(agent.belief(prior=[0.5, 0.5])) == pytest.approx(
        [one / sum(even) for one in even], rel=1e-12
    )


@pytest.mark.parametrize("sure", [0, 1])
def test_posterior_sampling_draws_only_what_has_prior_probability(sure: int):
    prior = [1.0 - sure, float(sure)]
    for seed in range(20):
        agent = vbmle.PSRL(two(prior), seed=seed)
        assert agent.act(0) == 1 - sure
        np.testing.assert_array_equal(agent.theta, prior)
