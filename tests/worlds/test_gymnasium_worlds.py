"""Worlds from Gymnasium: the table entry by entry, the real environment step by step, and what is refused."""

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
    env = gymnasium.make(name)
    world, states = from_gymnasium(name, slip), len(env.unwrapped.P)  # type: ignore[attr-defined]
    mdp, of, ended = world.mdp, np.array(world._merged.of), np.array(world._merged.ended)
    assert mdp.num_states > states
    p = mdp.transitions.probabilities(world.theta)
    paid = p * rewards(mdp)
    rows = mdp.transitions.row_of
    expected = np.bincount(rows, paid, mdp.num_states * mdp.num_actions).reshape(mdp.num_states, -1)
    truth = table_reward(env, slip)
    np.testing.assert_allclose(expected[~ended], truth[of[~ended]], rtol=0.0, atol=1e-10)
    np.testing.assert_array_equal(expected[ended], 0.0)
    law = sparse.csr_array(
        (p, (rows, of[mdp.transitions.successor])), shape=(len(of) * mdp.num_actions, states)
    )
    for v in np.nonzero(~ended)[0][:: max(1, len(of) // 60)]:
        for a in range(mdp.num_actions):
            wanted = np.zeros(states)
            for k, weight in enumerate(slip):
                for q, to, _, _ in env.unwrapped.P[of[v]][(a + k) % mdp.num_actions]:  # type: ignore[attr-defined]
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


def test_a_state_that_ends_only_some_ways_has_a_version_that_is_over():
    """From 0 one stays, or ends at 0 (reward 1) with probability 1/2; the end is state 2 and restarts at 0."""
    ends = Toy({0: {0: [(0.5, 0, 1.0, True), (0.5, 1, 0.0, False)]}, 1: {0: [(1.0, 0, 0.0, False)]}})
    world = from_gymnasium(ends, discount=0.5)
    np.testing.assert_array_equal(transition(world)[:, 0], [[0.0, 0.5, 0.5], [1, 0, 0], [1, 0, 0]])
    assert world.state_after(0, 0, 0, 1.0, True) == 2
    # V0 = 1/2 + V1/4 + V2/4 with V1 = V2 = V0/2: V0 = 1/2 / (3/4).
    assert plan(world.mdp, world.theta).V[0] == pytest.approx(2 / 3, abs=1e-9)


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


STEP = {0: [(1.0, 1, 0.0, False)]}
TWO = {1: [(1.0, 0, 0.0, False)]}


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: from_gymnasium([]), "env is an empty list"),
        (lambda: from_gymnasium([lake(), lake(size=8)]), r"env\[1\] has 64 states, but env\[0\] has 16"),
        (
            lambda: from_gymnasium([lake(), lake()], weights=[1.0]),
            r"weights has shape \(1,\); it needs \(2,\)",
        ),
        (
            lambda: from_gymnasium([Toy({0: STEP, 1: STEP}), Toy({0: STEP, 1: STEP}, (0.0, 1.0))]),
            r"env\[1\] starts in other states than env\[0\]",
        ),
        (
            lambda: from_gymnasium([Toy({0: STEP, 1: STEP}), Toy({0: STEP | TWO, 1: STEP | TWO})]),
            r"env\[1\] has 2 actions, but env\[0\] has 1",
        ),
        (lambda: cliff_walking([0.5, 0.5]), "slip has 2 weights; it needs 4"),
        (lambda: taxi(1.5), "rain is 1.5; a probability is at most 1"),
        (lambda: from_gymnasium("CartPole-v1"), "has no transition table P"),
        (lambda: from_gymnasium(lake(), [0.5, 0.6]), "slip sums to 1.1; it needs 1"),
        (lambda: from_gymnasium(lake(), [1.5, -0.5]), r"slip\[1\] is -0.5; a weight is at least 0"),
        (lambda: from_gymnasium(lake(), "wet"), "slip is 'wet'; it needs one of 'random'"),
        (lambda: from_gymnasium([lake(), lake()], weights=[0.5, 0.6]), "weights sums to 1.1; it needs 1"),
        (
            lambda: from_gymnasium([lake(), lake()], weights=[2, -1]),
            r"weights\[1\] is -1; a weight is at least",
        ),
        (
            lambda: from_gymnasium([lake()], weights="random"),
            "weights is 'random'; it needs a list of weights",
        ),
        (lambda: frozen_lake(slip=[0.5, 0.5, 0.5, 0.5]), "slip sums to 2; it needs 1"),
        (lambda: from_gymnasium(lake(), [0.2] * 5), "slip has 5 weights; it needs 1 to 4"),
        (lambda: from_gymnasium(lake(), []), "slip has 0 weights"),
        (
            lambda: from_gymnasium(lake(), terminal="stop"),
            "terminal is 'stop'; it needs one of 'restart', 'absorb'",
        ),
        (lambda: from_gymnasium(lake(), discount=1.0), "discount is 1.0"),
        (lambda: from_gymnasium(Toy({0: STEP, 2: STEP})), "2 states but no state 1"),
        (lambda: from_gymnasium(Toy({0: STEP, 1: {}})), r"P\[1\] of env \(Toy\) is empty"),
        (
            lambda: from_gymnasium(Toy({0: STEP, 1: STEP}, (0.5, 0.4))),
            r"initial_state_distrib of env \(Toy\) sums to 0.9",
        ),
        (lambda: frozen_lake(5), "size is 5; it needs 4 or 8"),
        (lambda: frozen_lake(slip="wet"), "slip is 'wet'; it needs one of 'random'"),
        (lambda: frozen_lake(slip="random", seed=-1), "seed is -1"),
    ],
)
def test_what_cannot_be_mixed_is_refused(build: Any, message: str):
    with pytest.raises(ValueError, match=message):
        build()


@pytest.mark.parametrize(
    ("P", "message"),
    [
        ({0: STEP | TWO, 1: STEP}, r"P\[1\] of env \(Toy\) has 1 actions, but P\[0\] has 2"),
        ({0: STEP, 1: TWO}, r"P\[1\] of env \(Toy\) has 1 actions but no action 0"),
        (np.zeros((2, 1, 2)), r"P of env \(Toy\) is of type ndarray; it needs a dict or a list by state"),
        ({}, r"P of env \(Toy\) is empty; it needs at least one state"),
        ({0: STEP, 1: 5}, r"P\[1\] of env \(Toy\) is of type int; it needs a dict or a list by action"),
    ],
)
def test_a_table_without_order_is_refused(P: Any, message: str):
    with pytest.raises(ValueError, match=message):
        from_gymnasium(Toy(P))


@pytest.mark.parametrize(
    ("outcomes", "message"),
    [
        (
            [(1.0, 2, 0.0, False)],
            "the next state at index 0 of WHERE is 2; it needs a whole number from 0 to 1",
        ),
        ([(1.0, -1, 0.0, False)], "the next state at index 0 of WHERE is -1"),
        ([(1.0, 0.5, 0.0, False)], "the next state at index 0 of WHERE is 0.5"),
        ([(1.0, "1", 0.0, False)], "the next state at index 0 of WHERE is '1'"),
        (
            [(1.0, 1, 0.0)],
            r"WHERE has the outcome \(1.0, 1, 0.0\) at index 0; it needs \(probability, next state",
        ),
        ([1.0], "WHERE has the outcome 1.0 at index 0"),
        ([(1.5, 1, 0.0, False), (-0.5, 0, 0.0, False)], "the probability at index 1 of WHERE is -0.5"),
        (
            [(float("nan"), 1, 0.0, False)],
            "the probability at index 0 of WHERE is nan; it needs a number from",
        ),
        ([], r"WHERE is \[\]; it needs a list of at least one outcome"),
        (None, "WHERE is None; it needs a list"),
        (
            [(0.5, 1, 0.0, False), (0.4, 0, 0.0, False)],
            "the probabilities of WHERE sum to 0.9; they need to sum to 1",
        ),
        ([(1.0, 1, float("inf"), False)], "the reward at index 0 of WHERE is inf; it needs a finite number"),
        ([(1.0, 1, 0.0, "no")], "terminated at index 0 of WHERE is 'no'; it needs True or False"),
    ],
)
def test_outcomes_that_make_no_sense_are_refused_by_their_place(outcomes: Any, message: str):
    broken = Toy({0: STEP, 1: {0: outcomes}})
    for envs, name in ((broken, r"env"), ([Toy({0: STEP, 1: STEP}), broken], r"env\[1\]")):
        with pytest.raises(ValueError, match=message.replace("WHERE", rf"P\[1\]\[0\] of {name} \(Toy\)")):
            from_gymnasium(envs)


def test_a_table_may_be_lists():
    one = from_gymnasium(Toy({0: STEP | TWO, 1: STEP | TWO}))
    two = from_gymnasium(Toy([[STEP[0], TWO[1]], [STEP[0], TWO[1]]]))
    np.testing.assert_array_equal(transition(one), transition(two))


class Coin(gymnasium.Env[Any, Any]):
    """An environment of one's own: it begins at either side, and each step turns the coin."""

    def __init__(self) -> None:
        self.observation_space = self.action_space = gymnasium.spaces.Discrete(2)
        self.P = {s: {a: [(1.0, 1 - s, float(s), True)] for a in (0, 1)} for s in (0, 1)}

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        return int(self.np_random.random() < 0.25), {}


def test_first_states_are_those_of_resets_where_no_distribution_is_told():
    """A share of 1000 draws at 1/4 has a standard deviation of .0137: within 5 of them, and the same each time."""
    world = from_gymnasium(Coin())
    with pytest.warns(UserWarning, match=r"models\[0\] and models\[1\] are the same"):
        again = from_gymnasium([Coin(), Coin()])
    assert world.mdp.initial[1] == pytest.approx(0.25, abs=5 * 0.0137)
    np.testing.assert_array_equal(world.mdp.initial, again.mdp.initial)
    np.testing.assert_allclose(transition(world)[0, 0], world.mdp.initial, rtol=0.0, atol=EXACT)  # restart


@pytest.mark.parametrize("reply", [(2, {}), (-1, {}), (0.5, {}), (np.zeros(2), {}), 0, ("heads", {})])
def test_resets_that_show_no_state_ask_for_the_distribution(reply: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Coin, "reset", lambda self, seed=None: reply)
    with pytest.raises(
        ValueError, match=r"reset of env \(Coin\) returned .* or the env an initial_state_distrib"
    ):
        from_gymnasium(Coin())


def test_there_must_be_a_first_state():
    toy = Toy({0: STEP, 1: STEP})
    del toy.initial_state_distrib
    with pytest.raises(ValueError, match=r"env \(Toy\) has neither initial_state_distrib nor reset"):
        from_gymnasium(toy)


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
