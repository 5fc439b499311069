"""Planning in the core: every way against plain NumPy, the laws of the Bellman operator, promises that are kept."""

import gc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from known_models import EPS, Known, known
from small_worlds import EXAMPLES

from vbmle import LinearMixtureMDP
from vbmle.core.model import Model
from vbmle.core.planning import Planner, sweep_precision
from vbmle.worlds import random_network

DISCOUNTS = [0.5, 0.9, 0.99, 0.999]
SIZES = [1, 2, 7, 15, 16, 17, 59, 61, 120]  # up to 16 states are factored in registers
EXACT = 1e-10  # what exact algebra is held to
seeds = st.integers(0, 2**20)


def handle(mdp: LinearMixtureMDP) -> Model:
    return mdp.core


# ---- the same answer from every way, and from NumPy


@pytest.mark.parametrize("forbidden", [0.0, 0.4], ids=["all allowed", "some not"])
@pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("discount", DISCOUNTS)
@pytest.mark.parametrize("states", SIZES)
def test_every_way_is_within_the_error_it_promises(
    states: int, discount: float, is_sparse: bool, forbidden: float
):
    """From a policy that is allowed in part only; NaN and infinity stay away."""
    case = known(1, states, discount, is_sparse=is_sparse, forbidden=forbidden)
    exact, tolerance = case.optimal(), 1e-8
    for factors in (True, False):
        planner = case.planner(factors)
        planner.put(policy=0)
        error = planner.optimal() if factors else planner.iterate(tolerance)
        assert error <= tolerance
        assert np.abs(planner.V - exact).max() <= error + case.rounding
        assert np.isfinite(case.R[np.arange(states), planner.policy]).all()
        planner.settle()
        np.testing.assert_allclose(planner.Q, case.R + discount * case.P @ planner.V, atol=case.rounding)
        lost = exact - case.value_of(planner.policy)
        assert lost.max() <= 2.0 * discount / (1.0 - discount) * (error + case.rounding)
        planner.evaluate()
        bound = sweep_precision(discount) + case.rounding
        np.testing.assert_allclose(planner.V, case.value_of(planner.policy), rtol=0.0, atol=bound)


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_kind_of_model_is_planned_for(name: str):
    """Rewards of the next state included; from theta, and with a policy held."""
    world = EXAMPLES[name]
    mdp, states = world.mdp, world.mdp.num_states
    P = mdp.transitions.dense(mdp.transitions.probabilities(world.theta))
    if len(mdp.transition_reward):
        R = (P * mdp.transitions.dense(mdp.transition_reward)).sum(-1)
    else:
        R = mdp.pair_reward.reshape(states, mdp.num_actions)
    case = Known(P, R, mdp.discount)
    held = np.arange(states) % mdp.num_actions
    for factors in (True, False):
        planner = Planner(handle(mdp), factors)
        planner.put(theta=world.theta)
        planner.assemble()
        assert planner.broken_pair() == -1
        error = planner.optimal()
        assert np.abs(planner.V - case.optimal()).max() <= error + case.rounding
        planner.put(policy=held)
        planner.evaluate()
        bound = sweep_precision(mdp.discount) + case.rounding
        np.testing.assert_allclose(planner.V, case.value_of(held), rtol=0.0, atol=bound)


@pytest.mark.parametrize("tolerance", [10.0, 1.0, 1e-2, 1e-5])
def test_a_loose_tolerance_is_still_a_bound_on_the_error(tolerance: float):
    case = known(3, 12, 0.999)
    exact, planner = case.optimal(), case.planner(factors=False)
    error = planner.iterate(tolerance)
    assert error <= tolerance
    assert np.abs(planner.V - exact).max() <= error + case.rounding
    policy = planner.policy.copy()
    planner.put(V=0.0)
    error = planner.evaluate_to(tolerance)
    assert error <= tolerance
    assert np.abs(planner.V - case.value_of(policy)).max() <= error + case.rounding


def test_few_sweeps_promise_what_they_reached():
    case = known(4, 30, 0.99, is_sparse=True)
    exact, planner = case.optimal(), case.planner(factors=False)
    for most in (1, 2, 5, 20):
        planner.put(V=0.0, policy=0)
        error = planner.iterate(1e-9, most)
        assert np.abs(planner.V - exact).max() <= error + case.rounding


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_floor_is_a_plan_and_its_gradient(name: str):
    """Against differences of V for the policy it found, and against its parts."""
    world = EXAMPLES[name]
    mdp, planner = world.mdp, Planner(handle(world.mdp), factors=True)
    planner.put(theta=world.theta)
    planner.floor(0)
    slope, policy, V = planner.gradient.copy(), planner.policy.copy(), planner.V.copy()
    planner.assemble()
    assert planner.optimal() <= 1e-9
    np.testing.assert_array_equal(planner.policy, policy)
    np.testing.assert_array_equal(planner.V, V)
    for direction in np.random.default_rng(0).normal(size=(3, mdp.dimension)):
        ends = []
        for step in (1e-6, -1e-6):
            planner.put(theta=world.theta + step * direction)
            planner.assemble()
            planner.put(policy=policy)
            planner.evaluate()
            ends.append(planner.V[0])
        assert (ends[0] - ends[1]) / 2e-6 == pytest.approx(
            slope @ direction, rel=1e-4, abs=1e-4 * np.abs(slope).max()
        )


# ---- laws


@given(
    seed=seeds,
    states=st.integers(1, 12),
    discount=st.sampled_from(DISCOUNTS),
    forbidden=st.sampled_from([0.0, 0.5]),
)
def test_the_bellman_sweep_contracts(seed: int, states: int, discount: float, forbidden: float):
    case = known(seed, states, discount, forbidden=forbidden)
    planner, after = case.planner(factors=False), []
    before = np.random.default_rng(seed).normal(0.0, 10.0, (2, states))
    for V in before:
        planner.put(V=V)
        planner.sweep()
        np.testing.assert_allclose(
            planner.next, (case.R + discount * case.P @ V).max(1), rtol=0.0, atol=EXACT
        )
        change = planner.next - V
        np.testing.assert_allclose(planner.change, [change.min(), change.max()], rtol=0.0, atol=0.0)
        after.append(planner.next.copy())
    assert np.abs(after[0] - after[1]).max() <= discount * np.abs(before[0] - before[1]).max() + case.rounding


@given(seed=seeds, states=st.integers(1, 12))
def test_the_bellman_sweep_is_monotone(seed: int, states: int):
    case, rng = known(seed, states, 0.9), np.random.default_rng(seed)
    planner, V = case.planner(factors=True), rng.normal(0.0, 10.0, states)
    planner.put(V=V)
    planner.sweep()
    less = planner.next.copy()
    planner.put(V=V + rng.exponential(1.0, states) * rng.integers(0, 2, states))
    planner.sweep()
    assert (less <= planner.next + case.rounding).all()


@given(seed=seeds, states=st.integers(1, 15), discount=st.sampled_from(DISCOUNTS))
def test_the_names_of_states_do_not_matter(seed: int, states: int, discount: float):
    case = known(seed, states, discount, is_sparse=True)
    order = np.random.default_rng(seed).permutation(states)
    renamed = Known(case.P[order][..., order], case.R[order], discount)
    for factors in (True, False):
        one, two = case.planner(factors), renamed.planner(factors)
        bound = one.optimal() + two.optimal() + 8.0 * EPS / (1.0 - discount) ** 2
        np.testing.assert_allclose(two.V, one.V[order], rtol=0.0, atol=bound)


def test_the_action_in_force_stays_where_others_tie():
    case = known(5, 8, 0.9)
    twice = Known(np.repeat(case.P, 2, axis=1), np.repeat(case.R, 2, axis=1), 0.9)
    for factors in (True, False):
        planner = twice.planner(factors)
        planner.put(policy=1)
        planner.optimal()
        best = planner.policy.copy()
        planner.put(policy=best ^ 1)  # the twin of each action
        planner.optimal()
        np.testing.assert_array_equal(planner.policy, best ^ 1)
        planner.settle()
        np.testing.assert_array_equal(planner.policy, best & ~1)  # the lower of both


def test_two_planners_on_one_model_are_equal_in_two_threads():
    case = known(6, 120, 0.99)
    model = case.model()
    planners = [Planner(model, factors=bool(k % 2)) for k in range(4)]
    for planner in planners:
        planner.put(p=case.csr.data)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda planner: [planner.optimal() for _ in range(20)], planners))
    for one, two in ((0, 2), (1, 3)):
        np.testing.assert_array_equal(planners[one].V, planners[two].V)


def test_planners_come_and_go():
    case, kept = known(7, 30, 0.9), []
    model = case.model()
    for k in range(2000):
        planner = Planner(model, factors=bool(k % 2))
        planner.put(p=case.csr.data)
        planner.optimal()
        if k % 500 == 0:
            kept.append((planner.V, planner.V.copy()))
    del planner
    gc.collect()
    for view, copy in kept:
        np.testing.assert_array_equal(view, copy)


def test_planners_refuse_what_is_out_of_range():
    case = known(12, 5, 0.9, forbidden=0.6)
    planner = case.planner(factors=False)
    for action in (-1, 3):
        planner.put(policy=np.where(np.arange(5) == 2, action, planner.policy))
        for call in (planner.optimal, planner.evaluate, planner.sweep):
            with pytest.raises(ValueError, match="out of range"):
                call()
    planner.put(policy=case.R.argmin(1))  # minus infinity in some states
    assert not np.isfinite(case.R[np.arange(5), planner.policy]).all()
    with pytest.raises(ValueError, match="out of range"):
        planner.evaluate()
    planner.put(policy=case.R.argmax(1))
    with pytest.raises(ValueError, match="out of range"):
        planner.visit_from(5)
    with pytest.raises(ValueError, match="out of range"):
        planner.iterate(0.0)
    with pytest.raises(ValueError, match="out of range"):
        Planner(case._replace(R=np.full_like(case.R, -np.inf)).model(), factors=True)


def test_a_theta_that_is_no_number_ends_in_a_policy_of_actions_that_there_are():
    """Where Q is no number no action is near the best: the search for one stayed in memory that is not its own."""
    mdp = random_network(4, 3, 3, seed=0).mdp
    for factors in (True, False):
        planner = Planner(mdp.core, factors)
        planner.put(theta=np.full(3, np.nan))
        planner.assemble()
        planner.put(V=np.full(4, np.nan))
        planner.settle()
        assert ((planner.policy >= 0) & (planner.policy < 3)).all()
