"""Quadratic programs of the core: maximise <g, d> - d' B d / 2 subject to normals @ d + slack >= 0."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from parts.climbing import INFEASIBLE, NOT_CONVEX, SOLVED, Program, Solution
from polyhedra import KINDS, curved, polyhedron
from problems import cp

seeds = st.integers(0, 2**20)
pulls = st.sampled_from([1e-3, 1.0, 1e3])
each_kind = pytest.mark.parametrize("kind", KINDS)


def quadratic(kind: str, seed: int, n: int, pull: float, condition: float = 100.0) -> Program:
    rng = np.random.default_rng([seed, n])
    return Program(curved(rng, n, condition), pull * rng.normal(size=n), *polyhedron(kind, rng, n))


def scale(program: Program) -> float:
    """Rounding grows with the condition of B and the size of the problem's numbers."""
    B, g = program.B, program.g
    size = 1.0 + np.abs(g).max() + np.abs(np.linalg.solve(B, g)).max()
    return float(size * np.sqrt(np.linalg.cond(B)))


def assert_optimal(program: Program, solution: Solution) -> None:
    """The KKT conditions, which for a strictly convex program prove the maximum."""
    B, g, normals, slack = program
    status, d, active, u, _ = solution
    assert status == SOLVED
    assert len(set(active)) == len(active)
    assert (u >= 0.0).all()
    values = normals @ d + slack
    assert values.min(initial=0.0) >= -1e-12 * scale(program)
    np.testing.assert_allclose(values[active], 0.0, atol=1e-12 * scale(program))
    slope = g - B @ d + normals[active].T @ u
    np.testing.assert_allclose(slope, 0.0, atol=1e-11 * scale(program) * (1.0 + np.abs(g).max()))


@each_kind
@given(seed=seeds, n=st.integers(1, 6), pull=pulls)
def test_quadratic_programs_end_in_their_kkt_point(kind: str, seed: int, n: int, pull: float):
    """With scratch full of NaN: nothing may be read that was not written."""
    program = quadratic(kind, seed, n, pull)
    assert_optimal(program, program.solve())


@each_kind
@given(seed=seeds, n=st.integers(1, 5), pull=pulls)
def test_scratch_larger_than_the_problem_does_no_harm(kind: str, seed: int, n: int, pull: float):
    """Blocks of different sizes share one set of work arrays."""
    program = quadratic(kind, seed, n, pull)
    solution = program.solve(room=3)
    assert_optimal(program, solution)
    np.testing.assert_array_equal(solution.d, program.solve().d)


@each_kind
@given(seed=seeds, n=st.integers(1, 5), data=st.data())
def test_a_warm_start_changes_the_way_and_not_the_end(kind: str, seed: int, n: int, data: st.DataObject):
    program = quadratic(kind, seed, n, 1.0)
    facets = st.integers(0, len(program.normals) - 1)
    guess = data.draw(st.lists(facets, max_size=n, unique=True))
    solution = program.solve(np.array(guess, np.int64))
    assert_optimal(program, solution)
    np.testing.assert_allclose(solution.d, program.solve().d, rtol=0.0, atol=1e-12 * scale(program))


@each_kind
@given(seed=seeds, n=st.integers(1, 12), turn=st.sampled_from([0.0, 1e-6, 0.1, 1.0, 10.0]), pull=pulls)
def test_the_frame_of_another_program_changes_the_way_and_not_the_end(
    kind: str, seed: int, n: int, turn: float, pull: float
):
    """The program before has another B, and a g that is another by a little, a lot or nothing."""
    program = quadratic(kind, seed, n, pull)
    rng = np.random.default_rng([seed, n, 1])
    other = program._replace(B=curved(rng, n, 100.0), g=program.g + turn * pull * rng.normal(size=n))
    solution = program.solve(before=other)
    assert_optimal(program, solution)
    np.testing.assert_allclose(solution.d, program.solve().d, rtol=0.0, atol=1e-12 * scale(program))


def test_a_frame_serves_programs_that_drift():
    """B and g differ a little from the last ones, in 40 variables: each program ends in its KKT point."""
    rng, n = np.random.default_rng(0), 40
    normals, slack = polyhedron("box", rng, n)
    last = Program(curved(rng, n, 100.0), 30.0 * rng.normal(size=n), normals, slack)
    for _ in range(100):
        drift = rng.normal(size=(n, 3))
        program = last._replace(B=last.B + 0.1 * drift @ drift.T, g=last.g + rng.normal(size=n))
        assert_optimal(program, program.solve(before=last))
        last = program


@each_kind
def test_a_warm_start_is_taken(kind: str):
    """From its own end a program has nothing to add; from that of one that differs a little, next to nothing."""
    cold = warm = 0
    for seed in range(20):
        program = quadratic(kind, seed, 12, 30.0)
        first = program.solve()
        assert program.solve(before=program).turns == 0
        near = program._replace(g=program.g * (1.0 + 1e-3 * np.random.default_rng(seed).normal(size=12)))
        cold, warm = cold + first.turns, warm + program.solve(before=near).turns
        assert first.turns >= len(first.active) > 0
    assert warm <= 0.1 * cold


def test_a_frame_does_not_hide_that_a_program_is_not_convex():
    normals, slack = np.array([[1.0, 0.0], [-1.0, 0.0]]), np.array([1.0, 1.0])
    before = Program(np.eye(2), np.array([0.1, 0.1]), normals, slack)
    flat = before._replace(B=np.diag([1.0, -1.0]))
    assert flat.solve(before=before).status == NOT_CONVEX


@each_kind
@given(seed=seeds, n=st.integers(1, 6), pull=pulls)
def test_normals_by_columns_change_nothing_but_speed(kind: str, seed: int, n: int, pull: float):
    """Models keep them so where there are eight facets or more."""
    program = quadratic(kind, seed, n, pull)
    solution = program.solve(by_axis=True)
    assert_optimal(program, solution)
    np.testing.assert_allclose(solution.d, program.solve().d, rtol=0.0, atol=1e-12 * scale(program))


@each_kind
@given(seed=seeds, n=st.integers(1, 12), pull=pulls)
def test_a_step_on_the_face_corrects_the_frame_as_bfgs_would(kind: str, seed: int, n: int, pull: float):
    """K+ = (1 - s q'/sq) K (1 - q s'/sq) + s s'/sq, which stays on the face and maps q to s."""
    program, rng = quadratic(kind, seed, n, pull), np.random.default_rng([seed, n, 1])
    shown = curved(rng, n, 100.0)
    status, active, K, learnt, s = program.learn(rng.normal(size=n), shown)
    if not np.abs(s).max() > 0.0:  # at a vertex there is no step
        assert (status, len(active)) == (NOT_CONVEX, n)
        return
    assert status == SOLVED
    q = shown @ s
    turned = np.eye(n) - np.outer(s, q) / (s @ q)
    expected = turned @ K @ turned.T + np.outer(s, s) / (s @ q)
    size = np.abs(K).max() + np.abs(expected).max()
    np.testing.assert_allclose(learnt, expected, rtol=0.0, atol=1e-10 * size)
    np.testing.assert_allclose(learnt @ q, s, rtol=0.0, atol=1e-10 * size * np.abs(q).max())
    np.testing.assert_allclose(program.normals[active] @ learnt, 0.0, atol=1e-10 * size)


def test_a_step_that_shows_no_curvature_teaches_nothing():
    program, rng = quadratic("box", 0, 4, 1e-3), np.random.default_rng(0)
    lesson = program.learn(rng.normal(size=4), -np.eye(4))
    assert lesson.status == NOT_CONVEX
    np.testing.assert_array_equal(lesson.before, lesson.after)


@each_kind
@pytest.mark.parametrize("condition", [1e6, 1e10])
def test_ill_conditioned_quadratic_programs_are_solved(kind: str, condition: float):
    for seed in range(20):
        program = quadratic(kind, seed, 1 + seed % 5, 1.0, condition)
        assert_optimal(program, program.solve())


@each_kind
def test_clarabel_finds_the_same_step(kind: str):
    """B is at least the identity, so a value right to 1e-10 is a d right to 1e-5."""
    for seed in range(10):
        B, g, normals, slack = program = quadratic(kind, seed, 1 + seed % 5, 3.0)
        d = cp.Variable(len(g))
        value = g @ d - 0.5 * cp.quad_form(d, cp.psd_wrap(B))
        reference = cp.Problem(cp.Maximize(value), [normals @ d + slack >= 0])
        reference.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
        np.testing.assert_allclose(program.solve().d, d.value, rtol=0.0, atol=2e-5)


def test_many_violated_facets_and_few_variables():
    """More facets are violated at once than are remembered: a box cut at hundreds of places in three dimensions."""
    rng = np.random.default_rng(0)
    normals = rng.normal(size=(400, 3))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    program = Program(np.eye(3), np.array([50.0, -20.0, 30.0]), normals, np.full(400, 0.1))
    for by_axis in (False, True):
        assert_optimal(program, program.solve(by_axis=by_axis))


def test_a_program_without_solution_or_curvature_says_so():
    normals, slack = np.array([[1.0, 0.0], [-1.0, 0.0]]), np.array([-1.0, -1.0])  # d_0 >= 1 and d_0 <= -1
    assert Program(np.eye(2), np.ones(2), normals, slack).solve().status == INFEASIBLE
    assert Program(np.diag([1.0, -1.0]), np.ones(2), normals, -slack).solve().status == NOT_CONVEX
    assert Program(np.ones((2, 2)), np.ones(2), normals, -slack).solve().status == NOT_CONVEX


def test_a_guess_out_of_range_is_refused():
    program = quadratic("box", 0, 3, 1.0)
    for guess in ([6], [-1], [0, 1, 7]):
        with pytest.raises(ValueError, match="out of range"):
            program.solve(np.array(guess, np.int64))
