"""Worlds from Gymnasium: the table entry by entry, and the real environment step by step."""

from typing import Any

import gymnasium
import numpy as np
import pytest
from scipy import sparse

from vbmle import (
    History,
    LinearMixtureMDP,
    MaximumLikelihood,
    Oracle,
    QLearning,
    World,
    drive,
    earned,
    plan,
    simulate,
)
from vbmle.simulation import rewards
from vbmle.worlds import cliff_walking, from_gymnasium, frozen_lake, taxi
from vbmle.worlds.gymnasium_worlds import SLIPPERY

EXACT = 1e-12


def lake(slippery: bool = False, size: int = 4) -> Any:
    return gymnasium.make("FrozenLake-v1", map_name=f"{size}x{size}", is_slippery=slippery)


def transition(world: World) -> np.ndarray:
    return np.asarray(world.mdp.transition(world.theta))


def by_hand(env: Any, slip: Any, ends: set[int]) -> np.ndarray:
    """P_theta straight from the definition, restarting at state 0."""
    table = env.unwrapped.P
    states, actions = len(table), len(table[0])
    p = np.zeros((states, actions, states))
    for s in range(states):
        for a in range(actions):
            if s in ends:
                p[s, a, 0] = 1.0
                continue
            for k, weight in enumerate(slip):
                for probability, to, _, _ in table[s][(a + k) % actions]:
                    p[s, a, to] += weight * probability
    return p


HOLES_AND_GOAL = {5, 7, 11, 12, 15}  # of the 4x4 map SFFF FHFH FFFH HFFG


@pytest.mark.parametrize("slippery", [False, True])
@pytest.mark.parametrize("slip", [[1.0], [0.7, 0.3], [0.1, 0.2, 0.3, 0.4]])
def test_the_mixture_is_the_definition(slippery: bool, slip: list[float]):
    env = lake(slippery)
    world = from_gymnasium(env, slip)
    np.testing.assert_allclose(transition(world), by_hand(env, slip, HOLES_AND_GOAL), rtol=0.0, atol=EXACT)
    assert world.mdp.domain == "simplex"
    assert world.mdp.dimension == len(slip)
    np.testing.assert_array_equal(world.theta, slip)


def test_the_default_slip_is_the_slippery_lake():
    for size in (4, 8):
        one, two = frozen_lake(size), from_gymnasium(lake(True, size))
        np.testing.assert_allclose(transition(one), transition(two), rtol=0.0, atol=EXACT)
        np.testing.assert_allclose(
            plan(one.mdp, one.theta).V, plan(two.mdp, two.theta).V, rtol=0.0, atol=1e-9
        )
        assert one.mdp.num_states == size * size


def test_the_reward_is_paid_on_reaching_the_goal():
    world = frozen_lake()
    rows = world.mdp.transitions
    np.testing.assert_array_equal(
        world.mdp.transition_reward, (rows.successor == 15) & (rows.pair_of // 4 != 15)
    )


def test_a_terminal_state_restarts_or_absorbs():
    """Restart: reward once per round. Absorb: reward at most once, so V is a discounted chance of arriving."""
    restart, absorb = transition(frozen_lake()), transition(frozen_lake(terminal="absorb"))
    for s in HOLES_AND_GOAL:
        np.testing.assert_array_equal(restart[s], np.tile(np.eye(16)[0], (4, 1)))
        np.testing.assert_array_equal(absorb[s], np.tile(np.eye(16)[s], (4, 1)))
    world = frozen_lake(slip=[1.0, 0.0, 0.0, 0.0], terminal="absorb", discount=0.9)
    V = plan(world.mdp, world.theta).V
    assert V[14] == pytest.approx(1.0, abs=1e-9)  # one step to the right
    assert V[0] == pytest.approx(0.9**5, abs=1e-9)  # six steps, the reward with the last
    assert V[15] == V[5] == 0.0
    again = frozen_lake(slip=[1.0, 0.0, 0.0, 0.0], discount=0.9)
    assert plan(again.mdp, again.theta).V[0] == pytest.approx(0.9**5 / (1.0 - 0.9**7), abs=1e-9)


def test_the_real_environment_moves_as_the_world_says():
    """Slips drawn by hand around the real env: frequencies within 5 standard errors, rewards exactly."""
    slip, env, rng = [0.6, 0.1, 0.2, 0.1], lake(), np.random.default_rng(0)
    world = from_gymnasium(env, slip)
    p, seen, rewards = transition(world), np.zeros((16, 4, 16)), {}
    state, _ = env.reset(seed=0)
    for _ in range(20_000):
        action = int(rng.integers(4))
        happened = (action + int(rng.choice(4, p=slip))) % 4
        following, reward, ended, _, _ = env.unwrapped.step(happened)
        seen[state, action, following] += 1.0
        rewards[state, action, following] = reward
        state = env.reset()[0] if ended else following
    visits = seen.sum(axis=2, keepdims=True)
    often = visits[..., 0] >= 50
    assert often.sum() >= 20
    error = np.sqrt(p * (1.0 - p) / np.maximum(visits, 1.0))
    off = np.abs(seen / np.maximum(visits, 1.0) - p)
    assert (off[often] <= 5.0 * error[often] + 1.0 / visits[often]).all()
    for (s, a, to), reward in rewards.items():
        assert world.mdp.transition_reward[world.mdp.transitions.find(s, a, to)] == reward


def test_cliff_walking_as_it_is():
    """Rewards of -1 and -100 are mapped, and regret is in steps: the best policy takes 13 to the goal."""
    world = from_gymnasium("CliffWalking-v1", discount=0.9, terminal="absorb")
    assert world.mdp.num_states == 48
    assert world.mdp.reward_offset == -100.0
    V = world.mdp.reward_scale * plan(world.mdp, world.theta).V + world.mdp.reward_offset / (1.0 - 0.9)
    assert V[36] == pytest.approx(-(1.0 - 0.9**13) / (1.0 - 0.9), abs=1e-6)
    assert simulate(Oracle(world.mdp, world.theta), world, 30).regret[-1] == 0.0


def table_reward(env: Any, slip: Any) -> np.ndarray:
    """The expected reward of every (s, a) straight from the table: sum_k theta_k sum p r."""
    table = env.unwrapped.P
    states, actions = len(table), len(table[0])
    return np.array(
        [
            [
                sum(w * p * r for k, w in enumerate(slip) for p, _, r, _ in table[s][(a + k) % actions])
                for a in range(actions)
            ]
            for s in range(states)
        ]
    )


@pytest.mark.parametrize("name", ["CliffWalking-v1", "Taxi-v4"])
@pytest.mark.parametrize("slip", [[0.7, 0.1, 0.1, 0.1], [0.0, 0.0, 0.4, 0.6]])
def test_split_states_keep_expected_rewards_and_moves_exactly(name: str, slip: list[float]):
    """Versions merged again give the table's law, and rewards in the table's units, for every version."""
    env: Any = gymnasium.make(name)
    table = env.unwrapped.P
    world, states = from_gymnasium(name, slip), len(table)
    mdp, of, ended = world.mdp, np.array(world._merged.of), np.array(world._merged.ended)
    assert mdp.num_states > states
    p = mdp.transitions.probabilities(world.theta)
    paid = p * rewards(mdp)
    pairs = mdp.transitions.pair_of
    expected = np.bincount(pairs, paid, mdp.num_states * mdp.num_actions).reshape(mdp.num_states, -1)
    truth = table_reward(env, slip)
    np.testing.assert_allclose(expected[~ended], truth[of[~ended]], rtol=0.0, atol=1e-10)
    np.testing.assert_array_equal(expected[ended], 0.0)
    law = sparse.csr_array(
        (p, (pairs, of[mdp.transitions.successor])), shape=(len(of) * mdp.num_actions, states)
    )
    for v in np.nonzero(~ended)[0][:: max(1, len(of) // 60)]:
        for a in range(mdp.num_actions):
            wanted = np.zeros(states)
            for k, weight in enumerate(slip):
                for q, to, _, _ in table[of[v]][(a + k) % mdp.num_actions]:
                    wanted[to] += weight * q
            np.testing.assert_allclose(
                law[[v * mdp.num_actions + a]].toarray()[0], wanted, rtol=0.0, atol=EXACT
            )


def test_the_cliff_splits_its_start_and_nothing_else():
    world = cliff_walking()
    assert world.mdp.num_states == 49
    assert world.state_after(36, 1, 36, -100.0, False) == 48
    assert world.state_after(36, 2, 36, -1.0, False) == 36
    assert world.state_after(48, 0, 24, -1.0, False) == 24
    mdp = world.mdp
    assert rewards(mdp)[mdp.transitions.find(36, 1, 48)] == pytest.approx(-100.0)
    assert rewards(mdp)[mdp.transitions.find(36, 1, 36)] == pytest.approx(-1.0)
    V = plan(mdp, world.theta).V
    assert V[48] == pytest.approx(V[36], rel=1e-14)  # versions behave alike, up to the order of a sum


def test_wind_drives_the_walker_from_the_edge():
    """At the start all go up; above the cliff one walks along it in still air, and away from it in the wind."""
    still, windy = cliff_walking([1.0, 0.0, 0.0, 0.0]), cliff_walking([0.4, 0.3, 0.0, 0.3])
    up, right = 0, 1
    assert plan(still.mdp, still.theta).policy[25] == right
    assert plan(windy.mdp, windy.theta).policy[25] == up


def test_a_list_of_environments_is_a_mixture_of_models():
    dry, icy = lake(False), lake(True)
    world = from_gymnasium([dry, icy], weights=[0.25, 0.75])
    np.testing.assert_array_equal(world.theta, [0.25, 0.75])
    expected = 0.25 * transition(from_gymnasium(dry)) + 0.75 * transition(from_gymnasium(icy))
    np.testing.assert_allclose(transition(world), expected, rtol=0.0, atol=EXACT)
    both = from_gymnasium([dry, icy], [0.6, 0.4])
    np.testing.assert_allclose(both.theta, [0.3, 0.2, 0.3, 0.2])
    parts = [from_gymnasium(env, [0.6, 0.4]) for env in (dry, icy)]
    expected = 0.5 * transition(parts[0]) + 0.5 * transition(parts[1])
    np.testing.assert_allclose(transition(both), expected, rtol=0.0, atol=EXACT)


def test_rain_in_the_taxi():
    """State 0 0 (row 0, column 0): south goes south in the dry, with .8 in the rain."""
    world = taxi(rain=0.5)
    mdp = world.mdp
    p = mdp.transitions.probabilities(world.theta)
    assert p[mdp.transitions.find(1, 0, 101)] == pytest.approx(0.5 + 0.5 * 0.8)
    assert mdp.reward_offset == -10.0
    assert mdp.reward_offset + mdp.reward_scale == 20.0


def test_large_tables_stay_sparse(monkeypatch: pytest.MonkeyPatch):
    """The same world either way."""
    from vbmle.worlds import gymnasium_worlds

    dense = frozen_lake()
    monkeypatch.setattr(gymnasium_worlds, "DENSE_FEATURES", 0)
    thin = frozen_lake()
    assert thin.mdp.is_sparse
    assert not dense.mdp.is_sparse
    moves: Any = thin.mdp.transition(thin.theta)
    np.testing.assert_allclose(moves.toarray().reshape(16, 4, 16), transition(dense), rtol=0.0, atol=EXACT)
    np.testing.assert_allclose(
        plan(thin.mdp, thin.theta).V, plan(dense.mdp, dense.theta).V, rtol=0.0, atol=1e-9
    )


def test_random_slips_are_drawn_by_the_seed():
    thetas = [frozen_lake(slip="random", seed=seed).theta for seed in (1, 1, 2)]
    np.testing.assert_array_equal(thetas[0], thetas[1])
    assert (thetas[0] != thetas[2]).all()
    assert thetas[0].sum() == pytest.approx(1.0)
    np.testing.assert_array_equal(frozen_lake(seed=5).theta, SLIPPERY)
    np.testing.assert_array_equal(from_gymnasium(lake(), "random", seed=2).theta, thetas[2])


def test_what_a_lake_knows_is_saved_and_loaded(tmp_path: Any):
    world = frozen_lake()
    world.mdp.save(tmp_path / "lake.npz")
    assert LinearMixtureMDP.load(tmp_path / "lake.npz").fingerprint() == world.mdp.fingerprint()


def test_agents_learn_the_wind_on_the_cliff():
    """A share of n = 400 slips has a standard deviation of at most .5/sqrt(400) = .025; the ridge pulls a little."""
    world = cliff_walking()
    agent = MaximumLikelihood(world.mdp)
    history = simulate(agent, world, 400, seed=1)
    assert np.abs(agent.theta - world.theta).max() < 0.15
    assert history.regret[-1] - history.regret[-100] < 0.2 * history.regret[99]


def test_the_real_taxi_moves_within_the_world_that_slips():
    """Every outcome of 5000 real steps, wrong pick-ups and drop-offs included, is possible there, at its reward."""
    world = from_gymnasium("Taxi-v4", [0.9, 0.0, 0.0, 0.0, 0.05, 0.05])
    agent = QLearning(world.mdp, epsilon=0.3)
    trip = drive(agent, gymnasium.make("Taxi-v4"), 5000, seed=1, state_after=world.state_after)
    assert agent.counts.total == 5000
    assert set(trip.rewards) == {-10.0, -1.0, 20.0}
    history = History(trip.states, trip.actions, trip.next_states, np.zeros(0), np.zeros(0))
    np.testing.assert_allclose(earned(world, history), trip.rewards, rtol=0.0, atol=1e-9)
