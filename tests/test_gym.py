"""Gymnasium, both ways: its own checker, vector environments, our agents in its worlds, its policies in ours."""

import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from refusals import refused

import vbmle
from vbmle import LinearMixtureMDP, World, drive, plan, simulate
from vbmle.gym import PolicyPlayer, WorldEnv, environment_name, random_theta
from vbmle.simulation import rewards
from vbmle.worlds import WORLDS, cliff_walking, frozen_lake, riverswim

NAMES = {world: environment_name(world) for world in WORLDS}


@pytest.mark.parametrize("name", NAMES.values())
def test_every_world_is_an_environment_to_gymnasiums_own_checker(name: str):
    env = gymnasium.make(name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env.unwrapped)
    assert env.spec is not None
    assert env.spec.max_episode_steps == 1000


def test_names():
    assert NAMES["riverswim"] == "vbmle/RiverSwim-v0"
    assert NAMES["closed_loop_trap"] == "vbmle/ClosedLoopTrap-v0"


def test_settings_of_the_world_are_settings_of_make():
    env: Any = gymnasium.make("vbmle/RiverSwim-v0", length=9, features="mixture")
    assert env.observation_space.n == 9
    assert env.unwrapped.world.mdp.dimension == 3
    with refused("world", "'rivrswim'", "'riverswim'"):
        WorldEnv("rivrswim")


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_vector_environments(mode: str):
    """Each member goes its own way, and the way that a single environment with its seed goes."""
    many = gymnasium.make_vec("vbmle/RiverSwim-v0", num_envs=3, vectorization_mode=mode)
    try:
        seen, _ = many.reset(seed=5)  # which gives 5, 6 and 7
        paths, paid = [seen], []
        for _ in range(30):
            seen, reward, _, _, _ = many.step(np.ones(3, np.int64))
            paths.append(seen)
            paid.append(reward)
    finally:
        many.close()
    assert len({tuple(path) for path in np.transpose(paths).tolist()}) == 3
    for k, seed in enumerate([5, 6, 7]):
        env = gymnasium.make("vbmle/RiverSwim-v0")
        state, _ = env.reset(seed=seed)
        for t in range(30):
            assert state == paths[t][k]
            state, gain, _, _, _ = env.step(1)
            assert gain == paid[t][k]


def test_steps_have_the_law_and_the_rewards_of_the_world():
    """Frequencies within 5 standard errors; each reward is that of the transition, in the world's units."""
    env: Any = gymnasium.make("vbmle/CliffWalking-v0", max_episode_steps=10**6).unwrapped
    world, rng = env.world, np.random.default_rng(1)
    mdp, paid = world.mdp, rewards(world.mdp)
    seen = np.zeros(mdp.transitions.count)
    state, _ = env.reset(seed=0)
    for _ in range(20_000):
        action = int(rng.integers(4))
        following, reward, ended, cut, _ = env.step(action)
        i = mdp.transitions.find(state, action, following)
        assert reward == paid[i]
        assert not ended
        assert not cut
        seen[i] += 1.0
        state = following
    assert set(paid[seen > 0]) == {-100.0, -1.0, 0.0}  # nothing on the way from the goal to the start
    p, rows = mdp.transitions.probabilities(world.theta), mdp.transitions.pair_of
    visits = np.bincount(rows, seen)[rows]
    often = visits >= 100
    error = np.sqrt(p * (1.0 - p) / np.maximum(visits, 1.0))
    assert often.sum() > 50
    assert (np.abs(seen / np.maximum(visits, 1.0) - p) <= 5.0 * error + 1.0 / np.maximum(visits, 1.0))[
        often
    ].all()


def test_the_hidden_truth_is_resampled_on_request_only():
    env: Any = gymnasium.make("vbmle/FrozenLake-v0").unwrapped
    before = env.world.theta
    env.reset(seed=1)
    np.testing.assert_array_equal(env.world.theta, before)
    env.reset(seed=1, options={"theta": "random"})
    drawn = env.world.theta
    assert not np.allclose(drawn, before)
    env.reset()
    np.testing.assert_array_equal(env.world.theta, drawn)
    env.reset(seed=1, options={"theta": "random"})
    np.testing.assert_array_equal(env.world.theta, drawn)
    env.reset(options={"theta": [0.1, 0.2, 0.3, 0.4]})
    np.testing.assert_array_equal(env.world.theta, [0.1, 0.2, 0.3, 0.4])
    with refused("theta"):
        env.reset(options={"theta": [1.0, 1.0, 0.0, 0.0]})
    with refused("['theta']", "'other'"):
        env.reset(options={"theta": "other"})


@pytest.mark.parametrize("name", ["riverswim", "frozen_lake", "hypercube"])
def test_random_truths_are_feasible_and_differ(name: str):
    """Product of simplices, one simplex, a cross-polytope."""
    plain: Any = gymnasium.make(NAMES[name]).unwrapped
    mdp = plain.world.mdp
    rng = np.random.default_rng(0)
    draws = [random_theta(mdp, rng) for _ in range(5)]
    assert all(mdp.contains(theta) for theta in draws)
    assert len({theta.tobytes() for theta in draws}) == 5


def test_rendering_tells_the_last_step():
    env: Any = gymnasium.make("vbmle/RiverSwim-v0", render_mode="ansi")
    env.reset(seed=0)
    assert env.render() == "state 0"
    env.step(0)
    assert env.render() == "state 0, action 0, reward 0.005, state 0"


class Scripted:
    """An agent that does always the same and remembers what it saw."""

    def __init__(self, action: int, states: int) -> None:
        self.policy = np.full(states, action)
        self.seen: list[tuple[int, int, int]] = []

    def act(self, state: int, /) -> int:
        return int(self.policy[state])

    def observe(self, state: int, action: int, next_state: int, /) -> None:
        self.seen.append((state, action, next_state))


def test_driving_observes_real_transitions_only():
    """Down from the start of the still lake: 0, 4, 8, then into the hole 12, where it begins anew."""
    agent = Scripted(1, 16)
    trip = drive(agent, gymnasium.make("FrozenLake-v1", is_slippery=False), 7)
    assert agent.seen == [(0, 1, 4), (4, 1, 8), (8, 1, 12), (0, 1, 4), (4, 1, 8), (8, 1, 12), (0, 1, 4)]
    assert list(zip(trip.states, trip.actions, trip.next_states, strict=True)) == agent.seen
    assert trip.episodes == 3
    np.testing.assert_array_equal(trip.rewards, 0.0)


def test_driving_begins_anew_where_an_episode_is_cut():
    agent = Scripted(0, 6)
    trip = drive(agent, gymnasium.make("vbmle/RiverSwim-v0", max_episode_steps=4), 10)
    assert trip.episodes == 3
    assert trip.rewards.sum() == pytest.approx(10 * 0.005)


def test_our_agent_learns_in_the_real_slippery_lake():
    """Enough real steps, and the estimate is near Gymnasium's own slip, 1/3 1/3 0 1/3 (in moves, not turns)."""
    world, env = frozen_lake(), gymnasium.make("FrozenLake-v1", is_slippery=True)
    agent = vbmle.MaximumLikelihood(world.mdp)
    trip = drive(agent, env, 600, seed=3, state_after=world.state_after)
    assert trip.episodes > 5
    assert agent.counts.total == 600
    np.testing.assert_allclose(
        agent.theta, world.theta, atol=0.15
    )  # sd of a share at 600 draws: .02; 1/7 wide


def test_splits_are_told_by_the_reward_when_driving_the_real_cliff():
    world = cliff_walking()
    agent = Scripted(1, 49)  # to the right: off the cliff at once
    trip = drive(agent, gymnasium.make("CliffWalking-v1"), 3, state_after=world.state_after)
    assert agent.seen == [(36, 1, 48), (48, 1, 48), (48, 1, 48)]
    np.testing.assert_array_equal(trip.rewards, -100.0)


def test_driving_takes_the_name_of_an_environment():
    one = drive(Scripted(0, 6), "vbmle/RiverSwim-v0", 20, seed=1)
    two = drive(Scripted(0, 6), gymnasium.make("vbmle/RiverSwim-v0"), 20, seed=1)
    np.testing.assert_array_equal(one.states, two.states)


RIVER = riverswim(5)


@pytest.mark.parametrize(
    ("env", "facts"),
    [
        (
            "CartPole-v1",
            ("observation_space", "env", "Discrete"),
        ),
        ("Blackjack-v1", ("observation_space", "env", "Tuple")),
        ("FrozenLake-v1", ("env", "16", "agent", "5")),
        (RIVER, ("env", "World", "reset", "step")),
        (WorldEnv, ("env", "WorldEnv")),
        (None, ("env", "NoneType")),
    ],
)
def test_environments_that_do_not_fit_the_agent_are_refused_at_once(env: Any, facts: tuple[str, ...]):
    with refused(*facts):
        drive(vbmle.Random(RIVER.mdp), env, 3)


def test_several_environments_at_once_are_refused():
    many = gymnasium.make_vec("vbmle/RiverSwim-v0", num_envs=2, vectorization_mode="sync")
    with refused("observation_space", "env"):
        drive(Scripted(0, 6), many, 3)
    many.close()


def test_actions_must_fit_and_split_states_need_to_be_told_apart():
    agent = vbmle.Random(RIVER.mdp)
    with refused("env", "4", "agent", "2"):
        drive(agent, "FrozenLake-v1", 3, state_after=lambda *step: 0)
    cliff = cliff_walking()
    with refused("env", "48", "agent", "49", "state_after"):
        drive(vbmle.Random(cliff.mdp), "CliffWalking-v1", 3)
    drive(vbmle.Random(cliff.mdp), "CliffWalking-v1", 3, state_after=cliff.state_after)


@pytest.mark.parametrize(
    ("agent", "facts"),
    [
        (
            vbmle.Random,
            ("agent", "Random", "act", "observe"),
        ),
        (RIVER.mdp, ("agent", "LinearMixtureMDP")),
        ("VBMLE", ("agent", "str")),
    ],
)
def test_what_is_no_agent_does_not_drive(agent: Any, facts: tuple[str, ...]):
    with refused(*facts):
        drive(agent, "vbmle/RiverSwim-v0", 3)


class Predictor:
    """The face of a Stable-Baselines3 policy: predict(observation, deterministic) -> (action, state)."""

    def __init__(self, policy: Any) -> None:
        self.policy = policy

    def predict(self, observation: Any, deterministic: bool = False) -> tuple[Any, None]:
        assert deterministic
        return np.asarray(self.policy[int(observation)]), None


def test_a_foreign_policy_plays_in_our_world():
    world = riverswim(5)
    best = plan(world.mdp, world.theta).policy
    assert simulate(PolicyPlayer(Predictor(best), world.mdp), world, 50).regret[-1] == 0.0
    lazy = simulate(PolicyPlayer(Predictor(np.zeros(5, int)), world.mdp), world, 50)
    assert set(lazy.actions) == {0}
    assert lazy.regret[-1] > 0.0


@pytest.mark.parametrize(
    ("policy", "facts"),
    [
        ([0, 0, 0, 0, 7], ("state 4", "7", "0", "1", "whole number")),
        ([0, 0, 0.5, 0, 0], ("predict", "0.5", "state 2", "whole number")),
        ([0, [0, 1], 0, 0, 0], ("predict", "[0, 1]", "state 1")),
    ],
)
def test_foreign_policies_that_make_no_sense_are_refused(policy: Any, facts: tuple[str, ...]):
    with refused(*facts):
        PolicyPlayer(Predictor(policy), riverswim(5).mdp)


class Bare:
    """predict gives the action alone."""

    def predict(self, observation: Any, deterministic: bool = False) -> Any:
        return 1


class Moody:
    """predict does not know `deterministic`."""

    def predict(self, observation: Any) -> Any:
        return 1, None


@pytest.mark.parametrize(
    ("policy", "mdp", "facts"),
    [
        (Bare(), RIVER.mdp, ("predict", "1", "state 0", "(action, anything)")),
        (Moody(), RIVER.mdp, ("predict", "'deterministic'")),
        (object(), RIVER.mdp, ("policy", "object", "predict")),
        (Predictor([0] * 5), 5, ("mdp", "int", "LinearMixtureMDP", "World")),
    ],
)
def test_what_is_no_policy_or_no_model_is_refused(policy: Any, mdp: Any, facts: tuple[str, ...]):
    with refused(*facts):
        PolicyPlayer(policy, mdp)


def test_a_world_stands_for_its_model():
    np.testing.assert_array_equal(PolicyPlayer(Predictor([0, 1, 0, 1, 0]), RIVER).policy, [0, 1, 0, 1, 0])


def test_unknown_options_of_reset_are_refused():
    with refused("reset", "'Theta'", "'theta'"):
        WorldEnv(RIVER).reset(options={"Theta": "random"})


@pytest.mark.parametrize("action", [1.5, 1.0, "1", None, 2, -1, np.array([0, 1]), np.array(0.5)])
def test_steps_that_are_no_action_are_refused(action: Any):
    env = WorldEnv(RIVER)
    env.reset(seed=0)
    with refused("action", "0", "1", "whole number"):
        env.step(action)
    for right in (1, np.int64(1), np.array(1), np.array([1])):
        env.step(right)


def test_money_is_counted_as_it_comes():
    """Two states in turn, 3 euros for leaving the first and -1 for leaving the second."""
    swap = np.array([[[0.0, 1.0]], [[1.0, 0.0]]])
    mdp = LinearMixtureMDP.from_models([swap], [[3.0], [-1.0]], 0.9, initial=[1, 0], normalise_reward=True)
    world = World(mdp, [1.0])
    history = simulate(Scripted(0, 2), world, 5)
    np.testing.assert_allclose(vbmle.earned(world, history), [3.0, -1.0, 3.0, -1.0, 3.0])


def test_each_member_of_a_vector_may_have_a_truth_of_its_own():
    many: Any = gymnasium.make_vec("vbmle/FrozenLake-v0", num_envs=3, vectorization_mode="sync")
    many.reset(seed=0, options={"theta": "random"})
    assert len({env.unwrapped.world.theta.tobytes() for env in many.envs}) == 3
    many.close()


def test_gymnasium_alone_makes_our_environments_by_name(tmp_path: Path):
    """No import of ours: since version 1.0 Gymnasium reads no plug-ins, but imports the module that an id names."""
    code = """
import gymnasium
env = gymnasium.make("vbmle.gym:vbmle/RiverSwim-v0", length=5)
state, _ = env.reset(seed=0)
print(int(env.observation_space.n), int(env.step(1)[0]) in range(5))
"""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=900)
    assert (done.returncode, done.stdout.split()) == (0, ["5", "True"]), done.stderr
