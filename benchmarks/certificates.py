"""How often the maximum is proven, how fast, and how often the search had found it without a proof.

Problems with at most four parameters, on worlds of two to fifteen states. Counts come from runs of VBMLE whose
length is drawn log-uniformly; each is asked about with bias sqrt(t) and 10 sqrt(t), in the state where it ended.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from benchmarks import stopwatch
from benchmarks.effort import Effort
from benchmarks.slsqp import Problem
from benchmarks.speed_table import Row, at_least
from benchmarks.tabular_steps import random_tabular
from benchmarks.walks import Walk
from vbmle.agents.vbmle import VBMLE
from vbmle.estimation.likelihood import value_biased
from vbmle.model.mdp import LinearMixtureMDP
from vbmle.model.world import World
from vbmle.worlds import hypercube, random_network, riverswim

SECTION = "certificates"
GAP = 1e-2  # relative to 1 + |f|
SECONDS_ALLOWED = 2.0
SHARE_CLOSED = 0.95
SAME_MAXIMUM = 1e-6
BIASES = (1.0, 10.0)
"""Multiples of sqrt(t)."""


def _network(rng: np.random.Generator) -> World:
    states, actions, dimension = (int(rng.integers(*span)) for span in ((2, 16), (2, 5), (2, 5)))
    return random_network(states, actions, dimension, seed=int(rng.integers(2**31)))


def _cube(rng: np.random.Generator) -> World:
    return hypercube(int(rng.integers(2, 5)), gap=float(rng.uniform(0.1, 1.0)), seed=int(rng.integers(2**31)))


def _mixture(rng: np.random.Generator, domain: str) -> World:
    states, actions, dimension = (int(rng.integers(*span)) for span in ((2, 16), (2, 5), (2, 5)))
    models = rng.dirichlet(np.full(states, 0.5), (dimension, states, actions))
    mdp = LinearMixtureMDP.from_models(list(models), rng.random((states, actions)), 0.9, domain=domain)
    return World(mdp, rng.dirichlet(np.ones(dimension)))


PROBLEM_KINDS: dict[str, Callable[[np.random.Generator], World]] = {
    "paper's world": _network,
    "hypercube": _cube,
    "mixture, simplex": lambda rng: _mixture(rng, "simplex"),
    "mixture, polytope": lambda rng: _mixture(rng, "polytope"),
    "tabular, 2 states, 1 action": lambda rng: random_tabular(2, 1, 2, int(rng.integers(2**31))),
    "river, mixture": lambda rng: riverswim(int(rng.integers(3, 16)), features="mixture"),
}
"""All with d <= 4. A tabular world of two states has d = 4 with one action."""

BEYOND = "tabular, 2 states, 2 actions, d=8"
"""Four free coordinates as well, but more than four parameters: shown beside, not counted."""


class Outcome(NamedTuple):
    """What a certified solve of one problem gave, and the search alone."""

    seconds: float
    gap: float  # (bound - best) / (1 + |best|)
    miss: float  # how far the search alone stays below the best, likewise relative


def draw_problems(kind: str, number: int, longest: int) -> list[Problem]:
    """One run of a random length in a random world of that kind, asked about with each bias."""
    names = [*PROBLEM_KINDS, BEYOND]
    rng = np.random.default_rng(np.random.SeedSequence([names.index(kind), number]))
    world = (
        PROBLEM_KINDS[kind](rng)
        if kind in PROBLEM_KINDS
        else random_tabular(2, 2, 2, int(rng.integers(2**31)))
    )
    steps = round(float(np.exp(rng.uniform(0.0, np.log(longest)))))
    agent = VBMLE(world.mdp, update="doubling")
    walk = Walk(agent, world, steps, seed=number)
    walk.go(steps)
    return [Problem(agent.counts, walk.state, scale * float(np.sqrt(steps))) for scale in BIASES]


def certify(problem: Problem) -> Outcome:
    """Solve with and without a proof."""
    counts, arguments = problem.counts, (problem.state, problem.bias, problem.ridge)
    began = stopwatch.start()
    proven = value_biased(counts.mdp, counts, *arguments, certify=True)
    seconds = stopwatch.since(began)
    assert proven.upper_bound is not None
    searched = value_biased(counts.mdp, counts, *arguments)
    scale = 1.0 + abs(proven.objective)
    return Outcome(
        seconds,
        (proven.upper_bound - proven.objective) / scale,
        (proven.objective - searched.objective) / scale,
    )


def measure(kind: str, effort: Effort) -> list[Outcome]:
    """The outcomes of all problems of a kind: each run is asked about once with each bias."""
    runs = range(-(-effort.problems // len(BIASES)))
    found = [problem for number in runs for problem in draw_problems(kind, number, effort.longest)]
    return [certify(problem) for problem in found[: effort.problems]]


def summarise(outcomes: dict[str, list[Outcome]]) -> list[Row]:
    """The figures, from outcomes by kind."""
    counted, beyond = [outcome for kind in PROBLEM_KINDS for outcome in outcomes[kind]], outcomes[BEYOND]
    case = f"{len(counted)} problems, d <= 4"
    closed = "closed to 1e-2 (1+|f|) within 2 s"
    seconds = [outcome.seconds for outcome in counted]
    by_kind = {kind: _closed(outcomes[kind]) for kind in PROBLEM_KINDS}
    tight = float(np.mean([outcome.gap <= 2.0 * SAME_MAXIMUM for outcome in counted]))

    def row(measure: str, value: float, unit: str = "share") -> Row:
        return Row(SECTION, measure, case, value, unit)

    return [
        Row(
            SECTION,
            closed,
            case,
            _closed(counted),
            "share",
            at_least(SHARE_CLOSED),
            by_kind | _worst(counted),
        ),
        Row(SECTION, closed, f"{len(beyond)} of {BEYOND}", _closed(beyond), "share", None, _worst(beyond)),
        row("closed to 1e-6 (1+|f|)", tight),
        row("the search alone reaches the certified maximum", _hits(counted)),
        row("time of a certified solve, median", float(np.median(seconds)), "seconds"),
        row("time of a certified solve, longest", max(seconds), "seconds"),
    ]


def _worst(outcomes: list[Outcome]) -> dict[str, float]:
    return {"widest_gap": max(o.gap for o in outcomes), "longest": max(o.seconds for o in outcomes)}


def _closed(outcomes: list[Outcome]) -> float:
    return float(np.mean([o.gap <= GAP and o.seconds <= SECONDS_ALLOWED for o in outcomes]))


def _hits(outcomes: list[Outcome]) -> float:
    return float(np.mean([o.miss <= SAME_MAXIMUM for o in outcomes]))
