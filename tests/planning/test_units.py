"""Values in the units of the reward that was given."""

from typing import Any

import numpy as np
import pytest

import vbmle

RNG = np.random.default_rng(3)
MODELS = list(RNG.dirichlet(np.ones(3), (2, 3, 2)))
EUROS = RNG.uniform(-40.0, 90.0, (3, 2))
THETA = [0.4, 0.6]
from_models = vbmle.LinearMixtureMDP.from_models


def discounted(policy: np.ndarray) -> np.ndarray:
    """The discounted euros of a policy, by solving its linear equations."""
    p = 0.4 * MODELS[0] + 0.6 * MODELS[1]
    pick = np.arange(3)
    return np.asarray(np.linalg.solve(np.eye(3) - 0.9 * p[pick, policy], EUROS[pick, policy]))


def test_a_plan_speaks_in_euros_where_euros_were_given():
    mdp = from_models(MODELS, EUROS, 0.9, normalise_reward=True)
    found = vbmle.plan(mdp, THETA)
    np.testing.assert_allclose(found.value, discounted(found.policy), atol=1e-8)
    p = 0.4 * MODELS[0] + 0.6 * MODELS[1]
    np.testing.assert_allclose(found.action_value, EUROS + 0.9 * p @ found.value, atol=1e-7)
    assert found.value_error == pytest.approx(found.error_bound * np.ptp(EUROS))
    assert 0.0 <= found.V.min() <= found.V.max() <= 10.0  # of the reward in [0, 1], as before
    policy = np.array([1, 0, 1])
    np.testing.assert_allclose(
        mdp.in_units(vbmle.evaluate(mdp, THETA, policy)), discounted(policy), atol=1e-8
    )
    swept = vbmle.value_iteration(mdp, THETA, tolerance=1e-9)
    np.testing.assert_allclose(swept.value, found.value, atol=1e-6)


def test_an_estimate_speaks_in_euros_too():
    mdp = from_models(MODELS, EUROS, 0.9, normalise_reward=True)
    found = vbmle.value_biased(mdp, vbmle.TransitionCounts(mdp), state=0, bias=1.0)
    assert found.value is not None
    np.testing.assert_allclose(found.value, vbmle.plan(mdp, found.theta).value, atol=1e-6)
    assert vbmle.maximum_likelihood(mdp, vbmle.TransitionCounts(mdp)).value is None


def test_rewards_in_the_unit_interval_are_left_as_they_are():
    mdp = from_models(MODELS, RNG.random((3, 2)), 0.9)
    found = vbmle.plan(mdp, THETA)
    np.testing.assert_array_equal(found.value, found.V)
    np.testing.assert_array_equal(found.action_value, found.Q)
    known = vbmle.plan_known(MODELS[0], EUROS, 0.9)  # planned with as it is
    np.testing.assert_array_equal(known.value, known.V)


def test_the_confidence_interval_is_in_euros_too():
    mdp = from_models(MODELS, EUROS, 0.9, normalise_reward=True)
    agent = vbmle.MaximumLikelihood(mdp)
    vbmle.simulate(agent, vbmle.World(mdp, THETA), 300)
    low, high = agent.confidence().interval(1)
    assert low <= vbmle.plan(mdp, THETA).value[1] <= high


def test_a_plan_is_a_frame_in_euros_by_name():
    allowed = np.array([[True, True], [True, False], [True, True]])
    names: dict[str, Any] = {"state_names": ["a", "b", "c"], "action_names": ["stay", "go"]}
    mdp = from_models(MODELS, EUROS, 0.9, normalise_reward=True, allowed=allowed, **names)
    found = vbmle.plan(mdp, THETA)
    frame = found.to_frame()
    pairs = list(zip(frame["state"], frame["action"], strict=True))
    assert pairs == [("a", "stay"), ("a", "go"), ("b", "stay"), ("c", "stay"), ("c", "go")]
    best = frame.filter("best")
    np.testing.assert_array_equal(best["value"], found.value)
    np.testing.assert_allclose(best["action_value"], discounted(found.policy), atol=1e-8)
    assert best["action"].to_list() == [("stay", "go")[a] for a in found.policy]


def test_the_plan_of_a_model_without_names_is_a_frame_of_numbers():
    found = vbmle.plan_known(MODELS[0], EUROS, 0.9)
    frame = found.to_frame()
    assert frame["state"].to_list() == [0, 0, 1, 1, 2, 2]
    np.testing.assert_array_equal(frame["action_value"], found.Q.ravel())


def test_counts_are_a_frame_of_what_was_seen():
    names: dict[str, Any] = {"state_names": ["a", "b", "c"], "action_names": ["stay", "go"]}
    counts = vbmle.TransitionCounts(from_models(MODELS, EUROS, 0.9, normalise_reward=True, **names))
    for transition in ((2, 0, 1), (0, 1, 2), (2, 0, 1)):
        counts.add(*transition)
    assert counts.to_frame().rows() == [("a", "go", "c", 1.0), ("c", "stay", "b", 2.0)]
