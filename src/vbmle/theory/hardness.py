"""How hard a world is, by the three measures in common use.

    diameter       max over s != g of  min over policies of  E[steps from s until g]          (Jaksch et al. 2010)
    value_norm     max over (s,a) of the standard deviation of V*(s'), s' ~ P(.|s,a)          (Maillard et al. 2014)
    inverse_gaps   sum over (s,a) with a gap of  1 / (V*(s) - Q*(s,a))                      (Simchowitz, Jamieson 2019)

The diameter solves a shortest-path problem for each goal by policy iteration. It starts with a policy that reaches the
goal with certainty, where there is one, and so do all that follow. Policies are evaluated by an elimination that never
subtracts (Grassmann, Taksar, Heyman 1985), so that a transition of probability 1e-12 counts for what it is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vbmle.common.validation import Bools, Floats, Ints
from vbmle.model.world import World
from vbmle.planning import planner

TIED_GAP = 1e-9
"""Gaps below this share of the largest possible value are ties: both actions are best."""

NUMBERS_AT_ONCE = 1 << 21
"""Numbers that the elimination of several goals holds at once."""

LEAST_IMPROVEMENT = 1e-13
"""An action must be better by this share to replace another."""


@dataclass(frozen=True)
class Hardness:
    """How hard a world is, as `hardness` returns it.

    Attributes
    ----------
    diameter : float
        Steps; inf where some state cannot be reached with certainty from another.
    value_norm : float
        In the user's units of value.
    inverse_gaps : float
        One over the user's units of value.

    Examples
    --------
    >>> import vbmle
    >>> vbmle.Hardness(diameter=2.0, value_norm=0.5, inverse_gaps=3.0).diameter
    2.0
    """

    diameter: float
    value_norm: float
    inverse_gaps: float


def hardness(world: World) -> Hardness:
    """The usual measures of how hard a world is to learn: diameter, value norm and sum of reciprocal gaps.

    `diameter` is the largest expected number of steps that the best policy needs from one state to another: inf
    where some state cannot be reached with probability 1. `value_norm` is the largest standard deviation of V*
    at the next state. `inverse_gaps` sums 1 / (V*(s) - Q*(s,a)) over the allowed pairs that are not optimal; ties
    within rounding are left out. The diameter costs about S^4 operations: milliseconds for 15 states, a second for 100.

    Parameters
    ----------
    world : World
        The model with its hidden truth.

    Returns
    -------
    Hardness
        The three measures.

    Raises
    ------
    ValueError
        If `world` is not a World: a model alone has no truth to measure.

    Examples
    --------
    >>> import vbmle
    >>> found = vbmle.hardness(vbmle.worlds.riverswim(length=6))
    >>> round(found.diameter, 2), round(found.value_norm, 2), round(found.inverse_gaps)
    (14.72, 0.71, 15)
    """
    if not isinstance(world, World):
        raise ValueError(
            f"world is of type {type(world).__name__}; hardness needs the hidden truth too: vbmle.World(mdp, theta)"
        )
    mdp = world.mdp
    p = np.maximum(mdp.transitions.probabilities(world.theta), 0.0)
    moves = mdp.transitions.dense(p)
    best = planner.plan(mdp, world.theta)
    return Hardness(
        diameter(moves, mdp.allowed),
        mdp.reward_scale * _value_norm(moves, best.V, mdp.allowed),
        _inverse_gaps(best.V[:, None] - best.Q, mdp.allowed, mdp.discount) / mdp.reward_scale,
    )


def _value_norm(moves: Floats, values: Floats, allowed: Bools) -> float:
    mean = moves @ values
    squares = np.einsum("iaj,iaj->ia", moves, (values - mean[:, :, None]) ** 2)
    return float(np.sqrt(squares[allowed].max()))


def _inverse_gaps(gaps: Floats, allowed: Bools, discount: float) -> float:
    return float((1.0 / gaps[allowed & (gaps > TIED_GAP / (1.0 - discount))]).sum())


# The diameter


def diameter(moves: Floats, allowed: Bools) -> float:
    """The largest entry of `hitting_times`."""
    return float(hitting_times(moves, allowed).max())


def hitting_times(moves: Floats, allowed: Bools) -> Floats:
    """(S, S): the least expected number of steps from a state (row) to a goal (column), for moves (S, A, S)."""
    states = len(moves)
    times = np.full((states, states), np.inf)
    policies, usable = np.zeros((states, states), dtype=np.int64), np.zeros((states, *allowed.shape), bool)
    for goal in range(states):
        sure, policies[goal], usable[goal] = _certainly(moves > 0.0, allowed, goal)
        times[sure, goal] = 0.0
    count = max(1, NUMBERS_AT_ONCE // states**2)
    for first in range(0, states, count):
        goals = np.arange(first, min(first + count, states))
        found = _shortest(moves, goals, policies[goals], usable[goals])
        times[:, goals] += found.T  # inf stays inf
    return times


def _certainly(possible: Bools, allowed: Bools, goal: int) -> tuple[Bools, Ints, Bools]:
    """Where a goal can be reached with probability 1, a policy that does so, and the actions that never leave there.

    The largest set X such that from each of its states the goal can be reached by actions that stay in X.
    """
    states = len(allowed)
    inside = np.ones(states, dtype=bool)
    while True:
        stays = allowed & ~(possible & ~inside).any(axis=2)
        reached, policy = np.zeros(states, dtype=bool), np.zeros(states, dtype=np.int64)
        reached[goal] = True
        while True:
            nearer = stays & possible[:, :, reached].any(axis=2)
            new = nearer.any(axis=1) & ~reached
            if not new.any():
                break
            policy[new] = nearer[new].argmax(axis=1)
            reached |= new
        if (reached == inside).all():
            return inside, policy, stays
        inside = reached


def _shortest(moves: Floats, goals: Ints, policies: Ints, usable: Bools) -> Floats:
    """(goals, S): steps to each goal, by policy iteration for all goals at once; nonsense where it is not reached."""
    states, everyone = len(moves), np.arange(len(moves))
    policies = policies.copy()
    times = _steps_to(moves[everyone, policies], goals)
    while True:
        # What taking a first costs or saves: 1 + E[time from s'] - time from s, by differences, which stay exact.
        change = np.stack([1.0 + _drift(moves[:, a], times) for a in range(moves.shape[1])], axis=2)
        change[~usable] = np.inf
        better = change.min(axis=2) < -LEAST_IMPROVEMENT * np.maximum(times, 1.0)
        better[np.arange(len(goals)), goals] = False
        if not better.any():
            return times
        changed = np.where(better, change.argmin(axis=2), policies)
        found = _steps_to(moves[everyone, changed], goals)
        if not (found < times * (1.0 - states * np.finfo(float).eps)).any():
            return np.minimum(found, times)
        policies, times = changed, np.minimum(found, times)


def _drift(moves: Floats, times: Floats) -> Floats:
    """(goals, S): sum over s' of P(s'|s) (times(s') - times(s))."""
    return np.asarray(np.einsum("ij,gij->gi", moves, times[:, None, :] - times[:, :, None]))


def _steps_to(chains: Floats, goals: Ints) -> Floats:
    """(goals, S): the expected number of steps to goal g in the chain chains[g], (goals, S, S), without subtractions.

    States are eliminated one after the other, the goal last: a step to the eliminated state becomes a step to where it
    would go next. A state that cannot leave has no answer, and is given 0, which is never used.
    """
    count, states, _ = chains.shape
    order = np.array([[*(s for s in range(states) if s != goal), goal] for goal in goals])
    rows = np.arange(count)[:, None]
    p = chains[rows[:, :, None], order[:, :, None], order[:, None, :]]
    cost, leaving = np.ones((count, states)), np.ones((count, states))
    for k in range(states - 1):
        out = p[:, k, k + 1 :].sum(axis=1)
        leaving[:, k] = np.where(out > 0.0, out, np.inf)
        share = p[:, k + 1 :, k] / leaving[:, k, None]
        p[:, k + 1 :, k + 1 :] += share[:, :, None] * p[:, k, None, k + 1 :]
        cost[:, k + 1 :] += share * cost[:, k, None]
    times = np.zeros((count, states))
    for k in range(states - 2, -1, -1):
        onward = np.einsum("gj,gj->g", p[:, k, k + 1 :], times[:, k + 1 :])
        times[:, k] = (cost[:, k] + onward) / leaving[:, k]
    found = np.empty_like(times)
    found[rows, order] = times
    return found
