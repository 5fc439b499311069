"""The quadratic programs of real climbs, solved by the core and by two libraries that do nothing else.

A program is that of a Newton step: the slope of the objective and the curvature of its concave part at a theta along a
run of VBMLE, moved a little inside, over all facets of the polytope. DAQP (dual active sets, C) and PIQP (interior
points, C++) say themselves how long they took, without the call from Python; the core's time has that call in it.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import daqp
import numpy as np
import piqp

from benchmarks.effort import Effort
from benchmarks.paper_world import Case
from benchmarks.speed_table import Row, at_least
from benchmarks.walks import Walk, median
from vbmle.agents.vbmle import VBMLE
from vbmle.common.validation import Floats
from vbmle.core.solver import Objective

SECTION = "quadratic programs"
INSIDE = 0.98
"""How far from the centre of the polytope to theta a program is stated, as climbs begin inside."""

EVERY = 6
"""Steps of a run from one program to the next."""

UNBOUNDED = 1e30
"""What DAQP and PIQP take for infinity."""

REPEATS = 10
"""How often each solves a program; the fastest counts."""

SAME_MAXIMUM = 1e-5
"""Of 1 + |f|: what the others leave, by their default tolerances."""


class Stated(NamedTuple):
    """Maximise <g, d> - d' B d / 2 subject to normals @ d + slack >= 0."""

    B: Floats
    g: Floats
    normals: Floats
    slack: Floats

    def value(self, d: Floats) -> float:
        return float(self.g @ d - 0.5 * d @ self.B @ d)


def parts() -> Any:
    """What only tests use of the core."""
    tests = str(Path(__file__).resolve().parents[1] / "tests")
    if tests not in sys.path:
        sys.path.append(tests)
    from parts import climbing

    return climbing


def programs_of(case: Case, steps: int) -> list[Stated]:
    """The programs along a run."""
    world, found = case.world(0), []
    core, flat = world.mdp.core, world.mdp.flat_set  # one block
    normals = flat.normals.reshape(-1, core.num_free)
    walk, probe = Walk(VBMLE(world.mdp), world, steps), parts().Probe(core)
    for step in range(steps):
        walk.act()
        if step % EVERY == EVERY - 1:
            agent = walk.agent
            y = INSIDE * core.place(agent.theta)
            objective = Objective(agent.counts.core, 1.0, math.sqrt(step + 1.0), walk.state)
            probe.slope_at(objective, core.assemble(y))
            probe.curve(objective)
            slack = normals @ y + flat.offsets
            found.append(Stated(probe.concave.copy(), probe.slope.copy(), normals, slack))
        walk.observe()
    return found


def by_core(program: Stated) -> tuple[Floats, float]:
    """The solution and the seconds of one call of the core."""
    solve = parts().lib.vb_part_solve_program
    given, d, _, _ = parts().Program(*program).given()
    begun = perf_counter()
    status = solve(given)
    seconds = perf_counter() - begun
    assert status == parts().SOLVED
    return d, seconds


def by_daqp(program: Stated) -> tuple[Floats, float]:
    """The solution and the seconds that DAQP says it took, to set up and to solve."""
    B, g, normals, slack = program
    above, sense = np.full(len(slack), UNBOUNDED), np.zeros(len(slack), np.int32)
    d, _, flag, info = daqp.solve(B, -g, normals, above, -slack, sense)
    assert flag == 1
    return d, info["setup_time"] + info["solve_time"]


def by_piqp(program: Stated) -> tuple[Floats, float]:
    """The solution and the seconds that PIQP says it took, to set up and to solve."""
    solver = piqp.DenseSolver()
    solver.settings.compute_timings = True
    above = np.full(len(program.slack), UNBOUNDED)
    solver.setup(program.B, -program.g, None, None, program.normals, -program.slack, above)
    status = solver.solve()
    assert status == piqp.PIQP_SOLVED
    return solver.result.x, solver.result.info.setup_time + solver.result.info.solve_time


OTHERS: dict[str, Callable[[Stated], tuple[Floats, float]]] = {"DAQP": by_daqp, "PIQP": by_piqp}


def fastest(solve: Callable[[Stated], tuple[Floats, float]], program: Stated) -> tuple[Floats, float]:
    tries = [solve(program) for _ in range(REPEATS)]
    return tries[0][0], min(seconds for _, seconds in tries)


def measure(case: Case, effort: Effort) -> list[Row]:
    """The medians over all programs of a run, as times of the core's; what they find must be as good."""
    taken: dict[str, list[float]] = {"core": [], **{name: [] for name in OTHERS}}
    for program in programs_of(case, min(effort.horizon, 120)):
        d, seconds = fastest(by_core, program)
        taken["core"].append(seconds)
        best = program.value(d)
        for name, solve in OTHERS.items():
            other, seconds = fastest(solve, program)
            assert program.value(other) <= best + SAME_MAXIMUM * (1.0 + abs(best)), name
            taken[name].append(seconds)
    ours = median(taken["core"])
    return [
        Row(
            SECTION,
            f"{name}: a program, in multiples of the core's",
            case.name,
            median(taken[name]) / ours,
            "times",
            at_least(1) if case.states > 3 else None,  # there the call takes most of the time
            {"seconds": median(taken[name]), "core": ours, "programs": float(len(taken["core"]))},
        )
        for name in OTHERS
    ]
