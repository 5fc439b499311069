"""Planning for one model that is fully known: against the mixture of one base model, and a closed form."""

import numpy as np
import pytest
from refusals import refused
from scipy import sparse

from vbmle import LinearMixtureMDP, evaluate, plan, plan_known


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("states", [1, 3, 40, 300])
@pytest.mark.parametrize("discount", [0.5, 0.9, 0.99])
def test_planning_for_a_known_model_keeps_its_promise(states: int, discount: float, kind: str):
    """Against the mixture with one base model, exact policy iteration; rewards of any range."""
    rng = np.random.default_rng([states, int(100 * discount)])
    moves = rng.dirichlet(np.full(states, 0.3), (states, 3))
    reward = rng.normal(size=(states, 3)) * 20.0
    given = moves if kind == "dense" else sparse.csr_array(moves.reshape(-1, states))
    found = plan_known(given, reward, discount, tolerance=1e-7)
    low, high = reward.min(), reward.max()
    mdp = LinearMixtureMDP.from_models([moves], (reward - low) / (high - low), discount)
    exact = plan(mdp, [1.0], method="policy-iteration")
    V = (high - low) * exact.V + low / (1.0 - discount)
    Q = (high - low) * exact.Q + low / (1.0 - discount)
    assert found.converged
    assert found.error_bound <= 1e-7
    np.testing.assert_allclose(found.V, V, rtol=1e-10, atol=1e-7)
    np.testing.assert_allclose(found.Q, Q, rtol=1e-10, atol=1e-7)
    np.testing.assert_allclose(evaluate(mdp, [1.0], found.policy), exact.V, rtol=0.0, atol=1e-7)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_planning_for_a_known_model_that_never_mixes_keeps_its_promise(kind: str):
    """A long ring, walked or waited in: values spread one state a sweep. The closed form is a geometric series."""
    states, discount = 60, 0.999
    moves = np.stack([np.roll(np.eye(states), 1, axis=1), np.eye(states)], axis=1)
    reward = np.zeros((states, 2))
    reward[0] = [1.0, -1.0]
    given = moves if kind == "dense" else sparse.csr_array(moves.reshape(-1, states))
    found = plan_known(given, reward, discount, tolerance=1e-7)
    expected = discount ** ((states - np.arange(states)) % states) / (1.0 - discount**states)
    assert found.converged
    np.testing.assert_allclose(found.V, expected, rtol=0.0, atol=1e-7)
    np.testing.assert_array_equal(found.policy, 0)


def test_planning_for_a_known_model_refuses_what_is_no_model():
    moves, reward = np.full((2, 2, 2), 0.5), np.zeros((2, 2))
    wrong = moves.copy()
    wrong[1, 0] = [0.7, 0.7]
    with refused("transition", "(s=1, a=0)"):
        plan_known(wrong, reward, 0.9)
    with refused("transition", "(s=1, a=0)"):
        plan_known(sparse.csr_array(wrong.reshape(4, 2)), reward, 0.9)
    wrong[1, 0] = [1.5, -0.5]
    with refused("transition"):
        plan_known(wrong, reward, 0.9)
    with refused("transition"):
        plan_known(moves, np.zeros((3, 2)), 0.9)
    with refused("reward"):
        plan_known(moves, np.zeros(2), 0.9)
    with refused("discount", "1"):
        plan_known(moves, reward, 1.0)
