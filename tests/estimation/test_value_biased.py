"""The value-biased maximiser: what a climb promises, what a global search must find, and what a bound bounds."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import Problem, dense, draw, likelihood_gradient, optimality, outside, random_world, raw
from scipy import sparse
from scipy.optimize import linprog
from small_worlds import EXAMPLES

from vbmle import (
    Estimate,
    LinearMixtureMDP,
    World,
    log_likelihood,
    maximum_likelihood,
    plan,
    value_biased,
)
from vbmle.estimation.maximiser import CONVERGED
from vbmle.worlds import closed_loop_trap, hypercube, random_network, riverswim

BIASES = [0.1, 3.0, 30.0]
each_example = pytest.mark.parametrize("name", EXAMPLES)
seeds = st.integers(0, 2**20)


class Reference(NamedTuple):
    """The objective and its gradient in plain NumPy, from the transition features."""

    problem: Problem
    state: int
    bias: float

    def value(self, theta: np.ndarray) -> float:
        _, counts, ridge = self.problem[1:]
        best = plan(self.problem.world.mdp, theta, method="policy-iteration")
        likelihood = log_likelihood(self.problem.world.mdp, counts, theta, ridge)
        return likelihood + self.bias * float(best.V[self.state])

    def gradient(self, theta: np.ndarray, policy: np.ndarray) -> np.ndarray:
        """Envelope theorem: visits times (reward of the next state + gamma V), for a policy that is optimal."""
        mdp = self.problem.world.mdp
        states, rows = mdp.num_states, mdp.transitions
        p = rows.probabilities(theta)
        step = rows.dense(p)[np.arange(states), policy]
        extra = (
            rows.dense(mdp.transition_reward) if len(mdp.transition_reward) else np.zeros(rows.dense(p).shape)
        )
        known = mdp.pair_reward.reshape(states, -1)[np.arange(states), policy]
        here = extra[np.arange(states), policy]
        system = np.eye(states) - mdp.discount * step
        V = np.linalg.solve(system, known + (step * here).sum(1))
        visits = np.linalg.solve(system.T, np.eye(states)[self.state])
        weight = np.zeros(rows.dense(p).shape)
        weight[np.arange(states), policy] = visits[:, None] * (here + mdp.discount * V)
        slope = dense(rows.phi).T @ weight.reshape(-1, states)[rows.pair_of, rows.successor]
        return likelihood_gradient(self.problem, theta) + self.bias * slope


def case(world: World, seed: int, bias: float, steps: int = 60, ridge: float = 1.0) -> Reference:
    rng = np.random.default_rng(seed)
    counts = draw(world, steps, rng)
    return Reference(Problem("", world, counts, ridge), int(rng.integers(world.mdp.num_states)), bias)


def solve(reference: Reference, **settings) -> Estimate:
    _, world, counts, ridge = reference.problem
    return value_biased(world.mdp, counts, reference.state, reference.bias, ridge, **settings)


def random_start(mdp: LinearMixtureMDP, rng: np.random.Generator) -> np.ndarray:
    """A point of P: a vertex, the interior point, or between them."""
    lower, bound, equal, target = raw(mdp)
    c = rng.normal(size=mdp.dimension) @ np.vstack([lower.T @ lower, equal.T @ equal])[: mdp.dimension]
    corner = linprog(c, A_ub=-lower, b_ub=-bound, A_eq=equal, b_eq=target, bounds=(-1e3, 1e3)).x
    share = rng.choice([0.0, 0.5, 0.9, 1.0 - 1e-6])  # the corner itself may be outside by a solver's rounding
    return np.asarray(share * corner + (1.0 - share) * mdp.polytope.interior)


def assert_is_a_kkt_point(reference: Reference, found: Estimate) -> None:
    """Inside P, optimal multipliers, and everything it reports is so."""
    mdp = reference.problem.world.mdp
    assert found.converged
    assert found.residual <= CONVERGED
    assert outside(mdp, found.theta) <= 1e-9
    assert found.policy is not None
    assert found.V is not None
    best = plan(mdp, found.theta)
    np.testing.assert_allclose(found.V, best.V, rtol=0.0, atol=1e-8)
    assert found.objective == pytest.approx(reference.value(found.theta), rel=1e-10, abs=1e-8)
    kkt = optimality(mdp, found.theta, reference.gradient(found.theta, found.policy))
    assert kkt.residual <= CONVERGED * np.sqrt(kkt.terms) * kkt.scale


# ---- a climb


@pytest.mark.parametrize("bias", BIASES)
@each_example
def test_a_climb_ends_in_a_kkt_point(name: str, bias: float):
    for seed in range(3):
        reference = case(EXAMPLES[name], seed, bias)
        start = random_start(EXAMPLES[name].mdp, np.random.default_rng(seed))
        assert_is_a_kkt_point(reference, solve(reference, search="local", start=start))


@pytest.mark.parametrize("seed", range(6))
def test_a_climb_over_many_coordinates_ends_in_a_kkt_point(seed: int):
    """There the factors of one program serve for several steps; from anywhere, and from the last theta."""
    world = random_network(6, 3, 45, seed=seed)
    for steps, bias in ((5, 0.5), (80, 3.0), (400, 20.0)):
        reference = case(world, seed, bias, steps)
        found = solve(reference, search="local", start=random_start(world.mdp, np.random.default_rng(seed)))
        assert_is_a_kkt_point(reference, found)
        assert_is_a_kkt_point(
            reference._replace(bias=1.01 * bias),
            solve(reference._replace(bias=1.01 * bias), search="local", start=found.theta),
        )


@given(seed=seeds, bias=st.sampled_from(BIASES), ridge=st.sampled_from([0.0, 1.0]))
def test_a_climb_never_ends_below_its_start(seed: int, bias: float, ridge: float):
    world, rng = random_world(seed), np.random.default_rng(seed)
    reference = case(world, seed, bias, steps=int(rng.choice([0, 5, 100])), ridge=ridge)
    start = random_start(world.mdp, rng)
    with np.errstate(divide="ignore"):
        before = reference.value(start)
    found = solve(reference, search="local", start=start)
    assert found.objective >= before - 1e-9 * (1.0 + abs(before))
    assert_is_a_kkt_point(reference, found)


@each_example
def test_climbing_again_from_the_top_stays_there(name: str):
    reference = case(EXAMPLES[name], 5, 3.0)
    top = solve(reference, search="local")
    again = solve(reference, search="local", start=top.theta)
    assert again.objective >= top.objective - 1e-10 * (1.0 + abs(top.objective))
    np.testing.assert_allclose(again.theta, top.theta, rtol=0.0, atol=1e-6)


@pytest.mark.parametrize("search", ["local", "global"])
@each_example
def test_without_bias_it_is_maximum_likelihood(name: str, search: str):
    reference = case(EXAMPLES[name], 1, 0.0)
    likely = maximum_likelihood(EXAMPLES[name].mdp, reference.problem.counts)
    found = solve(reference, search=search)
    assert found.objective == pytest.approx(likely.objective, rel=1e-10)
    np.testing.assert_allclose(found.theta, likely.theta, rtol=0.0, atol=1e-6)
    assert found.V is not None
    np.testing.assert_allclose(found.V, plan(EXAMPLES[name].mdp, found.theta).V, rtol=0.0, atol=1e-8)


def test_one_base_model_leaves_nothing_to_choose():
    reference = case(EXAMPLES["one base model"], 0, 10.0)
    np.testing.assert_allclose(solve(reference).theta, [1.0], atol=1e-10)


# ---- a global search: sets small enough to look everywhere

SMALL = {
    "trap": closed_loop_trap(),
    "hypercube, one free": hypercube(2, gap=0.9),
    "hypercube, two free": hypercube(3, gap=0.9),
    "two networks": random_network(4, 3, 2, seed=3),
    "three networks": random_network(3, 2, 3, temperature=0.05, seed=1),
    "river": riverswim(5, features="mixture"),
    "simplex mixture": EXAMPLES["simplex mixture"],
}


def everywhere(world: World) -> np.ndarray:
    """A grid over P, which has at most two free directions here."""
    (block,) = world.mdp.polytope.blocks
    per_axis, ends = (100, 25)[block.dimension - 1], []
    for e in np.eye(block.dimension):
        for sign in (1.0, -1.0):
            far = linprog(-sign * e, A_ub=-block.normals, b_ub=block.offsets, bounds=(None, None)).x
            ends.append(far @ e)
    axes = [np.linspace(low, high, per_axis) for high, low in np.array(ends).reshape(-1, 2)]
    grid = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, block.dimension)
    inside = grid[(grid @ block.normals.T + block.offsets >= 0.0).all(axis=1)]
    return inside @ block.basis.T + block.center


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("name", SMALL)
def test_a_global_search_finds_what_a_grid_finds(name: str, bias: float):
    """No point of the grid is better; and the bound that a mere climb certifies is above both."""
    world = SMALL[name]
    for seed, steps in ((0, 0), (1, 10), (2, 100)):
        reference = case(world, seed, bias, steps)
        found, climbed = solve(reference), solve(reference, search="local", certify=True)
        assert_is_a_kkt_point(reference, found)
        best = max(reference.value(theta) for theta in everywhere(world))
        assert found.objective >= best - 1e-9 * (1.0 + abs(best))
        assert climbed.upper_bound is not None
        assert climbed.upper_bound >= max(best, found.objective) - 1e-9 * (1.0 + abs(best))


@pytest.mark.parametrize("name", SMALL)
def test_more_bias_means_a_better_value(name: str):
    """For global maxima V*(theta) cannot fall, and the likelihood cannot rise, as the bias grows."""
    world = SMALL[name]
    for seed in range(3):
        values, likelihoods = [], []
        for bias in (0.0, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0):
            reference = case(world, seed, bias, steps=20)
            theta = solve(reference).theta
            values.append(plan(world.mdp, theta).V[reference.state])
            likelihoods.append(log_likelihood(world.mdp, reference.problem.counts, theta))
        # Ties count as equal up to 1e-9 of the objective, which at the next bias is divided by their difference.
        assert np.diff(values).min() >= -1e-6
        assert np.diff(likelihoods).max() <= 1e-4


@settings(max_examples=20)
@given(seed=seeds, bias=st.sampled_from(BIASES))
def test_a_bound_is_above_every_feasible_theta(seed: int, bias: float):
    world, rng = random_world(seed), np.random.default_rng(seed)
    reference = case(world, seed, bias, steps=20)
    bound = solve(reference, search="local", certify=True).upper_bound
    assert bound is not None
    others = [solve(reference, search="local", start=random_start(world.mdp, rng)) for _ in range(5)]
    assert max(found.objective for found in (solve(reference), *others)) <= bound + 1e-9 * (1.0 + abs(bound))


def test_without_being_asked_there_is_no_bound():
    assert solve(case(EXAMPLES["simplex mixture"], 0, 1.0)).upper_bound is None


@each_example
def test_the_same_seed_finds_the_same(name: str):
    reference = case(EXAMPLES[name], 2, 3.0)
    one, two = solve(reference, seed=7), solve(reference, seed=7)
    np.testing.assert_array_equal(one.theta, two.theta)
    assert solve(reference, seed=8).objective == pytest.approx(one.objective, rel=1e-8)


def test_many_states_are_searched_without_dense_factors():
    """1,100 states, three sparse models: the value comes from sweeps, and the answers are held to the same."""
    states, rng = 1100, np.random.default_rng(0)
    rows = np.repeat(np.arange(2 * states), 3)
    models = [
        sparse.csr_array((np.full(len(rows), 1 / 3), (rows, rng.integers(0, states, len(rows)))))
        for _ in range(3)
    ]
    world = World(LinearMixtureMDP.from_models(models, rng.random((states, 2)), 0.9), [0.5, 0.3, 0.2])
    reference = Reference(Problem("", world, draw(world, 50, rng), 1.0), 0, 3.0)
    local, best = solve(reference, search="local"), solve(reference)
    for found in (local, best):
        assert found.converged
        assert found.objective == pytest.approx(reference.value(found.theta), rel=1e-8)
    assert best.objective >= local.objective - 1e-8 * (1.0 + abs(local.objective))
