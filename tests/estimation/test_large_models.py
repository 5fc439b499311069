"""Many states and many rows: sweeps instead of factors, and a working set of rows, are held to the same answers."""

import numpy as np
import pytest
from problems import Problem, clarabel, draw, likelihood_gradient, outside, raw
from scipy import sparse
from scipy.optimize import linprog
from small_worlds import EXAMPLES

from vbmle import UCLK, LinearMixtureMDP, TransitionCounts, World, maximum_likelihood, plan, value_biased
from vbmle.core.planning import Planner
from vbmle.estimation import maximiser
from vbmle.model import interior_points
from vbmle.model.feasible_set import MANY_FACETS
from vbmle.planning import planner
from vbmle.worlds import queue, riverswim, taxi


def many_states(domain: str, states: int = 1300, dimension: int = 4, lonely: int = 0) -> World:
    """Random sparse base models on one pattern, 20 rows of P for each state; and states that nothing leads to."""
    rng = np.random.default_rng(0)
    rows = np.repeat(np.arange(4 * states), 5)
    columns = rng.integers(0, states, len(rows))
    more = 4 * states + np.arange(4 * lonely), states + np.arange(4 * lonely) // 4
    where = np.append(rows, more[0]), np.append(columns, more[1])
    models = [
        sparse.csr_array(
            (np.append(rng.dirichlet(np.ones(5), 4 * states).ravel(), np.ones(4 * lonely)), where)
        )
        for _ in range(dimension)
    ]
    reward = np.vstack([rng.random((states, 4)), np.zeros((lonely, 4))])
    mdp = LinearMixtureMDP.from_models(models, reward, 0.9, domain=domain)
    return World(mdp, rng.dirichlet(np.ones(dimension)))


@pytest.fixture(scope="module")
def wide() -> World:
    """A world whose P has more rows than programs look at."""
    world = many_states("polytope")
    assert len(world.mdp.polytope.blocks[0].normals) > MANY_FACETS
    return world


# ---- a working set of rows


def test_the_interior_point_is_as_deep_as_with_all_rows_at_once(wide):
    block = wide.mdp.polytope.blocks[0]
    _, depth, _ = interior_points._deepest_of(block.normals, block.offsets)
    assert block.offsets.min() == pytest.approx(depth, abs=1e-8)  # y = 0 is the interior point
    _, deepest, multipliers = interior_points.deepest(block.normals, block.offsets)
    assert deepest == pytest.approx(depth, abs=1e-8)
    np.testing.assert_allclose(block.normals.T @ multipliers, 0.0, rtol=0.0, atol=1e-6)


def test_widths_bound_the_set_and_not_by_much(wide):
    block = wide.mdp.polytope.blocks[0]
    bounds = interior_points.bounds_on_widths(block.normals, block.offsets)
    for axis, bound in enumerate(bounds):
        cost = np.eye(block.dimension)[axis]
        ends = [linprog(c, -block.normals, block.offsets, bounds=(None, None)).fun for c in (cost, -cost)]
        assert -sum(ends) <= bound + 1e-9
        assert bound <= -2.0 * sum(ends)


def test_a_set_that_many_rows_make_empty_names_them():
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(MANY_FACETS + 50, 3))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    offsets = np.ones(len(rows))
    rows[777], rows[21], offsets[[777, 21]] = (
        [1.0, 0.0, 0.0],
        [-1.0, 0.0, 0.0],
        -0.25,
    )  # y_0 >= 1/4 and <= -1/4
    _, depth, multipliers = interior_points.deepest(rows, offsets)
    assert depth == pytest.approx(-0.25)
    assert np.nonzero(multipliers > 1e-6)[0].tolist() == [21, 777]


def test_rows_that_always_hold_tightly_are_found_among_many():
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(MANY_FACETS + 50, 3))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    offsets = rng.uniform(0.5, 2.0, len(rows))
    rows[5], rows[9000], offsets[[5, 9000]] = [0.6, 0.8, 0.0], [-0.6, -0.8, 0.0], 0.0
    rows[17], offsets[17] = [0.8, -0.6, 0.0], 0.0  # tight where we stand, but not everywhere
    assert np.nonzero(interior_points.always_tight(rows, offsets))[0].tolist() == [5, 9000]


def test_the_most_likely_theta_is_clarabels(wide):
    problem = Problem("", wide, draw(wide, 40, np.random.default_rng(3)), 0.5)
    found = maximum_likelihood(wide.mdp, problem.counts, 0.5)
    assert found.converged
    assert outside(wide.mdp, found.theta) <= 1e-9
    assert found.theta.min() < -1e-6, "P is the simplex here, which shows nothing"
    assert found.objective == pytest.approx(clarabel(problem), rel=1e-7)


def test_no_feasible_direction_raises_the_value_biased_objective(wide):
    """The gradient from differences of f; the best point for it, over P as it was told, by another solver."""
    mdp, counts = wide.mdp, draw(wide, 40, np.random.default_rng(4))
    found = value_biased(mdp, counts, 3, 5.0, search="local")
    assert found.converged
    assert outside(mdp, found.theta) <= 1e-9

    def f(theta: np.ndarray) -> float:
        p, seen = mdp.transitions.probabilities(theta), counts.values > 0.0
        by_sweeps = Planner(mdp.core, factors=False)
        by_sweeps.put(p=p)
        by_sweeps.iterate(1e-12, 10**6)
        return float(counts.values[seen] @ np.log(p[seen]) - 0.5 * theta @ theta + 5.0 * by_sweeps.V[3])

    assert found.objective == pytest.approx(f(found.theta), rel=1e-9)
    step = 1e-6
    g = np.array([f(found.theta + step * e) - f(found.theta - step * e) for e in np.eye(4)]) / (2.0 * step)
    lower, bound, equal, target = raw(mdp)
    best = linprog(-g, -lower, -bound, equal[:1], target[:1], bounds=(None, None))
    assert -best.fun - g @ found.theta <= 1e-5 * max(1.0, np.abs(g).max())


# ---- features without a copy in the coordinates y


def test_features_are_projected_as_they_are_needed():
    """Above a thousand states the features in the coordinates y are not kept; all answers are the same.

    With ten states more, that nothing leads to, a model of a thousand is above.
    """
    states = 1000

    def answers(lonely: int) -> list[np.ndarray]:
        world = many_states("simplex", states, 3, lonely)
        counts, agent = TransitionCounts(world.mdp), UCLK(world.mdp)
        rng = np.random.default_rng(5)
        for transition in rng.integers(0, 4 * 5 * states - 100, 30):
            pair = int(world.mdp.transitions.pair_of[transition])
            counts.add(*divmod(pair, 4), int(world.mdp.transitions.successor[transition]))
        for pair in (0, 31):
            agent.act(pair // 4)
            agent.observe(*divmod(pair, 4), int(world.mdp.transitions.successor[5 * pair]))
        thetas = agent.thetas.reshape(-1, 3)[: 4 * states]
        return [maximum_likelihood(world.mdp, counts).theta, agent.policy[:states].copy(), thetas.copy()]

    for one, two in zip(answers(0), answers(10), strict=True):
        np.testing.assert_allclose(one, two, rtol=0.0, atol=1e-7)


def test_models_of_many_states_are_climbed_without_copies():
    """1,010 states, features not kept in y: no vertex of the simplex lies uphill of the maximum."""
    world = many_states("simplex", states=1010, dimension=3)
    counts = draw(world, 30, np.random.default_rng(5))
    ours = maximum_likelihood(world.mdp, counts)
    slope = likelihood_gradient(Problem("", world, counts, 1.0), ours.theta)
    assert (slope - slope @ ours.theta).max() <= 1e-7 * max(1.0, np.abs(slope).max())


# ---- sweeps instead of factors: see also tests/core/test_objective.py and tests/core/test_curvature.py


@pytest.mark.parametrize("make", [taxi, lambda: queue(capacity=60), lambda: EXAMPLES["simplex mixture"]])
def test_the_search_finds_the_same_maximum_by_sweeps_and_by_factors(make, monkeypatch: pytest.MonkeyPatch):
    world = make()
    counts = draw(world, 60, np.random.default_rng(6))
    found = []
    for factored in (True, False):
        monkeypatch.setattr(maximiser, "uses_factors", lambda _, way=factored: way)
        found.append(value_biased(world.mdp, counts, 0, 4.0, search="global"))
    for one in found:
        assert one.converged
    assert found[0].objective == pytest.approx(found[1].objective, rel=1e-8)


def test_factors_are_kept_where_they_pay():
    """A policy's transitions over 1 - gamma against S^3; tables need them for the curvature of the value."""
    for world, factored in ((queue(), True), (taxi(), False), (riverswim(400), True)):
        assert planner.uses_factors(world.mdp) == factored


def test_regret_needs_no_factors_of_many_states():
    """V^pi by sweeps against a sparse direct solve."""
    from scipy.sparse.linalg import spsolve

    world = many_states("simplex")
    mdp, p = world.mdp, world.mdp.transitions.probabilities(world.theta)
    rows = 4 * np.arange(mdp.num_states) + 1
    moves, reward = mdp.transitions.csr(p)[rows], mdp.pair_reward[rows]
    exact = spsolve(sparse.csc_array(sparse.eye_array(mdp.num_states) - mdp.discount * moves), reward)
    got = planner.evaluate(mdp, world.theta, np.ones(mdp.num_states, np.int64))
    np.testing.assert_allclose(got, exact, rtol=0.0, atol=1e-10)
    assert (got - 1e-9 <= plan(mdp, world.theta).V).all()
