"""The largest <c, theta> over P within ellipsoids: against Clarabel, over every kind of P."""

from typing import Any

import cvxpy
import numpy as np
import pytest
from problems import draw, random_world, raw

from vbmle import LinearMixtureMDP, World, plan
from vbmle.core.parts_optimism import choose_models, intersect
from vbmle.estimation.value_regression import Regression
from vbmle.planning.optimistic_planner import Ellipsoid, Optimist
from vbmle.testing import example_models
from vbmle.worlds import random_network

cp: Any = cvxpy
EXAMPLES = example_models()
CHUNKS = 20


def whole(mdp: LinearMixtureMDP, sigma: np.ndarray) -> np.ndarray:
    """Sigma as one matrix."""
    out = np.zeros((mdp.dimension, mdp.dimension))
    first = 0
    for block in mdp.polytope.blocks:
        k = len(block.coordinates)
        part = sigma[first : first + k * k].reshape(k, k)
        out[np.ix_(block.coordinates, block.coordinates)] = part
        first += k * k
    return out


def some_set(mdp: LinearMixtureMDP, world: World, rng: np.random.Generator) -> Ellipsoid:
    """What a regression on random values along a random walk has learnt, with a radius from tight to generous."""
    known = Regression(mdp, float(10.0 ** rng.uniform(-1, 1)))
    counts = draw(world, int(rng.choice([0, 3, 30, 300])), rng)
    for i in counts.observed[: counts.num_observed]:
        for _ in range(min(int(counts.values[i]), 40)):
            V = rng.random(mdp.num_states) * 10.0
            known.add(int(mdp.transitions.row_of[i]), V, float(V[mdp.transitions.successor[i]]))
    away = mdp.polytope.interior - known.estimate()
    least = np.sqrt(away @ whole(mdp, known.sigma) @ away)  # the interior point is inside
    return Ellipsoid(known.sigma, known.estimate(), float(least * (1.0 + 10.0 ** rng.uniform(-3, 2)) + 1e-3))


def gains(mdp: LinearMixtureMDP, V: np.ndarray, row: int) -> tuple[np.ndarray, slice]:
    """c with <c, theta> = sum_s' P_theta(s'|s,a) (r + gamma V(s')), and where the row's transitions are."""
    at = slice(mdp.transitions.indptr[row], mdp.transitions.indptr[row + 1])
    gain = mdp.discount * V[mdp.transitions.successor[at]]
    if len(mdp.transition_reward):
        gain = gain + mdp.transition_reward[at]
    return np.asarray(mdp.transitions.phi[at].T @ gain), at


def best_by_clarabel(mdp: LinearMixtureMDP, c: np.ndarray, sets: list[Ellipsoid]) -> float:
    lower, bound, equal, target = raw(mdp)
    theta = cp.Variable(mdp.dimension)
    constraints = [lower @ theta >= bound, equal @ theta == target]
    for one in sets:
        root = np.linalg.cholesky(whole(mdp, one.sigma)).T
        constraints.append(cp.norm(root @ (theta - one.estimate)) <= one.radius)
    problem = cp.Problem(cp.Maximize(c @ theta), constraints)
    problem.solve(solver=cp.CLARABEL)
    assert problem.status == "optimal"
    return float(problem.value)


def compare(world: World, rng: np.random.Generator, count: int, ellipsoids: int = 1) -> int:
    """Some of the inner problems of one plan; returns how many were compared."""
    mdp, optimist = world.mdp, Optimist(world.mdp)
    sets = [some_set(mdp, world, rng) for _ in range(ellipsoids)]
    optimist.plan(sets, tolerance=1e-3)
    assert not optimist.empty
    V = rng.random(mdp.num_states) * 10.0
    ours, gap = choose_models(optimist._core, V)
    assert gap <= 1e-8
    rows = rng.permutation(len(mdp.block_of_pair))[:count]
    for row in rows:
        c, at = gains(mdp, V, row)
        theta = optimist.thetas().reshape(-1, mdp.dimension)[row]
        assert mdp.contains(theta, tol=1e-9)
        for one in sets if len(mdp.polytope.blocks) == 1 else sets[:1]:
            away = theta - one.estimate
            if len(mdp.polytope.blocks) == 1:
                assert away @ whole(mdp, one.sigma) @ away <= one.radius**2 * (1.0 + 1e-6)
        np.testing.assert_allclose(
            ours[at], np.asarray(mdp.transitions.phi[at] @ theta), rtol=0.0, atol=1e-12
        )
        value, best = float(c @ theta), best_by_clarabel(mdp, c, sets)
        assert value == pytest.approx(best, rel=1e-6, abs=1e-6)
    return len(rows)


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_a_thousand_problems_against_clarabel(chunk: int):
    """Every example and random worlds of seven kinds: fifty problems in each of the chunks."""
    names, done = list(EXAMPLES), 0
    while done < 50:
        rng = np.random.default_rng([chunk, done])
        number = chunk * 1000 + done
        world = EXAMPLES[names[number % len(names)]] if done % 2 else random_world(number)
        if world.mdp.polytope.dimension == 0:
            done += 1
            continue
        done += compare(world, rng, 5)


@pytest.mark.parametrize("number", range(12))
def test_intersections_in_plans_against_clarabel(number: int):
    """Two or three ellipsoids around one estimate each, in models of one block."""
    rng = np.random.default_rng([number, 5])
    world = random_world((0, 1, 2, 3, 4)[number % 5] + 7 * number)
    assert len(world.mdp.polytope.blocks) == 1
    compare(world, rng, 3, ellipsoids=2 + number % 2)


@pytest.mark.parametrize("chunk", range(4))
def test_intersections_of_random_ellipsoids_against_clarabel(chunk: int):
    """Up to four ellipsoids that share a point, in up to nine dimensions, with random half-spaces."""
    for k in range(25):
        rng = np.random.default_rng([chunk, k])
        m, levels = int(rng.integers(1, 10)), int(rng.integers(1, 5))
        rows = np.vstack([rng.normal(size=(int(rng.integers(1, 50)), m)), np.eye(m), -np.eye(m)])
        rows /= np.linalg.norm(rows, axis=1)[:, None]
        offsets = np.abs(rng.normal(size=len(rows))) + 0.05
        shared = rng.normal(size=m)
        slope = rows @ shared
        shared *= 0.9 * min([1.0, *(offsets[slope < 0] / -slope[slope < 0])])
        H, middle, room = np.empty((levels, m, m)), np.empty((levels, m)), np.empty(levels)
        for level in range(levels):
            root = rng.normal(size=(m, m))
            H[level] = root @ root.T * 10 ** rng.uniform(-1, 3) + np.eye(m) * 10 ** rng.uniform(-1, 1)
            away = np.linalg.solve(np.linalg.cholesky(H[level]).T, 3.0 * rng.normal(size=m))
            middle[level] = shared + away
            room[level] = away @ H[level] @ away * rng.uniform(1.01, 2.0)
        c = rng.normal(size=m)
        mu = np.zeros(levels)
        mu[0] = np.sqrt(c @ np.linalg.solve(H[0], c) / room[0])
        y, gap = intersect(c, (H, middle, room), rows, offsets, mu)
        z = cp.Variable(m)
        inside = [cp.quad_form(z - middle[j], cp.psd_wrap(H[j])) <= room[j] for j in range(levels)]
        problem = cp.Problem(cp.Maximize(c @ z), [rows @ z + offsets >= 0, *inside])
        problem.solve(solver=cp.CLARABEL)
        assert gap <= 1e-7
        assert c @ y == pytest.approx(problem.value, rel=1e-6, abs=1e-6)


def test_ellipsoids_without_a_common_point_are_told():
    """Two small balls far from each other: no common point is claimed."""
    H, middle = np.array([np.eye(2), np.eye(2)]), np.array([[-1.0, 0.0], [1.0, 0.0]])
    rows = np.vstack([np.eye(2), -np.eye(2)])
    _, gap = intersect(np.array([0.3, 1.0]), (H, middle, np.full(2, 0.1)), rows, np.full(4, 5.0), np.ones(2))
    assert gap == np.inf


def test_the_nearest_point_of_an_empty_set_against_clarabel():
    world = random_world(3)
    mdp, rng = world.mdp, np.random.default_rng(0)
    estimate = mdp.polytope.interior + rng.normal(size=mdp.dimension)
    known = some_set(mdp, world, rng)
    optimist = Optimist(mdp)
    optimist.plan([Ellipsoid(known.sigma, estimate, 1e-6)], tolerance=1e-6)
    assert optimist.empty
    lower, bound, equal, target = raw(mdp)
    theta = cp.Variable(mdp.dimension)
    root = np.linalg.cholesky(whole(mdp, known.sigma)).T
    distance = cp.norm(root @ (theta - estimate))
    problem = cp.Problem(cp.Minimize(distance), [lower @ theta >= bound, equal @ theta == target])
    problem.solve(solver=cp.CLARABEL)
    ours = np.linalg.norm(root @ (optimist.theta - estimate))
    assert mdp.contains(optimist.theta)
    assert ours == pytest.approx(problem.value, rel=1e-6)


@pytest.mark.parametrize("seed", range(6))
def test_sets_that_reach_far_along_faces_that_are_nearly_flat(seed: int):
    """With twenty nearly deterministic base models P is a sliver, hundreds long: plans stay feasible and proved."""
    world = random_network(5, 4, 20, seed=seed)
    mdp, optimist = world.mdp, Optimist(world.mdp)
    known = Regression(mdp, 1.0)
    for count in range(3):
        optimist.plan([Ellipsoid(known.sigma, known.estimate(), 150.0)], tolerance=1e-6)
        assert optimist.error_bound <= 1e-4
        assert all(mdp.contains(theta, tol=1e-9) for theta in optimist.thetas().reshape(-1, 20))
        row = 4 * seed % 20 + count
        known.add(row, optimist.V, float(optimist.V[0]))
    # V is the best there is: no vertex of the simplex, all of which are feasible, promises more.
    for corner in np.eye(20):
        assert (plan(mdp, corner).V <= optimist.V + 1e-4).all()
