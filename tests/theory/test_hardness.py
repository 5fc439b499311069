"""Hardness against published diameters, against every policy of small worlds, and by its laws."""

import itertools

import numpy as np
import pytest
from refusals import refused

import vbmle
from vbmle.theory.hardness import diameter, hitting_times


def lazy_river(length: int, lazy: float) -> np.ndarray:
    """Colosseum's RiverSwim: a move to either side succeeds with probability 1 - lazy, else one stays."""
    moves = np.zeros((length, 2, length))
    for state, (action, step) in itertools.product(range(length), ((0, -1), (1, 1))):
        moves[state, action, min(max(state + step, 0), length - 1)] += 1.0 - lazy
        moves[state, action, state] += lazy
    return moves


@pytest.mark.parametrize(("length", "lazy", "published"), [(25, 0.1, 26.666565), (90, 0.03, 91.75265)])
def test_the_diameter_is_the_one_colosseum_publishes(length: int, lazy: float, published: float):
    """Theirs comes from iterations that stop early: it is 4e-6 off the closed form (length - 1) / (1 - lazy)."""
    found = diameter(lazy_river(length, lazy), np.ones((length, 2), dtype=bool))
    assert found == pytest.approx((length - 1) / (1.0 - lazy), rel=1e-12)
    assert found == pytest.approx(published, rel=5e-6)


def by_every_policy(moves: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """Hitting times from their definition: each policy, each goal, one linear system."""
    states = len(moves)
    best = np.full((states, states), np.inf)
    np.fill_diagonal(best, 0.0)
    for policy in itertools.product(*(np.flatnonzero(row) for row in allowed)):
        chain = moves[np.arange(states), list(policy)]
        for goal in range(states):
            stopped = chain.copy()
            stopped[goal] = np.eye(states)[goal]
            reach = np.linalg.matrix_power((stopped > 0.0) + np.eye(states), states) > 0.0
            sure = np.array([reach[reach[s], goal].all() for s in range(states)])
            sure[goal] = False
            part = np.ix_(sure, sure)
            times = np.linalg.solve(np.eye(int(sure.sum())) - stopped[part], np.ones(int(sure.sum())))
            best[sure, goal] = np.minimum(best[sure, goal], times)
    return best


@pytest.mark.parametrize("seed", range(12))
def test_hitting_times_are_the_best_of_all_policies(seed: int):
    """With few successors each: in some of these worlds a state is a trap, or is reached with luck alone."""
    rng = np.random.default_rng(seed)
    moves = rng.dirichlet(np.full(4, 0.5), size=(4, 3))
    moves[rng.random(moves.shape) < 0.55] = 0.0
    moves[..., 0] += moves.sum(axis=2) == 0.0
    moves /= moves.sum(axis=2, keepdims=True)
    allowed = rng.random((4, 3)) < 0.7
    allowed[:, 0] = True
    expected = by_every_policy(moves, allowed)
    assert np.allclose(hitting_times(moves, allowed), expected, rtol=1e-9)


def test_the_small_worlds_have_both_kinds_of_pairs():
    """What the test above would miss if each state could be reached, or none."""
    stuck = np.zeros((2, 1, 2))
    stuck[:, 0, 0] = 1.0
    assert hitting_times(stuck, np.ones((2, 1), dtype=bool)).tolist() == [[0.0, np.inf], [1.0, 0.0]]


def test_a_goal_that_needs_luck_is_not_reached_surely():
    """From 0 one step leads to 1 or, for good, to 2: the expected time to 1 is infinite."""
    moves = np.array([[[0.0, 0.5, 0.5]], [[1.0, 0.0, 0.0]], [[0.0, 0.0, 1.0]]])
    times = hitting_times(moves, np.ones((3, 1), dtype=bool))
    assert times[0, 1] == np.inf
    assert times[1, 0] == 1.0


def test_rare_transitions_keep_their_digits():
    """1 / p steps until a transition of probability p: a linear solve would lose twelve digits here."""
    rare = 1e-12
    moves = np.array([[[1.0 - rare, rare, 0.0]], [[0.0, 1.0 - rare, rare]], [[1.0, 0.0, 0.0]]])
    times = hitting_times(moves, np.ones((3, 1), dtype=bool))
    assert times[0, 2] == pytest.approx(2e12, rel=1e-14)
    assert times[2, 1] == pytest.approx(1e12 + 1.0, rel=1e-14)


def two_rooms(scale: float = 1.0) -> vbmle.World:
    """Action 0 earns 0 and changes the room with probability 1/2; action 1 stays, and earns 1 in room 1."""
    moves = np.array([[[0.5, 0.5], [1.0, 0.0]], [[0.5, 0.5], [0.0, 1.0]]])
    reward = scale * np.array([[0.0, 0.0], [0.0, 1.0]])
    mdp = vbmle.LinearMixtureMDP.from_models([moves], reward, 0.5, normalise_reward=True)
    return vbmle.World(mdp, [1.0])


@pytest.mark.parametrize("scale", [1.0, 7.0])
def test_measures_by_hand(scale: float):
    """V*(1) = 2 and V*(0) = V/4 + 1/2 = 2/3; gaps: 2/3 - V*(0)/2 = 1/3, and 2 - V*(0) = 4/3."""
    found = vbmle.hardness(two_rooms(scale))
    assert found.diameter == pytest.approx(2.0, rel=1e-12)
    assert found.value_norm == pytest.approx(scale * (2.0 - 2.0 / 3.0) / 2.0, rel=1e-9)
    assert found.inverse_gaps == pytest.approx((3.0 + 0.75) / scale, rel=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_names_of_states_do_not_matter(seed: int):
    world = vbmle.worlds.random_network(5, 4, 5, seed=seed)
    order = np.random.default_rng(seed).permutation(5)
    moves, allowed = world.mdp.transition(world.theta), np.ones((5, 4), dtype=bool)
    renamed = moves[order][:, :, order]
    assert diameter(renamed, allowed) == pytest.approx(diameter(moves, allowed), rel=1e-9)


def test_gaps_and_norm_are_those_of_the_plan():
    world = vbmle.worlds.riverswim(length=6)
    plan, moves = vbmle.plan(world.mdp, world.theta), world.mdp.transition(world.theta)
    gaps = [
        plan.V[s] - plan.Q[s, a] for s in range(6) for a in range(2) if a != plan.policy[s]
    ]  # no ties in a river
    found = vbmle.hardness(world)
    assert found.inverse_gaps == pytest.approx(sum(1.0 / gap for gap in gaps), rel=1e-6)
    spreads = [np.sqrt(p @ plan.V**2 - (p @ plan.V) ** 2) for p in moves.reshape(12, 6)]
    assert found.value_norm == pytest.approx(max(spreads), rel=1e-6)


def test_a_model_without_its_truth_is_refused_in_one_line():
    with refused("hardness", "vbmle.World(mdp, theta)"):
        vbmle.hardness(vbmle.worlds.riverswim(length=6).mdp)  # type: ignore[arg-type]
