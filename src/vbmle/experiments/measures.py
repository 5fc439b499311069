"""What is recorded of a run: columns with a row for each recorded step.

    regret        cumulative, after the step
    seconds       per step, on average since the row before: their mean weighed by steps is that of the run
    trouble       decisions since the row before that did not converge, whose certificate is not closed, or whose
                  confidence set was empty
    distance      |theta_t - theta*|^2 of the theta in force in the step (see `History`)
    state, action where the step began and what was done, with `trajectories = true`
    (by name)     metrics of your own, on average since the row before
    mle_error     |theta* - theta_t^MLE|^2 in the norm of A_t = sum_{i<t} phi_i phi_i' + lambda I (equation 13)

The error of the estimate is found after the run, from its path alone: what the data said in step t, whatever the
agent made of it. Its lambda is 1, the paper's, for every agent, so that agents can be compared.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from vbmle.common.validation import Floats, Ints
from vbmle.estimation.counts import TransitionCounts
from vbmle.estimation.maximiser import Solver, make_objective
from vbmle.model.world import World
from vbmle.simulation import History
from vbmle.theory.trace import mle_error as squared_error

RIDGE = 1.0
"""lambda of the estimate and of A_t."""

PER_DECADE = 50
"""Recorded steps in every power of ten, where they are spaced evenly on a log scale."""


@lru_cache
def every_step(horizon: int) -> Ints:
    """1 .. horizon, for reading: thousands of records share the array."""
    return _for_reading(np.arange(1, horizon + 1))


def log_spaced(horizon: int) -> Ints:
    """Whole steps, about evenly spaced on a log scale, the first and the last among them; for reading."""
    return _log_spaced(horizon, PER_DECADE)


@lru_cache
def _log_spaced(horizon: int, per_decade: int) -> Ints:
    powers = np.arange(0.0, np.log10(horizon), 1.0 / per_decade)
    return _for_reading(np.unique(np.append(np.round(10.0**powers).astype(np.int64), [1, horizon])))


def _for_reading(steps: Ints) -> Ints:
    steps.flags.writeable = False
    return steps


def facts(world: World) -> dict[str, float]:
    """What a reader needs to place the world."""
    mdp, p = world.mdp, world.mdp.transitions.probabilities(world.theta)
    sizes = {"states": mdp.num_states, "actions": mdp.num_actions, "dimension": mdp.dimension}
    return sizes | {"p_min_true": float(p[p > 0.0].min())}


def columns(history: History, steps: Ints) -> dict[str, Floats]:
    """The columns of a record that a history has, by name; `steps` are counted from its beginning."""
    at = steps - 1
    found = {"regret": history.regret[at], "seconds": mean_between(history.seconds, steps)}
    if history.trouble is not None:
        found["trouble"] = sum_between(history.trouble, steps)
    for name in ("distance", "distance_mean"):
        values = getattr(history, name)
        if values is not None:
            found[name] = values[at]
    return found | {name: mean_between(values, steps) for name, values in history.metrics.items()}


def trajectories(history: History, steps: Ints) -> dict[str, Floats]:
    """State and action in these steps, counted from the history's beginning."""
    at = steps - 1
    return {"state": history.states[at].astype(float), "action": history.actions[at].astype(float)}


def mean_between(values: Floats, steps: Ints) -> Floats:
    """The mean of `values` over the steps since the recorded one before."""
    return sum_between(values, steps) / np.diff(steps, prepend=0)


def sum_between(values: Floats, steps: Ints) -> Floats:
    """The sum of `values` over the steps since the recorded one before."""
    starts = np.concatenate([[0], steps[:-1]])
    return np.asarray(np.add.reduceat(values[: steps[-1]], starts))


def mle_error(world: World, path: Ints, steps: Ints, ridge: float = RIDGE) -> Floats:
    """|theta* - theta_t^MLE|^2_{A_t} at these steps, with the data from before each.

    The path, (3, steps), has states, actions and next states from the first step on.
    """
    mdp, errors = world.mdp, np.empty(len(steps))
    counts, solver, t = TransitionCounts(mdp), Solver(mdp), 1
    moves = path.T.tolist()
    for at, step in enumerate(steps):
        for state, action, next_state in moves[t - 1 : step - 1]:
            counts.add(state, action, next_state)
        t = int(step)
        solver.climb(make_objective(counts, ridge))  # from where the last one ended
        errors[at] = squared_error(counts, solver.theta, world.theta, ridge)
    return errors
