"""The solver of the core: how climbs end, what is refused, and that a pool written back goes on to the same bits."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import draw

from vbmle import LinearMixtureMDP, TransitionCounts, World
from vbmle.core.model import Model
from vbmle.core.solver import STATUSES, Objective, Solver, make_objective
from vbmle.core.transition_counts import Counts
from vbmle.estimation import maximiser
from vbmle.estimation.maximiser import KEPT
from vbmle.estimation.starts import Starts
from vbmle.testing import example_models
from vbmle.worlds import random_network, riverswim

HEADER = Path(__file__).parents[2] / "core" / "include" / "vbmle" / "library.h"
EXAMPLES = example_models()
NETWORK = random_network(4, 2, 3, seed=0)


def status(solver: Solver) -> str:
    return STATUSES[solver.views["status"][0]]


def again(core: Model, **changes: Any) -> Model:
    """The same model with other arrays; all are copies."""
    names = ("num_states", "num_actions", "num_transitions", "dimension", "num_blocks")
    arrays = {name: array.copy() for name, array in core._kept.items()} | changes
    return Model({name: getattr(core, name) for name in names}, core.discount, arrays)


def seen(model: Model, values: np.ndarray) -> Counts:
    """Counts with these values, whether any theta allows them or not."""
    counts = Counts(model, np.ones(model.num_transitions, bool))
    counts.load(values, np.nonzero(values)[0])
    return counts


# ---- how a climb ends


def test_statuses_are_those_of_the_header():
    section = HEADER.read_text().partition("---- Statuses")[2].partition("/* ----")[0]
    named = dict(re.findall(r"#define VB_(\w+) (\d+)", section))
    for number, words in enumerate(STATUSES):
        assert named["OK" if words == "converged" else words.upper().replace(" ", "_")] == str(number)


@pytest.mark.parametrize("bias", [0.5, 5.0, 50.0])
@pytest.mark.parametrize("method", ["climb", "follow"])
def test_where_sweeps_end_exact_newton_steps_win_nothing(bias: float, method: str):
    """By sweeps, with more than a few coordinates, steps come from a surrogate and plans are rough until the end."""
    for seed in range(3):
        world = random_network(12, 3, 9, seed=seed)
        counts = draw(world, 60, np.random.default_rng(seed))
        objective = make_objective(counts.core, ridge=1.0, bias=bias, state=seed)
        swept, exact = started(world, False), Solver(world.mdp.core, 1, factors=True)
        getattr(swept, method)(objective)
        reached, residual = swept.views["result"][0, :2]
        assert residual <= 1e-7
        exact.stand_at(swept.views["theta"][0])
        exact.climb(objective)
        assert abs(exact.views["result"][0, 0] - reached) <= 1e-9 * (1.0 + abs(reached))
        np.testing.assert_allclose(exact.views["theta"][0], swept.views["theta"][0], rtol=0.0, atol=1e-6)
        np.testing.assert_allclose(exact.views["V"][0], swept.views["V"][0], rtol=0.0, atol=1e-6)


def test_a_climb_to_what_is_known_is_given_up():
    """Next to a maximum at hand: before values are exact. Alone, the same start is climbed to the end."""
    world = random_network(12, 3, 9, seed=0)
    objective = make_objective(draw(world, 60, np.random.default_rng(0)).core, ridge=1.0, bias=5.0, state=0)
    known, alone = started(world, False), started(world, False)
    known.climb(objective)
    top = known.views["theta"][0].copy()
    near = top + 1e-6 * (np.full(9, top.mean()) - top)
    before = known.views["result"][0].copy()
    known.add_start(objective, near)
    assert STATUSES[known.views["status"][-1]] == "stalled"
    assert known.views["iterations"][-1] == 0
    assert known.size == 1
    np.testing.assert_array_equal(known.views["result"][0], before)
    alone.stand_at(near)
    alone.climb(objective)
    assert status(alone) == "converged"
    assert alone.views["iterations"][0] > 0
    np.testing.assert_allclose(alone.views["theta"][0], top, rtol=0.0, atol=1e-6)


@pytest.mark.parametrize("name", EXAMPLES)
def test_converged(name: str):
    world = EXAMPLES[name]
    counts = draw(world, 40, np.random.default_rng(0))
    solver = Solver(world.mdp.core, 1, factors=True)
    assert status(solver) == "no start"  # it has not climbed yet
    solver.climb(make_objective(counts.core, 1.0, 2.0))
    assert status(solver) == "converged"
    assert solver.views["result"][0, 1] <= 1e-10
    assert solver.climbs == 1


def slow_climb(steps: int, bias: float) -> Solver:
    """Without factors a table has no curvature of the value: steps are safe, but many."""
    world = riverswim(4)
    counts = draw(world, steps, np.random.default_rng(steps))
    solver = Solver(world.mdp.core, 1, factors=False)
    solver.climb(make_objective(counts.core, 0.0, bias))
    return solver


def test_out_of_iterations():
    solver = slow_climb(steps=30, bias=0.3)
    assert status(solver) == "out of iterations"
    assert solver.views["iterations"][0] == 300


def test_stalled():
    """The objective rises by less than the sweeps' own error, step after step."""
    solver = slow_climb(steps=100, bias=10.0)
    assert status(solver) == "stalled"
    assert 1e-10 < solver.views["result"][0, 1] < 1e-4


def test_no_step():
    """Two facets that contradict each other: no program has a solution."""
    core = NETWORK.mdp.core
    arrays = core._kept
    normals, offsets = arrays["normals"].copy().reshape(-1, core.num_free), arrays["offsets"].copy()
    normals[1], offsets[:2] = -normals[0], -1.0
    model = again(core, normals=normals.ravel(), offsets=offsets)
    solver = Solver(model, 1, factors=True)
    solver.climb(make_objective(seen(model, np.ones(model.num_transitions)), 1.0))
    assert status(solver) == "no step"


def test_no_start():
    """A transition without features has probability 0 for every theta; still it is counted here."""
    core = NETWORK.mdp.core
    phi = core._kept["phi"].copy().reshape(-1, core.dimension)
    phi[2] = 0.0
    model = again(core, phi=phi)
    solver = Solver(model, 1, factors=True)
    solver.climb(make_objective(seen(model, np.ones(model.num_transitions)), 1.0))
    assert status(solver) == "no start"
    assert solver.views["result"][0, 0] == -np.inf
    assert solver.views["iterations"][0] == 0


def test_line_search_failed():
    """Slopes that lie: features are turned round after the model was made, which has the probabilities from before."""
    model = again(NETWORK.mdp.core)
    counts = seen(model, 1000.0 * np.ones(model.num_transitions))
    model._kept["phi"] *= -1.0
    solver = Solver(model, 1, factors=True)
    before = solver.views["theta"][0].copy()
    solver.climb(make_objective(counts, 0.0))
    assert status(solver) == "line search failed"
    np.testing.assert_allclose(solver.views["theta"][0], before, rtol=0.0, atol=1e-12)


def test_numbers_too_large_to_step_by_end_a_climb():
    """Slopes that overflow: whatever it ends with, it ends, at a feasible point."""
    core, nothing = NETWORK.mdp.core, TransitionCounts(NETWORK.mdp).core
    for linear in (np.array([1.7e308, -1.7e308, 1.7e308]), np.full(3, 1.7e308), np.array([1e308, 0.0, 0.0])):
        for bias in (0.0, 1e308):
            solver = Solver(core, 1, factors=True)
            solver.climb(make_objective(nothing, 0.0, bias, linear=linear))
            assert np.isfinite(solver.views["theta"][0]).all()


# ---- what is refused


def objective(**changes: Any) -> Objective:
    counts = draw(NETWORK, 30, np.random.default_rng(0))
    return make_objective(counts.core, **({"ridge": 1.0, "bias": 1.0, "state": 0} | changes))


@pytest.mark.parametrize("name", ["climb", "climb_from_few", "follow", "search"])
@pytest.mark.parametrize(
    "changes",
    [{name: value} for name in ("ridge", "bias") for value in (-1.0, np.nan, np.inf)]
    + [{"state": -1}, {"state": 4}]
    + [{"linear": np.array([0.0, value, 0.0])} for value in (np.nan, np.inf)],
    ids=str,
)
def test_an_objective_out_of_range_is_refused(name: str, changes: dict[str, Any]):
    solver = Solver(NETWORK.mdp.core, 2, factors=True)
    with pytest.raises(ValueError, match="out of range"):
        getattr(solver, name)(objective(**changes))
    assert solver.climbs == 0


def test_a_linear_part_of_another_length_is_refused():
    with pytest.raises(ValueError, match=r"shape \(4,\) was given"):
        objective(linear=np.zeros(4))


def test_counts_of_another_model_are_refused():
    """Even of one that is equal."""
    solver = Solver(again(NETWORK.mdp.core), 1, factors=True)
    with pytest.raises(ValueError, match="out of range"):
        solver.climb(objective())


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_theta_that_is_no_point_is_refused(value: float):
    solver, theta = Solver(NETWORK.mdp.core, 1, factors=True), np.array([0.5, value, 0.5])
    with pytest.raises(ValueError, match="out of range"):
        solver.stand_at(theta)
    with pytest.raises(ValueError, match="out of range"):
        solver.add_start(objective(), theta)
    for other in (np.zeros(2), np.zeros(4)):
        with pytest.raises(ValueError, match="the core needs"):
            solver.stand_at(other)
    np.testing.assert_array_equal(solver.views["theta"][0], NETWORK.mdp.polytope.interior)


@pytest.mark.parametrize("places", [0, -1, 1001])
def test_a_number_of_places_out_of_range_is_refused(places: int):
    with pytest.raises(ValueError, match="out of range"):
        Solver(NETWORK.mdp.core, places, factors=True)


def test_factors_of_a_million_states_are_refused_before_memory_is_asked_for():
    states = 2**20 + 1
    mdp = LinearMixtureMDP.tabular(np.ones((2, 1, 2), bool), np.zeros((2, 1)), 0.9)
    here = np.arange(states)
    changes = {"pair_begin": np.arange(states + 1), "successor": here, "reward": np.zeros(states)}
    features = {
        "feature_begin": np.zeros(states + 1, np.int64),
        "feature_coordinate": np.zeros(0, np.int64),
        "feature_weight": np.zeros(0),
    }
    sizes = {"num_states": states, "num_actions": 1, "num_transitions": states}
    sizes |= {"dimension": mdp.dimension, "num_blocks": mdp.core.num_blocks}
    model = Model(sizes, 0.9, mdp.core._kept | changes | features)
    with pytest.raises(MemoryError):
        Solver(model, 1, factors=True)
    assert Solver(model, 1, factors=False).size == 1


@pytest.mark.parametrize(
    ("fixed", "best", "pairs"),
    [
        (np.array([[np.nan, 0.0]]), None, [0]),
        (np.zeros((1, 2)), np.array([np.inf, 0.0]), [0]),
        (np.zeros((1, 2)), None, [-1]),
        (np.zeros((1, 2)), None, [0, 8]),
    ],
)
def test_starts_out_of_range_are_refused(fixed: np.ndarray, best: np.ndarray | None, pairs: list[int]):
    solver = Solver(NETWORK.mdp.core, 2, factors=True)
    with pytest.raises(ValueError, match="out of range"):
        solver.set_starts(fixed, best, np.array(pairs))
    solver.set_starts(np.zeros((1, 2)), None, np.arange(8))
    with pytest.raises(ValueError, match="out of range"):  # a second time
        solver.set_starts(np.zeros((1, 2)), None, np.arange(8))
    with pytest.raises(ValueError, match="the core needs"):
        solver.set_starts(np.zeros((1, 3)), None, np.arange(8))


# ---- pools that are written back


def worlds() -> list[World]:
    """Dense and sparse features, one block and many, few facets and hundreds."""
    names = [
        "simplex mixture",
        "paper, larger than the simplex",
        "tabular, a product of simplices",
        "separate blocks",
    ]
    return [EXAMPLES[name] for name in names] + [random_network(15, 4, 10)]


def started(world: World, factors: bool) -> Solver:
    solver, starts = Solver(world.mdp.core, 4, factors), Starts(world.mdp, 0)
    solver.set_starts(starts.fixed, starts.best, starts.pairs)
    return solver


def path(world: World, steps: int) -> list[tuple[int, int, int]]:
    rng, state, taken = np.random.default_rng(0), 0, []
    for _ in range(steps):
        action = int(rng.integers(world.mdp.num_actions))
        following = world.next_state(state, action, rng.random())
        taken.append((state, action, following))
        state = following
    return taken


def copied(solver: Solver) -> dict[str, np.ndarray]:
    return {name: solver.views[name].copy() for name in KEPT}


@pytest.mark.parametrize("factors", [True, False], ids=["by factors", "by sweeps"])
@pytest.mark.parametrize("world", worlds(), ids=lambda world: f"{world.mdp.num_states} states")
def test_a_pool_that_was_written_back_goes_on_to_the_same_bits(world: World, factors: bool):
    """At every fifth step into a new solver, which then follows beside the old one."""
    counts, first = TransitionCounts(world.mdp), started(world, factors)
    solvers = [first]
    for t, (state, action, following) in enumerate(path(world, 25)):
        target = make_objective(counts.core, 1.0, np.sqrt(t + 1.0), state)
        for solver in solvers:
            solver.follow(target)
            held = slice(0, first.size)
            assert (solver.size, solver.turn) == (first.size, first.turn)
            for name in KEPT:
                np.testing.assert_array_equal(solver.views[name][held], first.views[name][held])
        counts.add(state, action, following)
        if t % 5 == 4:
            copy = started(world, factors)
            for name, array in copied(first).items():
                copy.views[name][...] = array
            copy.restore(first.size, first.turn)
            np.testing.assert_array_equal(
                copy.views["theta"][: first.size], first.views["theta"][: first.size]
            )
            solvers = [first, copy]


def test_a_pool_too_large_to_keep_all_evaluations_goes_on_to_the_same_bits():
    """Where places share p and factors: 400 states, of which nine places would need 160,000 numbers each."""
    world = riverswim(400)
    counts = draw(world, 50, np.random.default_rng(0))
    one, two = Solver(world.mdp.core, 8, factors=True), Solver(world.mdp.core, 8, factors=True)
    target = make_objective(counts.core, 1.0, 3.0, 7)
    one.climb_from_few(target)
    for name, array in copied(one).items():
        two.views[name][...] = array
    two.restore(one.size, one.turn)
    counts.add(0, 1, 1)
    for solver in (one, two):
        solver.climb(target)
    for name in KEPT:
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
        ("status", 6),
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
    solver.views[name][0, ...] = value
    with pytest.raises(ValueError, match="out of range"):
        solver.restore(solver.size, solver.turn)
    assert as_new(solver)
    solver.follow(objective())  # it still works
    assert status(solver) == "converged"


@pytest.mark.parametrize("facet", [-1, 10**6])
def test_an_active_facet_out_of_range_is_refused(facet: int):
    solver = started(NETWORK, factors=True)
    solver.follow(objective())
    solver.views["num_active"][0], solver.views["active"][0, 0] = 1, facet
    with pytest.raises(ValueError, match="out of range"):
        solver.restore(solver.size, solver.turn)
    assert as_new(solver)


def test_factors_that_are_none_are_refused():
    solver = started(NETWORK, factors=True)
    solver.follow(objective())
    solver.views["factored"][0], solver.views["factors"][0, 0] = 1, np.nan
    with pytest.raises(ValueError, match="out of range"):
        solver.restore(solver.size, solver.turn)
    assert as_new(solver)


@pytest.mark.parametrize(("size", "turn"), [(0, 0), (-1, 0), (5, 0), (1, -1)])
def test_a_size_or_a_turn_out_of_range_is_refused(size: int, turn: int):
    solver = started(NETWORK, factors=True)
    solver.follow(objective())
    with pytest.raises(ValueError, match="out of range"):
        solver.restore(size, turn)
    assert as_new(solver)


@given(seed=st.integers(0, 2**20))
def test_whatever_is_written_is_refused_or_climbed_from(seed: int):
    """Small and large numbers, and those that are none, in random places of every array."""
    rng = np.random.default_rng(seed)
    solver = started(NETWORK, factors=bool(rng.integers(2)))
    solver.follow(objective())
    for name in rng.choice(KEPT, 2, replace=False):
        array = solver.views[name]
        for _ in range(int(rng.integers(1, 4))):
            nasty = [0.0, 1.0, -1.0, 2.0, 1e-300, 1e300, rng.normal()]
            whole = [0, 1, 2, 3, -1, 100, 2**31 - 1]
            value = rng.choice(nasty if array.dtype == np.float64 else whole)
            array[:, ...].flat[int(rng.integers(array.size))] = value.astype(array.dtype)
    try:
        solver.restore(solver.size, solver.turn)
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
    solver.views["policy"][0, 0] = 1
    with pytest.raises(ValueError, match="out of range"):
        solver.restore(1, 0)
    assert as_new(solver)


def test_standing_somewhere_shows_at_once():
    """theta is where one stands, moved inside, before any climb; a plan is for that theta."""
    solver = Solver(NETWORK.mdp.core, 1, factors=True)
    solver.stand_at(NETWORK.theta)
    np.testing.assert_allclose(solver.views["theta"][0], NETWORK.theta, rtol=0.0, atol=1e-12)
    solver.plan()
    from vbmle import plan

    np.testing.assert_allclose(solver.views["V"][0], plan(NETWORK.mdp, NETWORK.theta).V, rtol=0.0, atol=1e-7)


def test_what_a_solver_shows_cannot_be_written():
    """An action out of range would lead the next climb out of its memory."""
    shown = maximiser.Solver(NETWORK.mdp)
    for array in (shown.theta, shown.policy, shown.V):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 10**6
