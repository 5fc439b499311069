"""Transition tables of Gymnasium: how they are read, where runs begin, and what is refused."""

from typing import Any

import gymnasium
import numpy as np
import pytest
from refusals import refused, warned

from vbmle import World, plan
from vbmle.worlds import cliff_walking, from_gymnasium, frozen_lake, taxi

EXACT = 1e-12


def lake(size: int = 4) -> Any:
    return gymnasium.make("FrozenLake-v1", map_name=f"{size}x{size}", is_slippery=False)


def transition(world: World) -> np.ndarray:
    return np.asarray(world.mdp.transition(world.theta))


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


def test_a_state_that_ends_only_some_ways_has_a_version_that_is_over():
    """From 0 one stays, or ends at 0 (reward 1) with probability 1/2; the end is state 2 and restarts at 0."""
    ends = Toy({0: {0: [(0.5, 0, 1.0, True), (0.5, 1, 0.0, False)]}, 1: {0: [(1.0, 0, 0.0, False)]}})
    world = from_gymnasium(ends, discount=0.5)
    np.testing.assert_array_equal(transition(world)[:, 0], [[0.0, 0.5, 0.5], [1, 0, 0], [1, 0, 0]])
    assert world.state_after(0, 0, 0, 1.0, True) == 2
    # V0 = 1/2 + V1/4 + V2/4 with V1 = V2 = V0/2: V0 = 1/2 / (3/4).
    assert plan(world.mdp, world.theta).V[0] == pytest.approx(2 / 3, abs=1e-9)


STEP = {0: [(1.0, 1, 0.0, False)]}
TWO = {1: [(1.0, 0, 0.0, False)]}


@pytest.mark.parametrize(
    ("build", "facts"),
    [
        (lambda: from_gymnasium([]), ("env", "empty")),
        (lambda: from_gymnasium([lake(), lake(size=8)]), ("env[1]", "64", "env[0]", "16")),
        (
            lambda: from_gymnasium([lake(), lake()], weights=[1.0]),
            ("weights", "(1,)", "(2,)"),
        ),
        (
            lambda: from_gymnasium([Toy({0: STEP, 1: STEP}), Toy({0: STEP, 1: STEP}, (0.0, 1.0))]),
            ("env[1]", "env[0]"),
        ),
        (
            lambda: from_gymnasium([Toy({0: STEP, 1: STEP}), Toy({0: STEP | TWO, 1: STEP | TWO})]),
            ("env[1]", "2", "env[0]", "1"),
        ),
        (lambda: cliff_walking([0.5, 0.5]), ("slip", "2", "4")),
        (lambda: taxi(1.5), ("rain", "1.5", "probability", "1")),
        (lambda: from_gymnasium("CartPole-v1"), ("CartPole", "P")),
        (lambda: from_gymnasium(lake(), [0.5, 0.6]), ("slip", "1.1", "1")),
        (lambda: from_gymnasium(lake(), [1.5, -0.5]), ("slip[1]", "-0.5", "weight", "0")),
        (lambda: from_gymnasium(lake(), "wet"), ("slip", "'wet'", "'random'")),
        (lambda: from_gymnasium([lake(), lake()], weights=[0.5, 0.6]), ("weights", "1.1", "1")),
        (
            lambda: from_gymnasium([lake(), lake()], weights=[2, -1]),
            ("weights[1]", "-1", "weight"),
        ),
        (
            lambda: from_gymnasium([lake()], weights="random"),
            ("weights", "'random'"),
        ),
        (lambda: frozen_lake(slip=[0.5, 0.5, 0.5, 0.5]), ("slip", "2", "1")),
        (lambda: from_gymnasium(lake(), [0.2] * 5), ("slip", "5", "1", "4")),
        (lambda: from_gymnasium(lake(), []), ("slip", "0")),
        (
            lambda: from_gymnasium(lake(), terminal="stop"),
            ("terminal", "'stop'", "'restart'", "'absorb'"),
        ),
        (lambda: from_gymnasium(lake(), discount=1.0), ("discount", "1.0")),
        (lambda: from_gymnasium(Toy({0: STEP, 2: STEP})), ("2", "1")),
        (lambda: from_gymnasium(Toy({0: STEP, 1: {}})), ("P[1]", "(Toy)", "empty")),
        (
            lambda: from_gymnasium(Toy({0: STEP, 1: STEP}, (0.5, 0.4))),
            ("initial_state_distrib", "(Toy)", "0.9"),
        ),
        (lambda: frozen_lake(5), ("size", "5", "4", "8")),
        (lambda: frozen_lake(slip="wet"), ("slip", "'wet'", "'random'")),
        (lambda: frozen_lake(slip="random", seed=-1), ("seed", "-1")),
    ],
)
def test_what_cannot_be_mixed_is_refused(build: Any, facts: tuple[str, ...]):
    with refused(*facts):
        build()


@pytest.mark.parametrize(
    ("P", "facts"),
    [
        ({0: STEP | TWO, 1: STEP}, ("P[1]", "(Toy)", "1", "P[0]", "2")),
        ({0: STEP, 1: TWO}, ("P[1]", "(Toy)", "1", "0")),
        (np.zeros((2, 1, 2)), ("(Toy)",)),
        ({}, ("(Toy)", "empty")),
        ({0: STEP, 1: 5}, ("P[1]", "(Toy)")),
    ],
)
def test_a_table_without_order_is_refused(P: Any, facts: tuple[str, ...]):
    with refused(*facts):
        from_gymnasium(Toy(P))


@pytest.mark.parametrize(
    ("outcomes", "facts"),
    [
        (
            [(1.0, 2, 0.0, False)],
            ("0", "WHERE", "2", "1", "whole number"),
        ),
        ([(1.0, -1, 0.0, False)], ("0", "WHERE", "-1")),
        ([(1.0, 0.5, 0.0, False)], ("0", "WHERE", "0.5")),
        ([(1.0, "1", 0.0, False)], ("0", "WHERE", "'1'")),
        (
            [(1.0, 1, 0.0)],
            ("WHERE", "(1.0, 1, 0.0)", "0"),
        ),
        ([1.0], ("WHERE", "1.0", "0")),
        ([(1.5, 1, 0.0, False), (-0.5, 0, 0.0, False)], ("1", "WHERE", "-0.5")),
        (
            [(float("nan"), 1, 0.0, False)],
            ("0", "WHERE", "nan"),
        ),
        ([], ("WHERE", "[]")),
        (None, ("WHERE", "None")),
        (
            [(0.5, 1, 0.0, False), (0.4, 0, 0.0, False)],
            ("WHERE", "0.9", "1"),
        ),
        ([(1.0, 1, float("inf"), False)], ("0", "WHERE", "inf", "finite")),
        ([(1.0, 1, 0.0, "no")], ("0", "WHERE", "'no'", "True", "False")),
    ],
)
def test_outcomes_that_make_no_sense_are_refused_by_their_place(outcomes: Any, facts: tuple[str, ...]):
    broken = Toy({0: STEP, 1: {0: outcomes}})
    for envs, name in ((broken, "env"), ([Toy({0: STEP, 1: STEP}), broken], "env[1]")):
        with refused(*(fact.replace("WHERE", f"P[1][0] of {name} (Toy)") for fact in facts)):
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
    with warned("models[0]", "models[1]"):
        again = from_gymnasium([Coin(), Coin()])
    assert world.mdp.initial[1] == pytest.approx(0.25, abs=5 * 0.0137)
    np.testing.assert_array_equal(world.mdp.initial, again.mdp.initial)
    np.testing.assert_allclose(transition(world)[0, 0], world.mdp.initial, rtol=0.0, atol=EXACT)  # restart


@pytest.mark.parametrize("reply", [(2, {}), (-1, {}), (0.5, {}), (np.zeros(2), {}), 0, ("heads", {})])
def test_resets_that_show_no_state_ask_for_the_distribution(reply: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Coin, "reset", lambda self, seed=None: reply)
    with refused("reset", "env (Coin)", "initial_state_distrib"):
        from_gymnasium(Coin())


def test_there_must_be_a_first_state():
    toy = Toy({0: STEP, 1: STEP})
    del toy.initial_state_distrib
    with refused("env (Toy)", "initial_state_distrib", "reset"):
        from_gymnasium(toy)
