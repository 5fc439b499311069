"""The plan over best successors: against sweeps, above V* of any theta, and no dearer where gamma is near 1."""

import numpy as np
import pytest
from problems import dense
from small_worlds import EXAMPLES

import vbmle
from benchmarks import discounts
from vbmle.estimation.certificate import optimistic_value
from vbmle.estimation.maximiser import Solver
from vbmle.planning.optimistic_planner import BestSuccessors


def sweeps(mdp: vbmle.LinearMixtureMDP, count: int) -> np.ndarray:
    """The same by its definition, one state, action and successor at a time."""
    rows, extra = mdp.transitions, mdp.transition_reward
    V = np.zeros(mdp.num_states)
    for _ in range(count):
        new = np.full(mdp.num_states, -np.inf)
        for pair in range(mdp.num_states * mdp.num_actions):
            for i in range(rows.indptr[pair], rows.indptr[pair + 1]):
                worth = (extra[i] if len(extra) else 0.0) + mdp.discount * V[rows.successor[i]]
                state = pair // mdp.num_actions
                new[state] = max(new[state], mdp.pair_reward[pair] + worth)
        V = new
    return V


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_it_is_what_sweeps_converge_to(name: str) -> None:
    mdp = EXAMPLES[name].mdp
    count = int(np.ceil(np.log(1e-10 * (1.0 - mdp.discount)) / np.log(mdp.discount)))
    plan = BestSuccessors(mdp)
    assert np.abs(plan.V - sweeps(mdp, count)).max() <= 1e-10 + plan.error_bound


@pytest.mark.parametrize("discount", [0.01, 0.9, 0.99999])
@pytest.mark.parametrize("kind", discounts.MODEL_KINDS)
def test_no_theta_has_a_higher_value(kind: str, discount: float) -> None:
    mdp = discounts.MODEL_KINDS[kind](discount)
    bound = optimistic_value(mdp)
    for seed in range(5):
        theta = np.random.default_rng(seed).dirichlet(np.ones(mdp.dimension))
        if kind == "tabular":
            rows = mdp.transitions
            theta /= np.repeat(np.add.reduceat(theta, rows.indptr[:-1]), np.diff(rows.indptr))
        P = dense(mdp.transition(theta)).reshape(mdp.num_states, mdp.num_actions, mdp.num_states)
        plan = vbmle.plan(mdp, theta)
        pair = np.arange(mdp.num_states), plan.policy
        V = np.linalg.solve(
            np.eye(mdp.num_states) - discount * P[pair], mdp.pair_reward.reshape(mdp.num_states, -1)[pair]
        )
        assert (bound >= V - 1e-9 * (1.0 + np.abs(V))).all()


@pytest.mark.parametrize("kind", discounts.MODEL_KINDS)
def test_improvements_do_not_multiply_near_1(kind: str) -> None:
    near, nearer = (BestSuccessors(discounts.MODEL_KINDS[kind](gamma)) for gamma in (0.99, 0.99999))
    assert nearer.improvements <= 3 * near.improvements
    assert nearer.error_bound <= 1e-9 / (1.0 - 0.99999)


def test_a_long_chain_takes_few_improvements() -> None:
    """One reward at the end of a chain: each sweep would carry it one state further."""
    length = 400
    support = np.zeros((length, 1, length), bool)
    support[np.arange(length), 0, np.minimum(np.arange(length) + 1, length - 1)] = True
    support[np.arange(length), 0, np.arange(length)] = True
    reward = np.zeros((length, 1))
    reward[-1] = 1.0
    mdp = vbmle.LinearMixtureMDP.tabular(support, reward, 0.99999)
    truth = 0.99999 ** np.arange(length)[::-1] / (1.0 - 0.99999)
    plan = BestSuccessors(mdp)
    assert (plan.V + plan.error_bound >= truth * (1.0 - 1e-12)).all()
    np.testing.assert_allclose(plan.V, truth, rtol=1e-10)


def test_no_starts_are_made_where_there_is_no_bias(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(_: Solver) -> None:
        raise AssertionError("starts were made")

    monkeypatch.setattr(Solver, "_prepare", never)
    mdp = discounts.MODEL_KINDS["tabular"](0.99999)
    estimate = vbmle.value_biased(mdp, vbmle.TransitionCounts(mdp), 0, 0.0)
    likely = vbmle.maximum_likelihood(mdp, vbmle.TransitionCounts(mdp))
    np.testing.assert_allclose(estimate.theta, likely.theta, atol=1e-12)
    vbmle.VBMLE(mdp, bias_scale=0.0).act(0)
