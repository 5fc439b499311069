"""Maximum likelihood: against another solver, the KKT conditions and closed forms; counts; bad input."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import (
    Problem,
    clarabel,
    cp,
    draw,
    likelihood_gradient,
    optimality,
    outside,
    problems,
    random_world,
    raw,
)
from small_worlds import EXAMPLES

from vbmle import LinearMixtureMDP, TransitionCounts, log_likelihood, maximum_likelihood, value_biased
from vbmle.estimation.maximiser import CONVERGED
from vbmle.worlds import riverswim

PROBLEMS = list(problems())
each_example = pytest.mark.parametrize("name", EXAMPLES)
seeds = st.integers(0, 2**20)


# ---- reference: another solver, and the conditions of optimality from the raw constraints


def test_there_are_hundreds_of_problems():
    assert len(PROBLEMS) >= 300


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
def test_the_maximum_is_the_one_that_clarabel_finds(problem: Problem):
    mdp = problem.world.mdp
    estimate = maximum_likelihood(mdp, problem.counts, problem.ridge)
    assert estimate.converged
    assert estimate.residual <= CONVERGED
    assert outside(mdp, estimate.theta) <= 1e-9
    best = clarabel(problem)
    assert estimate.objective == pytest.approx(best, rel=1e-6, abs=1e-6)
    here = log_likelihood(mdp, problem.counts, estimate.theta, problem.ridge)
    assert estimate.objective == pytest.approx(here, rel=1e-10, abs=1e-10)
    # The gap bounds how far the maximum is above; Clarabel itself is right to 1e-9 relative.
    assert best - estimate.objective <= estimate.gap + 1e-7 * (1.0 + abs(best))


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
def test_the_maximum_satisfies_the_kkt_conditions(problem: Problem):
    """With the best multipliers there are; the promise is for each number, so sqrt(terms) for their norm."""
    theta = maximum_likelihood(problem.world.mdp, problem.counts, problem.ridge).theta
    found = optimality(problem.world.mdp, theta, likelihood_gradient(problem, theta))
    assert found.residual <= CONVERGED * np.sqrt(found.terms) * found.scale


# ---- closed forms


@given(seed=seeds, steps=st.integers(0, 400))
def test_without_ridge_a_table_is_estimated_by_its_frequencies(seed: int, steps: int):
    """theta = n(s,a,s')/n(s,a): the curvature there is at least n(s,a), so theta is as good as the residual."""
    rng = np.random.default_rng(seed)
    support = rng.random((4, 2, 4)) < 0.7
    support[..., 0] = True
    mdp = LinearMixtureMDP.tabular(support, rng.random((4, 2)), 0.9)
    counts, table = TransitionCounts(mdp), np.zeros((4, 2, 4))
    for _ in range(steps):
        s, a = int(rng.integers(4)), int(rng.integers(2))
        following = int(rng.choice(np.nonzero(support[s, a])[0]))
        counts.add(s, a, following)
        table[s, a, following] += 1
    found = mdp.transition(maximum_likelihood(mdp, counts, ridge=0.0).theta)
    visited = table.sum(-1) > 0
    frequencies = table[visited] / table[visited].sum(-1, keepdims=True)
    assert isinstance(found, np.ndarray)
    np.testing.assert_allclose(found[visited], frequencies, rtol=0.0, atol=CONVERGED)


@given(seed=seeds, steps=st.integers(0, 400), ridge=st.sampled_from([0.0, 1.0]))
def test_one_hot_features_are_a_table(seed: int, steps: int, ridge: float):
    rng = np.random.default_rng(seed)
    table = LinearMixtureMDP.tabular(np.ones((3, 2, 3), dtype=bool), np.zeros((3, 2)), 0.9)
    features = np.eye(18).reshape(3, 2, 3, 18)
    raw_features = LinearMixtureMDP(features, np.zeros((3, 2)), 0.9)
    one, two = TransitionCounts(table), TransitionCounts(raw_features)
    for s, a, following in rng.integers(0, [3, 2, 3], (steps, 3)):
        one.add(s, a, following)
        two.add(s, a, following)
    np.testing.assert_allclose(
        maximum_likelihood(table, one, ridge).theta,
        maximum_likelihood(raw_features, two, ridge).theta,
        rtol=0.0,
        atol=2 * CONVERGED,
    )


def test_two_models_and_one_kind_of_data_have_a_formula():
    """p = theta_0 a + theta_1 b, a = .9, b = .2 for success: the share k/n of successes, clipped to [b, a]."""
    models = np.zeros((2, 2, 1, 2))
    models[:, 0, 0, 0], models[:, 1, 0, 0] = [0.9, 0.2], 0.5
    models[..., 1] = 1.0 - models[..., 0]
    mdp = LinearMixtureMDP.from_models(list(models), np.zeros((2, 1)), 0.9)
    for successes in range(11):
        counts = TransitionCounts(mdp)
        for following, times in ((0, successes), (1, 10 - successes)):
            if times:
                counts.add(0, 0, following, times)
        theta = maximum_likelihood(mdp, counts, ridge=0.0).theta
        assert 0.9 * theta[0] + 0.2 * theta[1] == pytest.approx(
            np.clip(successes / 10, 0.2, 0.9), abs=CONVERGED
        )


def test_one_base_model_leaves_nothing_to_estimate():
    world = EXAMPLES["one base model"]
    estimate = maximum_likelihood(world.mdp, draw(world, 50, np.random.default_rng(0)))
    np.testing.assert_allclose(estimate.theta, [1.0], atol=1e-10)
    assert estimate.converged


def shortest(mdp: LinearMixtureMDP) -> np.ndarray:
    """The point of P with the least norm."""
    lower, bound, equal, target = raw(mdp)
    theta = cp.Variable(mdp.dimension)
    program = cp.Problem(
        cp.Minimize(cp.sum_squares(theta)), [lower @ theta >= bound, equal @ theta == target]
    )
    program.solve(solver=cp.CLARABEL, tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12)
    return np.asarray(theta.value)


@each_example
def test_no_data_leave_the_shortest_point(name: str):
    """|theta|^2 is right to about 1e-12 there, so theta to its root."""
    mdp = EXAMPLES[name].mdp
    for ridge in (1e-3, 1.0, 1e3):
        found = maximum_likelihood(mdp, TransitionCounts(mdp), ridge)
        assert found.converged
        np.testing.assert_allclose(found.theta, shortest(mdp), rtol=0.0, atol=2e-6)


@pytest.mark.parametrize("ridge", [1e2, 1e4, 1e6])
@each_example
def test_a_large_ridge_leaves_nearly_the_shortest_point(name: str, ridge: float):
    """Concavity: |theta - shortest| <= |grad log-likelihood at the shortest| / ridge, where that is finite."""
    world = EXAMPLES[name]
    counts, point, rows = TransitionCounts(world.mdp), shortest(world.mdp), world.mdp.transitions
    for i in np.nonzero(rows.probabilities(point) > 0.01)[0]:
        counts.add(
            *divmod(int(rows.pair_of[i]), rows.num_actions), int(rows.successor[i]), times=1 + int(i) % 3
        )
    slope = np.linalg.norm(likelihood_gradient(Problem(name, world, counts, 0.0), point))
    found = maximum_likelihood(world.mdp, counts, ridge).theta
    assert np.linalg.norm(found - point) <= slope / ridge + 2e-6


# ---- laws


@given(seed=seeds)
def test_the_order_of_observations_does_not_matter(seed: int):
    world, rng = random_world(seed), np.random.default_rng(seed)
    seen = np.repeat(np.arange(world.mdp.transitions.count), draw(world, 60, rng).values.astype(int))
    rows = world.mdp.transitions
    estimates = []
    for _ in range(2):
        counts = TransitionCounts(world.mdp)
        for i in rng.permutation(seen):
            counts.add(*divmod(int(rows.pair_of[i]), world.mdp.num_actions), int(rows.successor[i]))
        estimates.append(
            [maximum_likelihood(world.mdp, counts), value_biased(world.mdp, counts, 0, 2.0, search="local")]
        )
    for one, two in zip(*estimates, strict=True):
        np.testing.assert_allclose(one.theta, two.theta, rtol=0.0, atol=1e-8)


@given(seed=seeds, times=st.integers(1, 50))
def test_seeing_the_same_again_with_more_ridge_changes_nothing(seed: int, times: int):
    """k times the counts and k times the ridge: k times the objective, the same maximiser."""
    world = random_world(seed)
    counts, many = draw(world, 30, np.random.default_rng(seed)), TransitionCounts(world.mdp)
    many.load_values(counts.values * times, counts.observed[: counts.num_observed])
    one, two = maximum_likelihood(world.mdp, counts), maximum_likelihood(world.mdp, many, ridge=float(times))
    assert two.objective == pytest.approx(times * one.objective, rel=1e-9)
    np.testing.assert_allclose(one.theta, two.theta, rtol=0.0, atol=1e-6)


@given(seed=seeds)
def test_the_likelihood_is_concave(seed: int):
    """Between the truth and the estimate, and nowhere above the estimate."""
    world, rng = random_world(seed), np.random.default_rng(seed)
    counts = draw(world, 40, rng)
    best = maximum_likelihood(world.mdp, counts)
    at = [log_likelihood(world.mdp, counts, w * best.theta + (1 - w) * world.theta) for w in (0.0, 0.5, 1.0)]
    noise = 1e-10 * (1.0 + abs(at[0]))
    assert at[1] >= 0.5 * (at[0] + at[2]) - noise
    assert at[0] <= best.objective + best.gap + noise


def test_many_times_at_once_are_as_many_times_one_by_one():
    mdp = EXAMPLES["simplex mixture"].mdp
    one, two = TransitionCounts(mdp), TransitionCounts(mdp)
    one.add(1, 0, 2, times=3)
    for _ in range(3):
        two.add(1, 0, 2)
    assert one.total == two.total == 3
    theta = mdp.polytope.interior
    assert log_likelihood(mdp, one, theta) == log_likelihood(mdp, two, theta)


# ---- what cannot happen


def test_a_transition_that_nobody_allows_is_refused_and_nothing_is_lost():
    world = riverswim(5)
    counts = draw(world, 30, np.random.default_rng(0))
    before = counts.values.copy(), counts.total, maximum_likelihood(world.mdp, counts).theta
    with pytest.raises(
        ValueError, match=re.escape("(s=0, a=0, s'=3) has probability 0 for every feasible theta")
    ):
        counts.add(0, 0, 3)
    np.testing.assert_array_equal(counts.values, before[0])
    assert counts.total == before[1] == 30
    np.testing.assert_array_equal(maximum_likelihood(world.mdp, counts).theta, before[2])
    counts.add(0, 0, 0)
    assert counts.total == 31


@pytest.mark.parametrize(
    ("name", "transition"),
    [("impossible transitions", (0, 0, 0)), ("flat by opposite inequalities", (0, 0, 0))],
)
def test_a_transition_that_is_listed_but_never_possible_is_refused(
    name: str, transition: tuple[int, int, int]
):
    """Declared impossible, or squeezed to probability 0 by the other constraints."""
    counts = TransitionCounts(EXAMPLES[name].mdp)
    with pytest.raises(ValueError, match=re.escape("(s=0, a=0, s'=0) has probability 0")):
        counts.add(*transition)
    assert counts.total == 0


@given(seed=seeds)
def test_a_transition_that_a_flat_set_forbids_is_refused(seed: int):
    """<a, theta> and -<a, theta> are both probabilities, so both are 0, whatever rounding makes of them."""
    rng, one = np.random.default_rng(seed), np.eye(4)[3]
    a, b = np.append(rng.normal(size=3), 0.0), np.append(0.3 * rng.normal(size=3), 0.5)
    features = np.zeros((2, 2, 2, 4))
    for (s, action), p in {(0, 0): a, (0, 1): -a, (1, 0): b, (1, 1): 0.5 * one}.items():
        features[s, action] = [p, one - p]
    counts = TransitionCounts(LinearMixtureMDP(features, np.zeros((2, 2)), 0.9))
    for action in (0, 1):
        with pytest.raises(ValueError, match="has probability 0 for every feasible theta"):
            counts.add(0, action, 0)
        counts.add(0, action, 1)
        counts.add(1, 0, action)
    assert counts.total == 4


def test_a_theta_that_forbids_what_was_seen_has_no_likelihood():
    mdp = riverswim(4).mdp
    counts = TransitionCounts(mdp)
    counts.add(0, 1, 1)
    stay = mdp.polytope.interior.copy()
    first, second = mdp.transitions.find(0, 1, 0), mdp.transitions.find(0, 1, 1)
    stay[[first, second]] = [1.0, 0.0]
    assert log_likelihood(mdp, counts, stay) == -np.inf
    assert np.isfinite(maximum_likelihood(mdp, counts).objective)


# ---- bad input


@pytest.mark.parametrize("bad", [-1e-9, -1.0, np.nan, np.inf])
def test_a_ridge_or_bias_that_is_negative_or_not_finite_is_refused(bad: float):
    world = EXAMPLES["simplex mixture"]
    counts = TransitionCounts(world.mdp)
    with pytest.raises(ValueError, match=r"ridge is .*; it needs a finite number that is at least 0"):
        maximum_likelihood(world.mdp, counts, ridge=bad)
    with pytest.raises(ValueError, match=r"ridge is .*; it needs a finite number that is at least 0"):
        log_likelihood(world.mdp, counts, world.theta, ridge=bad)
    with pytest.raises(ValueError, match=r"ridge is .*; it needs a finite number that is at least 0"):
        value_biased(world.mdp, counts, 0, 1.0, ridge=bad)
    with pytest.raises(ValueError, match=r"bias is .*; it needs a finite number that is at least 0"):
        value_biased(world.mdp, counts, 0, bad)


@pytest.mark.parametrize("state", [-1, 4, 1.5, True])
def test_a_state_out_of_range_is_refused(state):
    mdp = EXAMPLES["simplex mixture"].mdp
    with pytest.raises(ValueError, match=r"state is .*; it needs a whole number from 0 to 3"):
        value_biased(mdp, TransitionCounts(mdp), state, 1.0)


@pytest.mark.parametrize(
    ("transition", "message"),
    [
        ((4, 0, 0), "state is 4; it needs a whole number from 0 to 3"),
        ((0, 2, 0), "action is 2; it needs a whole number from 0 to 1"),
        ((0, 0, 4), "next_state is 4; it needs a whole number from 0 to 3"),
        ((0, -1, 0), "action is -1; it needs a whole number from 0 to 1"),
    ],
)
def test_a_transition_out_of_range_is_refused(transition: tuple[int, int, int], message: str):
    counts = TransitionCounts(EXAMPLES["simplex mixture"].mdp)
    with pytest.raises(ValueError, match=message):
        counts.add(*transition)
    assert counts.total == 0


@pytest.mark.parametrize("times", [0, -1, 1.5])
def test_a_number_of_times_that_is_no_number_of_times_is_refused(times):
    counts = TransitionCounts(EXAMPLES["simplex mixture"].mdp)
    with pytest.raises(ValueError, match=r"times is .*; it needs a whole number that is at least 1"):
        counts.add(0, 0, 0, times=times)
    assert counts.total == counts.num_observed == 0


def test_counts_of_another_model_are_refused():
    mdp, other = EXAMPLES["simplex mixture"].mdp, EXAMPLES["p_min"].mdp
    for call in (
        lambda: maximum_likelihood(mdp, TransitionCounts(other)),
        lambda: value_biased(mdp, TransitionCounts(other), 0, 1.0),
        lambda: log_likelihood(mdp, TransitionCounts(other), [0.5, 0.3, 0.2]),
    ):
        with pytest.raises(ValueError, match="counts belong to another model"):
            call()


def test_the_search_and_a_start_that_is_no_theta_are_checked():
    mdp = EXAMPLES["simplex mixture"].mdp
    with pytest.raises(ValueError, match="search is 'lucky'; it needs one of 'global', 'local'"):
        value_biased(mdp, TransitionCounts(mdp), 0, 1.0, search="lucky")
    with pytest.raises(ValueError, match=r"theta is nan at index \(0,\)"):
        value_biased(mdp, TransitionCounts(mdp), 0, 1.0, start=[np.nan, 0.5, 0.5])
