"""The solver of the core: how climbs end, what is refused, and what can be looked at."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import draw
from small_worlds import EXAMPLES
from solving import NETWORK, again, objective, started, status

from vbmle import LinearMixtureMDP, TransitionCounts
from vbmle.core.generated import vb_statuses
from vbmle.core.model import Counts, Model
from vbmle.core.solver import STATUSES, Objective, Solver
from vbmle.estimation import maximiser
from vbmle.worlds import hypercube, random_network, riverswim


def seen(model: Model, values: np.ndarray) -> Counts:
    """Counts with these values, whether any theta allows them or not."""
    counts = Counts(model, np.ones(model.num_transitions, bool))
    counts.load(values, np.nonzero(values)[0])
    return counts


# ---- how a climb ends


def test_statuses_are_those_of_the_header():
    ends = (
        "converged",
        "stalled",
        "no step",
        "line search failed",
        "out of iterations",
        "no start",
        "out of time",
    )
    assert ends == STATUSES
    assert STATUSES[vb_statuses.VB_LINE_SEARCH_FAILED] == "line search failed"


@pytest.mark.parametrize("bias", [0.5, 5.0, 50.0])
@pytest.mark.parametrize("method", ["climb", "follow"])
def test_where_sweeps_end_exact_newton_steps_win_nothing(bias: float, method: str):
    """By sweeps, with more than a few coordinates, steps come from a surrogate and plans are rough until the end."""
    for seed in range(3):
        world = random_network(12, 3, 9, seed=seed)
        counts = draw(world, 60, np.random.default_rng(seed))
        objective = Objective(counts.core, ridge=1.0, bias=bias, state=seed)
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
    objective = Objective(draw(world, 60, np.random.default_rng(0)).core, ridge=1.0, bias=5.0, state=0)
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


def test_a_step_that_leads_to_what_is_known_is_not_taken():
    """With factors, where the policy is the same: a Newton step lands on the maximum at hand."""
    world = random_network(12, 3, 9, seed=0)
    objective = Objective(draw(world, 60, np.random.default_rng(0)).core, ridge=1.0, bias=5.0, state=0)
    known, alone = started(world, True), started(world, True)
    known.climb(objective)
    top, before = known.views["theta"][0].copy(), known.views["result"][0].copy()
    near = top + 1e-3 * (world.mdp.polytope.interior - top)
    known.add_start(objective, near)
    assert STATUSES[known.views["status"][-1]] == "stalled"
    assert known.size == 1
    np.testing.assert_array_equal(known.views["result"][0], before)
    alone.stand_at(near)
    alone.climb(objective)
    assert status(alone) == "converged"
    np.testing.assert_allclose(alone.views["theta"][0], top, rtol=0.0, atol=1e-6)


def test_faces_change_without_new_programs():
    """With many coordinates, one observation after another: factors that are kept end where new ones win nothing."""
    world, rng = random_network(6, 3, 40, seed=0), np.random.default_rng(0)
    counts, used = TransitionCounts(world.mdp), Solver(world.mdp.core, 1, factors=True)
    programs, without, faces = 0, 0, set()
    for t in range(60):
        state, action = int(rng.integers(6)), int(rng.integers(3))
        counts.add(state, action, world.next_state(state, action, rng.random()))
        objective = Objective(counts.core, 1.0, np.sqrt(t + 1.0), state)
        new = Solver(world.mdp.core, 1, factors=True)
        new.stand_at(used.views["theta"][0])
        new.climb(objective)
        without += int(new.views["iterations"][0])
        used.climb(objective)
        programs += int(used.views["iterations"][0])
        reached, residual = used.views["result"][0, :2]
        assert residual <= 1e-8
        new.stand_at(used.views["theta"][0])
        new.climb(objective)
        assert abs(new.views["result"][0, 0] - reached) <= 1e-9 * (1.0 + abs(reached))
        faces.add(tuple(sorted(used.views["active"][0, : used.views["num_active"][0, 0]])))
    assert len(faces) > 20
    assert programs < without


@pytest.mark.parametrize("seed", [2, 5])
def test_a_climb_that_would_have_to_win_three_times_its_slope_is_given_up(seed: int):
    """From a lower maximum, far from the best: its slope promises nothing. The other way round it goes to the end.

    The data are such that several maxima are none that rounding could turn into a saddle.
    """
    world = hypercube(4, gap=0.9)
    counts = draw(world, 20, np.random.default_rng(seed))
    objective = Objective(counts.core, ridge=1.0, bias=5.0, state=0)
    tops: list[tuple[float, np.ndarray]] = []
    for start in np.random.default_rng(1).normal(size=(60, 4)):
        alone, same = started(world, False), started(world, False)
        alone.stand_at(world.mdp.polytope.interior + start)
        alone.climb(objective)
        reached, theta = float(alone.views["result"][0, 0]), alone.views["theta"][0].copy()
        same.stand_at(theta)
        same.climb(objective)
        # Actions tie here, and rounding may leave the first climb at a saddle.
        if abs(same.views["result"][0, 0] - reached) <= 1e-9:
            tops.append((reached, theta))
    (worst, low), (best, high) = min(tops, key=lambda top: top[0]), max(tops, key=lambda top: top[0])
    assert best > worst + 1e-3
    assert np.abs(high - low).max() > 0.05  # not next to each other, which would be a reason of its own
    for first, second, given_up in ((high, low, True), (low, high, False)):
        known = started(world, False)
        known.stand_at(first)
        known.climb(objective)
        known.add_start(objective, second)
        assert (STATUSES[known.views["status"][-1]] == "stalled") == given_up
        assert known.size == (1 if given_up else 2)
        np.testing.assert_allclose(known.views["result"][0, 0], best, rtol=1e-9)


MANY_FACETS = random_network(15, 4, 10)


@given(seed=st.integers(0, 2**20))
def test_facets_far_away_are_not_forgotten(seed: int):
    """895 facets, of which climbs look at those near where they last looked: no jump ends outside, or elsewhere than it
    would with nothing looked at before.
    """
    world, rng = MANY_FACETS, np.random.default_rng(seed)
    phi, counts = world.mdp.transitions.phi, draw(world, 200, rng)
    used = Solver(world.mdp.core, 1, factors=True)
    for _ in range(4):
        start = world.mdp.polytope.interior + 0.1 * rng.normal(size=10)
        objective = Objective(counts.core, 1.0, 10.0 ** rng.uniform(-1.0, 3.0), int(rng.integers(15)))
        new = Solver(world.mdp.core, 1, factors=True)
        for solver in (used, new):
            solver.stand_at(start)
            solver.plan()
            solver.climb(objective)
        assert (phi @ used.views["theta"][0]).min() >= -1e-12
        for name in ("theta", "result", "num_active"):
            np.testing.assert_array_equal(used.views[name][0], new.views[name][0])


@pytest.mark.parametrize("name", EXAMPLES)
def test_converged(name: str):
    world = EXAMPLES[name]
    counts = draw(world, 40, np.random.default_rng(0))
    solver = Solver(world.mdp.core, 1, factors=True)
    assert status(solver) == "no start"  # it has not climbed yet
    solver.climb(Objective(counts.core, 1.0, 2.0))
    assert status(solver) == "converged"
    assert solver.views["result"][0, 1] <= 1e-10
    assert solver.climbs == 1


def slow_climb(steps: int, bias: float) -> Solver:
    """Without factors a table has no curvature of the value: steps are safe, but many."""
    world = riverswim(4)
    counts = draw(world, steps, np.random.default_rng(steps))
    solver = Solver(world.mdp.core, 1, factors=False)
    solver.climb(Objective(counts.core, 0.0, bias))
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
    solver.climb(Objective(seen(model, np.ones(model.num_transitions)), 1.0))
    assert status(solver) == "no step"


def test_no_start():
    """A transition without features has probability 0 for every theta; still it is counted here."""
    core = NETWORK.mdp.core
    phi = core._kept["phi"].copy().reshape(-1, core.dimension)
    phi[2] = 0.0
    model = again(core, phi=phi)
    solver = Solver(model, 1, factors=True)
    solver.climb(Objective(seen(model, np.ones(model.num_transitions)), 1.0))
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
    solver.climb(Objective(counts, 0.0))
    assert status(solver) == "line search failed"
    np.testing.assert_allclose(solver.views["theta"][0], before, rtol=0.0, atol=1e-12)


def test_numbers_too_large_to_step_by_end_a_climb():
    """Slopes that overflow: whatever it ends with, it ends, at a feasible point."""
    core, nothing = NETWORK.mdp.core, TransitionCounts(NETWORK.mdp).core
    for linear in (np.array([1.7e308, -1.7e308, 1.7e308]), np.full(3, 1.7e308), np.array([1e308, 0.0, 0.0])):
        for bias in (0.0, 1e308):
            solver = Solver(core, 1, factors=True)
            solver.climb(Objective(nothing, 0.0, bias, linear=linear))
            assert np.isfinite(solver.views["theta"][0]).all()


# ---- what is refused


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
