"""LU factors and discounted visits."""

import numpy as np
import pytest

from vbmle.kernels import objective, solve, value
from vbmle.testing import example_models

EXAMPLES = example_models()
EXACT = 1e-10


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
