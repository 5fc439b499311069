"""Linear programs, LU factors and discounted visits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polyhedra import polyhedron, unit
from scipy.optimize import linprog
from vbmle.kernels import faces, objective, solve, value

from vbmle.testing import example_models

EXAMPLES = example_models()
EXACT = 1e-10
seeds = st.integers(0, 2**20)


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
