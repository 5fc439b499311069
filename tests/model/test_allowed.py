"""Actions that are not allowed, and names: against the same model in which they are copies of one that is."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refusals import refused
from scipy import sparse

import vbmle
from vbmle import theory
from vbmle.testing import check_agent

RNG = np.random.default_rng(2)
S, A = 5, 3
MODELS = list(RNG.dirichlet(np.ones(S), (3, S, A)))
REWARD = RNG.random((S, A))
ALLOWED = np.array([[0, 1, 1], [1, 1, 1], [0, 0, 1], [1, 0, 1], [1, 1, 0]], dtype=bool)
HOLES = np.where(ALLOWED, REWARD, np.nan)
THETA = [0.5, 0.2, 0.3]
FIRST = ALLOWED.argmax(axis=1)
STATES, ACTIONS = ["home", "road", "shop", "park", "sea"], ["walk", "wait", "drive"]


def masked(reward: np.ndarray = HOLES, **settings: Any) -> vbmle.LinearMixtureMDP:
    return vbmle.LinearMixtureMDP.from_models(MODELS, reward, 0.9, allowed=ALLOWED, **settings)


def copied() -> vbmle.LinearMixtureMDP:
    """Every forbidden action does what the first allowed one does."""
    models, reward = [model.copy() for model in MODELS], REWARD.copy()
    for s, a in np.argwhere(~ALLOWED):
        reward[s, a] = REWARD[s, FIRST[s]]
        for model in models:
            model[s, a] = model[s, FIRST[s]]
    return vbmle.LinearMixtureMDP.from_models(models, reward, 0.9)


def named() -> vbmle.LinearMixtureMDP:
    return masked(state_names=STATES, action_names=ACTIONS)


MAKERS: list[Callable[..., Any]] = [
    vbmle.VBMLE,
    lambda mdp: vbmle.VBMLE(mdp, search="certified", update="doubling"),
    vbmle.ApproximateVBMLE,
    vbmle.MaximumLikelihood,
    vbmle.PSRL,
    vbmle.RBMLE,
    vbmle.UCRL2,
    vbmle.UCLK,
    vbmle.UCLKPlus,
    vbmle.UPACUCLK,
    vbmle.QLearning,
    lambda mdp: vbmle.QLearning(mdp, epsilon=0.5),
    vbmle.Random,
]


def test_plans_values_and_estimates_are_those_of_copies():
    mdp, other = masked(), copied()
    mine, theirs = vbmle.plan(mdp, THETA), vbmle.plan(other, THETA)
    np.testing.assert_allclose(mine.V, theirs.V, atol=1e-8)
    assert ALLOWED[np.arange(S), mine.policy].all()
    np.testing.assert_allclose(
        vbmle.plan(mdp, THETA, method="modified-policy-iteration").V, theirs.V, atol=1e-8
    )
    counts, twin = vbmle.TransitionCounts(mdp), vbmle.TransitionCounts(other)
    path = vbmle.simulate(vbmle.Random(mdp), vbmle.World(mdp, THETA), 80)
    for each in (counts, twin):
        each.add_many(path.states, path.actions, path.next_states)
    for state in range(S):
        found = vbmle.value_biased(mdp, counts, state, bias=9.0, certify=True)
        wanted = vbmle.value_biased(other, twin, state, bias=9.0, certify=True)
        assert found.objective == pytest.approx(wanted.objective, rel=1e-6)
        assert found.upper_bound == pytest.approx(wanted.upper_bound, rel=1e-5)
    sure, same = theory.confidence(counts, mine.policy), theory.confidence(twin, mine.policy)
    np.testing.assert_allclose(sure.V_low, same.V_low, atol=1e-6)
    np.testing.assert_allclose(sure.V_high, same.V_high, atol=1e-6)
    assert not sure.rivals[~ALLOWED].any()


@pytest.mark.parametrize("make", MAKERS)
def test_no_agent_takes_a_forbidden_action(make: Callable[..., Any]):
    world = vbmle.World(masked(), THETA)
    history = vbmle.simulate(make(world.mdp), world, 150, seed=1)
    assert ALLOWED[history.states, history.actions].all()
    assert np.isfinite(history.regret).all()
    assert np.isfinite(vbmle.earned(world, history)).all()
    check_agent(make, world, steps=40)


@pytest.mark.parametrize("make", [vbmle.VBMLE, vbmle.PSRL, vbmle.RBMLE, vbmle.UCLK])
def test_rewards_of_the_next_state_sparse_and_tabular_models(make: Callable[..., Any]):
    reward = np.where(ALLOWED[:, :, None], RNG.random((S, A, S)), np.nan)
    pieces = [sparse.csr_array(model.reshape(S * A, S)) for model in MODELS]
    table = vbmle.LinearMixtureMDP.tabular(np.ones((S, A, S), bool), HOLES, 0.9, allowed=ALLOWED)
    truth = np.where(ALLOWED.ravel()[table.transitions.pair_of], 1.0 / S, 1.0)
    for world in (
        vbmle.World(masked(reward), THETA),
        vbmle.World(vbmle.LinearMixtureMDP.from_models(pieces, HOLES, 0.9, allowed=ALLOWED), THETA),
        vbmle.World(table, truth),
    ):
        history = vbmle.simulate(make(world.mdp), world, 40)
        assert ALLOWED[history.states, history.actions].all()


def test_files_keep_it_exactly(tmp_path: Path):
    mdp = named()
    mdp.save(tmp_path / "model.npz")
    again = vbmle.LinearMixtureMDP.load(tmp_path / "model.npz")
    assert again.fingerprint() == mdp.fingerprint() == masked().fingerprint()
    assert again.names == mdp.names
    np.testing.assert_array_equal(again.allowed, ALLOWED)
    np.testing.assert_array_equal(again.pair_reward, mdp.pair_reward)
    for other in (masked(100.0 * HOLES, normalise_reward=True), copied()):
        other.save(tmp_path / "other.npz")
        assert vbmle.LinearMixtureMDP.load(tmp_path / "other.npz").fingerprint() == other.fingerprint()


def test_names_in_and_out():
    agent: Any = vbmle.VBMLE(named())
    by_number = vbmle.VBMLE(masked())
    agent.observe("home", "drive", "sea")
    agent.observe_many(["sea", "home"], ["walk", "wait"], ["shop", "road"])
    by_number.observe_many([0, 4, 0], [2, 0, 1], [4, 2, 1])
    np.testing.assert_array_equal(agent.counts.values, by_number.counts.values)
    assert agent.act("road") == ACTIONS[by_number.act(1)]
    assert agent.act(1) == by_number.act(1)
    for make in (vbmle.UCLK, vbmle.QLearning):
        other: Any = make(named())
        other.observe("home", "drive", "sea")
        assert other.act("home") in ACTIONS
    with refused("state", "'moon'", "home", "sea"):
        agent.act("moon")
    with refused("state", "'home'"):
        by_number.act("home")


@pytest.mark.parametrize(
    ("make", "facts"),
    [
        (
            lambda: masked(state_names=STATES[:4]),
            ("state_names", "4", "5"),
        ),
        (lambda: masked(action_names=["a", "b", "a"]), ("action_names", "'a'", "0", "2")),
        (
            lambda: vbmle.LinearMixtureMDP.from_models(
                MODELS, REWARD, 0.9, allowed=np.arange(S)[:, None] != np.full((S, A), 3), state_names=STATES
            ),
            ("allowed", "park"),
        ),
        (
            lambda: vbmle.LinearMixtureMDP.from_models(MODELS, REWARD, 0.9, allowed=np.ones((A, S))),
            ("allowed", "(3, 5)", "(5, 3)"),
        ),
        (lambda: vbmle.evaluate(named(), THETA, np.zeros(S, int)), ("(s=home, a=walk)",)),
        (lambda: vbmle.VBMLE(named()).observe(0, 0, 1), ("(s=home, a=walk)",)),
        (lambda: vbmle.VBMLE(named()).observe_many([1, 0], [0, 0], [1, 1]), ("1", "(s=home, a=walk)")),
    ],
)
def test_what_does_not_fit_is_said_by_name(make: Callable[[], Any], facts: tuple[str, ...]):
    with refused(*facts):
        make()


def test_gymnasium_is_told():
    from vbmle.gym import WorldEnv

    env = WorldEnv(vbmle.World(masked(), THETA))
    state, info = env.reset(seed=0)
    for _ in range(20):
        np.testing.assert_array_equal(info["action_mask"], ALLOWED[state])
        np.testing.assert_array_equal(env.action_masks(), ALLOWED[state])
        state, _, _, _, info = env.step(int(info["action_mask"].argmax()))
    while ALLOWED[state].all():
        state = env.step(int(ALLOWED[state].argmax()))[0]
    with refused("info"):
        env.step(int(ALLOWED[state].argmin()))
