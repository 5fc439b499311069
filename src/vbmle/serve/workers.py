"""Who computes what, and when: solves, new agents, insight, replays and files run in processes that can be stopped.

All loops share a few processes, one for each kind of work, and take turns. What takes longer than `SLOW_SECONDS` goes
on in a process of its own, at the lowest priority, and its place is free for the others: a slow loop waits for itself
alone. Only a few such processes run at once, each has a limit on its memory, and what passes its deadline is ended. A
loop whose process has ended is read from disk again when it is next needed.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from io import BytesIO
from itertools import count
from pathlib import Path
from time import monotonic
from typing import Any, TypeVar

import msgspec

from vbmle.common.files import arrays_in
from vbmle.common.messages import LENGTH
from vbmle.common.threads import ONE_THREAD
from vbmle.common.validation import InputError
from vbmle.model.mdp import LinearMixtureMDP
from vbmle.serve import apart
from vbmle.serve.bodies import Priority, WorkItem
from vbmle.serve.events import Created
from vbmle.serve.insight import Insight, Looking, Unseen
from vbmle.serve.learner import Policy
from vbmle.serve.ledger import Outcome
from vbmle.serve.outcomes import Outcomes
from vbmle.serve.refusals import BadInput
from vbmle.serve.solves import Copy, Ended

SLOW_SECONDS = 2.0
"""Of processor time, after which work goes on in a process of its own."""

ROUND_SECONDS = 1.0
"""Between two looks at slow work."""

MOST_SLOW = 2
"""Processes for slow work that run at once; what else is slow waits for one of them."""

MOST_IDLE = 4
"""Processes of slow loops that are kept while they have nothing to do."""

DEADLINES = {
    "restore": float("inf"),  # a loop that is read from disk
    "solve": 600.0,
    "make": 600.0,  # a new agent
    "copy": 120.0,  # of an agent
    "insight": 120.0,
    "replay": 300.0,
    "export": 300.0,
    "model": 120.0,  # whether it is one
}
"""Seconds of processor time that work may take; three times as many on the clock."""

PATIENCE = 3.0
SHARED_NICE, SECOND_NICE, SLOW_NICE = 5, 10, 19
"""Added to the nice value: where cores are short, processes wait for others, and no thread of the server waits."""

LEAST_MEMORY = 2**31

PRIORITIES: dict[Priority, int] = {"low": -1, "normal": 0, "high": 1}

Found = TypeVar("Found")


class Failed(Ended):
    """The work raised an error; the message is one line."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(f"{kind}: {text}")
        self.kind, self.text = kind, text


class _Preempted(Exception):
    """It was slow while others were; it is begun again when it is its turn."""


class Worker:
    """One process, from the server's side."""

    def __init__(self, process: subprocess.Popen[bytes], ours: socket.socket) -> None:
        self.process, self._socket, self.reason = process, ours, ""
        self.up = False  # whether it has answered anything
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, content: bytes) -> bytes:
        """The answer to a question; Ended where none comes."""
        try:
            if self._streams is None:
                self._streams = await asyncio.open_connection(sock=self._socket, limit=2**22)
            reader, writer = self._streams
            writer.write(LENGTH.pack(len(content)))
            writer.write(content)
            await writer.drain()
            (size,) = LENGTH.unpack(await reader.readexactly(LENGTH.size))
            return await reader.readexactly(size)
        except (OSError, EOFError) as error:
            code = await asyncio.to_thread(self.end)
            raise Ended(self.reason or _ending(code)) from error

    def cpu_seconds(self) -> float:
        """Processor time so far; infinite where the system does not tell."""
        try:
            fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        except (OSError, ValueError, IndexError):
            return float("inf")

    def lower(self, nice: int) -> None:
        """Let it wait for others."""
        with suppress(
            OSError, AttributeError
        ):  # it is slower to answer where that is not allowed, and nothing else
            os.setpriority(os.PRIO_PROCESS, self.process.pid, nice)

    def kill(self, reason: str) -> None:
        """End it, whatever it is doing; who waits for it is told why."""
        self.reason = self.reason or reason
        self.process.kill()

    def end(self) -> int:
        """End it, if it has not ended by itself; how it ended."""
        self.process.kill()
        return self.process.wait()

    async def bury(self) -> None:
        """End it, and let go of what it was asked through."""
        await asyncio.to_thread(self.end)
        if self._streams is None:
            self._socket.close()
            return
        self._streams[1].close()
        with suppress(OSError):
            await self._streams[1].wait_closed()


def start(folder: Path, nice: int) -> Worker:
    """A process, out of reach of a Ctrl-C that is meant for the server."""
    ours, its = socket.socketpair()
    try:
        command = [
            sys.executable,
            "-P",
            "-m",
            "vbmle.serve.apart",
            str(folder.absolute()),
            str(memory_limit()),
        ]
        process = subprocess.Popen(
            command, stdin=its.fileno(), env=os.environ | ONE_THREAD, start_new_session=True
        )
    except OSError:
        ours.close()
        raise
    finally:
        its.close()
    ours.setblocking(False)
    worker = Worker(process, ours)
    worker.lower(nice)
    return worker


def memory_limit() -> int:
    """Bytes that one process may take: a quarter of the memory of the machine."""
    try:
        return max(LEAST_MEMORY, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 4)
    except (OSError, ValueError, AttributeError):
        return LEAST_MEMORY


def _ending(code: int) -> str:
    if code < 0:
        return f"its process was ended by {signal.Signals(-code).name}; make sure that there is enough memory"
    return f"its process ended with code {code}; see the log of the server"


@dataclass(eq=False)
class Job:
    """A piece of work, for the operator to see, to stop and to put before others."""

    number: int
    loop: str
    kind: str
    asked: float
    priority: Callable[[], int]
    begun: float | None = None
    lane: Lane | None = None
    worker: Worker | None = None
    slow: bool = False
    preempted: bool = False
    cpu_before: float = 0.0


class Turns:
    """So many at once; the others wait, those of higher priority first, then those who came first."""

    def __init__(self, most: int) -> None:
        self._free = most
        self._waiting: list[tuple[Job, asyncio.Future[None]]] = []

    def at_once(self) -> bool:
        """Take a place if there is one."""
        if self._free == 0:
            return False
        self._free -= 1
        return True

    async def enter(self, job: Job) -> None:
        """Wait for a place."""
        if self.at_once():
            return
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((job, place))
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                self.leave()
            raise
        finally:
            self._waiting = [one for one in self._waiting if one[1] is not place]

    def leave(self) -> None:
        """Give a place to who is next."""
        waiting = [(job, place) for job, place in self._waiting if not place.done()]
        if not waiting:
            self._free += 1
            return
        _, place = max(waiting, key=lambda one: (one[0].priority(), -one[0].number))
        place.set_result(None)


@dataclass(eq=False)
class Lane:
    """A process that is there when it is needed, and who waits for it."""

    nice: int
    worker: Worker | None = None
    turns: Turns = field(default_factory=lambda: Turns(1))
    used: float = 0.0


class Workers:
    """All processes of one server. For the thread of the event loop."""

    def __init__(self, folder: Path, settled: Callable[[], Awaitable[None]]) -> None:
        self.jobs: dict[int, Job] = {}
        self.priorities: dict[str, Priority] = {}
        self._folder, self._settled = folder, settled
        self._lanes = {kind: Lane(SECOND_NICE) for kind in ("insight", "replay")}
        self._shared = [Lane(SHARED_NICE) for _ in range(max(1, (os.cpu_count() or 2) - 1))]
        self._own: dict[str, Lane] = {}  # of loops that were slow
        self._home: dict[str, Worker] = {}  # which process has the agent of a loop
        self._slow = Turns(MOST_SLOW)
        self._all: set[Worker] = set()
        self._watches: dict[int, asyncio.TimerHandle] = {}
        self._numbers, self._closed = count(1), False
        self._ending: set[asyncio.Task[Any]] = set()

    async def begin(self) -> None:
        """Start a process for agents, so that whoever makes the first loop need not wait for it."""
        with suppress(Ended):
            await self._ready(self._shared[0])

    async def make(self, name: str, created: Created) -> apart.SentPolicy:
        """A new agent; its first policy."""
        try:
            return await self.of_loop("make", apart.Make(name, created), apart.SentPolicy)
        except BaseException:
            self._home.pop(name, None)
            if (own := self._own.pop(name, None)) is not None and own.worker is not None:
                self._stop(own.worker)
            raise

    async def of_loop(self, kind: str, question: Any, expected: type[Found]) -> Found:
        """What the process says that has the agent of a loop."""
        lane = self._shared[hash(question.loop) % len(self._shared)]
        return await self._run(question.loop, kind, question, expected, lane)

    async def aside(self, kind: str, loop: str, question: Any, expected: type[Found]) -> Found:
        """What needs no agent that is kept."""
        lane = self._lanes[_LANES[kind]]
        return await self._run(loop, kind, question, expected, lane)

    def priority(self, loop: str) -> Priority:
        """Whether its work goes before that of others."""
        return self.priorities.get(loop, "normal")

    async def _run(self, loop: str, kind: str, question: Any, expected: type[Found], lane: Lane) -> Found:
        job = Job(next(self._numbers), loop, kind, monotonic(), lambda: PRIORITIES[self.priority(loop)])
        self.jobs[job.number] = job
        try:
            while True:
                with suppress(_Preempted):
                    return await self._attempt(job, question, expected, lane)
        finally:
            del self.jobs[job.number]

    async def _attempt(self, job: Job, question: Any, expected: type[Found], lane: Lane) -> Found:
        if isinstance(question, _OF_LEARNERS) and job.loop in self._own:
            lane, job.slow = self._own[job.loop], True
        elif job.preempted:
            lane, job.slow = Lane(SLOW_NICE), True
        job.preempted, job.lane = False, lane
        if job.slow:
            await self._slow.enter(job)
        try:
            await lane.turns.enter(job)
        except BaseException:
            self._leave_slow(job)
            raise
        try:
            return await self._turn(job, question, expected)
        finally:
            job.lane.turns.leave()
            job.lane.used = monotonic()
            self._leave_slow(job)
            self._trim(job)

    def _leave_slow(self, job: Job) -> None:
        if job.slow:
            job.slow = False
            self._slow.leave()

    async def _turn(self, job: Job, question: Any, expected: type[Found]) -> Found:
        lane = job.lane
        assert lane is not None
        worker = await self._ready(lane)
        try:
            if not worker.up:
                await self._asked(worker, apart.Hello(), type(None))
        except Ended:
            self._forget(worker)
            raise
        worker.up = True
        job.begun, job.worker, job.cpu_before = monotonic(), worker, worker.cpu_seconds()
        self._watches[job.number] = self._later(SLOW_SECONDS, job)
        try:
            if isinstance(question, _OF_LEARNERS):
                await self._bring_home(job.loop, question, worker)
            return await self._asked(worker, question, expected)
        except Failed:
            raise
        except Ended:
            self._forget(worker)
            if job.preempted:
                raise _Preempted from None
            raise
        except asyncio.CancelledError:
            worker.kill("nobody waits for it any more")
            self._forget(worker)
            raise
        finally:
            job.begun = job.worker = None
            self._watches.pop(job.number).cancel()

    async def _asked(self, worker: Worker, question: Any, expected: type[Found]) -> Found:
        content = await worker.ask(msgspec.msgpack.encode(question))
        answer = msgspec.msgpack.decode(content, type=apart.Answer)
        if answer.error is not None:
            if answer.kind == InputError.__name__:
                raise BadInput(answer.error)
            raise Failed(answer.kind, answer.error)
        return msgspec.msgpack.decode(answer.found, type=expected)

    async def _bring_home(self, loop: str, question: Any, worker: Worker) -> None:
        """Have the agent of a loop in a process that is asked about it."""
        if self._home.get(loop) is not worker and not isinstance(question, apart.Make | apart.Restore):
            self._require_open()
            await self._settled()
            await self._asked(worker, apart.Restore(loop), apart.Restored)
        self._home[loop] = worker

    async def _ready(self, lane: Lane) -> Worker:
        if lane.worker is None or lane.worker not in self._all:
            self._require_open()
            try:
                lane.worker = await self._started(lane.nice)
            except (OSError, RuntimeError) as error:
                raise Ended(f"no process can be started for it ({error})") from error
        return lane.worker

    async def _started(self, nice: int) -> Worker:
        """A new process. One that nobody waits for any more, or that comes when the server stops, is ended."""
        starting = asyncio.get_running_loop().create_task(self._start(nice))
        self._ending.add(starting)
        starting.add_done_callback(self._ending.discard)
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            starting.add_done_callback(self._unwanted)
            raise

    async def _start(self, nice: int) -> Worker:
        worker = await asyncio.to_thread(start, self._folder, nice)
        self._all.add(worker)
        if self._closed:
            self._stop(worker)
        return worker

    def _unwanted(self, starting: asyncio.Task[Worker]) -> None:
        if not starting.cancelled() and starting.exception() is None:
            self._stop(starting.result())

    def _require_open(self) -> None:
        if self._closed:
            raise Ended("the server is stopping")

    def _later(self, seconds: float, job: Job) -> asyncio.TimerHandle:
        return asyncio.get_running_loop().call_later(seconds, self._watch, job)

    def _watch(self, job: Job) -> None:
        """Look at work that has been going on for a while."""
        worker = job.worker
        if worker is None or job.begun is None:
            return
        clock, limit = monotonic() - job.begun, DEADLINES[job.kind]
        spent = min(worker.cpu_seconds() - job.cpu_before, clock)
        if spent > limit or clock > PATIENCE * limit:
            worker.kill(
                f"it took more than {limit:.0f} s; lower the settings of the agent, or use a smaller model"
            )
            return
        if not job.slow and (spent > SLOW_SECONDS or clock > PATIENCE * 10.0 * SLOW_SECONDS):
            self._becomes_slow(job, worker)
        self._watches[job.number] = self._later(ROUND_SECONDS, job)

    def _becomes_slow(self, job: Job, worker: Worker) -> None:
        """Free its place for others: it goes on by itself, or begins again when there is a place for slow work."""
        before = job.lane
        assert before is not None
        lane = Lane(SLOW_NICE)
        if job.kind in ("restore", "solve", "make", "copy"):
            self._own[job.loop] = lane
        if not self._slow.at_once():
            job.preempted = True
            worker.kill("others are slow too")
            return
        lane.turns.at_once()
        lane.worker, before.worker, job.lane, job.slow = worker, None, lane, True
        worker.lower(SLOW_NICE)
        before.turns.leave()

    def _trim(self, job: Job) -> None:
        """End processes of slow work that have nothing to do, those first that were used longest ago."""
        lane = job.lane
        assert lane is not None
        if lane.worker is not None and lane.nice == SLOW_NICE and lane not in self._own.values():
            self._stop(lane.worker)
        busy = {one.lane for one in self.jobs.values() if one is not job}
        idle = [lane for lane in self._own.values() if lane.worker in self._all and lane not in busy]
        for lane in sorted(idle, key=lambda one: one.used)[: max(0, len(idle) - MOST_IDLE)]:
            assert lane.worker is not None
            self._stop(lane.worker)

    def _stop(self, worker: Worker) -> None:
        worker.kill("it is not needed any more")
        self._forget(worker)

    def _forget(self, worker: Worker) -> None:
        """A process is gone, and what it had."""
        if worker in self._all:
            self._all.discard(worker)
            self._home = {loop: home for loop, home in self._home.items() if home is not worker}
            ending = asyncio.get_running_loop().create_task(worker.bury())
            self._ending.add(ending)
            ending.add_done_callback(self._ending.discard)

    def stop(self, loop: str, reason: str, kinds: tuple[str, ...] = tuple(DEADLINES)) -> int:
        """End what runs for a loop; how many pieces of work that were."""
        stopped = 0
        for job in list(self.jobs.values()):
            if job.worker is not None and job.loop == loop and job.kind in kinds:
                job.worker.kill(reason)
                stopped += 1
        return stopped

    def items(self) -> list[WorkItem]:
        """What runs and what waits, for the operator."""
        now = monotonic()
        return [
            WorkItem(
                job.loop,
                job.kind,
                "waiting" if job.begun is None else "running",
                round(now - (job.asked if job.begun is None else job.begun), 3),
                DEADLINES[job.kind],
                self.priority(job.loop),
                job.slow,
                None if job.worker is None else job.worker.process.pid,
            )
            for job in self.jobs.values()
        ]

    def quit_work(self, kinds: tuple[str, ...]) -> None:
        """End what runs of some kinds, and begin no more of anything that needs a new process."""
        self._closed = True
        for job in list(self.jobs.values()):
            if job.worker is not None and job.kind in kinds:
                job.worker.kill("the server is stopping")

    async def close(self) -> None:
        """End all processes."""
        self._closed = True
        for worker in list(self._all):
            self._stop(worker)
        while self._ending:
            await asyncio.wait(self._ending)


class There:
    """The agent of a loop in a process apart."""

    def __init__(
        self, workers: Workers, loop: str, mdp: LinearMixtureMDP, policy: Policy, kept: int = 0
    ) -> None:
        self.mdp, self.policy, self.kept = mdp, policy, kept
        self._workers, self._loop = workers, loop

    async def solve(self, version: int, outcomes: Sequence[Outcome], state: int) -> Policy:
        question = apart.Solve(self._loop, version, list(outcomes), state)
        return (await self._workers.of_loop("solve", question, apart.SentPolicy)).policy()

    async def save(self) -> dict[str, Any]:
        content = await self._workers.of_loop("copy", apart.Save(self._loop), bytes)
        return arrays_in(BytesIO(content), len(content))

    async def copy(self) -> bytes:
        return await self._workers.of_loop("copy", apart.CopyOf(self._loop), bytes)


def looking_apart(workers: Workers) -> Looking:
    """Insight that is computed in a process apart."""

    async def looking(loop: str, copy: Copy, created: Created, outcomes: Outcomes) -> Insight:
        try:
            return await workers.aside("insight", loop, apart.Look(copy, created), Insight)
        except Ended as error:
            raise Unseen(f"bounds and alarm could not be computed: {error}") from error

    return looking


_LANES = {"insight": "insight", "replay": "replay", "export": "replay", "model": "insight"}
_OF_LEARNERS = (apart.Make, apart.Restore, apart.Solve, apart.Save, apart.CopyOf)
