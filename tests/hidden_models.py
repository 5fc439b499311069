"""Instances of ecologists with finitely many candidates, as numbers, and small ones for brute force.

The two files are published with the MOMDP solvers of Chades, Carwardine, Martin, Nicol, Sabbadin and Buffet (2012,
"MOMDPs: a solution for modelling adaptive management problems", AAAI): `gouldian4Exp_alt.pomdpx`, four experts on the
Gouldian finch, and `2states2actions.pomdpx`. gamma is .9, the prior uniform, the first state the low one.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from vbmle import LinearMixtureMDP

# P(High | state, action) by expert; actions: nothing, fire and grazing, cats, nest boxes.
FINCH_HIGH = [
    [[0.01, 0.8, 0.6, 0.4], [0.5, 0.95, 0.6, 0.6]],
    [[0.1, 0.45, 0.8, 0.6], [0.6, 0.7, 0.9, 0.75]],
    [[0.2, 0.3, 0.3, 0.5], [0.5, 0.4, 0.7, 0.8]],
    [[0.05, 0.7, 0.5, 0.15], [0.5, 0.9, 0.7, 0.6]],
]
FINCH_REWARD = [[0.0, -5.0, -5.0, -5.0], [20.0, 15.0, 15.0, 15.0]]

# P(state1 | state, action) by model.
TWO_FIRST = [
    [[0.29958302463145, 0.879483591820636], [0.104240366609674, 0.780247813157247]],
    [[0.252502917510258, 0.830136750576993], [0.524899200533863, 0.363136912446022]],
    [[0.63916371248273, 0.716066202328642], [0.109228861564549, 0.807879153171985]],
    [[0.548279896663581, 0.41621066412449], [0.520687733673361, 0.508012668012308]],
]
TWO_REWARD = [[1.0, 3.0], [5.0, 7.0]]


def _both(chance: list[list[list[float]]], first: bool) -> list[np.ndarray]:
    """(S, A, 2) arrays from the probability of one of two states."""
    given = np.array(chance)
    pair = (given, 1.0 - given) if first else (1.0 - given, given)
    return list(np.stack(pair, axis=-1))


def from_low(
    models: Sequence[np.ndarray], reward: ArrayLike, initial: Sequence[float] = (1.0, 0.0)
) -> LinearMixtureMDP:
    """Candidates whose rewards are of any range."""
    return LinearMixtureMDP.from_models(
        list(models), reward, 0.9, initial=initial, domain="vertices", normalise_reward=True
    )


def finch() -> LinearMixtureMDP:
    """Four experts, two states, four actions."""
    return from_low(_both(FINCH_HIGH, False), FINCH_REWARD)


def two() -> LinearMixtureMDP:
    """Four models, two states, two actions."""
    return from_low(_both(TWO_FIRST, True), TWO_REWARD)


def random_candidates(seed: int, states: int, actions: int, candidates: int) -> LinearMixtureMDP:
    """Rewards in two states alone and three successors of every pair, so that it pays to find out where ways lead."""
    rng = np.random.default_rng(seed)
    few = min(3, states)
    models = np.zeros((candidates, states, actions, states))
    for s in range(states):
        for a in range(actions):
            to = rng.choice(states, few, replace=False)
            models[:, s, a, to] = rng.dirichlet(np.full(few, 0.5), size=candidates)
    reward = np.zeros((states, actions))
    reward[-1], reward[0] = 1.0, 0.1
    return LinearMixtureMDP.from_models(
        list(models), reward, 0.9, domain="vertices", initial=np.eye(states)[0]
    )


def by_counts(mdp: LinearMixtureMDP, prior: np.ndarray, steps: int, state: int) -> float:
    """What the best controller earns in so many steps, by dynamic programming over (t, s, counts)."""
    P = np.stack([np.asarray(mdp.transition(theta)) for theta in np.eye(mdp.dimension)])
    reward = np.asarray(mdp.reward)
    shape = P.shape[1:]
    met: dict[tuple[int, int, tuple[int, ...]], float] = {}

    def value(t: int, s: int, counts: tuple[int, ...]) -> float:
        if t == steps:
            return 0.0
        if (t, s, counts) not in met:
            n = np.array(counts).reshape(shape)
            weight = prior * np.prod(P**n, axis=(1, 2, 3))
            weight /= weight.sum()
            met[t, s, counts] = max(action_value(t, s, counts, a, weight) for a in range(mdp.num_actions))
        return met[t, s, counts]

    def action_value(t: int, s: int, counts: tuple[int, ...], a: int, weight: np.ndarray) -> float:
        total = float(np.broadcast_to(reward[s, a], mdp.num_states)[0])
        for to in range(mdp.num_states):
            chance = float(weight @ P[:, s, a, to])
            if chance > 0.0:
                more = list(counts)
                more[int(np.ravel_multi_index((s, a, to), shape))] += 1
                total += mdp.discount * chance * value(t + 1, to, tuple(more))
        return total

    return value(0, state, (0,) * int(np.prod(shape)))


def followed(
    act: Callable[[int, tuple[tuple[int, int, int], ...]], int], mdp: LinearMixtureMDP, steps: int
) -> float:
    """What a way of acting earns in so many steps, averaged over a uniform prior and all that can happen."""
    P = np.stack([np.asarray(mdp.transition(theta)) for theta in np.eye(mdp.dimension)])
    reward = np.asarray(mdp.reward)

    def onwards(s: int, weight: np.ndarray, seen: tuple[tuple[int, int, int], ...]) -> float:
        if len(seen) == steps:
            return 0.0
        a = act(s, seen)
        total = float(weight.sum() * reward[s, a])
        for to in range(mdp.num_states):
            then = weight * P[:, s, a, to]
            if then.sum() > 0.0:
                total += mdp.discount * onwards(to, then, (*seen, (s, a, to)))
        return total

    start = np.full(mdp.dimension, 1.0 / mdp.dimension)
    return sum(float(p) * onwards(s, start, ()) for s, p in enumerate(mdp.initial) if p > 0.0)
