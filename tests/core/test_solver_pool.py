"""The pool of the core's solver: written back it goes on to the same bits, and a damaged one is refused."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import draw
from small_worlds import EXAMPLES
from solving import NETWORK, again, objective, started, status

from vbmle import TransitionCounts, World
from vbmle.core.solver import STATUSES, Objective, Solver
from vbmle.worlds import random_network, riverswim


def worlds() -> list[World]:
    """Dense and sparse features, one block and many, few facets and hundreds."""
    names = [
        "simplex mixture",
        "paper, larger than the simplex",
        "tabular, a product of simplices",
        "separate blocks",
    ]
    return [EXAMPLES[name] for name in names] + [random_network(15, 4, 10)]


def path(world: World, steps: int) -> list[tuple[int, int, int]]:
    rng, state, taken = np.random.default_rng(0), 0, []
    for _ in range(steps):
        action = int(rng.integers(world.mdp.num_actions))
        following = world.next_state(state, action, rng.random())
        taken.append((state, action, following))
        state = following
    return taken


@pytest.mark.parametrize("factors", [True, False], ids=["by factors", "by sweeps"])
@pytest.mark.parametrize("world", worlds(), ids=lambda world: f"{world.mdp.num_states} states")
def test_a_pool_that_was_written_back_goes_on_to_the_same_bits(world: World, factors: bool):
    """At every fifth step into a new solver, which then follows beside the old one."""
    counts, first = TransitionCounts(world.mdp), started(world, factors)
    solvers = [first]
    for t, (state, action, following) in enumerate(path(world, 25)):
        target = Objective(counts.core, 1.0, np.sqrt(t + 1.0), state)
        for solver in solvers:
            solver.follow(target)
            held = slice(0, first.size)
            assert (solver.size, solver.turn) == (first.size, first.turn)
            for name in first.views:
                np.testing.assert_array_equal(solver.views[name][held], first.views[name][held])
        counts.add(state, action, following)
        if t % 5 == 4:
            copy = started(world, factors)
            copy.restore(first.snapshot())
            np.testing.assert_array_equal(
                copy.views["theta"][: first.size], first.views["theta"][: first.size]
            )
            solvers = [first, copy]


def test_a_pool_too_large_to_keep_all_evaluations_goes_on_to_the_same_bits():
    """Where places share p and factors: 400 states, of which nine places would need 160,000 numbers each."""
    world = riverswim(400)
    counts = draw(world, 50, np.random.default_rng(0))
    one, two = Solver(world.mdp.core, 8, factors=True), Solver(world.mdp.core, 8, factors=True)
    target = Objective(counts.core, 1.0, 3.0, 7)
    one.climb_from_few(target)
    two.restore(one.snapshot())
    counts.add(0, 1, 1)
    for solver in (one, two):
        solver.climb(target)
    for name in one.views:
        np.testing.assert_array_equal(one.views[name][: one.size], two.views[name][: one.size])


def damages() -> list[tuple[str, Any]]:
    return [
        ("y", np.nan),
        ("y", np.inf),
        ("y", 1e3),
        ("V", np.nan),
        ("policy", -1),
        ("policy", 2),
        ("policy", 2**40),
        ("num_active", -1),
        ("num_active", 3),
        ("status", -1),
        ("status", len(STATUSES)),
        ("iterations", -1),
        ("result", np.nan),
    ]


def as_new(solver: Solver) -> bool:
    fresh = Solver(solver.model, solver.places, factors=True)
    names = (
        "theta",
        "y",
        "V",
        "policy",
        "num_active",
        "result",
        "status",
        "iterations",
        "evaluated",
        "factored",
    )
    return solver.size == 1 and all((solver.views[name] == fresh.views[name]).all() for name in names)


@pytest.mark.parametrize(("name", "value"), damages(), ids=str)
def test_a_damaged_pool_is_refused_and_the_solver_is_as_new(name: str, value: Any):
    solver = started(NETWORK, factors=True)
    solver.follow(objective())
    damaged = solver.snapshot()
    damaged[name][0, ...] = value
    with pytest.raises(ValueError, match="out of range"):
        solver.restore(damaged)
    assert as_new(solver)
    solver.follow(objective())  # it still works
    assert status(solver) == "converged"


@pytest.mark.parametrize("facet", [-1, 10**6])
def test_an_active_facet_out_of_range_is_refused(facet: int):
    solver = started(NETWORK, factors=True)
    solver.follow(objective())
    damaged = solver.snapshot()
    damaged["num_active"][0], damaged["active"][0, 0] = 1, facet
    with pytest.raises(ValueError, match="out of range"):
        solver.restore(damaged)
    assert as_new(solver)


def test_factors_that_are_none_are_refused():
    solver = started(NETWORK, factors=True)
    solver.follow(objective())
    damaged = solver.snapshot()
    damaged["factored"][0], damaged["factors"][0, 0] = 1, np.nan
    with pytest.raises(ValueError, match="out of range"):
        solver.restore(damaged)
    assert as_new(solver)


@pytest.mark.parametrize(("size", "turn"), [(0, 0), (-1, 0), (5, 0), (1, -1)])
def test_a_size_or_a_turn_out_of_range_is_refused(size: int, turn: int):
    solver = started(NETWORK, factors=True)
    solver.follow(objective())
    with pytest.raises(ValueError, match="out of range"):
        solver.restore(solver.snapshot() | {"place": np.array([size, turn])})
    assert as_new(solver)


@given(seed=st.integers(0, 2**20))
def test_whatever_is_written_is_refused_or_climbed_from(seed: int):
    """Small and large numbers, and those that are none, in random places of every array."""
    rng = np.random.default_rng(seed)
    solver = started(NETWORK, factors=bool(rng.integers(2)))
    solver.follow(objective())
    damaged = solver.snapshot()
    for name in rng.choice(list(solver.views), 2, replace=False):
        array = damaged[name]
        for _ in range(int(rng.integers(1, 4))):
            nasty = [0.0, 1.0, -1.0, 2.0, 1e-300, 1e300, rng.normal()]
            whole = [0, 1, 2, 3, -1, 100, 2**31 - 1]
            value = rng.choice(nasty if array.dtype == np.float64 else whole)
            array[:, ...].flat[int(rng.integers(array.size))] = value.astype(array.dtype)
    try:
        solver.restore(damaged)
    except ValueError:
        assert as_new(solver)
    for state in range(4):
        solver.follow(objective(state=state))
        solver.plan()
    assert np.isfinite(solver.views["theta"][0]).all()
    assert NETWORK.mdp.constraints.violation(solver.views["theta"][0].copy())[0] <= 1e-6


def test_an_action_that_is_not_allowed_is_refused():
    core = NETWORK.mdp.core
    reward = core._kept["reward"].copy()
    reward[1] = -np.inf  # in state 0 only action 0 is left
    solver = Solver(again(core, reward=reward), 1, factors=True)
    damaged = solver.snapshot()
    damaged["policy"][0, 0] = 1
    with pytest.raises(ValueError, match="out of range"):
        solver.restore(damaged)
    assert as_new(solver)
