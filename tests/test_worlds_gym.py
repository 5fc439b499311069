"""Worlds from Gymnasium: the table entry by entry, the real environment step by step, and what is refused."""

from typing import Any

import gymnasium
import numpy as np
import pytest

from vbmle import LinearMixtureMDP, Oracle, World, plan, simulate
from vbmle.worlds import from_gymnasium, frozen_lake
from vbmle.worlds.gym import SLIPPERY

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
        world.mdp.transition_reward, (rows.successor == 15) & (rows.row_of // 4 != 15)
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


class Toy:
    """An environment with a table and nothing else."""

    def __init__(self, P: Any, first: Any = (1.0, 0.0)) -> None:
        self.P, self.initial_state_distrib = P, np.array(first)

    def __repr__(self) -> str:
        return "Toy"


def test_repeated_successors_are_added_and_their_rewards_averaged():
    """State 1 is listed twice, with 1/4 at reward 4 and 1/2 at reward 1: 3/4 at (1/4*4 + 1/2*1)/(3/4) = 2."""
    entries = [(0.25, 1, 4.0, False), (0.5, 1, 1.0, False), (0.25, 0, 0.0, False), (0.0, 1, 9.0, True)]
    toy = Toy({0: {0: entries}, 1: {0: [(1.0, 0, 0.0, False)]}})
    world = from_gymnasium(toy, discount=0.5)
    np.testing.assert_allclose(transition(world)[:, 0], [[0.25, 0.75], [1.0, 0.0]], rtol=0.0, atol=EXACT)
    assert world.mdp.reward_offset == 0.0
    assert world.mdp.reward_scale == pytest.approx(2.0)
    # Mapped to [0, 1]: V0 = 3/4 + (V0/4 + 3 V1/4)/2, V1 = V0/2.
    V = plan(world.mdp, world.theta).V
    np.testing.assert_allclose(V, [0.75 / 0.6875, 0.375 / 0.6875], rtol=0.0, atol=1e-9)


def test_cliff_walking_as_it_is():
    """Rewards of -1 and -100 are mapped, and regret is in steps: the best policy takes 13 to the goal."""
    world = from_gymnasium("CliffWalking-v1", discount=0.9, terminal="absorb")
    assert world.mdp.num_states == 48
    assert world.mdp.reward_offset == -100.0
    V = world.mdp.reward_scale * plan(world.mdp, world.theta).V + world.mdp.reward_offset / (1.0 - 0.9)
    assert V[36] == pytest.approx(-(1.0 - 0.9**13) / (1.0 - 0.9), abs=1e-6)
    assert simulate(Oracle(world.mdp, world.theta), world, 30).regret[-1] == 0.0


def test_large_tables_stay_sparse(monkeypatch: pytest.MonkeyPatch):
    """The same world either way."""
    from vbmle.worlds import gym

    dense = frozen_lake()
    monkeypatch.setattr(gym, "DENSE_LIMIT", 0)
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


STEP = {0: [(1.0, 1, 0.0, False)]}


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda: from_gymnasium("CliffWalking-v1", [0.9, 0.1]),
            r"the reward of \(s=\d+, a=\d, s'=36\) is .*-100",
        ),
        (lambda: from_gymnasium("CartPole-v1"), "has no transition table P"),
        (lambda: from_gymnasium(lake(), [0.5, 0.6]), "theta lies outside the feasible set"),
        (lambda: from_gymnasium(lake(), [0.2] * 5), "slip has 5 weights; it needs 1 to 4"),
        (lambda: from_gymnasium(lake(), []), "slip has 0 weights"),
        (
            lambda: from_gymnasium(lake(), terminal="stop"),
            "terminal is 'stop'; it needs one of 'restart', 'absorb'",
        ),
        (lambda: from_gymnasium(lake(), discount=1.0), "discount is 1.0"),
        (lambda: from_gymnasium(Toy({0: STEP, 2: STEP})), "needs states 0 .. S-1"),
        (lambda: from_gymnasium(Toy({0: STEP, 1: {}})), "with the same actions in each"),
        (
            lambda: from_gymnasium(
                Toy({0: {0: [(0.5, 0, 0.0, True), (0.5, 1, 0.0, False)]}, 1: {0: [(1.0, 0, 0.0, False)]}})
            ),
            "state 0 ends an episode on some ways into it but not on others",
        ),
        (lambda: from_gymnasium(Toy({0: STEP, 1: STEP}, (0.5, 0.4))), "initial_state_distrib sums to 0.9"),
        (lambda: frozen_lake(5), "size is 5; it needs 4 or 8"),
        (lambda: frozen_lake(slip="wet"), "slip is 'wet'; it needs one of 'random'"),
        (lambda: frozen_lake(slip="random", seed=-1), "seed is -1"),
    ],
)
def test_what_cannot_be_mixed_is_refused(build: Any, message: str):
    with pytest.raises(ValueError, match=message):
        build()


def test_there_must_be_a_first_state():
    toy = Toy({0: STEP, 1: STEP})
    del toy.initial_state_distrib
    with pytest.raises(ValueError, match="has no initial_state_distrib"):
        from_gymnasium(toy)


def test_what_a_lake_knows_is_saved_and_loaded(tmp_path: Any):
    world = frozen_lake()
    world.mdp.save(tmp_path / "lake.npz")
    assert LinearMixtureMDP.load(tmp_path / "lake.npz").fingerprint() == world.mdp.fingerprint()
