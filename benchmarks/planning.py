"""Plans of one model beside the best of the others: random successors, queues and grids, up to a million states.

Each cell is what the fastest other one takes over what `plan_known` takes, all at an error of 1e-6, in turn. Sweeps of
those that would take minutes, and factors of random successors, are left out: they are never the fastest there.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from scipy import sparse

from benchmarks import plan_rivals
from benchmarks.effort import Effort
from benchmarks.large_models import base_models, in_turn
from benchmarks.plan_rivals import TOLERANCE, Problem
from benchmarks.speed_table import Row, at_least
from vbmle.common.validation import Floats, Ints
from vbmle.planning.planner import plan_known

SECTION = "large models"
MEASURE = "planning: times faster than the best of the others"
ACTIONS = 4
ARRIVES, SERVED, EFFORT = 0.3, np.array([0.1, 0.25, 0.35, 0.5]), np.array([0.0, 0.1, 0.25, 0.6])
LONGEST = 3e7  # transitions in the sweeps that take place within 1/(1-gamma)


def random(states: int, discount: float) -> Problem:
    """Six random successors for each pair."""
    (model,), reward = base_models(states, 1)
    return Problem(model, reward, discount)


def queue(states: int, discount: float) -> Problem:
    """A server of four speeds, the faster the dearer; waiting costs."""
    at = np.arange(states)
    up = np.where(at[:, None] < states - 1, ARRIVES * (1.0 - SERVED), 0.0)
    down = np.where(at[:, None] > 0, (1.0 - ARRIVES) * SERVED, 0.0)
    successors = np.stack([np.minimum(at + 1, states - 1), np.maximum(at - 1, 0), at], axis=1)
    p = np.stack([up, down, 1.0 - up - down], axis=2)
    reward = 0.5 * (1.0 - at[:, None] / (states - 1)) + 0.5 * (1.0 - EFFORT)
    return Problem(_table(np.repeat(successors, ACTIONS, axis=0), p.reshape(-1, 3), states), reward, discount)


def grid(states: int, discount: float) -> Problem:
    """A square in which three steps in ten go astray; a corner is worth most, and some cells a little."""
    side, rng = round(states**0.5), np.random.default_rng(5)
    states = side * side
    x, y = np.divmod(np.arange(states), side)
    ways = [(1, 0), (-1, 0), (0, 1), (0, -1)]
    to = [np.clip(x + i, 0, side - 1) * side + np.clip(y + j, 0, side - 1) for i, j in ways]
    p = np.full((states, ACTIONS, ACTIONS), 0.1) + 0.6 * np.eye(ACTIONS)
    reward = np.zeros((states, ACTIONS))
    reward[-1] = 1.0
    few = max(1, states // 50)
    reward[rng.integers(0, states, few)] = 0.3 * rng.random((few, 1))
    table = _table(np.repeat(np.stack(to, axis=1), ACTIONS, axis=0), p.reshape(-1, ACTIONS), states)
    return Problem(table, reward, discount)


KINDS: dict[str, Callable[[int, float], Problem]] = {"random": random, "queue": queue, "grid": grid}


def _table(successors: Ints, p: Floats, states: int) -> sparse.csr_array:
    """Rows (s, a) from the successors of each and their probabilities; the impossible ones are left out."""
    rows, possible = np.repeat(np.arange(len(p)), p.shape[1]), p.ravel() > 0.0
    at = (rows[possible], successors.ravel()[possible])
    table = sparse.csr_array((p.ravel()[possible], at), shape=(len(p), states))
    table.sum_duplicates()
    return table


def others(kind: str, problem: Problem) -> dict[str, Callable[[], object]]:
    """All that may be the fastest."""
    states, work = len(problem.reward), problem.transition.nnz / (1.0 - problem.discount)
    found: dict[str, Callable[[], object]] = {}
    if kind != "random" or states <= 1000:
        found["SuperLU"] = partial(plan_rivals.by_superlu, problem)
    if kind != "queue" or work <= LONGEST:
        sweeps = "modified_policy_iteration"
        found["numba"] = partial(plan_rivals.by_numba, problem, 10_000)
        found["QuantEcon"] = partial(plan_rivals.by_quantecon, problem, sweeps)
    if states <= 1000:
        found["QuantEcon, policies"] = partial(plan_rivals.by_quantecon, problem, "policy_iteration")
    if work <= LONGEST / 10:
        found["mdpsolver"] = partial(plan_rivals.by_mdpsolver, problem, plan_rivals.as_lists(problem))
    return found


def measure(kind: str, states: int, effort: Effort) -> list[Row]:
    """One row for each discount."""
    rows = []
    for discount in effort.plan_discounts:
        problem = KINDS[kind](states, discount)
        rivals = others(kind, problem)
        ours = partial(plan_known, problem.transition, problem.reward, discount, TOLERANCE)
        repeats = 1 if states >= 100_000 else min(3, effort.plan_repeats)
        seconds = in_turn([ours, *rivals.values()], repeats)
        details = dict(zip(("ours", *rivals), seconds, strict=True))
        case = f"{kind}, S={len(problem.reward)}, gamma={discount:g}"
        rows.append(Row(SECTION, MEASURE, case, min(seconds[1:]) / seconds[0], "times", at_least(1), details))
    return rows
