"""What the data say about a loop: bounds, whether learning is over, the belief, and whether any model fits.

All of it is computed from a copy of the agent, beside everything else (the server does it in a process of its own, see
`workers`), for one loop after the other and at most for a fifth of the time: no decision and no solve waits for it. So
it lags behind, and says for how many observations it holds, and when it is too old to rely on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor
from time import perf_counter
from typing import Any, TypeVar

import msgspec
import numpy as np

from vbmle.agents.base import Agent
from vbmle.agents.catalogue import agents
from vbmle.serve.events import Created
from vbmle.serve.learner import agent_from_bytes
from vbmle.serve.outcomes import Outcomes
from vbmle.serve.solves import Copy, Solves
from vbmle.value_of_learning import still_worth

Found = TypeVar("Found")

DELTA = 0.05
SHARE = 0.2
"""Of the time that may be spent on insight, into all loops together."""

STALE_SECONDS = 300.0
"""How old insight may be; what is older is said to be."""

SLOW_SECONDS = 3.0
"""After which looking does not keep the turn of others; in a process apart it has one of its own by then."""

AGAIN_SECONDS = 30.0
"""Until the next try, where looking has failed."""

SHOWN = 50
"""Weights and states that are listed at most."""


class Bounds(msgspec.Struct, frozen=True):
    """What the data prove at confidence 1 - delta, at all times at once, in the user's units."""

    state: str
    low: float  # of the best value from that state on
    high: float
    loss: float  # what the policy in force can still lose per step, at most
    certified: bool  # no other policy can be better
    delta: float


class Weight(msgspec.Struct, frozen=True):
    """What is believed of one weight of the mix, or of one candidate being the truth: a mean, and 90% lie between."""

    name: str
    mean: float
    low: float
    high: float


class Successor(msgspec.Struct, frozen=True):
    """How often a state followed, and how often it should have."""

    state: str
    expected: float
    observed: float


class OddPair(msgspec.Struct, frozen=True):
    """Where the models fit worst."""

    state: str
    action: str
    visits: int
    successors: list[Successor]


class Misfit(msgspec.Struct, frozen=True):
    """Whether some mix of the models explains what was observed; `alarm` says that none does.

    If one is true, the alarm ever rings with probability at most `delta`, however often you look. `evidence` is the
    logarithm of what speaks against the models, and rings at `threshold`; None where it is infinite.
    """

    alarm: bool
    evidence: float | None
    threshold: float
    where: list[OddPair]
    delta: float


class Learning(msgspec.Struct, frozen=True):
    """What learning is still worth from the present state on, between bounds, in the user's units."""

    state: str
    low: float
    high: float


class Insight(msgspec.Struct, frozen=True):
    """What the data say, after so many observations."""

    observations: int
    policy_version: int
    learning_over: bool
    bounds: Bounds | None
    belief: list[Weight] | None
    learning: Learning | None  # for candidates alone
    misfit: Misfit | None
    notes: list[str]  # why something is missing


class Unseen(Exception):
    """Nothing could be seen; the message is one line."""


Looking = Callable[[str, Copy, Created, Outcomes], Awaitable[Insight]]
"""How to look at the copy of a loop's agent: here, or in a process apart. Raises Unseen where that fails."""


class Insights:
    """Keeps the insight into one loop fresh. For the thread of the event loop."""

    def __init__(self, solves: Solves, outcomes: Outcomes, turn: asyncio.Lock, looking: Looking) -> None:
        self.latest: Insight | None = None
        self.trouble: str | None = None  # why there is none, or none that is newer
        self._solves, self._outcomes = solves, outcomes
        self._turn, self._looking = turn, looking
        self._task: asyncio.Task[None] | None = None
        self._clock = solves.clock
        self._behind: float | None = self._clock.steady()  # since when data are not looked at
        self._slow = False  # whether it takes long, and so not the turn of others

    @property
    def age(self) -> float:
        """For how many seconds there has been something that was not looked at: a policy, or a solve that runs."""
        since = [one for one in (self._behind, self._solves.since) if one is not None]
        return max(0.0, self._clock.steady() - min(since)) if since else 0.0

    @property
    def stale(self) -> bool:
        """Whether it is older than it may be, or there is none: no alarm then means nothing."""
        return self.latest is None or self.age > STALE_SECONDS

    @property
    def alarm(self) -> bool | None:
        """Whether no mix of the models explains the data; None where that is not known, or not any more.

        An alarm that rang goes on ringing.
        """
        misfit = None if self.latest is None else self.latest.misfit
        if misfit is not None and misfit.alarm:
            return True
        return None if misfit is None or self.stale else False

    def refresh(self) -> None:
        """Look again, unless that is being done or nothing is new."""
        version = self._solves.policy.version
        fresh = self.latest is not None and self.latest.policy_version == version
        if not fresh and self._behind is None:
            self._behind = self._clock.steady()
        if not fresh and (self._task is None or self._task.done()):
            self._task = asyncio.get_running_loop().create_task(self._look())

    async def _look(self) -> None:
        # A copy comes before its turn: a loop that solves for long keeps no other waiting.
        since = self._clock.steady()
        copy, created = await self._solves.copy(), self._solves.ledger.created
        if copy is None:
            return
        assert created is not None
        seeing = asyncio.ensure_future(self._see(copy, created, since)) if self._slow else None
        try:
            if seeing is None:
                async with self._turn:
                    began = perf_counter()
                    seeing = asyncio.ensure_future(self._see(copy, created, since))
                    done, _ = await asyncio.wait({seeing}, timeout=SLOW_SECONDS)
                    if done:
                        await asyncio.sleep((perf_counter() - began) * (1.0 / SHARE - 1.0))
            await seeing
        except Unseen as error:
            self.trouble = str(error)
            context = {"message": f"loop {self._solves.ledger.name}", "exception": error}
            asyncio.get_running_loop().call_exception_handler(context)
            await asyncio.sleep(AGAIN_SECONDS)
        finally:
            if seeing is not None:
                seeing.cancel()
        if self.latest is None or self._solves.policy.version != self.latest.policy_version:
            asyncio.get_running_loop().call_soon(self.refresh)

    async def _see(self, copy: Copy, created: Created, since: float) -> None:
        began = perf_counter()
        try:
            name = self._solves.ledger.name
            self.latest, self.trouble = await self._looking(name, copy, created, self._outcomes), None
            self._behind = since if self._solves.policy.version != self.latest.policy_version else None
        finally:
            self._slow = perf_counter() - began > SLOW_SECONDS

    def stop(self) -> None:
        """Look no more."""
        if self._task is not None:
            self._task.cancel()


def here(pool: Executor) -> Looking:
    """Insight that is computed in this process, in a thread."""

    async def looking(loop: str, copy: Copy, created: Created, outcomes: Outcomes) -> Insight:
        running = asyncio.get_running_loop()
        return await running.run_in_executor(pool, look, copy, agents()[created.agent], outcomes)

    return looking


def look(copy: Copy, kind: type[Agent], outcomes: Outcomes) -> Insight:
    """The insight that an agent's copy gives."""
    agent = agent_from_bytes(kind, copy.agent, outcomes.mdp)
    notes: list[str] = []
    bounds = _unless(notes, _bounds, agent, copy.state, outcomes)
    return Insight(
        copy.observations,
        copy.version,
        bounds is not None and bounds.certified,
        bounds,
        _unless(notes, _belief, agent, outcomes),
        _unless(notes, _learning, agent, copy.state, outcomes),
        _unless(notes, _misfit, agent, outcomes),
        list(dict.fromkeys(notes)),
    )


def _unless(notes: list[str], part: Callable[..., Found | None], *arguments: Any) -> Found | None:
    """A part of the insight; None and a note of why not, for an agent without counts or a model that is too large."""
    try:
        return part(*arguments)
    except ValueError as error:
        notes.append(" ".join(str(error).split()))
        return None


def _bounds(agent: Agent, state: int, outcomes: Outcomes) -> Bounds | None:
    found = agent.confidence(delta=DELTA, state=state)
    if found.empty:
        raise ValueError("no mix of the models is likely enough to prove a bound")
    low, high = found.interval(state)
    per_step = found.loss * (1.0 - outcomes.mdp.discount)
    return Bounds(outcomes.state_name(state), low, high, float(per_step), bool(found.certified), DELTA)


def _belief(agent: Agent, outcomes: Outcomes) -> list[Weight] | None:
    mdp = outcomes.mdp
    if mdp.dimension > SHOWN:
        raise ValueError(f"the model has {mdp.dimension} weights; a belief is shown for up to {SHOWN}")
    found, names = agent.belief(), mdp.names.models or [f"model {k + 1}" for k in range(mdp.dimension)]
    columns = zip(names, found.mean.tolist(), found.low.tolist(), found.high.tolist(), strict=True)
    return [Weight(*column) for column in columns]


def _learning(agent: Agent, state: int, outcomes: Outcomes) -> Learning | None:
    mdp = outcomes.mdp
    if mdp.domain != "vertices" or max(mdp.dimension, mdp.num_states) > SHOWN:
        return None
    low, high = still_worth(mdp, agent.belief().mean, state)
    return Learning(outcomes.state_name(state), low, high)


def _misfit(agent: Agent, outcomes: Outcomes) -> Misfit:
    found = agent.misfit(DELTA)
    where = [
        OddPair(
            outcomes.state_name(pair.state),
            outcomes.action_name(pair.action),
            round(pair.visits),
            [
                Successor(outcomes.state_name(int(state)), float(expected), float(observed))
                for state, expected, observed in zip(
                    pair.successors, pair.expected, pair.observed, strict=True
                )
            ][:SHOWN],
        )
        for pair in found.where
    ]
    finite = bool(np.isfinite(found.evidence))
    return Misfit(bool(found.alarm), found.evidence if finite else None, found.threshold, where, DELTA)
