"""The kernels that everything stands on: quadratic and linear programs, LU factors, discounted visits."""

from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import cp
from scipy.optimize import linprog

from vbmle.kernels import faces, objective, solve, value
from vbmle.kernels.quadratic import INFEASIBLE, NOT_CONVEX, SOLVED, cholesky, solve_qp
from vbmle.testing import example_models

EXAMPLES = example_models()
EXACT = 1e-10
seeds = st.integers(0, 2**20)


# ---- quadratic programs: maximise <g, d> - d' B d / 2 subject to rows @ d + slack >= 0


class Quadratic(NamedTuple):
    B: np.ndarray
    g: np.ndarray
    rows: np.ndarray
    slack: np.ndarray

    def solve(self, guess: Any = (), room: int = 0) -> tuple[int, np.ndarray, np.ndarray, np.ndarray]:
        """Status, d, active rows and their multipliers; `room` makes the work arrays larger than needed.

        They arrive full of NaN: nothing may be read that was not written.
        """
        n, r = len(self.g), len(self.rows)
        _, _, _, u, work = faces.make_work(n + room, r + room)
        for array in (u, *work):
            if array.dtype == np.float64:
                array[...] = np.nan
        d, active = np.full(n, np.nan), np.full(n, -1, np.int64)
        active[: len(guess)] = guess
        status, count = solve_qp(self.B, self.g, self.rows, self.slack, d, active, len(guess), u, work)
        return status, d, active[:count], u[:count]

    @property
    def scale(self) -> float:
        """Rounding grows with the condition of B and the size of the problem's numbers."""
        size = 1.0 + np.abs(self.g).max() + np.abs(np.linalg.solve(self.B, self.g)).max()
        return float(size * np.sqrt(np.linalg.cond(self.B)))

    def assert_optimal(self, d: np.ndarray, active: np.ndarray, u: np.ndarray) -> None:
        """The KKT conditions, which for a strictly convex program prove the maximum."""
        assert len(set(active)) == len(active)
        assert (u >= 0.0).all()
        values = self.rows @ d + self.slack
        assert values.min(initial=0.0) >= -1e-12 * self.scale
        np.testing.assert_allclose(values[active], 0.0, atol=1e-12 * self.scale)
        slope = self.g - self.B @ d + self.rows[active].T @ u
        np.testing.assert_allclose(slope, 0.0, atol=1e-11 * self.scale * (1.0 + np.abs(self.g).max()))


def unit(rows: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def curved(rng: np.random.Generator, n: int, condition: float = 100.0) -> np.ndarray:
    turn = np.linalg.qr(rng.normal(size=(n, n)))[0]
    return np.asarray(turn @ np.diag(np.geomspace(1.0, condition, n)) @ turn.T)


def polyhedron(kind: str, rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows and slack at the point where the step starts: inside, or exactly on a vertex."""
    if kind == "random rows":
        return unit(rng.normal(size=(4 * n, n))), rng.uniform(0.0, 1.0, 4 * n)
    if kind == "box":
        return np.vstack([np.eye(n), -np.eye(n)]), rng.uniform(0.0, 0.5, 2 * n)
    if kind == "cross-polytope":
        signs = 2.0 * (np.arange(2**n)[:, None] >> np.arange(n) & 1) - 1.0
        return unit(signs), np.full(2**n, 0.1 / np.sqrt(n))
    if kind == "at a vertex of the cross-polytope":
        rows, slack = polyhedron("cross-polytope", rng, n)
        corner = np.zeros(n)
        corner[int(rng.integers(n))] = 0.1
        return rows, np.maximum(slack + rows @ corner, 0.0)
    if kind == "rows many times over":
        rows, slack = polyhedron("random rows", rng, n)
        return np.vstack([rows] * 3), np.concatenate([slack, slack, slack + 0.1])
    rows, slack = polyhedron("random rows", rng, n)  # "no room at all": a single feasible point, d = 0
    return np.vstack([rows, -rows]), np.zeros(2 * len(slack))


KINDS = [
    "random rows",
    "box",
    "cross-polytope",
    "at a vertex of the cross-polytope",
    "rows many times over",
    "no room at all",
]


def quadratic(kind: str, seed: int, n: int, pull: float, condition: float = 100.0) -> Quadratic:
    rng = np.random.default_rng([seed, n])
    return Quadratic(curved(rng, n, condition), pull * rng.normal(size=n), *polyhedron(kind, rng, n))


@pytest.mark.parametrize("kind", KINDS)
@given(seed=seeds, n=st.integers(1, 6), pull=st.sampled_from([1e-3, 1.0, 1e3]))
def test_quadratic_programs_end_in_their_kkt_point(kind: str, seed: int, n: int, pull: float):
    program = quadratic(kind, seed, n, pull)
    status, d, active, u = program.solve()
    assert status == SOLVED
    program.assert_optimal(d, active, u)


@pytest.mark.parametrize("kind", KINDS)
@given(seed=seeds, n=st.integers(1, 5), pull=st.sampled_from([1e-3, 1.0, 1e3]))
def test_work_arrays_larger_than_the_problem_do_no_harm(kind: str, seed: int, n: int, pull: float):
    """Blocks of different sizes share one set of work arrays."""
    program = quadratic(kind, seed, n, pull)
    status, d, active, u = program.solve(room=3)
    assert status == SOLVED
    program.assert_optimal(d, active, u)
    np.testing.assert_allclose(d, program.solve()[1], rtol=0.0, atol=1e-12 * program.scale)


@pytest.mark.parametrize("kind", KINDS)
@given(seed=seeds, n=st.integers(1, 5), data=st.data())
def test_a_warm_start_changes_the_way_and_not_the_end(kind: str, seed: int, n: int, data: st.DataObject):
    program = quadratic(kind, seed, n, 1.0)
    guess = data.draw(st.lists(st.integers(0, len(program.rows) - 1), max_size=n, unique=True))
    status, d, active, u = program.solve(guess)
    assert status == SOLVED
    program.assert_optimal(d, active, u)
    np.testing.assert_allclose(d, program.solve()[1], rtol=0.0, atol=1e-12 * program.scale)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("condition", [1e6, 1e10])
def test_ill_conditioned_quadratic_programs_are_solved(kind: str, condition: float):
    for seed in range(20):
        program = quadratic(kind, seed, 1 + seed % 5, 1.0, condition)
        status, d, active, u = program.solve()
        assert status == SOLVED
        program.assert_optimal(d, active, u)


@pytest.mark.parametrize("kind", KINDS)
def test_clarabel_finds_the_same_step(kind: str):
    """B is at least the identity, so a value right to 1e-10 is a d right to 1e-5."""
    for seed in range(10):
        B, g, rows, slack = program = quadratic(kind, seed, 1 + seed % 5, 3.0)
        d = cp.Variable(len(g))
        reference = cp.Problem(
            cp.Maximize(g @ d - 0.5 * cp.quad_form(d, cp.psd_wrap(B))), [rows @ d + slack >= 0]
        )
        reference.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
        np.testing.assert_allclose(program.solve()[1], d.value, rtol=0.0, atol=2e-5)


def test_a_program_without_solution_or_curvature_says_so():
    rows, slack = np.array([[1.0, 0.0], [-1.0, 0.0]]), np.array([-1.0, -1.0])  # d_0 >= 1 and d_0 <= -1
    assert Quadratic(np.eye(2), np.ones(2), rows, slack).solve()[0] == INFEASIBLE
    assert Quadratic(np.diag([1.0, -1.0]), np.ones(2), rows, -slack).solve()[0] == NOT_CONVEX
    assert Quadratic(np.ones((2, 2)), np.ones(2), rows, -slack).solve()[0] == NOT_CONVEX


@given(seed=seeds, n=st.integers(1, 12))
def test_cholesky_factors(seed: int, n: int):
    matrix = curved(np.random.default_rng(seed), n)
    lower = np.zeros((n, n))
    assert cholesky(matrix, lower)
    np.testing.assert_allclose(np.tril(lower) @ np.tril(lower).T, matrix, rtol=0.0, atol=EXACT)


# ---- linear programs over {rows @ y + offsets >= 0}


def bounded(kind: str, seed: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """A bounded set around y = 0: random rows and a box, or a cross-polytope; some rows are redundant."""
    rng = np.random.default_rng([seed, n])
    rows, offsets = polyhedron(kind, rng, n)
    box = np.vstack([np.eye(n), -np.eye(n)])
    return np.vstack([rows, box]), np.concatenate([offsets + 0.01, np.full(2 * n, 0.5)])


@pytest.mark.parametrize("kind", ["random rows", "cross-polytope", "rows many times over"])
@given(seed=seeds, n=st.integers(1, 5))
def test_linear_programs_reach_the_maximum(kind: str, seed: int, n: int):
    rows, offsets = bounded(kind, seed, n)
    c = np.random.default_rng(seed).normal(size=n)
    y, active = np.zeros(n), np.zeros(n, np.int64)
    best, exact, _ = faces.linear_program(rows, offsets, c, y, active, 0, faces.make_work(n, len(rows)))
    reference = linprog(-c, A_ub=-rows, b_ub=offsets, bounds=(None, None))
    assert exact
    assert best == pytest.approx(c @ y, abs=EXACT)
    assert best == pytest.approx(
        -reference.fun, abs=1e-8
    )  # HiGHS is right to 1e-7 of a row, and less in effect
    assert (rows @ y + offsets).min() >= -1e-11


@pytest.mark.parametrize("kind", ["random rows", "cross-polytope", "rows many times over"])
@given(seed=seeds, n=st.integers(1, 5))
def test_rows_that_are_left_out_were_not_needed(kind: str, seed: int, n: int):
    rows, offsets = bounded(kind, seed, n)
    keep = faces.needed_rows(rows, offsets)
    for i in np.nonzero(~keep)[0]:
        least = linprog(rows[i], A_ub=-rows[keep], b_ub=offsets[keep], bounds=(None, None))
        assert least.status == 0
        assert least.fun + offsets[i] >= -1e-9


def test_rows_that_cut_nothing_off_are_left_out():
    """A unit box, and rows beyond its corners."""
    box = np.vstack([np.eye(2), -np.eye(2)])
    far = unit(np.array([[1.0, 1.0], [1.0, -1.0], [2.0, 1.0]]))
    rows, offsets = np.vstack([far, box]), np.concatenate([[1.5, 1.6, 1.7], np.ones(4)])
    np.testing.assert_array_equal(faces.needed_rows(rows, offsets), [False] * 3 + [True] * 4)


@given(seed=seeds, n=st.integers(1, 5))
def test_widths_are_those_of_linear_programs(seed: int, n: int):
    rows, offsets = bounded("random rows", seed, n)
    ends = [
        linprog(sign * e, A_ub=-rows, b_ub=offsets, bounds=(None, None)).fun
        for e in np.eye(n)
        for sign in (1.0, -1.0)
    ]
    expected = -np.array(ends).reshape(n, 2).sum(1)
    np.testing.assert_allclose(faces.widths(rows, offsets), expected, rtol=0.0, atol=1e-8)


# ---- linear systems I - gamma P


@pytest.mark.parametrize("n", [1, 2, 3, 10, 47, 48, 49, 59, 60, 61, 95, 96, 97, 120, 144, 145, 150])
@pytest.mark.parametrize("discount", [0.5, 0.999])
def test_factors_solve_as_numpy_does(n: int, discount: float):
    """Plain up to 60 states, in blocks of 48 above; the condition of I - gamma P is at most 2/(1-gamma)."""
    rng = np.random.default_rng(n)
    matrix = np.eye(n) - discount * rng.dirichlet(np.full(n, 0.2), n)
    lu, right = matrix.copy(), rng.random(n)
    solve.factor_in_place(lu)
    lower, upper = np.tril(lu, -1) + np.eye(n), np.triu(lu)
    np.testing.assert_allclose(lower @ upper, matrix, rtol=0.0, atol=1e-13)
    bound = 1e-13 / (1.0 - discount)
    for kernel, system in ((solve.solve_factored, matrix), (solve.solve_transposed, matrix.T)):
        x = right.copy()
        kernel(lu, x)
        np.testing.assert_allclose(x, np.linalg.solve(system, right), rtol=bound, atol=bound)
    many = rng.random((n, 4))
    expected = np.linalg.solve(matrix, many)
    solve.solve_factored_rows(lu, many)
    np.testing.assert_allclose(many, expected, rtol=bound, atol=bound)


@pytest.mark.parametrize("tolerance", [1e-3, 1e-9])
@pytest.mark.parametrize("name", EXAMPLES)
def test_visits_by_sweeps_are_those_of_a_linear_system(name: str, tolerance: float):
    """The promise is on the sum of errors; nothing is visited a negative number of times."""
    world = EXAMPLES[name]
    mdp, states = world.mdp, world.mdp.num_states
    p = mdp.transitions.probabilities(world.theta)
    policy = np.arange(states) % mdp.num_actions
    step = mdp.transitions.dense(p)[np.arange(states), policy]
    for state in range(states):
        w = np.empty(states)
        value.adjoint_by_sweeps(mdp.flat, p, policy, state, w, tolerance)
        exact = np.linalg.solve(np.eye(states) - mdp.discount * step.T, np.eye(states)[state])
        assert np.abs(w - exact).sum() <= tolerance + EXACT
        assert w.min() >= 0.0


def test_visits_by_factors_are_those_of_a_linear_system():
    world = EXAMPLES["simplex mixture"]
    mdp = world.mdp
    p, policy, lu, V = (
        mdp.transitions.probabilities(world.theta),
        np.zeros(4, np.int64),
        np.empty((4, 4)),
        np.empty(4),
    )
    value.policy_iteration(mdp.flat, p, policy, lu, V)
    step, w = mdp.transitions.dense(p)[np.arange(4), policy], np.empty(4)
    objective.occupancy(mdp.flat, p, policy, lu, 2, w)
    np.testing.assert_allclose(
        w, np.linalg.solve(np.eye(4) - 0.9 * step.T, np.eye(4)[2]), rtol=0.0, atol=EXACT
    )
