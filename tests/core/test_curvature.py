"""The Hessians that the solver steps by, against differences of gradients."""

from functools import partial

import numpy as np
import pytest
from derivatives import ACCURACY, differences, inside, short
from parts.climbing import Probe
from problems import draw
from small_worlds import EXAMPLES

from vbmle import TransitionCounts
from vbmle.core.solver import Objective

each_example = pytest.mark.parametrize("name", EXAMPLES)
with_and_without = pytest.mark.parametrize(
    "copies", [True, False], ids=["features kept", "features projected"]
)
one_dense_block = [
    name
    for name, world in EXAMPLES.items()
    if isinstance(world.mdp.transitions.phi, np.ndarray) and len(world.mdp.polytope.blocks) == 1
]


def lower(flat: np.ndarray) -> np.ndarray:
    """A symmetric matrix from its lower triangle, given row by row."""
    matrix = np.tril(flat.reshape(int(np.sqrt(len(flat))), -1))
    return matrix + np.tril(matrix, -1).T


@with_and_without
@each_example
def test_the_hessian_of_the_likelihood(name: str, copies: bool):
    """Minus the Hessian of sum n log p - ridge/2 |theta|^2: block by block, and zero between blocks."""
    world = EXAMPLES[name]
    mdp, probe = world.mdp, Probe(world.mdp.core, copies=copies)
    theta, counts = inside(world), draw(world, 40, np.random.default_rng(1))
    objective = Objective(counts.core, 0.7)
    exact = -differences(partial(probe.slope_at, objective), theta, short(world, counts, theta))
    probe.slope_at(objective, theta)
    probe.curve(objective)
    bound = ACCURACY * np.abs(exact).max()
    if name in one_dense_block:  # in the coordinates y
        (block,) = mdp.polytope.blocks
        B = block.basis.T @ exact @ block.basis
        np.testing.assert_allclose(probe.concave.reshape(B.shape), B, rtol=0.0, atol=bound)
        return
    found, at = np.zeros_like(exact), 0
    for block in mdp.polytope.blocks:
        k = len(block.coordinates)
        found[np.ix_(block.coordinates, block.coordinates)] = lower(probe.hessian[at : at + k * k])
        at += k * k
    assert at == len(probe.hessian)
    np.testing.assert_allclose(found, exact, rtol=0.0, atol=bound)


@with_and_without
@pytest.mark.parametrize("name", one_dense_block)
def test_the_hessian_of_the_value(name: str, copies: bool):
    """In the coordinates y. The policy is held: inside its region V* is V^pi."""
    world = EXAMPLES[name]
    mdp, theta, nothing = world.mdp, inside(world), TransitionCounts(world.mdp)
    (block,) = mdp.polytope.blocks
    for state in range(mdp.num_states):
        probe, objective = Probe(mdp.core, copies=copies), Objective(nothing.core, 0.0, 1.0, state)
        exact = differences(partial(probe.slope_at, objective), theta, 1e-4)
        probe.slope_at(objective, theta)
        probe.curve(objective)
        bound = ACCURACY * max(1.0, np.abs(exact).max())
        expected = block.basis.T @ exact @ block.basis
        np.testing.assert_allclose(probe.bent.reshape(expected.shape), expected, rtol=0.0, atol=bound)


@pytest.mark.parametrize("name", [name for name in EXAMPLES if name not in one_dense_block])
def test_products_with_the_hessian_of_the_value(name: str):
    """In theta, for many blocks, without a matrix; scratch full of NaN is no obstacle."""
    world, rng = EXAMPLES[name], np.random.default_rng(0)
    mdp, theta, nothing = world.mdp, inside(world), TransitionCounts(world.mdp)
    for state in range(mdp.num_states):
        probe, objective = Probe(mdp.core), Objective(nothing.core, 0.0, 1.0, state)
        v = rng.normal(size=mdp.dimension)
        exact = differences(partial(probe.slope_at, objective), theta, 1e-4) @ v
        probe.slope_at(objective, theta)
        bound = ACCURACY * max(1.0, np.abs(exact).max())
        np.testing.assert_allclose(probe.multiply(v), exact, rtol=0.0, atol=bound)


def test_rewards_of_the_next_state_are_among_the_examples():
    assert any(len(EXAMPLES[name].mdp.transition_reward) for name in one_dense_block)


@with_and_without
@pytest.mark.parametrize("name", ["simplex mixture", "reward of the next state", "three-parameter river"])
def test_the_curvature_of_the_value_is_the_same_by_sweeps_and_by_factors(name: str, copies: bool):
    world = EXAMPLES[name]
    mdp, nothing = world.mdp, TransitionCounts(world.mdp)
    objective, found = Objective(nothing.core, 0.0, 1.0), []
    for factors in (True, False):
        probe = Probe(mdp.core, factors, copies)
        probe.policy[...] = np.arange(mdp.num_states) % mdp.num_actions
        probe.slope_at(objective, world.theta, held=True)
        probe.curve(objective)
        found.append(probe.bent.copy())
    np.testing.assert_allclose(found[1], found[0], rtol=0.0, atol=1e-5 * max(1.0, np.abs(found[0]).max()))
