"""When an agent learns: one solve at a time for each loop, beside it, while decisions go on with the policy in force.

A solve takes all outcomes that have come since the last one, and decides anew for the state that the latest of them led
to. The log says where each solve began and where its policy came into force, so that a solve that a crash cut short is
done again with the same outcomes, and gives the same policy. One that was ended because it took too long, or by an
operator, is on record as such: its outcomes are learnt from, and the policy before it stays.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from time import perf_counter
from typing import Any, NamedTuple, Protocol

from vbmle.model.mdp import LinearMixtureMDP
from vbmle.serve import snapshots
from vbmle.serve.event_log import EventLog, StorageError
from vbmle.serve.events import AnyEvent, Entry, PolicySet, SolveBegun
from vbmle.serve.learner import Learner, Policy, agent_bytes
from vbmle.serve.ledger import Ledger, Outcome, encode_ledger


class Copy(NamedTuple):
    """An agent as it was, in bytes: for how many observations, with which policy, and asked about which state."""

    agent: bytes
    observations: int
    version: int
    state: int


SNAPSHOT_EVERY = 1000
"""Events of a loop between two snapshots."""

SNAPSHOT_SECONDS = 10.0
"""Spent on solves, after which there is a snapshot all the same."""


class Ended(Exception):
    """Work was ended before it was done; the message is one line."""


class Hand(Protocol):
    """Who has the agent of a loop: this process, or one apart."""

    mdp: LinearMixtureMDP
    policy: Policy  # the one in force when the loop was read
    kept: int  # how many events the snapshot has that it was read from

    async def solve(self, version: int, outcomes: Sequence[Outcome], state: int) -> Policy:
        """The next policy; Ended where there is none."""

    async def save(self) -> dict[str, Any]:
        """The arrays of the learner; Ended where it is gone."""

    async def copy(self) -> bytes:
        """The file of the agent; Ended where it is gone."""


class Here:
    """The agent in this process, in threads."""

    def __init__(self, learner: Learner, pool: Executor) -> None:
        self.learner, self._pool = learner, pool
        self.mdp, self.policy, self.kept = learner.mdp, learner.policy, learner.kept
        self._loop = asyncio.get_running_loop()

    async def solve(self, version: int, outcomes: Sequence[Outcome], state: int) -> Policy:
        return await self._in_pool(self.learner.solve, version, outcomes, state)

    async def save(self) -> dict[str, Any]:
        return await self._in_pool(self.learner.save)

    async def copy(self) -> bytes:
        return await self._in_pool(agent_bytes, self.learner.agent)

    async def _in_pool(self, function: Callable[..., Any], *arguments: Any) -> Any:
        future = self._loop.create_future()
        self._pool.submit(self._run, future, function, arguments)
        return await future

    def _run(
        self, future: asyncio.Future[Any], function: Callable[..., Any], arguments: tuple[Any, ...]
    ) -> None:
        """In a thread of the pool. To chain its future and one of asyncio would cost as much as a small solve."""
        try:
            result, error = function(*arguments), None
        except BaseException as caught:
            result, error = None, caught
        self._loop.call_soon_threadsafe(_settle, future, result, error)


class Solves:
    """The learner of one loop and its jobs. All methods are for the thread of the event loop."""

    def __init__(
        self,
        ledger: Ledger,
        hand: Hand,
        log: EventLog,
        pool: Executor,
        append: Callable[[AnyEvent], Entry],
        snapshot_every: int = SNAPSHOT_EVERY,
    ) -> None:
        self.ledger, self.hand, self.policy = ledger, hand, hand.policy
        self.count, self.seconds = 0, 0.0
        self.since: float | None = None  # when the solve began that runs
        self.clock = log.clock
        self.on_policy: Callable[[], None] = lambda: None
        self._log, self._pool, self._append, self._every = log, pool, append, snapshot_every
        self._loop = asyncio.get_running_loop()
        self._ready: Policy | None = None
        self._copies: list[asyncio.Future[Copy | None]] = []
        self._jobs: set[asyncio.Task[None]] = set()
        self._kept = hand.kept  # how many events the last snapshot has
        self._unkept = 0.0  # seconds of solves since then
        self._resting = self._closed = False

    @property
    def idle(self) -> bool:
        """Whether nothing runs, and nothing has to, before the next event."""
        waits = self.ledger.mode == "frozen"
        return not self._jobs and (waits or not (self.ledger.unseen or self.ledger.solving))

    @property
    def busy(self) -> bool:
        """Whether something runs."""
        return bool(self._jobs)

    def go_on(self) -> None:
        """Do what is next, if anything is and nothing runs. To be called after every event that may matter."""
        if self._closed or self._resting or self._jobs:
            return
        if self._copies and self._ready is None:
            self._start(self._copy())
        elif self.ledger.solving is None and self._due:
            self._start(self._snapshot())
        elif self.ledger.mode == "frozen":
            return
        elif self._ready is not None:
            self._into_force(self._ready)
        elif self.ledger.solving is not None:
            self._start(self._solve(self.ledger.solving))
        elif self.ledger.unseen:
            last = self.ledger.unseen[-1]
            begun = SolveBegun(self.ledger.version + 1, last.seq, last.next_state)
            self._append(begun)
            self._start(self._solve(begun))

    @property
    def _due(self) -> bool:
        """Whether so much has come since the last snapshot that reading it again would take long."""
        return self.ledger.length - self._kept >= self._every or self._unkept >= SNAPSHOT_SECONDS

    def _start(self, job: Any) -> None:
        task = self._loop.create_task(job)
        self._jobs.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._jobs.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._loop.call_exception_handler({"message": "a job of a loop failed", "exception": error})
        self.go_on()

    async def _solve(self, begun: SolveBegun) -> None:
        self.since, started = self.clock.steady(), perf_counter()
        try:
            policy = await self.hand.solve(begun.version, self.ledger.batch, begun.state)
        except Ended as error:
            if self._closed or self._resting:
                return  # it is done again by the next server
            policy = self.policy._replace(
                version=begun.version, error=f"the solve was ended: {error}", stopped=True
            )
        spent = perf_counter() - started
        self.count, self.seconds, self._unkept = self.count + 1, self.seconds + spent, self._unkept + spent
        self._ready = policy
        if not self._closed and self.ledger.mode != "frozen":
            self._into_force(policy)

    def _into_force(self, policy: Policy) -> None:
        self._append(PolicySet(policy.version, policy.error, policy.stopped))
        self.policy, self._ready, self.since = policy._replace(stopped=False), None, None
        self.on_policy()
        self._loop.call_soon(self.go_on)

    async def _snapshot(self) -> None:
        """Keep the loop as it is now; nothing is solved until the agent is saved."""
        seq, self._kept, content = self.ledger.seq, self.ledger.length, encode_ledger(self.ledger)
        self._unkept = 0.0
        try:
            arrays = await self.hand.save()
            await self._log.settled()
            if not self._closed:
                await self._loop.run_in_executor(
                    self._pool,
                    snapshots.write,
                    *(self._log.folder.snapshots, self.ledger.name, seq, content, arrays),
                )
        except (OSError, StorageError, Ended) as error:
            if self._resting and isinstance(error, Ended):
                return  # it can do without
            self._loop.call_exception_handler({"message": "a snapshot was not written", "exception": error})

    async def copy(self) -> Copy | None:
        """The agent as it is between two solves; None where none will come."""
        future: asyncio.Future[Copy | None] = self._loop.create_future()
        if self._closed or self._resting:
            return None
        self._copies.append(future)
        self.go_on()
        return await future

    async def _copy(self) -> None:
        wanted, self._copies = self._copies, []
        seen = self.ledger.observations - len(self.ledger.unseen) - len(self.ledger.batch)
        version, state = self.policy.version, self.ledger.last_state
        first, found = int(self.hand.mdp.initial.argmax()), None
        try:
            found = Copy(await self.hand.copy(), seen, version, first if state is None else state)
        except (Ended, StorageError) as error:
            if not (self._closed or self._resting):
                self._loop.call_exception_handler({"message": "an agent was not copied", "exception": error})
        for future in wanted:
            if not future.done():
                future.set_result(found)

    async def rest(self) -> None:
        """Begin nothing more, and wait for what runs."""
        self._resting = True
        self._no_copies()
        while self._jobs:
            await asyncio.wait(self._jobs)

    async def keep(self) -> None:
        """Write a last snapshot, where there is something new to keep and the agent stands at the policy in force."""
        if self._copies and self._ready is None:
            self._start(self._copy())
        elif self.ledger.solving is None and self.ledger.length > self._kept:
            await self._snapshot()

    def abandon(self) -> None:
        """Do nothing more: what the loop is will be read from disk again."""
        self._closed = True
        self._no_copies()

    def _no_copies(self) -> None:
        for future in self._copies:
            if not future.done():
                future.set_result(None)
        self._copies = []


def _settle(future: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    if future.done():  # nobody waits any more
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)
