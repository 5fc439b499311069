"""The derivatives that the solver climbs by, against differences of what they are derivatives of."""

from collections.abc import Callable

import numpy as np
import pytest
from problems import dense, draw

from vbmle import LinearMixtureMDP, TransitionCounts, World
from vbmle.estimation.maximiser import goal
from vbmle.kernels import newton, objective
from vbmle.kernels.layout import Objective
from vbmle.testing import example_models

EXAMPLES = example_models()
each_example = pytest.mark.parametrize("name", EXAMPLES)
one_dense_block = [
    name
    for name, world in EXAMPLES.items()
    if isinstance(world.mdp.transitions.phi, np.ndarray) and len(world.mdp.polytope.blocks) == 1
]
ACCURACY = 1e-6
"""Five-point differences: with the steps used here h^4 f''''' and eps |f| / h stay below this part of f'."""


class At:
    """The kernels at one theta, with the arrays that they fill; by factors, or by sweeps as for many states."""

    def __init__(self, mdp: LinearMixtureMDP, target: Objective, by_sweeps: bool = False) -> None:
        self.mdp, self.target = mdp, target
        factors = 0 if by_sweeps else mdp.num_states
        self.p, self.lu = np.empty(mdp.transitions.count), np.empty((factors, factors))
        self.policy, self.V = np.zeros(mdp.num_states, np.int64), np.zeros(mdp.num_states)
        self.w = np.empty(mdp.num_states)

    def value(self, theta: np.ndarray) -> float:
        arrays = (theta, self.p, self.policy, self.lu, self.V)
        return float(objective.objective_value(self.mdp.flat, self.target, *arrays))

    def gradient(self, theta: np.ndarray) -> np.ndarray:
        self.value(theta)
        out = np.empty(self.mdp.dimension)
        arrays = (theta, self.p, self.policy, self.lu, self.V, self.w, out)
        objective.gradient(self.mdp.flat, self.target, *arrays)
        return out


def differences(f: Callable[[np.ndarray], np.ndarray | float], theta: np.ndarray, h: float) -> np.ndarray:
    """Five-point central differences of f along every coordinate."""
    rows = []
    for e in h * np.eye(len(theta)):
        ahead, behind = np.asarray(f(theta + e)), np.asarray(f(theta - e))
        far_ahead, far_behind = np.asarray(f(theta + 2 * e)), np.asarray(f(theta - 2 * e))
        rows.append((8.0 * (ahead - behind) - (far_ahead - far_behind)) / (12.0 * h))
    return np.array(rows)


def inside(world: World) -> np.ndarray:
    """A point well inside P where no two actions tie by symmetry."""
    return 0.6 * world.mdp.polytope.interior + 0.4 * world.theta


def short(world: World, counts: TransitionCounts, theta: np.ndarray) -> float:
    """A step that changes no observed probability by more than a part in a thousand."""
    phi, seen = dense(world.mdp.transitions.phi), counts.values > 0
    p = phi[seen] @ theta
    return float(min(1e-4, 1e-3 * (p / np.abs(phi[seen]).max(1)).min(initial=1.0)))


def lower(flat: np.ndarray) -> np.ndarray:
    """A symmetric matrix from its lower triangle, given row by row."""
    matrix = np.tril(flat.reshape(int(np.sqrt(len(flat))), -1))
    return matrix + np.tril(matrix, -1).T


@pytest.mark.parametrize("by_sweeps", [False, True], ids=["by factors", "by sweeps"])
@each_example
def test_the_gradient_of_the_value(name: str, by_sweeps: bool):
    """Envelope theorem, in every state; rewards r(s,a,s') included."""
    world = EXAMPLES[name]
    theta, nothing = inside(world), TransitionCounts(world.mdp)
    for state in range(world.mdp.num_states):
        target = goal(nothing, 0.0, 1.0, state)
        exact = differences(At(world.mdp, target).value, theta, 1e-4)
        found = At(world.mdp, target, by_sweeps).gradient(theta)
        np.testing.assert_allclose(found, exact, rtol=0.0, atol=ACCURACY * max(1.0, np.abs(exact).max()))


@each_example
def test_the_gradient_of_the_whole_objective(name: str):
    world, rng = EXAMPLES[name], np.random.default_rng(0)
    theta, counts = inside(world), draw(world, 40, np.random.default_rng(1))
    target = goal(counts, 0.7, 3.0, world.mdp.num_states - 1, linear=rng.normal(size=world.mdp.dimension))
    exact = differences(At(world.mdp, target).value, theta, short(world, counts, theta))
    found = At(world.mdp, target).gradient(theta)
    np.testing.assert_allclose(found, exact, rtol=0.0, atol=ACCURACY * max(1.0, np.abs(exact).max()))


@each_example
def test_the_hessian_of_the_likelihood(name: str):
    """Minus the Hessian of sum n log p - ridge/2 |theta|^2: block by block, and zero between blocks."""
    world = EXAMPLES[name]
    mdp, domain = world.mdp, world.mdp.flat_domain
    theta, counts = inside(world), draw(world, 40, np.random.default_rng(1))
    at = At(mdp, goal(counts, 0.7))
    exact = -differences(at.gradient, theta, short(world, counts, theta))
    at.value(theta)
    bound = ACCURACY * np.abs(exact).max()
    if name in one_dense_block:  # in the coordinates y
        (block,) = mdp.polytope.blocks
        B = np.full((block.dimension, block.dimension), np.nan)
        objective.dense_hessian(mdp.flat, mdp.flat_domain, at.target, at.p, B)
        np.testing.assert_allclose(B, block.basis.T @ exact @ block.basis, rtol=0.0, atol=bound)
        return
    flat, found = np.full(domain.hessian_ptr[-1], np.nan), np.zeros_like(exact)
    objective.block_hessians(mdp.flat, domain, at.target, at.p, flat)
    for b, block in enumerate(mdp.polytope.blocks):
        part = flat[domain.hessian_ptr[b] : domain.hessian_ptr[b + 1]]
        found[np.ix_(block.coordinates, block.coordinates)] = lower(part)
    np.testing.assert_allclose(found, exact, rtol=0.0, atol=bound)


@pytest.mark.parametrize("name", one_dense_block)
def test_the_hessian_of_the_value(name: str):
    """In the coordinates y. The policy is held: inside its region V* is V^pi."""
    world = EXAMPLES[name]
    mdp, theta = world.mdp, inside(world)
    (block,) = mdp.polytope.blocks
    for state in range(mdp.num_states):
        at = At(mdp, goal(TransitionCounts(mdp), 0.0, 1.0, state))
        exact = differences(at.gradient, theta, 1e-4)
        at.gradient(theta)
        out = np.full((block.dimension, block.dimension), np.nan)
        work = np.empty((2, mdp.num_states, block.dimension))
        objective.value_hessian(mdp.flat, mdp.flat_domain, at.p, at.policy, at.lu, at.V, at.w, *work, out)
        bound = ACCURACY * max(1.0, np.abs(exact).max())
        np.testing.assert_allclose(out, block.basis.T @ exact @ block.basis, rtol=0.0, atol=bound)


@pytest.mark.parametrize("name", [name for name in EXAMPLES if name not in one_dense_block])
def test_products_with_the_hessian_of_the_value(name: str):
    """In theta, for many blocks, without a matrix; work arrays full of NaN are no obstacle."""
    world, rng = EXAMPLES[name], np.random.default_rng(0)
    mdp, theta = world.mdp, inside(world)
    for state in range(mdp.num_states):
        at = At(mdp, goal(TransitionCounts(mdp), 0.0, 1.0, state))
        v = rng.normal(size=mdp.dimension)
        exact = differences(at.gradient, theta, 1e-4) @ v
        at.gradient(theta)
        change, dV, dw = (np.full(n, np.nan) for n in (mdp.transitions.count, mdp.num_states, mdp.num_states))
        out = np.full(mdp.dimension, np.nan)
        newton.value_curvature(mdp.flat, at.policy, at.lu, at.V, at.w, v, change, dV, dw, out)
        bound = ACCURACY * max(1.0, np.abs(exact).max())
        np.testing.assert_allclose(out, exact, rtol=0.0, atol=bound)


def test_rewards_of_the_next_state_are_among_the_examples():
    assert any(len(EXAMPLES[name].mdp.transition_reward) for name in one_dense_block)


@each_example
def test_points_of_the_blocks_and_gradients_along_them_fit_together(name: str):
    """theta(y) is affine and `reduce` is its transpose; `reduce_block` turns a Hessian in theta into one in y."""
    mdp, rng = EXAMPLES[name].mdp, np.random.default_rng(0)
    domain = mdp.flat_domain
    free = int(domain.free_ptr[-1])
    jacobian, point = np.zeros((mdp.dimension, free)), np.empty(mdp.dimension)
    objective.assemble(domain, np.zeros(free), point)
    np.testing.assert_allclose(point, mdp.polytope.interior, rtol=0.0, atol=1e-10)
    for j, e in enumerate(np.eye(free)):
        objective.assemble(domain, e, point)
        jacobian[:, j] = point - mdp.polytope.interior
    g, out = rng.normal(size=mdp.dimension), np.empty(free)
    objective.reduce(domain, g, out)
    np.testing.assert_allclose(out, jacobian.T @ g, rtol=0.0, atol=1e-10)
    for b, block in enumerate(mdp.polytope.blocks):
        k, m = len(block.coordinates), block.dimension
        half = rng.normal(size=(k, k))
        hessian = np.zeros(domain.hessian_ptr[-1])
        hessian[domain.hessian_ptr[b] : domain.hessian_ptr[b + 1]] = np.tril(half @ half.T).ravel()
        B = np.empty((m, m))
        objective.reduce_block(domain, hessian, b, B, np.empty((k, m)))
        part = jacobian[block.coordinates][:, domain.free_ptr[b] : domain.free_ptr[b + 1]]
        np.testing.assert_allclose(B, part.T @ half @ half.T @ part, rtol=0.0, atol=1e-9)


@each_example
def test_value_features_weigh_the_next_states(name: str):
    """<phi_V(s,a), theta> is the expected V of the next state."""
    world, rng = EXAMPLES[name], np.random.default_rng(0)
    mdp, V = world.mdp, rng.normal(size=world.mdp.num_states)
    expected = dense(mdp.transition(world.theta)).reshape(-1, mdp.num_states) @ V
    out = np.empty(mdp.dimension)
    for row, mean in enumerate(expected):
        objective.value_features(mdp.flat, V, row, 2.0, out)
        assert out @ world.theta == pytest.approx(2.0 * mean, abs=1e-10)
