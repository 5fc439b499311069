"""Linear systems I - gamma P: by factors against NumPy, and visits by sweeps against them."""

import numpy as np
import pytest
from small_worlds import EXAMPLES

from vbmle import LinearMixtureMDP
from vbmle.core.planning import Planner, sweep_precision

EXACT = 1e-10


@pytest.mark.parametrize("n", [1, 2, 3, 10, 47, 48, 49, 59, 60, 61, 95, 96, 97, 120, 144, 145, 150])
@pytest.mark.parametrize("discount", [0.5, 0.999])
def test_factors_solve_as_numpy_does(n: int, discount: float):
    """Sizes around the panels of the factorisation; the condition of I - gamma P is at most 2/(1-gamma)."""
    rng = np.random.default_rng(n)
    reward = rng.random(n)
    mdp = LinearMixtureMDP.from_models([rng.dirichlet(np.full(n, 0.2), (n, 1))], reward[:, None], discount)
    planner = Planner(mdp.core, factors=True)
    planner.put(theta=1.0)
    planner.assemble()
    planner.evaluate()
    P = mdp.transitions.dense(planner.p)[:, 0]  # entries below 1e-12 are left out of a model
    matrix, bound = np.eye(n) - discount * P, 1e-13 / (1.0 - discount)
    np.testing.assert_allclose(planner.V, np.linalg.solve(matrix, reward), rtol=bound, atol=bound)
    visits = np.linalg.solve(matrix.T, np.eye(n)[n // 2])
    np.testing.assert_allclose(planner.visit_from(n // 2), visits, rtol=bound, atol=bound)
    many = rng.random((n, 4))
    expected = np.linalg.solve(matrix, many)
    planner.solve(many, 1e-12)
    np.testing.assert_allclose(many, expected, rtol=bound, atol=bound)


@pytest.mark.parametrize("factors", [True, False], ids=["by factors", "by sweeps"])
@pytest.mark.parametrize("name", EXAMPLES)
def test_visits_are_those_of_a_linear_system(name: str, factors: bool):
    """The promise of sweeps is on the sum of errors; nothing is visited a negative number of times."""
    world = EXAMPLES[name]
    mdp, states = world.mdp, world.mdp.num_states
    planner = Planner(mdp.core, factors)
    planner.put(theta=world.theta, policy=np.arange(states) % mdp.num_actions)
    planner.assemble()
    planner.evaluate()
    step = mdp.transitions.dense(planner.p)[np.arange(states), planner.policy]
    promise = EXACT if factors else sweep_precision(mdp.discount) + EXACT
    for state in range(states):
        w = planner.visit_from(state)
        exact = np.linalg.solve(np.eye(states) - mdp.discount * step.T, np.eye(states)[state])
        assert np.abs(w - exact).sum() <= promise
        assert w.min() >= (-1e-15 if factors else 0.0)
