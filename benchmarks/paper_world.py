"""Steps in the paper's world: against SLSQP, against the floor, global against local, lazy against eager."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from benchmarks.effort import Effort
from benchmarks.slsqp import Answer, Problem, Slsqp
from benchmarks.speed_table import Row, Target, at_least, at_most
from benchmarks.walks import FlooredWalk, Walk, mean, median, take_turns
from vbmle.agents.vbmle import VBMLE
from vbmle.model.world import World
from vbmle.worlds import random_network

SECTION = "the paper's world"
LARGE_DIMENSION = 20
"""From this dimension on the baseline takes most of a second, and is measured in fewer steps."""

SAME_OBJECTIVE = 1e-6
"""Objectives closer than this, relative to 1 + |f|, count as equal."""


@dataclass(frozen=True)
class Case:
    """A size of the paper's world, with its targets."""

    states: int
    actions: int
    dimension: int
    times_slsqp: float
    floors: float
    global_over_local: float
    lazy: float | None

    @property
    def name(self) -> str:
        return f"({self.states},{self.actions}) d={self.dimension}"

    def world(self, seed: int) -> World:
        return random_network(self.states, self.actions, self.dimension, seed=seed)


CASES = (
    Case(3, 2, 5, times_slsqp=75, floors=5, global_over_local=3, lazy=None),
    Case(5, 4, 5, times_slsqp=75, floors=5, global_over_local=3, lazy=None),
    Case(15, 4, 10, times_slsqp=200, floors=6, global_over_local=3, lazy=None),
    Case(15, 4, 60, times_slsqp=1500, floors=20, global_over_local=3, lazy=None),
)


class ComparedWalk(FlooredWalk):
    """A walk that hands some of its steps to the baseline too, right after its own."""

    def __init__(self, agent: VBMLE, world: World, horizon: int, compared: set[int]) -> None:
        super().__init__(agent, world, horizon)
        self.baseline = Slsqp(world.mdp)
        self._compared = compared
        self.answers: list[Answer] = []
        self.ours: list[float] = []  # objectives where there are answers

    def act(self) -> None:
        super().act()
        if self.steps in self._compared:
            agent = self.agent
            problem = Problem(agent.counts, self.state, agent.alpha(), agent.settings["ridge"])
            self.baseline.policy[:] = self.last_policy
            self.answers.append(self.baseline.solve(problem, self.last_theta))
            self.ours.append(self.baseline.objective(problem, agent.theta)[0])


@dataclass
class Sample:
    """What was measured for a case, over all its worlds."""

    local: list[ComparedWalk] = field(default_factory=list)
    search: list[Walk] = field(default_factory=list)
    lazy_local: list[Walk] = field(default_factory=list)
    lazy_search: list[Walk] = field(default_factory=list)


def measure(case: Case, effort: Effort, tick: Callable[[], None] = lambda: None) -> list[Row]:
    """The rows of one case; `tick` is called once per world."""
    sample, horizon = Sample(), effort.horizon
    count = effort.large_baseline_steps if case.dimension >= LARGE_DIMENSION else effort.baseline_steps
    compared = {int(t) for t in (np.arange(count) + 0.5) * horizon / count}
    for seed in range(effort.worlds):
        world = case.world(seed)
        sample.local.append(ComparedWalk(VBMLE(world.mdp, search="local"), world, horizon, compared))
        sample.search.append(Walk(VBMLE(world.mdp), world, horizon))
        local, search = (VBMLE(world.mdp, search=s, update="doubling") for s in ("local", "global"))
        sample.lazy_local.append(Walk(local, world, horizon))
        sample.lazy_search.append(Walk(search, world, horizon))
        take_turns(
            [sample.local[-1], sample.search[-1], sample.lazy_local[-1], sample.lazy_search[-1]], horizon
        )
        tick()
    return summarise(case, sample)


def summarise(case: Case, sample: Sample) -> list[Row]:
    """The figures of a case from what was measured."""
    steps = [second for walk in sample.local for second in walk.act_seconds]
    floor = median(second for walk in sample.local for second in walk.floor.seconds)
    searches = [second for walk in sample.search for second in walk.act_seconds]
    step, search = mean(steps), mean(searches)

    def row(measure: str, value: float, target: Target | None = None, **details: float) -> Row:
        return Row(SECTION, measure, case.name, value, "times", target, details)

    return [
        *_against_slsqp(case, sample.local, median(steps)),
        row(
            "local step, median: multiples of the floor",
            median(steps) / floor,
            at_most(case.floors),
            local_step=median(steps),
            floor=floor,
            steps=len(steps),
        ),
        row(
            "global step, mean: multiples of the local step",
            search / step,
            at_most(case.global_over_local),
            global_step=search,
            local_step=step,
            median_of_global=median(searches),
        ),
        _laziness(
            case, "global", sample.search, sample.lazy_search, at_least(case.lazy) if case.lazy else None
        ),
        _laziness(case, "local", sample.local, sample.lazy_local, None),
    ]


def _against_slsqp(case: Case, walks: list[ComparedWalk], step: float) -> list[Row]:
    answers = [answer for walk in walks for answer in walk.answers]
    theirs = np.array([answer.objective for answer in answers])
    ours = np.array([objective for walk in walks for objective in walk.ours])
    lead = (ours - theirs) / (1.0 + np.abs(ours))
    slsqp = median(answer.seconds for answer in answers)
    compared = {
        "steps": float(len(answers)),
        "ours_ahead": float((lead > SAME_OBJECTIVE).mean()),
        "slsqp_ahead": float((lead < -SAME_OBJECTIVE).mean()),
        "slsqp_most_ahead": float(max(-lead.min(), 0.0)),
        "slsqp_gave_up": float(np.mean([not answer.success for answer in answers])),
    }
    return [
        Row(
            SECTION,
            "local step, median: times faster than SLSQP",
            case.name,
            slsqp / step,
            "times",
            at_least(case.times_slsqp),
            {"slsqp_step": slsqp, "local_step": step, "slsqp_steps": float(len(answers))},
        ),
        Row(
            SECTION,
            "steps in which it ends at least as high as SLSQP",
            case.name,
            float((lead >= -SAME_OBJECTIVE).mean()),
            "share",
            None,
            compared,
        ),
    ]


def _laziness(
    case: Case, search: str, eager: list[Walk] | list[ComparedWalk], lazy: list[Walk], target: Target | None
) -> Row:
    every, doubling = sum(walk.total for walk in eager), sum(walk.total for walk in lazy)
    details = {"every_step_total": every, "doubling_total": doubling}
    measure = f'update="doubling", search="{search}": times less in total'
    return Row(SECTION, measure, case.name, every / doubling, "times", target, details)
