"""What the data say about a loop: bounds, whether learning is over, the belief, and whether any model fits.

All of it is computed from a copy of the agent, beside everything else, and at most for a tenth of the time: no
decision and no solve waits for it. So it lags behind, and says for how many observations it holds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from time import perf_counter
from typing import Any

import msgspec
import numpy as np

from vbmle.agents.base import Agent
from vbmle.serve.learner import agent_from_bytes
from vbmle.serve.outcomes import Outcomes
from vbmle.serve.solves import Copy, Solves

DELTA = 0.05
SHARE = 0.1
"""Of the time that may be spent on insight into one loop."""

SHOWN = 50
"""Weights and states that are listed at most."""


class Bounds(msgspec.Struct, frozen=True):
    """What the data prove at confidence 1 - delta, at all times at once, in the user's units."""

    state: int
    low: float  # of the best value from that state on
    high: float
    loss: float  # what the policy in force can still lose per step, at most
    certified: bool  # no other policy can be better
    delta: float


class Misfit(msgspec.Struct, frozen=True):
    """Whether some mix of the models explains what was observed; `alarm` says that none does."""

    alarm: bool
    why: str | None = None
    evidence: float | None = None
    where: Any = None


class Insight(msgspec.Struct, frozen=True):
    """What the data say, after so many observations."""

    observations: int
    policy_version: int
    learning_over: bool
    bounds: Bounds | None
    weights: list[float] | None  # the most likely mix
    belief: Any
    misfit: Misfit
    note: str | None = None  # why something is missing


class Insights:
    """Keeps the insight into one loop fresh. For the thread of the event loop."""

    def __init__(self, solves: Solves, outcomes: Outcomes, pool: Executor) -> None:
        self.latest: Insight | None = None
        self.on_change: Callable[[], None] = lambda: None
        self._solves, self._outcomes, self._pool = solves, outcomes, pool
        self._task: asyncio.Task[None] | None = None

    def refresh(self) -> None:
        """Look again, unless that is being done or nothing is new."""
        version = self._solves.policy.version
        fresh = self.latest is not None and self.latest.policy_version == version
        if not fresh and (self._task is None or self._task.done()):
            self._task = asyncio.get_running_loop().create_task(self._look())

    async def _look(self) -> None:
        copy = await self._solves.copy()
        if copy is None:
            return
        began = perf_counter()
        arguments = (copy, self._solves.learner.agent.__class__, self._outcomes)
        self.latest = await asyncio.wrap_future(self._pool.submit(look, *arguments))
        self.on_change()
        await asyncio.sleep((perf_counter() - began) * (1.0 / SHARE - 1.0))
        if self._solves.policy.version != self.latest.policy_version:
            asyncio.get_running_loop().call_soon(self.refresh)

    def stop(self) -> None:
        """Look no more."""
        if self._task is not None:
            self._task.cancel()


def look(copy: Copy, kind: type[Agent], outcomes: Outcomes) -> Insight:
    """The insight that an agent's copy gives."""
    agent = agent_from_bytes(kind, copy.agent, outcomes.mdp)
    bounds, weights, misfit, note = _proven(agent, copy.state, outcomes)
    if hasattr(agent, "misfit"):
        misfit = _misfit(agent) or misfit
    belief = _asked(agent, "belief")
    return Insight(
        copy.observations,
        copy.version,
        bounds is not None and bounds.certified,
        bounds,
        weights,
        None if belief is None else plain(belief),
        misfit,
        note,
    )


def _proven(
    agent: Agent, state: int, outcomes: Outcomes
) -> tuple[Bounds | None, list[float] | None, Misfit, str | None]:
    fits = Misfit(alarm=False)
    if not hasattr(agent, "confidence"):
        return None, None, fits, f"{type(agent).__name__} keeps no counts, so nothing can be proven"
    try:
        found = agent.confidence(delta=DELTA, state=state)
        empty = bool(getattr(found, "empty", False))
    except ValueError as error:
        if "empty" not in str(error):
            return None, None, fits, str(error)
        empty = True
    if empty:
        return (
            None,
            None,
            Misfit(True, "no mix of the models is likely enough, given what was observed"),
            None,
        )
    low, high = found.interval(state)
    scale = outcomes.mdp.reward_scale
    if not hasattr(found, "empty"):  # else it speaks in the user's units already
        low, high, loss = outcomes.value(low), outcomes.value(high), found.loss * scale
    else:
        loss = found.loss
    per_step = loss * (1.0 - outcomes.mdp.discount)
    bounds = Bounds(state, float(low), float(high), float(per_step), bool(found.certified), DELTA)
    weights = np.asarray(found.theta).tolist() if outcomes.mdp.dimension <= SHOWN else None
    return bounds, weights, fits, None


def _misfit(agent: Agent) -> Misfit | None:
    found = _asked(agent, "misfit", DELTA)
    if found is None:
        return None
    evidence = float(getattr(found, "evidence", np.nan))
    why = "what was observed is too unlikely under every mix of the models" if found.alarm else None
    return Misfit(
        bool(found.alarm),
        why,
        evidence if np.isfinite(evidence) else None,
        plain(getattr(found, "where", None)),
    )


def _asked(agent: Agent, method: str, *arguments: Any) -> Any:
    """What an agent answers where it has such a method and an answer."""
    if not hasattr(agent, method):
        return None
    try:
        return getattr(agent, method)(*arguments)
    except (ValueError, NotImplementedError):
        return None


def plain(value: Any) -> Any:
    """Arrays, named tuples and dataclasses as JSON knows them; what is too long is cut."""
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if hasattr(value, "_asdict"):
        return plain(value._asdict())
    if hasattr(value, "__dataclass_fields__"):
        return {name: plain(getattr(value, name)) for name in value.__dataclass_fields__}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value[:SHOWN]]
    return value if value is None or isinstance(value, bool | int | str) else str(value)
