"""Sparse models with up to 100,000 states, and planning beside other libraries.

A model here has 4 actions, 6 successors for each (s, a) and 20 base models. The cost of a value-biased update is given
in sparse Bellman sweeps of the same model; memory in multiples of its features. Other libraries plan for the first base
model alone, the building of each library's own model included.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks import stopwatch
from benchmarks.effort import Effort
from benchmarks.speed_table import Row, at_least, at_most
from benchmarks.walks import Walk, median
from vbmle.agents.vbmle import VBMLE
from vbmle.common.validation import Floats
from vbmle.core.planning import Planner
from vbmle.estimation.counts import TransitionCounts
from vbmle.estimation.likelihood import maximum_likelihood, value_biased
from vbmle.experiments import InputError
from vbmle.model.mdp import LinearMixtureMDP
from vbmle.model.world import World
from vbmle.planning.planner import DENSE_STATES, plan, plan_known

SECTION = "large models"
ACTIONS, DIMENSION, SUCCESSORS, DISCOUNT = 4, 20, 6, 0.9
TOLERANCE = 1e-6
BATCH = 2e-3  # seconds that a turn takes at least


def base_models(states: int, count: int, seed: int = 0) -> tuple[list[sparse.csr_array], Floats]:
    """Random sparse models on one pattern, and a reward."""
    rng = np.random.default_rng(np.random.SeedSequence(seed))
    pairs = states * ACTIONS
    columns = rng.integers(0, states, (pairs, SUCCESSORS))
    at = (np.repeat(np.arange(pairs), SUCCESSORS), columns.ravel())
    models = [
        sparse.csr_array((rng.dirichlet(np.full(SUCCESSORS, 0.5), pairs).ravel(), at), shape=(pairs, states))
        for _ in range(count)
    ]
    return models, rng.random((states, ACTIONS))


def updates(states: int, effort: Effort, domain: str) -> list[Row]:
    """Build, plan, estimate and run: what an update costs, and what all of it needs of memory."""
    _all_of_it(*base_models(DENSE_STATES + 1, DIMENSION), domain, 20)  # so that only data count below
    models, reward = base_models(states, DIMENSION)
    before = forget_peak()
    mdp, details, run = _all_of_it(models, reward, domain, effort.large_steps)
    grown = peak() - before
    case = f"S={states}, A=4, d=20, 6 successors, {domain}"
    cost, features = details["update"] / details["sweep"], float(np.asarray(mdp.transitions.phi).nbytes)
    rows = [
        Row(SECTION, "value-biased update: sparse sweeps", case, cost, "times", at_most(120), details),
        Row(SECTION, f'VBMLE, update="doubling": {effort.large_steps} steps', case, run, "seconds"),
    ]
    if before > 0:
        measure = "memory, peak: multiples of the features"
        rows.insert(1, Row(SECTION, measure, case, grown / features, "times", at_most(3)))
    return rows


def _all_of_it(
    models: list[sparse.csr_array], reward: Floats, domain: str, steps: int
) -> tuple[LinearMixtureMDP, dict[str, float], float]:
    """The model, the seconds of one warm update and of one sweep, and those of a whole run."""
    mdp = LinearMixtureMDP.from_models(models, reward, DISCOUNT, domain=domain)
    world = World(mdp, np.random.default_rng(1).dirichlet(np.ones(DIMENSION)))
    counts, bias = _walked(world, steps), float(np.sqrt(steps))
    plan(mdp, world.theta, TOLERANCE)
    start = maximum_likelihood(mdp, counts).theta
    start = value_biased(mdp, counts, 0, bias, search="local", start=start).theta
    begun = stopwatch.start()
    found = value_biased(mdp, counts, 1, 1.01 * bias, search="local", start=start)
    update = stopwatch.since(begun)
    details = {
        "update": update,
        "sweep": _sweep_seconds(mdp, world.theta),
        "converged": float(found.converged),
    }
    walk = Walk(VBMLE(mdp, search="local", update="doubling"), world, steps)
    walk.go(steps)
    return mdp, details, walk.total


def hard_run(states: int, effort: Effort) -> list[Row]:
    """The first 200 steps where few pairs are rewarded and the future counts for more: rewards are far away."""
    models, _ = base_models(states, DIMENSION, seed=1)
    rng = np.random.default_rng(2)
    reward = np.where(rng.random((states, ACTIONS)) < 0.05, rng.random((states, ACTIONS)), 0.0)
    mdp = LinearMixtureMDP.from_models(models, reward, 0.95)
    world, steps = World(mdp, rng.dirichlet(np.ones(DIMENSION))), min(200, effort.large_steps)
    walk = Walk(VBMLE(mdp, update="doubling"), world, steps)
    walk.go(steps)
    case = f"S={states}, A=4, d=20, gamma=.95, 5% of pairs rewarded"
    target = at_most(20) if steps == 200 and states == 100_000 else None
    measure = f'VBMLE, update="doubling", default search: first {steps} steps'
    return [Row(SECTION, measure, case, walk.total, "seconds", target)]


STATUS, REFERENCES = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def forget_peak() -> int:
    """Bytes of memory held now, from which on `peak` looks; 0 where the system cannot tell."""
    if not REFERENCES.exists():
        return 0
    REFERENCES.write_text("5")  # Linux: the high-water mark becomes what is held now
    return peak()


def peak() -> int:
    """The most bytes of memory held since, by whatever part of the process: NumPy, compiled code, libraries."""
    if not REFERENCES.exists():
        return 0
    (line,) = [line for line in STATUS.read_text().splitlines() if line.startswith("VmHWM")]
    return 1024 * int(line.split()[1])


def _walked(world: World, steps: int) -> TransitionCounts:
    rng, counts = np.random.default_rng(2), TransitionCounts(world.mdp)
    state = world.first_state(rng.random())
    for _ in range(steps):
        action = int(rng.integers(ACTIONS))
        following = world.next_state(state, action, rng.random())
        counts.add(state, action, following)
        state = following
    return counts


def _sweep_seconds(mdp: LinearMixtureMDP, theta: Floats) -> float:
    planner, seconds = Planner(mdp.core, factors=False), []
    planner.put(theta=theta)
    planner.assemble()
    for _ in range(7):
        begun = stopwatch.start()
        planner.sweep()
        seconds.append(stopwatch.since(begun))
    return median(seconds[1:])


def sparse_planning(states: int, effort: Effort) -> list[Row]:
    """Building and planning, against QuantEcon's modified policy iteration on the same sparse model."""
    (model,), reward = base_models(states, 1)
    state, action = np.repeat(np.arange(states), ACTIONS), np.tile(np.arange(ACTIONS), states)
    matrix = sparse.csr_matrix(model)
    library = _import("quantecon").markov.DiscreteDP

    def theirs() -> None:
        problem = library(reward.ravel(), matrix, DISCOUNT, state, action)
        problem.solve(method="modified_policy_iteration", epsilon=2.0 * TOLERANCE)

    repeats = 3 if states >= 100_000 else effort.plan_repeats
    ours, other = in_turn([lambda: plan_known(model, reward, DISCOUNT, TOLERANCE), theirs], repeats)
    measure = "planning, sparse: times faster than QuantEcon's modified policy iteration"
    return [
        Row(
            SECTION,
            measure,
            f"S={states}",
            other / ours,
            "times",
            at_least(2),
            {"ours": ours, "theirs": other},
        )
    ]


def dense_planning(states: int, effort: Effort) -> list[Row]:
    """The same for dense models, against the best of QuantEcon's methods, and against mdpsolver."""
    rng = np.random.default_rng(3)
    model = rng.dirichlet(np.ones(states), (states, ACTIONS))
    reward = rng.random((states, ACTIONS))
    economics, solver = _import("quantecon").markov.DiscreteDP, _import("mdpsolver")
    lists = (reward.tolist(), model.tolist())

    def by(method: str) -> Callable[[], None]:
        return lambda: economics(reward, model, DISCOUNT).solve(method=method, epsilon=2.0 * TOLERANCE)

    def by_solver() -> None:
        problem = solver.model()
        problem.mdp(discount=DISCOUNT, rewards=lists[0], tranMatWithZeros=lists[1])
        problem.solve(algorithm="mpi", tolerance=TOLERANCE, parallel=False)

    repeats = max(3, effort.plan_repeats // 3) if states >= 1000 else effort.plan_repeats
    methods = [by("policy_iteration"), by("modified_policy_iteration"), by_solver]
    ours, one, two, three = in_turn(
        [lambda: plan_known(model, reward, DISCOUNT, TOLERANCE), *methods], repeats
    )
    details = {"ours": ours, "policy_iteration": one, "modified_policy_iteration": two, "mdpsolver": three}
    head = "planning, dense: times faster than"
    case = f"S={states}"
    return [
        Row(SECTION, f"{head} QuantEcon's best", case, min(one, two) / ours, "times", at_least(2), details),
        Row(SECTION, f"{head} mdpsolver", case, three / ours, "times", at_least(2), details),
    ]


def in_turn(calls: Sequence[Callable[[], object]], repeats: int) -> list[float]:
    """The median seconds of each, one after the other, again and again; the first round does not count.

    What takes less than BATCH is called several times in its turn, so that it is not charged for caches that the
    others have filled.
    """
    seconds: list[list[float]] = [[] for _ in calls]
    times = [1] * len(calls)
    for _ in range(repeats + 1):
        for number, call in enumerate(calls):
            begun = stopwatch.start()
            for _ in range(times[number]):
                call()
            seconds[number].append(stopwatch.since(begun) / times[number])
        times = [max(1, math.ceil(BATCH / max(min(kept), 1e-9))) for kept in seconds]
    return [median(kept[1:]) for kept in seconds]


def _import(name: str) -> Any:
    from importlib import import_module

    try:
        return import_module(name)
    except ImportError:
        raise InputError(f"the bench needs {name}: install vbmle[dev]") from None
