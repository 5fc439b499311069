"""When an agent learns: one solve at a time for each loop, in a pool, while decisions go on with the policy in force.

A solve takes all outcomes that have come since the last one, and decides anew for the state that the latest of them led
to. The log says where each solve began and where its policy came into force, so that a solve that a crash cut short is
done again with the same outcomes, and gives the same policy.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from time import perf_counter
from typing import Any, NamedTuple

from vbmle.serve import snapshots
from vbmle.serve.event_log import EventLog, StorageError
from vbmle.serve.events import AnyEvent, Entry, PolicySet, SolveBegun
from vbmle.serve.learner import Learner, Policy, agent_bytes
from vbmle.serve.ledger import Ledger, encode_ledger


class Copy(NamedTuple):
    """An agent as it was, in bytes: for how many observations, with which policy, and asked about which state."""

    agent: bytes
    observations: int
    version: int
    state: int


SNAPSHOT_EVERY = 1000
"""Events of a loop between two snapshots."""


class Solves:
    """The learner of one loop and its jobs. All methods are for the thread of the event loop."""

    def __init__(
        self,
        ledger: Ledger,
        learner: Learner,
        log: EventLog,
        pool: Executor,
        append: Callable[[AnyEvent], Entry],
        snapshot_every: int = SNAPSHOT_EVERY,
    ) -> None:
        self.ledger, self.learner, self.policy = ledger, learner, learner.policy
        self.count, self.seconds = 0, 0.0
        self.on_policy: Callable[[], None] = lambda: None
        self._log, self._pool, self._append, self._every = log, pool, append, snapshot_every
        self._loop = asyncio.get_running_loop()
        self._ready: Policy | None = None
        self._copies: list[asyncio.Future[Copy | None]] = []
        self._jobs: set[asyncio.Task[None]] = set()
        self._kept = learner.kept  # how many events the last snapshot has
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
        elif self.ledger.solving is None and self.ledger.length - self._kept >= self._every:
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
        started = perf_counter()
        policy = await self._in_pool(self.learner.solve, begun.version, self.ledger.batch, begun.state)
        self.count, self.seconds = self.count + 1, self.seconds + perf_counter() - started
        self._ready = policy
        if not self._closed and self.ledger.mode != "frozen":
            self._into_force(policy)

    def _into_force(self, policy: Policy) -> None:
        self._append(PolicySet(policy.version, policy.error))
        self.policy, self._ready = policy, None
        self.on_policy()
        self._loop.call_soon(self.go_on)

    async def _snapshot(self) -> None:
        """Keep the loop as it is now; nothing is solved until the agent is saved."""
        seq, self._kept, content = self.ledger.seq, self.ledger.length, encode_ledger(self.ledger)
        arrays = await self._in_pool(self.learner.save)
        try:
            await self._log.settled()
            if not self._closed:
                await self._in_pool(
                    snapshots.write, self._log.folder.snapshots, self.ledger.name, seq, content, arrays
                )
        except (OSError, StorageError) as error:
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
        first = int(self.learner.mdp.initial.argmax())
        content = await self._in_pool(agent_bytes, self.learner.agent)
        for future in wanted:
            if not future.done():
                future.set_result(Copy(content, seen, version, first if state is None else state))

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
