"""The rivals: UCLK against the obvious version of it, and what a step of every agent costs beside VBMLE's."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks import stopwatch
from benchmarks.effort import Effort
from benchmarks.obvious_uclk import ObviousUCLK
from benchmarks.speed_table import Row, Target, at_least, at_most
from benchmarks.walks import Walk, mean, take_turns
from vbmle.agents.informed_vbmle import recommended
from vbmle.agents.uclk import UCLK, published_sweeps
from vbmle.agents.vbmle import VBMLE
from vbmle.experiments import catalogue
from vbmle.model.world import World
from vbmle.worlds import queue, random_network, riverswim

SECTION = "rivals"
HORIZON = 500  # the paper's T, which sets the published number of sweeps
BASELINE = {"(3,2) d=5": (3, 2, 5), "(5,4) d=5": (5, 4, 5)}
LARGE_WORLD = (15, 4, 10)
STEP_WORLDS: dict[str, Callable[[], World]] = {
    "(5,4) d=5": lambda: random_network(5, 4, 5),
    "RiverSwim(6), d=22": lambda: riverswim(6),
}
RECOMMENDED: dict[str, Callable[[], World]] = {
    "(3,2) d=5": lambda: random_network(3, 2, 5),
    "(5,4) d=5": lambda: random_network(5, 4, 5),
    "(15,4) d=10": lambda: random_network(15, 4, 10),
    "(15,4) d=60": lambda: random_network(15, 4, 60),
    "RiverSwim(6), d=22": lambda: riverswim(6),
    "queue, S=101, d=3": lambda: queue(capacity=100),
}


def recommendation(name: str, effort: Effort) -> list[Row]:
    """A step of the recommended agent, in multiples of VBMLE's."""
    world = RECOMMENDED[name]()
    ours, unit = (Walk(agent, world, effort.horizon) for agent in (recommended(world.mdp), VBMLE(world.mdp)))
    take_turns([ours, unit], effort.horizon)
    details = {"step": ours.total / ours.steps, "steps": float(ours.steps)}
    measure = "recommended: a step, in multiples of VBMLE's"
    return [Row(SECTION, measure, name, ours.total / unit.total, "times", at_most(3), details)]


def against_cvxpy(name: str, effort: Effort) -> list[Row]:
    """Planning in every step: ours along a run, the obvious version in a few steps of its own."""
    world = random_network(*BASELINE[name])
    sweeps = effort.cvxpy_sweeps or published_sweeps(HORIZON, world.mdp.discount)
    ours = Walk(UCLK(world.mdp, update="every-step"), world, effort.horizon)
    swept = Walk(UCLK(world.mdp, update="every-step", sweeps=sweeps), world, effort.horizon)
    theirs = Walk(ObviousUCLK(world.mdp, sweeps), world, effort.cvxpy_steps + 1)
    theirs.go(1)  # cvxpy compiles the problem
    rest = effort.horizon
    for _ in range(effort.cvxpy_steps):
        theirs.go(1)
        part = effort.horizon // effort.cvxpy_steps
        take_turns([ours, swept], min(part, rest))
        rest -= part
    cvxpy = mean(theirs.act_seconds[1:])

    def row(measure: str, walk: Walk, target: Target | None) -> Row:
        step = mean(walk.act_seconds)
        details = {"cvxpy_step": cvxpy, "step": step, "cvxpy_steps": float(effort.cvxpy_steps)}
        return Row(SECTION, measure, name, cvxpy / step, "times", target, details)

    return [
        row("UCLK, every step: times faster than cvxpy", ours, at_least(1000)),
        row(f"UCLK, every step, {sweeps} sweeps as cvxpy: times faster", swept, None),
    ]


def large_world(effort: Effort) -> list[Row]:
    """UCLK at (15,4), which its comparison in the paper could not run."""
    world, case = random_network(*LARGE_WORLD), "(15,4) d=10"
    lazy = Walk(UCLK(world.mdp), world, effort.horizon)
    eager = Walk(UCLK(world.mdp, update="every-step"), world, effort.horizon)
    begun = stopwatch.start()
    lazy.go(effort.horizon)
    whole = stopwatch.since(begun)
    eager.go(effort.horizon)
    steps = {"steps": float(effort.horizon)}
    run = f"UCLK, doubling: {effort.horizon} steps"
    return [
        Row(SECTION, run, case, whole, "seconds", at_most(10), steps),
        Row(
            SECTION,
            "UCLK, every step: a step",
            case,
            mean(eager.act_seconds),
            "seconds",
            at_most(0.06),
            steps,
        ),
    ]


def every_agent(name: str, effort: Effort) -> list[Row]:
    """A step of every agent, with its defaults, in multiples of VBMLE's."""
    world, rows = STEP_WORLDS[name](), []
    walks = {agent: Walk(make(world), world, effort.horizon) for agent, make in _makers().items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        take_turns(walks.values(), effort.horizon)
    unit = walks["VBMLE"].total
    for agent, walk in walks.items():
        details = {"step": walk.total / walk.steps, "steps": float(walk.steps)}
        measure = f"{agent}: a step, in multiples of VBMLE's"
        rows.append(Row(SECTION, measure, name, walk.total / unit, "times", None, details))
    return rows


def _makers() -> dict[str, Callable[[World], Any]]:
    """Every agent of the catalogue, and UCLK with a plan in every step."""
    found: dict[str, Callable[[World], Any]] = {}
    for name, kind in catalogue.general().items():
        found[name] = partial(_make, kind)
    found["UCLK, every step"] = lambda world: UCLK(world.mdp, update="every-step")
    return found


def _make(kind: Any, world: World) -> Any:
    return kind(world.mdp, theta=world.theta.tolist()) if kind.needs_truth else kind(world.mdp)


def touch() -> None:
    """Compile what is measured here."""
    for world in (random_network(3, 2, 3), riverswim(4)):
        for make in _makers().values():
            Walk(make(world), world, 5).go(5)
    VBMLE(world.mdp).act(0)
