"""Linear systems I - gamma P in the core: factors, sweeps and slow chains against NumPy's solver."""

import numpy as np
import pytest
from known_models import EPS, known, ring
from parts.planning import factor, solve, solve_columns, solve_slow_chain, visits
from small_worlds import EXAMPLES

from vbmle.core.planning import Planner

EXACT = 1e-10  # what exact algebra is held to


@pytest.mark.parametrize(
    "n", [1, 2, 3, 4, 5, 8, 10, 15, 16, 17, 31, 32, 33, 47, 48, 60, 61, 97, 120, 144, 145, 150]
)
@pytest.mark.parametrize("discount", [0.5, 0.999])
def test_factors_solve_as_numpy_does(n: int, discount: float):
    """In registers up to 16 columns, by halves above; the condition of I - gamma P is at most 2/(1-gamma)."""
    rng = np.random.default_rng(n)
    matrix = np.eye(n) - discount * rng.dirichlet(np.full(n, 0.2), n)
    lu, right = matrix.copy(), rng.random(n)
    factor(lu)
    lower, upper = np.tril(lu, -1) + np.eye(n), np.triu(lu, 1) + np.diag(1.0 / np.diag(lu))
    np.testing.assert_allclose(lower @ upper, matrix, rtol=0.0, atol=1e-13)
    bound = 1e-13 / (1.0 - discount)
    for transposed, system in ((False, matrix), (True, matrix.T)):
        x = right.copy()
        solve(lu, x, transposed)
        np.testing.assert_allclose(x, np.linalg.solve(system, right), rtol=bound, atol=bound)
    for columns in (1, 4, 11):
        many = rng.random((n, columns))
        expected = np.linalg.solve(matrix, many)
        solve_columns(lu, many)
        np.testing.assert_allclose(many, expected, rtol=bound, atol=bound)


@pytest.mark.parametrize("tolerance", [1e-3, 1e-9])
@pytest.mark.parametrize("name", EXAMPLES)
def test_visits_by_sweeps_are_those_of_a_linear_system(name: str, tolerance: float):
    """The promise is on the sum of errors; nothing is visited a negative number of times."""
    world = EXAMPLES[name]
    mdp, states = world.mdp, world.mdp.num_states
    planner = Planner(mdp.core, factors=False)
    planner.put(theta=world.theta)
    planner.assemble()
    planner.put(policy=np.arange(states) % mdp.num_actions)
    step = mdp.transitions.dense(planner.p)[np.arange(states), planner.policy]
    for state in range(states):
        w = visits(planner, state, tolerance)
        exact = np.linalg.solve(np.eye(states) - mdp.discount * step.T, np.eye(states)[state])
        assert np.abs(w - exact).sum() <= tolerance + EXACT
        assert w.min() >= 0.0


def test_visits_by_factors_are_those_of_a_linear_system():
    case = known(1, 9, 0.9)
    planner = case.planner(factors=True)
    planner.optimal()
    step = case.P[np.arange(9), planner.policy]
    expected = np.linalg.solve(np.eye(9) - 0.9 * step.T, np.eye(9)[2])
    np.testing.assert_allclose(planner.visit_from(2), expected, rtol=0.0, atol=EXACT)


@pytest.mark.parametrize("columns", [1, 2, 4, 7])
@pytest.mark.parametrize(
    "make", [lambda: known(2, 40, 0.95, is_sparse=True), lambda: known(2, 40, 0.95), lambda: ring(50, 0.99)]
)
def test_columns_are_solved_to_their_accuracy(make, columns: int):
    case = make()
    policy = np.zeros(len(case.R), np.int64)
    right = np.random.default_rng(columns).normal(size=(len(case.R), columns))
    exact = np.linalg.solve(np.eye(len(case.R)) - case.discount * case.P[:, 0], right)
    for factors, accuracy in ((True, 1e-14), (False, 1e-7), (False, 1e-3)):
        planner, X = case.planner(factors), right.copy()
        planner.put(policy=policy)
        planner.evaluate()
        planner.solve(X, accuracy)
        bound = accuracy * np.abs(right).max(0) / (1.0 - case.discount) + 1e-12
        assert (np.abs(X - exact).max(0) <= bound).all()


@pytest.mark.parametrize("state", [-1, 3])
@pytest.mark.parametrize(
    "make",
    [lambda: ring(300, 0.9995), lambda: known(3, 60, 0.999, is_sparse=True), lambda: known(3, 20, 0.99)],
)
def test_slow_chains_are_solved_to_their_residual(make, state: int):
    """Values to a spread of the residual, visits to a sum of it; far fewer steps than 1/(1-gamma)."""
    case = make()
    states, planner = len(case.R), case.planner(factors=False)
    planner.put(policy=np.arange(states) % 2 if states < 100 else 0)
    step = case.discount * case.P[np.arange(states), planner.policy]
    x = planner.V if state < 0 else planner.visits
    assert not x.any(), "a new planner begins at 0"
    assert solve_slow_chain(planner, 1e-9, state)
    if state < 0:
        residual = case.R[np.arange(states), planner.policy] + step @ x - x
        assert np.ptp(residual) <= 1e-9 + 8.0 * EPS / (1.0 - case.discount)
    else:
        residual = np.eye(states)[state] + step.T @ x - x
        assert np.abs(residual).sum() <= 1e-9 + 8.0 * EPS / (1.0 - case.discount)
