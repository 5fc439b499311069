"""Policies judged by draws of models with more states than are planned for by factors: against plain linear algebra."""

from typing import Any

import numpy as np
import pytest
from scipy import sparse

import vbmle
from vbmle.agents.information_ratio import PosteriorDraws
from vbmle.core.generated import vb_statuses
from vbmle.core.judging import Draws
from vbmle.core.library import TUNING, status_text

LOSS = (
    10.0 * TUNING["judged_loss"].value
)  # of itself: what sweeps leave in the loss of a draw, with room for their floor
BAD = status_text(vb_statuses.VB_BAD_ARGUMENT)
VISITS = 10.0 * TUNING["judged_visits"].value


def mixed(states: int, d: int, gamma: float, successors: int | None = None, **given: Any) -> Any:
    """Random base models: dense, or with so many successors of each pair."""
    rng, actions = np.random.default_rng(states + d), 3
    if successors is None:
        models: list[Any] = [rng.dirichlet(np.full(states, 0.3), (states, actions)) for _ in range(d)]
    else:
        pairs = states * actions
        columns = np.concatenate([rng.choice(states, successors, replace=False) for _ in range(pairs)])
        at = (np.repeat(np.arange(pairs), successors), columns)
        models = [
            sparse.csr_array((rng.dirichlet(np.ones(successors), pairs).ravel(), at), shape=(pairs, states))
            for _ in range(d)
        ]
    reward = given.pop("reward", rng.random((states, actions)))
    return vbmle.LinearMixtureMDP.from_models(models, reward, gamma, **given)


def drifting(states: int, gamma: float) -> Any:
    """A long corridor, in which chains mix so slowly that sweeps give up."""
    s = np.arange(states)
    models = []
    for ahead in (0.5, 0.6, 0.8):
        P = np.zeros((states, 2, states))
        for action, towards in enumerate((-1, 1)):
            P[s, action, np.clip(s + towards, 0, states - 1)] += ahead
            P[s, action, np.clip(s - towards, 0, states - 1)] += 1.0 - ahead
        models.append(P)
    reward = np.zeros((states, 2))
    reward[-1] = 1.0
    reward[:, 0] = 0.01
    return vbmle.LinearMixtureMDP.from_models(models, reward, gamma)


def barred() -> Any:
    """Some actions are not allowed."""
    may = np.random.default_rng(1).random((50, 3)) < 0.6
    may[:, 1] = True
    return mixed(50, 3, 0.9, allowed=may)


MODELS = {
    "dense, few coordinates": mixed(45, 3, 0.95),
    "dense, kept rows": mixed(40, 7, 0.99),
    "sparse": mixed(80, 6, 0.99, successors=4),
    "corridor": drifting(90, 0.999),
    "tabular": vbmle.worlds.riverswim(40).mdp,
    "not all allowed": barred(),
    "reward of the next state": mixed(40, 5, 0.9, reward=np.random.default_rng(3).random((40, 3, 40))),
}


def dense(mdp: Any, theta: np.ndarray) -> np.ndarray:
    P: Any = mdp.transition(theta)
    return np.asarray(P.toarray() if mdp.is_sparse else P).reshape(mdp.num_states, mdp.num_actions, -1)


def judged(name: str, count: int = 6) -> tuple[Any, PosteriorDraws, np.ndarray]:
    """Draws after a few observations, and three policies: optimal for two draws but for one state, and a random one."""
    mdp = MODELS[name]
    counts = vbmle.TransitionCounts(mdp)
    rng = np.random.default_rng(2)
    P = dense(mdp, mdp.polytope.interior)
    for state in rng.integers(mdp.num_states, size=30).tolist():
        action = int(rng.choice(np.flatnonzero(mdp.allowed[state])))
        counts.add(
            state, action, int(rng.choice(mdp.num_states, p=P[state, action] / P[state, action].sum()))
        )
    draws = PosteriorDraws(counts, draws=count, fresh=2, thinning=5, seed=3)
    draws.refresh()
    wild = np.array([rng.choice(np.flatnonzero(may)) for may in mdp.allowed])
    near, other = (vbmle.plan(mdp, draws.thetas[m]).policy.copy() for m in (0, 4))
    near[3] = wild[3]
    return mdp, draws, np.array([near, other, wild])


@pytest.mark.parametrize("name", MODELS)
def test_draws_are_planned_for_and_policies_judged_as_linear_algebra_says(name: str):
    mdp, draws, policies = judged(name)
    thetas = np.array(draws.thetas)
    for theta, best in zip(thetas, draws.best, strict=True):
        error = TUNING["judged_values"].value / (1.0 - mdp.discount)
        assert best == pytest.approx(vbmle.plan(mdp, theta, tolerance=1e-10).V, abs=2.0 * error + 1e-9)
    for state in (0, mdp.num_states // 2):
        found = draws.score(list(policies), state)
        for policy, score in zip(policies, found, strict=True):
            loss = [
                vbmle.plan(mdp, theta).V[state] - vbmle.evaluate(mdp, theta, policy)[state]
                for theta in thetas
            ]
            assert score.regret == pytest.approx(np.mean(loss), rel=LOSS, abs=1e-7)
            assert score.information == pytest.approx(
                taught(mdp, thetas, policy, state), rel=VISITS, abs=1e-9
            )


def taught(mdp: Any, thetas: np.ndarray, policy: np.ndarray, state: int) -> float:
    rows = np.arange(mdp.num_states), policy
    mean = dense(mdp, thetas.mean(axis=0))[rows]
    total = np.zeros(mdp.num_states)
    for theta in thetas:
        P = dense(mdp, theta)[rows]
        with np.errstate(divide="ignore", invalid="ignore"):
            total += np.where(P > 1e-200, P * np.log(P / mean), 0.0).sum(axis=1)
    visits = np.linalg.inv(np.eye(mdp.num_states) - mdp.discount * mean)[state]
    return float(visits @ total / len(thetas))


@pytest.mark.parametrize("name", MODELS)
def test_a_policy_loses_exactly_nothing_where_it_is_the_draws_own(name: str):
    _, draws, _ = judged(name)
    core = draws._draws
    losses, _ = core.judge(np.array(core.policy), 1)
    assert np.abs(np.diag(losses)).max() <= core.precision


@pytest.mark.parametrize("name", MODELS)
def test_policies_are_judged_alike_alone_and_together(name: str):
    _, draws, policies = judged(name)
    together = draws.score(list(policies), 2)
    for policy, score in zip(policies, together, strict=True):
        (alone,) = draws.score([policy], 2)
        assert score == pytest.approx(alone, rel=LOSS, abs=1e-7)


@pytest.mark.parametrize("name", ["sparse", "corridor"])
def test_draws_replaced_one_at_a_time_are_those_replaced_at_once(name: str):
    mdp, draws, policies = judged(name)
    one_by_one = Draws(mdp.core, len(draws.thetas))
    for m, theta in enumerate(draws.thetas):
        one_by_one.put(m, theta)
        one_by_one.plan(np.array([m]))
    assert one_by_one.best == pytest.approx(draws.best, abs=4.0 * one_by_one.precision)
    found, wanted = one_by_one.judge(policies, 0), draws._draws.judge(policies, 0)
    assert found[0] == pytest.approx(wanted[0], rel=LOSS, abs=1e-7)
    assert found[1] == pytest.approx(wanted[1], rel=VISITS)


def test_what_is_asked_of_draws_is_checked():
    draws = Draws(MODELS["sparse"].core, 3)
    with pytest.raises(ValueError, match=BAD):
        draws.plan(np.array([3]))
    with pytest.raises(ValueError, match=BAD):
        draws.judge(np.full((1, 80), 3), 0)
    with pytest.raises(ValueError, match=BAD):
        draws.judge(np.zeros((1, 80), np.int64), 80)
