"""Optimistic plans in the core: the largest <c, theta> over P within ellipsoids against Clarabel, and their handle."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import cvxpy
import numpy as np
import pytest
from parts.optimism import choose_models, intersect
from problems import draw, random_world, raw
from small_worlds import EXAMPLES

from vbmle import LinearMixtureMDP, World, plan
from vbmle.core.model import Model
from vbmle.core.optimism import L1Optimist, Optimist
from vbmle.core.regression import Regression
from vbmle.planning.planner import uses_factors
from vbmle.worlds import random_network

cp: Any = cvxpy
CHUNKS = 20
STALLED, NOT_CONVEX, NO_START = 1, 7, 5


@dataclass(frozen=True, eq=False)
class Ellipsoid:
    sigma: np.ndarray
    estimate: np.ndarray
    radius: float


def handle(mdp: LinearMixtureMDP) -> Model:
    return mdp.core


def optimist_of(mdp: LinearMixtureMDP, factors: bool | None = None) -> Optimist:
    return Optimist(handle(mdp), uses_factors(mdp) if factors is None else factors)


def whole(mdp: LinearMixtureMDP, sigma: np.ndarray) -> np.ndarray:
    """Sigma as one matrix."""
    out, first = np.zeros((mdp.dimension, mdp.dimension)), 0
    for block in mdp.polytope.blocks:
        k = len(block.coordinates)
        out[np.ix_(block.coordinates, block.coordinates)] = sigma[first : first + k * k].reshape(k, k)
        first += k * k
    return out


def some_set(mdp: LinearMixtureMDP, world: World, rng: np.random.Generator) -> Ellipsoid:
    """What a regression on random values along a random walk has learnt, with a radius from tight to generous."""
    known = Regression(handle(mdp), float(10.0 ** rng.uniform(-1, 1)))
    counts = draw(world, int(rng.choice([0, 3, 30, 300])), rng)
    for i in counts.observed[: counts.num_observed]:
        for _ in range(min(int(counts.values[i]), 40)):
            V = rng.random(mdp.num_states) * 10.0
            known.add(int(mdp.transitions.pair_of[i]), V, float(V[mdp.transitions.successor[i]]))
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
    mdp, optimist = world.mdp, optimist_of(world.mdp)
    sets = [some_set(mdp, world, rng) for _ in range(ellipsoids)]
    optimist.plan(sets, tolerance=1e-3)
    assert not optimist.empty
    V = rng.random(mdp.num_states) * 10.0
    ours, gap = choose_models(optimist, V)
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


# ---- the inner maximum, against another solver


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
        normals = np.vstack([rng.normal(size=(int(rng.integers(1, 50)), m)), np.eye(m), -np.eye(m)])
        normals /= np.linalg.norm(normals, axis=1)[:, None]
        offsets = np.abs(rng.normal(size=len(normals))) + 0.05
        shared = rng.normal(size=m)
        slope = normals @ shared
        shared *= 0.9 * min([1.0, *(offsets[slope < 0] / -slope[slope < 0])])
        H, middle, room = np.empty((levels, m, m)), np.empty((levels, m)), np.empty(levels)
        for level in range(levels):
            root = rng.normal(size=(m, m))
            H[level] = root @ root.T * 10 ** rng.uniform(-1, 3) + np.eye(m) * 10 ** rng.uniform(-1, 1)
            away = np.linalg.solve(np.linalg.cholesky(H[level]).T, 3.0 * rng.normal(size=m))
            middle[level] = shared + away
            room[level] = away @ H[level] @ away * rng.uniform(1.01, 2.0)
        c, mu = rng.normal(size=m), np.zeros(levels)
        mu[0] = np.sqrt(c @ np.linalg.solve(H[0], c) / room[0])
        y, gap = intersect(c, (H, middle, room), normals, offsets, mu)
        z = cp.Variable(m)
        inside = [cp.quad_form(z - middle[j], cp.psd_wrap(H[j])) <= room[j] for j in range(levels)]
        problem = cp.Problem(cp.Maximize(c @ z), [normals @ z + offsets >= 0, *inside])
        problem.solve(solver=cp.CLARABEL)
        assert gap <= 1e-7
        assert c @ y == pytest.approx(problem.value, rel=1e-6, abs=1e-6)


def test_ellipsoids_without_a_common_point_are_told():
    """Two small balls far from each other: no common point is claimed."""
    H, middle = np.array([np.eye(2), np.eye(2)]), np.array([[-1.0, 0.0], [1.0, 0.0]])
    normals = np.vstack([np.eye(2), -np.eye(2)])
    balls = H, middle, np.full(2, 0.1)
    _, gap = intersect(np.array([0.3, 1.0]), balls, normals, np.full(4, 5.0), np.ones(2))
    assert gap == np.inf


def test_the_nearest_point_of_an_empty_set_against_clarabel():
    world = random_world(3)
    mdp, rng = world.mdp, np.random.default_rng(0)
    estimate = mdp.polytope.interior + rng.normal(size=mdp.dimension)
    known = some_set(mdp, world, rng)
    optimist = optimist_of(mdp)
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
    assert optimist.last.missed == pytest.approx(problem.value**2 - 1e-12, rel=1e-6)
    np.testing.assert_array_equal(optimist.thetas()[0, 0], optimist.theta)
    np.testing.assert_allclose(optimist.V, plan(mdp, optimist.theta).V, rtol=0.0, atol=1e-8)


@pytest.mark.parametrize("seed", range(6))
def test_sets_that_reach_far_along_faces_that_are_nearly_flat(seed: int):
    """With twenty nearly deterministic base models P is a sliver, hundreds long: plans stay feasible and proved."""
    world = random_network(5, 4, 20, seed=seed)
    mdp, optimist = world.mdp, optimist_of(world.mdp)
    known = Regression(handle(mdp), 1.0)
    for count in range(3):
        optimist.plan([Ellipsoid(known.sigma, known.estimate(), 150.0)], tolerance=1e-6)
        assert optimist.error_bound <= 1e-4
        assert all(mdp.contains(theta, tol=1e-9) for theta in optimist.thetas().reshape(-1, 20))
        row = 4 * seed % 20 + count
        known.add(row, optimist.V, float(optimist.V[0]))
    # V is the best there is: no vertex of the simplex, all of which are feasible, promises more.
    for corner in np.eye(20):
        assert (plan(mdp, corner).V <= optimist.V + 1e-4).all()


# ---- the handle


def walk_of_sets(world: World, count: int) -> list[Ellipsoid]:
    """Sets that shrink around a regression along a walk."""
    known, rng = Regression(handle(world.mdp), 1.0), np.random.default_rng(1)
    transitions, sets = world.mdp.transitions, []
    for _ in range(count):
        for i in rng.integers(transitions.count, size=5):
            V = rng.random(world.mdp.num_states) * 10.0
            known.add(int(transitions.pair_of[i]), V, float(V[transitions.successor[i]]))
        sets.append(Ellipsoid(known.sigma.copy(), known.estimate(), 20.0))
    return sets


@pytest.mark.parametrize("name", ["paper, larger than the simplex", "tabular, a product of simplices"])
@pytest.mark.parametrize("ellipsoids", [1, 3])
def test_a_snapshot_continues_bit_for_bit(name: str, ellipsoids: int):
    world = EXAMPLES[name]
    sets = walk_of_sets(world, 8)
    ours = optimist_of(world.mdp)
    for k in range(4):
        ours.plan(sets[k : k + ellipsoids], 1e-6)
    other = optimist_of(world.mdp)
    other.plan(sets[:1], 1e-3)  # whatever it did before is forgotten
    other.restore(ours.snapshot())
    assert (other.error_bound, other.empty) == (ours.error_bound, ours.empty)
    np.testing.assert_array_equal(other.thetas(), ours.thetas())
    for k in range(4, 6):
        for one in (ours, other):
            one.plan(sets[k : k + ellipsoids], 1e-6)
        for key, value in ours.snapshot().items():
            np.testing.assert_array_equal(other.snapshot()[key], value, err_msg=key)


def test_more_ellipsoids_keep_what_the_first_ones_ended_with():
    world = EXAMPLES["paper, larger than the simplex"]
    sets = walk_of_sets(world, 3)
    optimist = optimist_of(world.mdp)
    optimist.plan(sets[:1], 1e-6)
    V, before = optimist.V, optimist.snapshot()
    optimist.restore({**before, "warm.s": before["warm.s"].repeat(2, axis=0)} | _twice(before))
    after = optimist.snapshot()
    for name in ("s", "num_active", "active", "y"):
        np.testing.assert_array_equal(after[f"warm.{name}"][0], before[f"warm.{name}"][0])
    optimist.plan(sets, 1e-6)
    assert len(optimist.snapshot()["warm.s"]) == 3
    assert optimist.V is V  # the same memory: what a caller holds stays current
    fresh = optimist_of(world.mdp)
    fresh.plan(sets, 1e-6)
    np.testing.assert_allclose(V, fresh.V, rtol=0.0, atol=optimist.error_bound + fresh.error_bound)


def _twice(state: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    names = ("warm.num_active", "warm.active", "warm.y")
    return {name: state[name].repeat(2, axis=0) for name in names}


@pytest.mark.parametrize("factors", [True, False])
def test_factors_and_sweeps_agree_within_their_bounds(factors: bool):
    world = EXAMPLES["reward of the next state"]
    one = walk_of_sets(world, 2)[1:]
    optimist, swept = optimist_of(world.mdp, factors), optimist_of(world.mdp)
    optimist.plan(one, 1e-8)
    assert optimist.last.status == 0
    assert optimist.error_bound <= 1e-8
    swept.plan(one, 1e-8, sweeps=400)
    assert (swept.V - optimist.V).min() >= -2e-8
    assert (swept.V - optimist.V).max() <= swept.error_bound + optimist.error_bound


def test_how_a_plan_ended_is_told():
    world = EXAMPLES["paper, larger than the simplex"]
    optimist = optimist_of(world.mdp)
    assert optimist.last.status == NO_START
    assert optimist.error_bound == np.inf
    one = walk_of_sets(world, 1)
    optimist.plan(one, 1e-6)
    end = optimist.last
    assert (end.status, end.inner, end.empty) == (0, 0, 0)
    assert end.rounds >= 1
    assert end.missed < 0.0
    assert 0.0 <= end.gap <= end.error_bound <= 1e-6 + 10.0 * end.gap
    before = optimist.V.copy()
    optimist.plan([Ellipsoid(-one[0].sigma, one[0].estimate, 1.0)], 1e-6)
    assert optimist.last.status == NOT_CONVEX
    assert optimist.error_bound == np.inf
    np.testing.assert_array_equal(optimist.V, before)


def broken(name: str) -> Callable[[Optimist, Ellipsoid], None]:
    """A call that must be refused, by what is wrong with it."""

    def write(optimist: Optimist, one: Ellipsoid, key: str, value: float) -> None:
        state = optimist.snapshot()
        state[key].reshape(-1)[0] = value
        optimist.restore(state)
        optimist.plan([one], 1e-6)

    return {
        "no set": lambda optimist, one: optimist.plan([], 1e-6),
        "radius": lambda optimist, one: optimist.plan([Ellipsoid(one.sigma, one.estimate, np.nan)], 1e-6),
        "sigma": lambda optimist, one: optimist.plan([Ellipsoid(one.sigma[:-1], one.estimate, 1.0)], 1e-6),
        "tolerance": lambda optimist, one: optimist.plan([one], 0.0),
        "sweeps": lambda optimist, one: optimist.plan([one], 1e-6, sweeps=-1),
        "policy": lambda optimist, one: write(optimist, one, "policy", 2),
        "tight": lambda optimist, one: write(optimist, one, "tight", 1),
        "num_active": lambda optimist, one: write(optimist, one, "warm.num_active", 100),
        "active": lambda optimist, one: write(optimist, one, "warm.active", -1),
    }[name]


@pytest.mark.parametrize(
    "name",
    ["no set", "radius", "sigma", "tolerance", "sweeps", "policy", "tight", "num_active", "active"],
)
def test_what_is_out_of_range_is_refused(name: str):
    world = EXAMPLES["paper, larger than the simplex"]
    one = walk_of_sets(world, 1)[0]
    optimist = optimist_of(world.mdp)
    optimist.plan([one], 1e-6)
    state = optimist.snapshot()
    state["warm.num_active"][0, 0] = 1  # so that the first active facet is looked at
    optimist.restore(state)
    with pytest.raises(ValueError, match=r"core|out of range"):
        broken(name)(optimist, one)


def test_ten_thousand_handles_leave_nothing_behind():
    """Made, planned with and dropped, views too: memory stays where it was."""
    import resource

    world = EXAMPLES["tabular, a product of simplices"]
    model, one = handle(world.mdp), walk_of_sets(world, 1)
    used = []
    for k in range(10_001):
        optimist = Optimist(model, True)
        if k % 100 == 0:
            optimist.plan(one, 1e-3)
        L1Optimist(model)
        if k in (1000, 10_000):
            used.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    assert used[1] - used[0] < 4096  # kilobytes; a handle has about ten


def test_a_view_keeps_its_memory():
    optimist = optimist_of(EXAMPLES["simplex mixture"].mdp)
    V = optimist.V
    del optimist
    others = [optimist_of(EXAMPLES["simplex mixture"].mdp) for _ in range(50)]
    np.testing.assert_array_equal(V, 1.0 / (1.0 - 0.9))
    assert len(others) == 50
