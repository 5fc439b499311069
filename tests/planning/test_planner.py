"""Planning: every method against plain NumPy and against QuantEcon, and the laws of the Bellman operator."""

from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from known_models import optimal, value_of
from refusals import refused
from scipy import sparse
from small_worlds import EXAMPLES

from vbmle import LinearMixtureMDP, Plan, evaluate, plan, value_iteration
from vbmle.core.planning import Planner

DISCOUNTS = [0.5, 0.9, 0.99, 0.999]
SIZES = [1, 2, 7, 59, 60, 61, 120]  # the own LU takes up to 60 states, the blocked one more
METHODS = ["policy-iteration", "modified-policy-iteration"]
TOLERANCE = 1e-8  # what `plan` and `value_iteration` promise unless told otherwise
EXACT = 1e-10  # what exact algebra is held to
seeds = st.integers(0, 2**20)


def quantecon_dp() -> Any:
    """QuantEcon's solver, imported where it is needed: with numba it takes three seconds."""
    from quantecon.markov import DiscreteDP

    return DiscreteDP


class Problem(NamedTuple):
    """A random mixture, and what it means in plain arrays: P (S, A, S), expected reward R (S, A)."""

    mdp: LinearMixtureMDP
    theta: np.ndarray
    P: np.ndarray
    R: np.ndarray

    @property
    def rounding(self) -> float:
        """A probability is known to eps, so rewards to eps/(1-gamma) and V to eps/(1-gamma)^2; times 8."""
        return 8.0 * np.finfo(float).eps / (1.0 - self.mdp.discount) ** 2


def problem(
    seed: int,
    states: int,
    discount: float,
    actions: int = 3,
    next_reward: bool = False,
    is_sparse: bool = False,
) -> Problem:
    """Three base models with at most four successors each where sparse, any number of them where dense."""
    rng = np.random.default_rng([seed, states])
    models = rng.dirichlet(np.full(states, 0.3), (3, states, actions))
    if is_sparse:
        models[models < np.sort(models)[..., -min(4, states) :].min(-1, keepdims=True)] = 0.0
        models /= models.sum(-1, keepdims=True)
    theta = rng.dirichlet(np.ones(3))
    reward = rng.random((states, actions, states) if next_reward else (states, actions))
    P = np.tensordot(theta, models, 1)
    R = (P * reward).sum(-1) if next_reward else reward
    flat = models.reshape(3, states * actions, states)
    if is_sparse:
        given = sparse.csr_array(reward.reshape(-1, states)) if next_reward else reward
        mdp = LinearMixtureMDP.from_models([sparse.csr_array(m) for m in flat], given, discount)
    else:
        mdp = LinearMixtureMDP.from_models(list(models), reward, discount)
    return Problem(mdp, theta, P, R)


def bellman(mdp: LinearMixtureMDP, theta: np.ndarray, V: np.ndarray) -> np.ndarray:
    """T V by the sweep that all iterative planners share."""
    planner = Planner(mdp.core, factors=False)
    planner.put(theta=theta, V=V)
    planner.assemble()
    planner.sweep()
    return planner.next.copy()


def assert_keeps_its_promise(result: Plan, exact: np.ndarray, tolerance: float, rounding: float) -> None:
    """Converged, within the bound it reports, and the bound within what was asked for."""
    assert result.converged
    assert result.error_bound <= tolerance
    assert np.abs(result.V - exact).max() <= result.error_bound + rounding


# ---- reference: the same answer from every method, from NumPy and from another library


def test_actions_that_tie_within_rounding_are_counted_in_the_bound():
    """Rewards of 1e-12: the better action is better by less than what counts as a tie, so the bound has to say it."""
    moves = [[[1.0, 0.0], [0.5, 0.5]], [[0.99, 0.01], [0.98, 0.02]]]
    reward = 1e-12 * np.array([[0.6, 0.0], [0.4, 0.4 + 4e-3]])
    mdp = LinearMixtureMDP.from_models([np.array(moves)], reward, 0.999)
    found = plan(mdp, [1.0], method="policy-iteration")
    exact = quantecon_dp()(1e12 * reward, np.array(moves), 0.999).solve("policy_iteration").v * 1e-12
    assert np.abs(found.V - exact).max() <= found.error_bound


@pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("next_reward", [False, True], ids=["r(s,a)", "r(s,a,s')"])
@pytest.mark.parametrize("discount", DISCOUNTS)
@pytest.mark.parametrize("states", SIZES)
def test_every_method_is_within_the_error_it_promises(
    states: int, discount: float, next_reward: bool, is_sparse: bool
):
    mdp, theta, P, R = case = problem(1, states, discount, next_reward=next_reward, is_sparse=is_sparse)
    exact = optimal(P, R, discount)
    for method in METHODS:
        result = plan(mdp, theta, method=method)
        assert_keeps_its_promise(result, exact, TOLERANCE, case.rounding)
        np.testing.assert_allclose(result.Q, R + discount * P @ result.V, atol=case.rounding)
        lost = exact - value_of(P, R, result.policy, discount)
        # Greedy for a V that is off by e: at most 2 gamma e/(1-gamma) is lost.
        assert lost.max() <= 2.0 * discount / (1.0 - discount) * (result.error_bound + case.rounding)


@pytest.mark.parametrize("discount", DISCOUNTS)
@pytest.mark.parametrize("states", [1, 7, 61])
def test_algorithm_2_is_within_the_error_it_promises(states: int, discount: float):
    mdp, theta, P, R = case = problem(2, states, discount, next_reward=True)
    result = value_iteration(mdp, theta)
    assert_keeps_its_promise(result, optimal(P, R, discount), TOLERANCE, case.rounding)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("tolerance", [10.0, 1.0, 1e-2, 1e-5])
def test_a_loose_tolerance_is_still_a_bound_on_the_error(tolerance: float, method: str):
    mdp, theta, P, R = case = problem(3, 12, 0.999)
    exact = optimal(P, R, 0.999)
    assert_keeps_its_promise(plan(mdp, theta, tolerance, method), exact, tolerance, case.rounding)
    assert_keeps_its_promise(value_iteration(mdp, theta, tolerance), exact, tolerance, case.rounding)


@pytest.mark.parametrize("discount", DISCOUNTS)
@pytest.mark.parametrize("states", [2, 20, 80])
def test_quantecon_agrees(states: int, discount: float):
    mdp, theta, P, R = case = problem(4, states, discount, actions=4)
    theirs = quantecon_dp()(R, P, discount).solve(method="policy_iteration")
    for method in METHODS:
        ours = plan(mdp, theta, method=method)
        np.testing.assert_allclose(ours.V, theirs.v, rtol=0.0, atol=ours.error_bound + case.rounding)
        np.testing.assert_array_equal(ours.policy, theirs.sigma)


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_kind_of_model_is_planned_for(name: str):
    """From the (S, A, S) array that the model hands out."""
    mdp, theta = EXAMPLES[name].mdp, EXAMPLES[name].theta
    moves = mdp.transition(theta)
    table = moves if isinstance(moves, np.ndarray) else moves.toarray()
    P = table.reshape(mdp.num_states, mdp.num_actions, mdp.num_states)
    if len(mdp.transition_reward):
        R = (P * mdp.transitions.dense(mdp.transition_reward)).sum(-1)
    else:
        R = mdp.pair_reward.reshape(mdp.num_states, mdp.num_actions)
    exact = optimal(P, R, mdp.discount)
    rounding = Problem(mdp, theta, P, R).rounding
    for result in (*(plan(mdp, theta, method=m) for m in METHODS), value_iteration(mdp, theta)):
        assert_keeps_its_promise(result, exact, TOLERANCE, rounding)
    choice = np.arange(mdp.num_states) % mdp.num_actions
    expected = value_of(P, R, choice, mdp.discount)
    np.testing.assert_allclose(evaluate(mdp, theta, choice), expected, rtol=0.0, atol=rounding)


def test_many_states_are_planned_for_without_dense_factors():
    """1,100 states take the sparse way, in `plan` and in `evaluate`, to the same promise."""
    mdp, theta, P, R = case = problem(5, 1100, 0.9, actions=2, is_sparse=True)
    result = plan(mdp, theta)
    assert_keeps_its_promise(result, optimal(P, R, 0.9), TOLERANCE, case.rounding)
    value_there = value_of(P, R, result.policy, 0.9)
    np.testing.assert_allclose(evaluate(mdp, theta, result.policy), value_there, atol=EXACT)


@pytest.mark.parametrize("discount", [0.5, 0.9, 0.99])
@pytest.mark.parametrize("next_reward", [False, True], ids=["r(s,a)", "r(s,a,s')"])
def test_evaluate_is_the_sum_of_discounted_rewards(discount: float, next_reward: bool):
    mdp, theta, P, R = problem(6, 9, discount, next_reward=next_reward)
    policy = np.random.default_rng(0).integers(0, 3, 9)
    step, reward = P[np.arange(9), policy], R[np.arange(9), policy]
    total, term = np.zeros(9), reward
    for _ in range(
        int(np.ceil(np.log(EXACT * (1 - discount)) / np.log(discount)))
    ):  # the rest is below EXACT
        total, term = total + term, discount * step @ term
    np.testing.assert_allclose(evaluate(mdp, theta, policy), total, rtol=0.0, atol=2 * EXACT)


# ---- laws


@given(seed=seeds, states=st.integers(1, 12), discount=st.sampled_from(DISCOUNTS))
def test_the_bellman_sweep_contracts(seed: int, states: int, discount: float):
    mdp, theta, P, R = case = problem(seed, states, discount)
    V, W = np.random.default_rng(seed).normal(0.0, 10.0, (2, states))
    ours = bellman(mdp, theta, V)
    np.testing.assert_allclose(ours, (R + discount * P @ V).max(1), rtol=0.0, atol=EXACT)
    change = np.abs(ours - bellman(mdp, theta, W)).max()
    assert change <= discount * np.abs(V - W).max() + case.rounding


@given(seed=seeds, states=st.integers(1, 12))
def test_the_bellman_sweep_is_monotone(seed: int, states: int):
    mdp, theta, _, _ = case = problem(seed, states, 0.9)
    rng = np.random.default_rng(seed)
    V = rng.normal(0.0, 10.0, states)
    more = V + rng.exponential(1.0, states) * rng.integers(0, 2, states)
    assert (bellman(mdp, theta, V) <= bellman(mdp, theta, more) + case.rounding).all()


@given(seed=seeds, sweeps=st.integers(1, 60))
def test_algorithm_2_comes_down_on_the_optimum_at_its_rate(seed: int, sweeps: int):
    """0 <= V_n - V* <= gamma^n/(1-gamma), never rising, and the error bound says so."""
    mdp, theta, P, R = case = problem(seed, 5, 0.9)
    exact = optimal(P, R, 0.9)
    now, later = value_iteration(mdp, theta, sweeps=sweeps), value_iteration(mdp, theta, sweeps=sweeps + 1)
    assert (now.V - later.V).min() >= -case.rounding
    assert (later.V - exact).min() >= -case.rounding
    assert np.abs(now.V - exact).max() <= min(0.9**sweeps / 0.1, now.error_bound) + case.rounding
    assert now.converged == (now.error_bound <= TOLERANCE)


@given(seed=seeds, shift=st.floats(0.0, 0.5), discount=st.sampled_from(DISCOUNTS), next_reward=st.booleans())
def test_more_reward_everywhere_is_worth_its_discounted_sum(
    seed: int, shift: float, discount: float, next_reward: bool
):
    """r + c is worth c/(1-gamma) more, and changes no decision."""
    rng = np.random.default_rng(seed)
    models, theta = rng.dirichlet(np.ones(5), (2, 5, 3)), [0.4, 0.6]
    reward = 0.5 * rng.random((5, 3, 5) if next_reward else (5, 3))
    low = LinearMixtureMDP.from_models(list(models), reward, discount)
    high = LinearMixtureMDP.from_models(list(models), reward + shift, discount)
    for method in METHODS:
        one, two = plan(low, theta, method=method), plan(high, theta, method=method)
        bound = one.error_bound + two.error_bound + 8.0 * np.finfo(float).eps / (1.0 - discount) ** 2
        np.testing.assert_allclose(two.V, one.V + shift / (1.0 - discount), rtol=0.0, atol=bound)


@given(seed=seeds, states=st.integers(1, 15), discount=st.sampled_from(DISCOUNTS))
def test_the_names_of_states_do_not_matter(seed: int, states: int, discount: float):
    rng = np.random.default_rng(seed)
    models = rng.dirichlet(np.ones(states), (2, states, 2))
    reward, order = rng.random((states, 2, states)), rng.permutation(states)
    mdp = LinearMixtureMDP.from_models(list(models), reward, discount)
    renamed = LinearMixtureMDP.from_models(
        list(models[:, order][..., order]), reward[order][..., order], discount
    )
    one, two = plan(mdp, [0.3, 0.7]), plan(renamed, [0.3, 0.7])
    bound = one.error_bound + two.error_bound + 8.0 * np.finfo(float).eps / (1.0 - discount) ** 2
    np.testing.assert_allclose(two.V, one.V[order], rtol=0.0, atol=bound)
    policy = rng.integers(0, 2, states)
    there = evaluate(renamed, [0.3, 0.7], policy[order])
    np.testing.assert_allclose(there, evaluate(mdp, [0.3, 0.7], policy)[order], rtol=0.0, atol=bound)


@given(seed=seeds)
def test_no_policy_is_worth_more_than_the_plan(seed: int):
    mdp, theta, _, _ = case = problem(seed, 6, 0.99)
    best = plan(mdp, theta)
    worth = evaluate(mdp, theta, np.random.default_rng(seed).integers(0, 3, 6))
    assert (worth <= best.V + best.error_bound + case.rounding).all()
    np.testing.assert_allclose(evaluate(mdp, theta, best.policy), best.V, rtol=0.0, atol=case.rounding)


# ---- reductions


def test_without_a_future_the_best_reward_is_taken():
    mdp, theta, _, R = problem(7, 10, 1e-9)
    for result in (*(plan(mdp, theta, method=m) for m in METHODS), value_iteration(mdp, theta)):
        np.testing.assert_array_equal(result.policy, R.argmax(1))
        # What follows is worth at most gamma/(1-gamma).
        np.testing.assert_allclose(result.V, R.max(1), rtol=0.0, atol=1e-9 / (1 - 1e-9) + result.error_bound)


def test_one_base_model_is_that_model():
    _, _, P, R = case = problem(8, 10, 0.9)
    alone = LinearMixtureMDP.from_models([P], R, 0.9)
    table = LinearMixtureMDP.tabular(P > 0.0, R, 0.9)
    mixed = plan(case.mdp, case.theta)
    for result in (plan(alone, [1.0]), plan(table, P[P > 0.0])):
        np.testing.assert_allclose(result.V, mixed.V, rtol=0.0, atol=case.rounding)
        np.testing.assert_array_equal(result.policy, mixed.policy)


def test_actions_that_differ_by_rounding_are_settled_by_their_number():
    """Every action comes twice, the second time with a reward that is higher by two units of rounding."""
    _, _, P, R = problem(9, 6, 0.9)
    reward = np.repeat(R, 2, axis=1)
    reward[:, 1::2] *= 1.0 + 2.0 * np.finfo(float).eps
    twice = LinearMixtureMDP.from_models([np.repeat(P, 2, axis=1)], reward, 0.9)
    single = LinearMixtureMDP.from_models([P], R, 0.9)
    for method in METHODS:
        policy = plan(twice, [1.0], method=method).policy
        np.testing.assert_array_equal(policy, 2 * plan(single, [1.0], method=method).policy)


# ---- bad input: one ValueError each, that says what


@pytest.mark.parametrize("solve", [plan, value_iteration, lambda m, t: evaluate(m, t, np.zeros(4, int))])
def test_a_theta_outside_the_feasible_set_is_refused(solve):
    mdp = EXAMPLES["simplex mixture"].mdp
    with refused("theta", "0.1"):
        solve(mdp, [0.6, 0.5, -0.1])
    with refused("theta", "(2,)", "(3,)"):
        solve(mdp, [0.5, 0.5])
    with refused("theta", "nan", "(1,)"):
        solve(mdp, [0.5, np.nan, 0.5])


@pytest.mark.parametrize(
    ("policy", "facts"),
    [
        ([0, 0, 2, 0], ("policy", "2", "actions", "0", "1")),
        ([0, -1, 0, 0], ("policy", "-1", "1", "actions", "0")),
        ([0, 0, 0], ("policy", "(3,)", "(4,)")),
        ([0.0, 0.0, 0.0, 1.0], ("policy", "float64", "whole numbers")),
    ],
)
def test_a_policy_out_of_range_is_refused(policy: list[float], facts: tuple[str, ...]):
    world = EXAMPLES["simplex mixture"]
    with refused(*facts):
        evaluate(world.mdp, world.theta, policy)


@pytest.mark.parametrize("solve", [plan, value_iteration])
@pytest.mark.parametrize("tolerance", [0.0, -1e-8, np.nan, np.inf])
def test_a_tolerance_that_is_no_positive_number_is_refused(solve, tolerance: float):
    world = EXAMPLES["simplex mixture"]
    with refused("tolerance", "finite"):
        solve(world.mdp, world.theta, tolerance)


def test_unknown_methods_and_numbers_of_sweeps_are_refused():
    world = EXAMPLES["simplex mixture"]
    with refused("method", "'magic'", "'policy-iteration'"):
        plan(world.mdp, world.theta, method="magic")
    with refused("sweeps", "0", "1", "whole number"):
        value_iteration(world.mdp, world.theta, sweeps=0)
