"""The rivals: what they carry, settings; the oracle, chance, Q-learning."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from problems import play
from small_worlds import EXAMPLES

from vbmle import (
    PSRL,
    RBMLE,
    UCRL2,
    LinearMixtureMDP,
    Oracle,
    QLearning,
    Random,
    World,
    evaluate,
    plan,
    simulate,
)
from vbmle.worlds import closed_loop_trap, hypercube, riverswim

Make = Callable[[World], Any]
RIVALS: dict[str, Make] = {
    "Oracle": lambda world: Oracle(world.mdp, theta=world.theta),
    "Random": lambda world: Random(world.mdp),
    "QLearning": lambda world: QLearning(world.mdp),
    "UCRL2": lambda world: UCRL2(world.mdp),
    "RBMLE": lambda world: RBMLE(world.mdp),
    "PSRL": lambda world: PSRL(world.mdp),
}
each_rival = pytest.mark.parametrize("make", RIVALS.values(), ids=RIVALS)


# ---- what they carry


@each_rival
def test_what_an_agent_carries_does_not_grow(make: Make, tmp_path: Path):
    """The same arrays of the same shapes after 100 steps and after 1,000, once everything was seen."""
    world = riverswim(4, features="mixture")
    agent = make(world)
    for row in range(8):
        for i in range(*world.mdp.transitions.indptr[row : row + 2]):
            agent.observe(*divmod(row, 2), int(world.mdp.transitions.successor[i]))
    state, shapes = 0, []
    for steps in (100, 900):
        state = play(agent, world, steps, state)
        agent.save(tmp_path / "agent.npz")
        with np.load(tmp_path / "agent.npz") as file:
            shapes.append({name: file[name].shape for name in file.files if name != "meta"})
    assert shapes[0] == shapes[1]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda mdp: Oracle(mdp, theta=[0.5, 0.4, 0.3]), "theta lies outside the feasible set"),
        (lambda mdp: Oracle(mdp, theta=[1.0]), r"theta has shape \(1,\)"),
        (lambda mdp: Random(mdp, seed=-1), "seed is -1"),
        (
            lambda mdp: QLearning(mdp, learning_rate="fast"),
            "learning_rate is 'fast'; it needs one of 'horizon'",
        ),
        (
            lambda mdp: QLearning(mdp, learning_rate=0.0),
            "learning_rate is 0.0; it needs 'horizon', 'visits' or",
        ),
        (lambda mdp: QLearning(mdp, learning_rate=np.nan), "learning_rate is nan"),
        (lambda mdp: QLearning(mdp, epsilon=1.5), "epsilon is 1.5; a probability is at most 1"),
        (lambda mdp: QLearning(mdp, seed=0.5), "seed is 0.5"),  # type: ignore[arg-type]
        (lambda mdp: UCRL2(mdp, delta=0.0), "delta is 0.0; it needs a number above 0 and at most 1"),
        (lambda mdp: UCRL2(mdp, delta=2.0), "delta is 2.0"),
        (lambda mdp: UCRL2(mdp, radius_scale=-1.0), "radius_scale is -1.0"),
        (lambda mdp: RBMLE(mdp, bias="cube"), "bias is 'cube'; it needs one of 'sqrt', 'log'"),
        (lambda mdp: RBMLE(mdp, bias_scale=-1.0), "bias_scale is -1.0"),
        (lambda mdp: RBMLE(mdp, update="never"), "update is 'never'"),
        (lambda mdp: PSRL(mdp, update="never"), "update is 'never'"),
        (lambda mdp: PSRL(mdp, sampler="lucky"), "sampler is 'lucky'; it needs one of 'auto', 'hit-and-run'"),
        (lambda mdp: PSRL(mdp, sampler="dirichlet"), "sampler is 'dirichlet', but the model is not tabular"),
        (lambda mdp: PSRL(mdp, thinning=0), "thinning is 0"),
        (lambda mdp: PSRL(mdp, seed=-3), "seed is -3"),
    ],
)
def test_settings_are_checked(make: Callable[[Any], Any], message: str):
    with pytest.raises(ValueError, match=message):
        make(riverswim(4, features="mixture").mdp)


@each_rival
def test_a_state_out_of_range_is_refused(make: Make):
    with pytest.raises(ValueError, match="state is 9; it needs a whole number from 0 to 3"):
        make(riverswim(4)).act(9)


# ---- the oracle


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_oracle_loses_exactly_nothing(name: str):
    world = EXAMPLES[name]
    history = simulate(Oracle(world.mdp, theta=world.theta.tolist()), world, 50)
    np.testing.assert_array_equal(history.regret, 0.0)


def test_only_the_oracle_asks_for_the_truth():
    world = riverswim(4)
    assert [name for name, make in RIVALS.items() if make(world).needs_truth] == ["Oracle"]


def test_a_wrong_oracle_loses_what_its_policy_loses():
    """In the trap, theta = (0, 1) makes safe look better: each step loses risky(.9) - risky(.3)."""
    world = closed_loop_trap()
    history = simulate(Oracle(world.mdp, theta=[0.0, 1.0]), world, 10)
    gamma = 0.9
    each = gamma * (0.9 - 0.3) / (1.0 - gamma**2)
    np.testing.assert_allclose(history.regret, each * np.arange(1, 11), rtol=0.0, atol=1e-10)


# ---- chance


def test_random_policies_are_uniform_and_independent_of_each_other():
    """Counts of actions by state within 5 standard errors, and so are pairs in two states and in two steps."""
    mdp = hypercube(3).mdp  # 2 states, 4 actions
    agent, steps = Random(mdp), 4000
    seen = np.empty((steps, 2), np.int64)
    for t in range(steps):
        seen[t] = agent.policy
        agent.observe(0, 0, 0)
    error = 5.0 * np.sqrt(steps * 0.25 * 0.75)
    assert np.abs(np.bincount(seen[:, 0]) - steps / 4).max() < error
    pairs = np.bincount(4 * seen[:, 0] + seen[:, 1], minlength=16)
    following = np.bincount(4 * seen[:-1, 0] + seen[1:, 0], minlength=16)
    for table in (pairs, following):
        assert np.abs(table - steps / 16).max() < 5.0 * np.sqrt(steps * 15 / 256)


def test_random_loses_the_mean_over_all_policies():
    """One state matters in turn: with 4 policies of 2 states, the mean loss is that of their average."""
    rng = np.random.default_rng(5)
    p = rng.dirichlet(np.ones(2), (2, 2))
    world = World(LinearMixtureMDP.from_models([p], rng.random((2, 2)), 0.5), [1.0])
    best = plan(world.mdp, world.theta).V
    losses = np.array([best - evaluate(world.mdp, world.theta, [a, b]) for a in (0, 1) for b in (0, 1)])
    history = simulate(Random(world.mdp, seed=1), world, 4000)
    expected = losses.mean(axis=0)[history.states].sum()
    spread = np.sqrt(losses.var(axis=0)[history.states].sum())
    assert abs(history.regret[-1] - expected) < 5.0 * spread
    assert spread > 0.0


# ---- Q-learning


def two_states(reward: Any) -> LinearMixtureMDP:
    """Two states, two actions, everything possible, gamma = 1/2."""
    return LinearMixtureMDP.tabular(np.ones((2, 2, 2), bool), reward, 0.5)


def test_q_learning_by_hand():
    """gamma = 1/2, so Q starts at 2; r(0,0) = 1, r(0,1) = 1/2, and r = 0 in state 1."""
    agent = QLearning(two_states([[1.0, 0.5], [0.0, 0.0]]), learning_rate=0.5)
    agent.observe(0, 0, 1)  # target 1 + 2/2 = 2: stays
    agent.observe(1, 0, 0)  # target 0 + 2/2 = 1: (2 + 1)/2
    agent.observe(0, 1, 1)  # max of state 1 is still 2, of action 1; target 1/2 + 1: (2 + 3/2)/2
    np.testing.assert_allclose(agent.Q, [[2.0, 1.75], [1.5, 2.0]], rtol=0.0, atol=1e-15)
    assert agent.policy.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("rate", "expected"),
    [
        # Targets with s' = s = 1 never tried elsewhere: r + 1/2 * 2 = 1 as long as action 1 holds 2.
        ("visits", [1.0, 1.0, 1.0]),  # (first) 1, then (1 + 1)/2, ...
        ("horizon", [1.0, 1.0, 1.0]),  # (H+1)/(H+1) = 1 at the first visit
        (0.5, [1.5, 1.25, 1.125]),
    ],
)
def test_rates_at_the_first_visits(rate: Any, expected: list[float]):
    agent = QLearning(two_states([[1.0, 0.5], [0.0, 0.0]]), learning_rate=rate)
    for value in expected:
        agent.observe(1, 0, 1)
        assert agent.Q[1, 0] == pytest.approx(value, abs=1e-15)


@pytest.mark.parametrize(("rate", "second"), [("visits", 1 / 2), ("horizon", 3 / 4)])
def test_rates_at_the_second_visit(rate: str, second: float):
    """H = 2: (H+1)/(H+2). Rewards 0 and 1 of the next state, from Q = 0: the second target counts `second`."""
    reward = np.zeros((2, 2, 2))
    reward[0, 0, 1] = 1.0
    agent = QLearning(two_states(reward), learning_rate=rate, optimistic=False)
    agent.observe(0, 0, 0)
    agent.observe(0, 0, 1)
    assert agent.Q[0, 0] == pytest.approx(second, abs=1e-15)


def test_q_learning_finds_the_optimal_values():
    """Every pair tried in turn, with visits as the rate: Q tends to Q*."""
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3), (3, 2))
    world = World(LinearMixtureMDP.from_models([p], rng.random((3, 2)), 0.5), [1.0])
    agent = QLearning(world.mdp, learning_rate="visits")
    for _ in range(5000):
        for s in range(3):
            for a in range(2):
                agent.observe(s, a, world.next_state(s, a, rng.random()))
    # The noise of a mean of 5000 targets, each within [0, 2], carried on through gamma = 1/2.
    np.testing.assert_allclose(agent.Q, plan(world.mdp, world.theta).Q, rtol=0.0, atol=5 * 2 / np.sqrt(5000))


def test_with_epsilon_one_q_learning_is_chance():
    world = riverswim(5)
    one, two = QLearning(world.mdp, epsilon=1.0, seed=7), Random(world.mdp, seed=7)
    np.testing.assert_array_equal(simulate(one, world, 100).actions, simulate(two, world, 100).actions)


def test_epsilon_is_how_often_an_action_is_drawn():
    """With A actions a share epsilon (A-1)/A of them is not the greedy one."""
    world = hypercube(4)  # 8 actions
    agent, steps, other = QLearning(world.mdp, epsilon=0.2), 3000, 0
    for _ in range(steps):
        other += agent.policy[1] != agent.Q[1].argmax()
        agent.observe(0, 0, 0)
    share = 0.2 * 7 / 8
    assert abs(other - steps * share) < 5.0 * np.sqrt(steps * share * (1.0 - share))


def test_optimism_tries_every_action():
    """From 1/(1-gamma) on down: within a hundred steps all actions of the state at hand are tried."""
    world = closed_loop_trap()
    tried = {kind: simulate(QLearning(world.mdp, optimistic=kind), world, 100) for kind in (True, False)}
    at_home = {kind: set(h.actions[h.states == 0].tolist()) for kind, h in tried.items()}
    assert at_home == {True: {0, 1}, False: {0}}
