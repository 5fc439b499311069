"""The objective that the solver climbs, and its gradient against differences of what it is the gradient of."""

from functools import partial

import numpy as np
import pytest
from derivatives import ACCURACY, differences, inside, short
from parts.climbing import Probe
from problems import dense, draw
from small_worlds import EXAMPLES

from vbmle import TransitionCounts, plan
from vbmle.core.solver import Objective

each_example = pytest.mark.parametrize("name", EXAMPLES)
by_either_way = pytest.mark.parametrize("factors", [True, False], ids=["by factors", "by sweeps"])
with_and_without = pytest.mark.parametrize("copies", [True, False], ids=["copies kept", "none kept"])


@with_and_without
@each_example
def test_the_objective_is_what_it_says(name: str, copies: bool):
    """Likelihood, ridge, linear part and value, each computed by other means."""
    world, rng = EXAMPLES[name], np.random.default_rng(0)
    mdp, theta, counts = world.mdp, inside(world), draw(world, 40, np.random.default_rng(1))
    linear, state = rng.normal(size=mdp.dimension), mdp.num_states - 1
    probe = Probe(mdp.core, copies=copies)
    found = probe.value(Objective(counts.core, 0.7, 3.0, state, linear), theta)
    p, n = dense(mdp.transitions.phi) @ theta, counts.values
    best = plan(mdp, theta, method="policy-iteration")
    likelihood = float(n[n > 0] @ np.log(p[n > 0]))
    expected = likelihood - 0.35 * theta @ theta + linear @ theta + 3.0 * best.V[state]
    assert found == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(probe.p, p, rtol=0.0, atol=1e-14)
    np.testing.assert_allclose(probe.V, best.V, rtol=0.0, atol=1e-10)


@each_example
def test_outside_of_what_was_observed_nothing_is_likely(name: str):
    """An observed transition without probability: minus infinity, and no slope."""
    world = EXAMPLES[name]
    counts = draw(world, 40, np.random.default_rng(1))
    objective, probe = Objective(counts.core, 0.7), Probe(world.mdp.core)
    assert probe.value(objective, -world.theta) == -np.inf
    with pytest.raises(ValueError, match="out of range"):
        probe.slope_at(objective, -world.theta)


@by_either_way
@each_example
def test_the_gradient_of_the_value(name: str, factors: bool):
    """Envelope theorem, in every state; rewards r(s,a,s') included."""
    world = EXAMPLES[name]
    theta, nothing = inside(world), TransitionCounts(world.mdp)
    exactly, probe = Probe(world.mdp.core), Probe(world.mdp.core, factors)
    for state in range(world.mdp.num_states):
        objective = Objective(nothing.core, 0.0, 1.0, state)
        exact = differences(partial(exactly.value, objective), theta, 1e-4)
        found = probe.slope_at(objective, theta)
        np.testing.assert_allclose(found, exact, rtol=0.0, atol=ACCURACY * max(1.0, np.abs(exact).max()))


@with_and_without
@each_example
def test_the_gradient_of_the_whole_objective(name: str, copies: bool):
    world, rng = EXAMPLES[name], np.random.default_rng(0)
    mdp, theta, counts = world.mdp, inside(world), draw(world, 40, np.random.default_rng(1))
    linear, probe = rng.normal(size=mdp.dimension), Probe(mdp.core, copies=copies)
    objective = Objective(counts.core, 0.7, 3.0, mdp.num_states - 1, linear)
    exact = differences(partial(probe.value, objective), theta, short(world, counts, theta))
    found = probe.slope_at(objective, theta)
    np.testing.assert_allclose(found, exact, rtol=0.0, atol=ACCURACY * max(1.0, np.abs(exact).max()))


@each_example
def test_a_held_policy_is_worth_the_same_by_sweeps_and_by_factors(name: str):
    world = EXAMPLES[name]
    mdp, nothing = world.mdp, TransitionCounts(world.mdp)
    policy, objective = np.arange(mdp.num_states) % mdp.num_actions, Objective(nothing.core, 0.0, 1.0)
    found = []
    for factors in (True, False):
        probe = Probe(mdp.core, factors)
        probe.policy[...] = policy
        assert probe.value(objective, world.theta, held=True) == probe.V[0]
        np.testing.assert_array_equal(probe.policy, policy)
        found.append(probe.V.copy())
    np.testing.assert_allclose(found[1], found[0], rtol=0.0, atol=1e-10 / (1.0 - mdp.discount))


@each_example
def test_what_small_models_keep_changes_nothing(name: str):
    """Copies of features and normals by columns and in the coordinates y: the same numbers, up to rounding."""
    world = EXAMPLES[name]
    mdp, theta, counts = world.mdp, inside(world), draw(world, 40, np.random.default_rng(1))
    objective = Objective(counts.core, 0.7, 3.0, 0)
    with_copies, without = Probe(mdp.core), Probe(mdp.core, copies=False)
    slopes = [probe.slope_at(objective, theta) for probe in (with_copies, without)]
    np.testing.assert_allclose(slopes[1], slopes[0], rtol=1e-12, atol=1e-12 * np.abs(slopes[0]).max())
    for probe in (with_copies, without):
        probe.curve(objective)
    for one, two in ((with_copies.concave, without.concave), (with_copies.bent, without.bent)):
        np.testing.assert_allclose(two, one, rtol=0.0, atol=1e-11 * np.abs(one).max(initial=1.0))
    np.testing.assert_allclose(with_copies.p, without.p, rtol=0.0, atol=1e-14)


def test_a_probe_refuses_what_it_cannot_use():
    world, other = EXAMPLES["simplex mixture"], EXAMPLES["p_min"]
    probe, theta = Probe(world.mdp.core), world.theta
    with pytest.raises(ValueError, match="out of range"):  # counts of another model
        probe.value(Objective(TransitionCounts(other.mdp).core, 0.0), theta)
    objective = Objective(TransitionCounts(world.mdp).core, 0.0, 1.0)
    with pytest.raises(ValueError, match="out of range"):  # nothing to curve yet
        probe.curve(objective)
    probe.policy[1] = world.mdp.num_actions
    with pytest.raises(ValueError, match="out of range"):
        probe.value(objective, theta)
