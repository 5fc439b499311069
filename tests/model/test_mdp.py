"""Models: four ways to build one that agree where they should, and what they leave alone."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from small_worlds import EXAMPLES

from vbmle.model.mdp import LinearMixtureMDP
from vbmle.model.world import World

EXACT = 1e-12  # sums of a handful of numbers of size one


def stochastic(seed: int, *shape: int) -> np.ndarray:
    """Random distributions over the last axis."""
    return np.random.default_rng(seed).dirichlet(np.ones(shape[-1]), shape[:-1])


MODELS = stochastic(1, 3, 4, 2, 4)  # three base models, four states, two actions
FEATURES = np.moveaxis(MODELS, 0, -1)
REWARD = np.random.default_rng(2).random((4, 2))
REWARD_NEXT = np.random.default_rng(3).random((4, 2, 4))


def dense(matrix: Any, mdp: LinearMixtureMDP) -> np.ndarray:
    array = matrix.toarray() if sparse.issparse(matrix) else np.asarray(matrix)
    return array.reshape(mdp.num_states, mdp.num_actions, mdp.num_states)


# ---- what a model says


def test_transition_is_the_inner_product():
    mdp = LinearMixtureMDP(FEATURES, REWARD, 0.9)
    theta = np.array([0.5, 0.7, -0.2])  # not on the simplex: transition() takes any theta
    expected = np.array(
        [[[sum(FEATURES[s, a, t] * theta) for t in range(4)] for a in range(2)] for s in range(4)]
    )
    np.testing.assert_allclose(dense(mdp.transition(theta), mdp), expected, atol=EXACT)


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_example_is_a_markov_chain_for_its_truth(name: str):
    world = EXAMPLES[name]
    p = dense(world.mdp.transition(world.theta), world.mdp)
    assert p.min() >= -EXACT
    np.testing.assert_allclose(p.sum(axis=2), 1.0, atol=1e-11)  # features below 1e-12 count as none
    assert world.mdp.contains(world.theta)
    assert world.mdp.contains(world.mdp.polytope.interior)


def test_default_domains():
    assert LinearMixtureMDP(FEATURES, REWARD, 0.9).domain == "polytope"
    assert LinearMixtureMDP.from_models(list(MODELS), REWARD, 0.9).domain == "simplex"


def test_the_simplex_is_smaller_than_the_polytope():
    flipped = np.array([1.0 + 1e-3, -1e-3, 0.0])  # every entry of these models stays positive
    assert LinearMixtureMDP(FEATURES, REWARD, 0.9).contains(flipped)
    assert not LinearMixtureMDP.from_models(list(MODELS), REWARD, 0.9).contains(flipped)


def test_contains_takes_a_tolerance():
    mdp = LinearMixtureMDP.from_models(list(MODELS), REWARD, 0.9)
    off = np.array([0.5, 0.5 + 1e-6, 0.0])
    assert not mdp.contains(off)
    assert mdp.contains(off, tol=1e-5)


def test_features_below_the_threshold_count_as_impossible():
    features = FEATURES.copy()
    features[0, 0] = [[1.0, 1.0, 1.0], [9e-13, 0.0, -9e-13], [2e-12, 0.0, 0.0], [0.0, 0.0, 0.0]]
    mdp = LinearMixtureMDP(features, REWARD, 0.9)
    assert [mdp.transitions.find(0, 0, t) >= 0 for t in range(4)] == [True, False, True, False]


# ---- reductions: one model, several spellings


def test_one_hot_features_are_the_tabular_model():
    support = np.random.default_rng(4).random((4, 2, 4)) < 0.6
    support[..., 0] = True
    one_hot = np.zeros((4, 2, 4, support.sum()))
    one_hot[support] = np.eye(support.sum())
    raw = LinearMixtureMDP(one_hot, REWARD, 0.9)
    tabular = LinearMixtureMDP.tabular(support, REWARD, 0.9)
    assert raw.dimension == tabular.dimension == support.sum()
    assert raw.polytope.dimension == tabular.polytope.dimension == support.sum() - 8
    theta = tabular.polytope.interior
    np.testing.assert_allclose(dense(raw.transition(theta), raw), dense(tabular.transition(theta), tabular))
    np.testing.assert_allclose(dense(tabular.transition(theta), tabular)[support], theta)


def test_sparse_support_is_the_dense_one():
    support = np.random.default_rng(4).random((4, 2, 4)) < 0.6
    support[..., 0] = True
    one = LinearMixtureMDP.tabular(support, REWARD, 0.9)
    two = LinearMixtureMDP.tabular(sparse.csr_array(support.reshape(8, 4)), REWARD, 0.9)
    theta = one.polytope.interior
    assert sparse.issparse(two.transition(theta))
    np.testing.assert_array_equal(dense(one.transition(theta), one), dense(two.transition(theta), two))


@pytest.mark.parametrize("reward", [REWARD, REWARD_NEXT], ids=["r(s,a)", "r(s,a,s')"])
@pytest.mark.parametrize("domain", ["simplex", "polytope"])
def test_sparse_base_models_are_the_dense_ones(reward: np.ndarray, domain: str):
    thin = np.where(MODELS > 0.15, MODELS, 0.0)
    thin /= thin.sum(axis=3, keepdims=True)
    one = LinearMixtureMDP.from_models(list(thin), reward, 0.9, domain=domain)
    two = LinearMixtureMDP.from_models(
        [sparse.csr_array(m.reshape(8, 4)) for m in thin], reward, 0.9, domain=domain
    )
    theta = np.array([0.2, 0.3, 0.5])
    assert sparse.issparse(two.transition(theta))
    np.testing.assert_allclose(
        dense(one.transition(theta), one), dense(two.transition(theta), two), atol=EXACT
    )
    np.testing.assert_array_equal(one.transitions.successor, two.transitions.successor)
    np.testing.assert_array_equal(one.transition_reward, two.transition_reward)
    assert one.polytope.dimension == two.polytope.dimension


def test_sparse_reward_is_the_dense_one():
    models = [sparse.csr_array(m.reshape(8, 4)) for m in MODELS]
    one = LinearMixtureMDP.from_models(models, REWARD_NEXT, 0.9)
    two = LinearMixtureMDP.from_models(models, sparse.csr_array(REWARD_NEXT.reshape(8, 4)), 0.9)
    np.testing.assert_array_equal(one.transition_reward, two.transition_reward)


def test_bilinear_with_one_hot_parts_is_the_tabular_model():
    bilinear = LinearMixtureMDP.bilinear(np.eye(8).reshape(4, 2, 8), np.eye(4), REWARD, 0.9)
    tabular = LinearMixtureMDP.tabular(np.ones((4, 2, 4), dtype=bool), REWARD, 0.9)
    theta = MODELS[0].reshape(-1)
    assert bilinear.polytope.dimension == tabular.polytope.dimension == 8 * 3
    np.testing.assert_allclose(dense(bilinear.transition(theta), bilinear), MODELS[0], atol=EXACT)
    np.testing.assert_allclose(dense(tabular.transition(theta), tabular), MODELS[0], atol=EXACT)


@given(st.integers(0, 2**20))
def test_bilinear_is_the_matrix_product(seed: int):
    rng = np.random.default_rng(seed)
    psi, mu = stochastic(seed, 3, 2, 2), stochastic(seed + 1, 2, 3).T
    M = rng.dirichlet(np.ones(2), 2)
    mdp = LinearMixtureMDP.bilinear(psi, mu, np.zeros((3, 2)), 0.9)
    expected = [[psi[s, a] @ M @ mu.T for a in range(2)] for s in range(3)]
    np.testing.assert_allclose(dense(mdp.transition(M.reshape(-1)), mdp), expected, atol=EXACT)
    assert mdp.contains(M.reshape(-1))


@given(st.permutations(range(4)))
def test_permuting_states_permutes_the_model(order: list[int]):
    mdp = LinearMixtureMDP(FEATURES, REWARD, 0.9)
    moved = LinearMixtureMDP(FEATURES[np.ix_(order, range(2), order)], REWARD[order], 0.9)
    theta = np.array([0.2, 0.3, 0.5])
    expected = dense(mdp.transition(theta), mdp)[np.ix_(order, range(2), order)]
    np.testing.assert_allclose(dense(moved.transition(theta), moved), expected, atol=EXACT)
    assert moved.polytope.dimension == mdp.polytope.dimension


# ---- rewards


def test_reward_by_pair_and_by_transition():
    by_pair = LinearMixtureMDP(FEATURES, REWARD, 0.9)
    by_transition = LinearMixtureMDP(FEATURES, REWARD_NEXT, 0.9)
    np.testing.assert_array_equal(by_pair.pair_reward, REWARD.reshape(-1))
    assert len(by_pair.transition_reward) == 0
    i = by_transition.transitions.find(2, 1, 3)
    assert by_transition.transition_reward[i] == REWARD_NEXT[2, 1, 3]


@given(st.floats(-100, 100), st.floats(1.5, 1000))
def test_normalised_rewards_span_the_unit_interval_and_map_back(low: float, width: float):
    reward = low + width * (REWARD - REWARD.min()) / np.ptp(REWARD)
    mdp = LinearMixtureMDP(FEATURES, reward, 0.9, normalise_reward=True)
    assert (mdp.pair_reward.min(), mdp.pair_reward.max()) == (0.0, 1.0)
    back = mdp.reward_offset + mdp.reward_scale * mdp.pair_reward
    np.testing.assert_allclose(back, reward.reshape(-1), atol=1e-12 * (abs(low) + width))


def test_rewards_in_range_are_never_rescaled():
    mdp = LinearMixtureMDP(FEATURES, REWARD, 0.9, normalise_reward=True)
    assert (mdp.reward_offset, mdp.reward_scale) == (0.0, 1.0)
    np.testing.assert_array_equal(mdp.pair_reward, REWARD.reshape(-1))


def test_a_constant_reward_out_of_range_can_be_normalised():
    mdp = LinearMixtureMDP(FEATURES, np.full((4, 2), 7.0), 0.9, normalise_reward=True)
    assert (mdp.pair_reward == 0.0).all()
    assert mdp.reward_offset == 7.0


# ---- the caller's arrays


@pytest.mark.parametrize("reward", [10 * REWARD, 10 * REWARD_NEXT], ids=["r(s,a)", "r(s,a,s')"])
def test_the_callers_arrays_are_never_changed(reward: np.ndarray):
    given = [FEATURES.copy(), reward.copy(), np.full(4, 0.25), np.zeros((4, 2, 4), dtype=bool)]
    kept = [array.copy() for array in given]
    features, reward, initial, impossible = given
    mdp = LinearMixtureMDP(
        features, reward, 0.9, impossible=impossible, initial=initial, normalise_reward=True
    )
    World(mdp, [0.2, 0.3, 0.5])
    for array, before in zip(given, kept, strict=True):
        np.testing.assert_array_equal(array, before)
        assert array.flags.writeable


def test_later_changes_by_the_caller_do_not_reach_the_model():
    features, theta = FEATURES.copy(), np.array([0.2, 0.3, 0.5])
    mdp = LinearMixtureMDP(features, REWARD, 0.9)
    world = World(mdp, theta)
    before = mdp.fingerprint()
    features[:] = 0.0
    theta[:] = 0.0
    assert mdp.fingerprint() == before
    np.testing.assert_array_equal(world.theta, [0.2, 0.3, 0.5])


def test_the_reward_is_what_was_given():
    """In the user's units, in the form that was given, whether it was mapped or not."""
    rng = np.random.default_rng(5)
    models = [stochastic(seed, 3, 2, 3) for seed in (1, 2)]
    allowed = np.array([[True, True], [True, False], [True, True]])
    euros = rng.uniform(-40.0, 90.0, (3, 2))
    mdp = LinearMixtureMDP.from_models(models, euros, 0.9, normalise_reward=True, allowed=allowed)
    np.testing.assert_allclose(mdp.reward, np.where(allowed, euros, np.nan), rtol=1e-12)
    by_next = rng.uniform(-40.0, 90.0, (3, 2, 3))
    mdp = LinearMixtureMDP.from_models(models, by_next, 0.9, normalise_reward=True, allowed=allowed)
    np.testing.assert_allclose(mdp.reward, np.where(allowed[:, :, None], by_next, np.nan), rtol=1e-12)
    flat = [sparse.csr_array(model.reshape(6, 3)) for model in models]
    mdp = LinearMixtureMDP.from_models(flat, by_next, 0.9, normalise_reward=True)
    assert sparse.issparse(mdp.reward)
    np.testing.assert_allclose(dense(mdp.reward, mdp), by_next, rtol=1e-12)


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_every_example_has_its_reward(name: str):
    mdp = EXAMPLES[name].mdp
    reward: Any = mdp.reward
    table = reward.toarray() if sparse.issparse(reward) else np.asarray(reward)
    if table.size == mdp.num_states * mdp.num_actions:
        given = table.ravel()
        known = mdp.pair_reward
    else:
        given = table.reshape(mdp.num_states * mdp.num_actions, -1)[
            mdp.transitions.pair_of, mdp.transitions.successor
        ]
        known = mdp.transition_reward
    counted = np.isfinite(given)
    np.testing.assert_allclose(
        (given - mdp.reward_offset)[counted] / mdp.reward_scale, known[counted], atol=1e-12
    )
