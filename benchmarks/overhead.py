"""What lies outside the core: a whole step of an agent without its solve, and BLAS threads on a busy machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from time import perf_counter
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks.effort import Effort
from benchmarks.speed_table import Row, at_most
from benchmarks.walks import median
from vbmle.agents.vbmle import VBMLE
from vbmle.common.threads import ONE_THREAD
from vbmle.core.library import REFUSED, lib
from vbmle.core.solver import Objective, Solver
from vbmle.worlds import random_network

_follow = lib.vb_solver_follow

SECTION = "outside the core"
BUSY_PROCESSES = 2  # processes beside the one that is measured
BUSY = "print('ready', flush=True)\nwhile True: pass"
STEPS_PROGRAM = """
import json, time
import numpy as np
from vbmle import VBMLE, LinearMixtureMDP, World
rng = np.random.default_rng(0)
models = rng.dirichlet(np.full(200, 0.1), (3, 200, 4))
world = World(LinearMixtureMDP.from_models(list(models), rng.random((200, 4)), 0.9), np.array([0.5, 0.3, 0.2]))
agent, state, seconds = VBMLE(world.mdp), 0, []
print("ready", flush=True)
input()
for step in range({steps}):
    begun = time.perf_counter()
    action = agent.act(state)
    following = world.next_state(state, action, rng.random())
    agent.observe(state, action, following)
    seconds.append(time.perf_counter() - begun)
    state = following
print(json.dumps(float(np.median(seconds[5:]))))
"""


def step_without_solves(effort: Effort) -> list[Row]:
    """`act` and `observe` at (3,2), the solve replaced by a call of the core that is refused at once."""
    world = random_network(3, 2, 5, seed=0)
    agent, rng, seconds, state = VBMLE(world.mdp), np.random.default_rng(0), [], 0
    agent.act(state)
    with patch.object(Solver, "follow", _nothing):
        for _ in range(20 * effort.horizon):
            action = int(agent.policy[state])
            following = world.next_state(state, action, rng.random())
            begun = perf_counter()
            agent.act(state)
            agent.observe(state, action, following)
            seconds.append(perf_counter() - begun)
            state = following
    micro = 1e6 * median(seconds)
    return [Row(SECTION, "act and observe without the solve", "(3,2) d=5", micro, "microseconds", at_most(5))]


def _nothing(self: Solver, objective: Objective) -> None:
    """What `Solver.follow` does, but for no solver: what is left is the cost outside of the core."""
    if (status := _follow(None, objective.given)) < REFUSED:
        raise AssertionError(status)


def blas_threads(effort: Effort) -> list[Row]:
    """A step with BLAS's own choice of threads beside busy processes, against one thread."""
    one, free = [], []
    for _ in range(effort.tries):  # in turn
        one.append(_median_step(effort, ONE_THREAD))
        free.append(_median_step(effort, {}))
    details = {"one_thread": median(one), "threads_unset": median(free)}
    ratio = details["threads_unset"] / details["one_thread"]
    measure = "a step with BLAS threads unset, two busy processes beside it: times one thread"
    return [Row(SECTION, measure, "S=200, A=4, d=3", ratio, "times", at_most(1.2), details)]


def _median_step(effort: Effort, threads: dict[str, str]) -> float:
    environment: dict[str, Any] = {k: v for k, v in os.environ.items() if k not in ONE_THREAD} | threads
    code = STEPS_PROGRAM.format(steps=max(20, effort.horizon // 5))
    with _started(code, environment) as process:
        process.stdout.readline()  # the model is there
        with ExitStack() as busy:
            for _ in range(BUSY_PROCESSES):
                busy.enter_context(_started(BUSY, environment)).stdout.readline()
            out, _ = process.communicate("go\n")
    return float(json.loads(out))


@contextmanager
def _started(code: str, environment: dict[str, Any]) -> Iterator[Any]:
    """A process that says a line when it is ready, and is gone in the end."""
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            yield process
        finally:
            process.kill()
