"""Clocks: agents that take turns on their own paths, and the floor under every step.

Each walk has its own path through the same world, driven by the same chance, as `vbmle.simulate` would drive
it. Walks advance in turn, a batch of steps each: one that ran alone would find its own data in the cache, one
that waited for the others after each step would not, and a user's agent is nearer to the former.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from benchmarks import stopwatch
from vbmle.agents.vbmle import VBMLE
from vbmle.common.validation import Floats, Ints
from vbmle.model.mdp import LinearMixtureMDP
from vbmle.model.world import World
from vbmle.planning.planner import make_planner

STEPS_PER_TURN = 10
"""Steps that a walk takes before it is the next one's turn."""

FLOOR_REPEATS = 3
"""How often the floor is measured in a step."""


class Walk:
    """An agent on its way through a world: one step at a time, with the seconds of `act` and `observe`."""

    def __init__(self, agent: Any, world: World, horizon: int, seed: int = 0) -> None:
        self.agent, self.world = agent, world
        chance = np.random.default_rng(np.random.SeedSequence(seed)).random(horizon + 1).tolist()
        self._chance: list[float] = chance
        self.state = world.first_state(chance[0])
        self._action = 0
        self.act_seconds: list[float] = []
        self.observe_seconds: list[float] = []

    @property
    def steps(self) -> int:
        """How many steps are complete."""
        return len(self.observe_seconds)

    @property
    def total(self) -> float:
        """Seconds of all steps."""
        return sum(self.act_seconds) + sum(self.observe_seconds)

    def act(self) -> None:
        """The first half of a step."""
        began = stopwatch.start()
        action = self.agent.act(self.state)
        self.act_seconds.append(stopwatch.since(began))
        self._action = action

    def observe(self) -> None:
        """The second half of a step."""
        following = self.world.next_state(self.state, self._action, self._chance[self.steps + 1])
        began = stopwatch.start()
        self.agent.observe(self.state, self._action, following)
        self.observe_seconds.append(stopwatch.since(began))
        self.state = following

    def go(self, steps: int) -> None:
        """Take several steps."""
        for _ in range(steps):
            self.act()
            self.observe()


class Floor:
    """The least any method must do at a theta: assemble P, plan from the last policy, differentiate V*."""

    def __init__(self, mdp: LinearMixtureMDP) -> None:
        self._planner = make_planner(mdp)
        self.seconds: list[float] = []

    def measure(self, theta: Floats, policy: Ints, state: int) -> None:
        """Do it a few times at theta, from the policy of the step before."""
        for _ in range(FLOOR_REPEATS):
            self._planner.put(theta=theta, policy=policy)
            began = stopwatch.start()
            self._planner.floor(state)
            self.seconds.append(stopwatch.since(began))


class FlooredWalk(Walk):
    """A walk that also measures the floor in every step, at the theta and state of that step."""

    def __init__(self, agent: VBMLE, world: World, horizon: int, seed: int = 0) -> None:
        super().__init__(agent, world, horizon, seed)
        self.floor = Floor(world.mdp)
        self.last_theta, self.last_policy = agent.theta.copy(), agent.policy.copy()

    def act(self) -> None:
        self.last_theta[:], self.last_policy[:] = self.agent.theta, self.agent.policy
        super().act()
        self.floor.measure(self.agent.theta, self.last_policy, self.state)


def take_turns(walks: Iterable[Walk], steps: int, tick: Callable[[], None] = lambda: None) -> None:
    """Every walk goes on by `steps`, a batch at a time, in turn; `tick` is called after each round."""
    walks, left = list(walks), steps
    while left > 0:
        for walk in walks:
            walk.go(min(STEPS_PER_TURN, left))
        left -= STEPS_PER_TURN
        tick()


def median(seconds: Iterable[float]) -> float:
    """The median, as a plain number."""
    return float(np.median(np.fromiter(seconds, np.float64)))


def mean(seconds: Iterable[float]) -> float:
    """The mean, as a plain number."""
    return float(np.mean(np.fromiter(seconds, np.float64)))
