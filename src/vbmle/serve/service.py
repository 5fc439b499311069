"""All loops and models of a folder: what is there when the service starts, and what is added."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

from vbmle.common import extras
from vbmle.common.files import UNREADABLE, from_npz_bytes, unpacked_size
from vbmle.common.validation import InputError
from vbmle.model.mdp import LinearMixtureMDP
from vbmle.serve import apart, snapshots
from vbmle.serve.bodies import LoopAnswer, LoopRequest, ModelAnswer, WorkAnswer, WorkRequest
from vbmle.serve.clock import Clock
from vbmle.serve.controller import Controller, Means
from vbmle.serve.counterfactual import Replay, replay
from vbmle.serve.event_log import DamagedLog, EventLog, StorageError, damaged
from vbmle.serve.events import Created
from vbmle.serve.export import parquet
from vbmle.serve.folder import Folder
from vbmle.serve.insight import here
from vbmle.serve.learner import Learner, agent_class, recommended_name
from vbmle.serve.ledger import Ledger, decode_ledger
from vbmle.serve.outcomes import Outcomes
from vbmle.serve.refusals import BadInput, Busy, Conflict, NotFound
from vbmle.serve.restoring import Stopping, restore
from vbmle.serve.solves import SNAPSHOT_EVERY, Ended, Hand, Here, Solves
from vbmle.serve.stream import Streams
from vbmle.serve.workers import Failed, There, Workers, looking_apart

MOST_MODELS = 1000
MOST_LOOPS = 1000
"""In one folder: a server keeps all loops in memory."""

UNPACKED_BYTES = 2**28
"""That the arrays of a model may have, as its archive says before any of it is unpacked."""

ANSWER_SECONDS = 2.0
"""For which a request to make a loop waits for its agent; what takes longer is answered, and goes on."""

REST_SECONDS = 0.5
"""For which solves go on after the order to stop; what takes longer is done again at the next start."""

MOST_ASIDE = 8
"""Replays and exports that run or wait."""

Found = TypeVar("Found")

ROUND_SECONDS = 5.0
"""Between two looks at what is overdue, and after a failure at whether the disk works again."""

FIRST_PAUSE = 0.05
"""Seconds until loops that could not be read from disk are read again; twice as long each time, up to a round."""


class Service:
    """The loops of one folder. `open` starts it, `close` ends it; nothing is lost where it is not closed."""

    def __init__(self, folder: Folder, clock: Clock, snapshot_every: int, apart: bool) -> None:
        self.folder, self.clock = folder, clock
        self.log = EventLog(folder, clock)
        self.loops: dict[str, Controller] = {}
        try:
            self.models: dict[str, str] = self.log.models()
        except BaseException:
            self.log.close()
            raise
        self.streams = Streams(self.log)
        self.closing = asyncio.Event()
        self._every = snapshot_every
        self._mdps: dict[str, LinearMixtureMDP] = {}
        self._making = asyncio.Lock()
        self._reading: Reading | None = Reading(0)
        self._reread: asyncio.Task[None] | None = None
        self._left: list[Solves] = []  # of loops as they were before they were read again
        self.workers = Workers(folder.path, self.log.settled) if apart else None
        self._threads = _threads(max(1, (os.cpu_count() or 2) - 1), "vbmle-solves")
        self._aside = _threads(1, "vbmle-aside")
        self._means = Means(
            self._threads,
            asyncio.Lock(),
            here(self._aside) if self.workers is None else looking_apart(self.workers),
        )
        self._makings: dict[str, Making] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self.log.on_commit, self.log.on_failure = self._committed, self._failed

    @classmethod
    async def open(
        cls,
        path: str | os.PathLike[str],
        clock: Clock | None = None,
        snapshot_every: int = SNAPSHOT_EVERY,
        say: Callable[[str], None] = lambda line: None,
        apart: bool = False,
    ) -> Service:
        """Read a folder, or make a new one; InputError or DamagedLog where it cannot be served.

        With `apart`, agents are in processes of their own.
        """
        service = cls.begin(path, clock, snapshot_every, apart)
        try:
            await service.read(say)
        except BaseException:
            await service.close(keep=False)
            raise
        return service

    @classmethod
    def begin(
        cls,
        path: str | os.PathLike[str],
        clock: Clock | None = None,
        snapshot_every: int = SNAPSHOT_EVERY,
        apart: bool = False,
    ) -> Service:
        """A service that tells its health and how far it is, and nothing else before `read`."""
        folder = Folder(path)
        snapshots.remove_leftovers(folder.snapshots)
        try:
            return cls(folder, clock or Clock(), snapshot_every, apart)
        except BaseException:
            folder.close()
            raise

    async def read(self, say: Callable[[str], None] = lambda line: None) -> None:
        """Read all loops, and serve them; DamagedLog or StorageError where they cannot be read."""
        self._install(await self._read_all(say))
        if self.workers is not None:
            await self.workers.begin()
        self._background(self._make_rounds())

    @property
    def ready(self) -> str | None:
        """None where requests can be served; else one line about why not."""
        if self.closing.is_set():
            return "the server is stopping"
        return self.log.trouble or (None if self._reading is None else self._reading.line())

    def all_loops(self) -> dict[str, Controller]:
        """Every loop by name; Busy while they are being read."""
        self._require_steady()
        return self.loops

    def loop(self, name: str) -> Controller:
        """A loop by name."""
        if name in self._makings and name not in self.all_loops():
            raise Busy(f"loop {name} is being made; send the request again in a moment")
        if name not in self.all_loops():
            known = ", ".join(list(self.loops)[:10]) or "none yet"
            raise NotFound(f"there is no loop {name}; the loops are {known}: PUT /v1/loops/{name} makes one")
        return self.loops[name]

    def _require_steady(self) -> None:
        if self._reading is not None:
            raise Busy(f"{self._reading.line()}; send the request again")

    async def put_model(self, name: str, npz: bytes) -> tuple[ModelAnswer, bool]:
        """Keep a model; the same again changes nothing. Also says whether it is new."""
        if name not in self.models and len(self.models) >= MOST_MODELS:
            raise BadInput(
                f"this folder has {len(self.models)} models, which is the most; use another folder"
            )
        try:
            _require_small(unpacked_size(npz))
            if self.workers is not None and self.models.get(name) is None:
                await self.workers.aside("model", f"model {name}", apart.Checked(name, npz), ModelAnswer)
            mdp = await self.in_thread(from_npz_bytes, npz, LinearMixtureMDP.load)
        except Ended as error:
            raise BadInput(f"the body is not the .npz of a model that can be served ({error})") from error
        except (*UNREADABLE, IndexError, ArithmeticError, MemoryError) as error:
            text = " ".join(str(error).split(": ", 1)[-1].split())  # without the name of a temporary file
            raise BadInput(
                f"the body is not the .npz of a model ({text}); send what LinearMixtureMDP.save wrote"
            ) from error
        _require_clear("state_names", mdp.names.states)
        _require_clear("action_names", mdp.names.actions)
        fingerprint = mdp.fingerprint()
        async with self._making:
            self._require_steady()
            known = self.models.get(name)
            if known not in (None, fingerprint):
                raise Conflict(
                    f"model {name} exists with other content; loops may rest on it, so choose another name"
                )
            if known is None:
                self.log.append_model(name, fingerprint, npz)
                await self.log.settled()
                self.models[name], self._mdps[name] = fingerprint, mdp
        answer = ModelAnswer(name, fingerprint, mdp.num_states, mdp.num_actions, mdp.dimension)
        return answer, known is None

    async def put_loop(self, name: str, request: LoopRequest) -> tuple[LoopAnswer, int]:
        """Make a loop; the same again changes nothing. Also the status: known already, new, or being made."""
        self._require_steady()
        known = self.loops.get(name)
        if known is not None:
            self._require_same(name, request, known)
            return self._answer(known), 201 if self._makings.pop(name, None) else 200
        making = self._makings.get(name)
        if making is None:
            making = self._begin(name, request)
        elif making.request != request:
            raise Conflict(f"loop {name} is being made with other settings; wait for it, or use another name")
        await asyncio.wait({making.task}, timeout=ANSWER_SECONDS)
        if not making.task.done():
            about = (request.model, request.agent, request.settings, request.mode, request.expire_after)
            return LoopAnswer(name, *about, state="making"), 202
        told = self._makings.pop(name, None) is None  # another request was
        making.task.result()
        return self._answer(self.loop(name)), 200 if told else 201

    def _begin(self, name: str, request: LoopRequest) -> Making:
        """Begin to make a loop; what became of one that nobody asked for again is forgotten in the end."""
        if len(self.loops) + len(self._makings) >= MOST_LOOPS:
            self._makings = {other: one for other, one in self._makings.items() if not one.task.done()}
        if len(self.loops) + len(self._makings) >= MOST_LOOPS:
            raise BadInput(f"this folder has {len(self.loops)} loops, which is the most; use another folder")
        task = asyncio.get_running_loop().create_task(self._make(name, request))
        task.add_done_callback(lambda done: done.cancelled() or done.exception())  # who asks again is told
        self._makings[name] = Making(request, task)
        return self._makings[name]

    async def _make(self, name: str, request: LoopRequest) -> None:
        mdp = await self._mdp(request.model)
        agent = await self.in_thread(_fitting, mdp, request.agent, request.settings)
        created = Created(
            request.model,
            self.models[request.model],
            agent,
            request.settings,
            request.mode,
            request.expire_after,
            recommended=request.agent is None,
        )
        try:
            hand = await self._fresh(name, mdp, created)
        except Ended as error:
            raise BadInput(f"the agent was not made: {error}") from error
        self._require_steady()  # while the agent was made, a write may have failed
        ledger = Ledger(name)
        ledger.apply(self.log.append(name, created), Outcomes(mdp).reward)
        await self.log.settled()
        self._require_steady()  # it is on disk, and is found there where all loops are being read
        self._install({name: self._controller(ledger, hand)})

    async def _fresh(self, name: str, mdp: LinearMixtureMDP, created: Created) -> Hand:
        if self.workers is not None:
            return There(self.workers, name, mdp, (await self.workers.make(name, created)).policy())
        try:
            learner = await self.in_thread(Learner.fresh, mdp, created.agent, created.settings)
        except InputError as error:
            raise BadInput(str(error)) from error
        return Here(learner, self._threads)

    def _require_same(self, name: str, request: LoopRequest, known: Controller) -> None:
        before = known.ledger.created
        assert before is not None
        for field in ("model", "agent", "settings", "mode", "expire_after"):
            old, new = getattr(before, field), getattr(request, field)
            if old != new and not (field == "agent" and new is None and before.recommended):
                raise Conflict(
                    f"loop {name} exists with {field} {old!r}, not {new!r}; use another name, "
                    f"or POST /v1/loops/{name}/mode to change its mode"
                )

    def _answer(self, controller: Controller) -> LoopAnswer:
        created = controller.ledger.created
        assert created is not None
        return LoopAnswer(
            controller.name,
            created.model,
            created.agent,
            created.settings,
            controller.ledger.mode,
            created.expire_after,
        )

    async def _mdp(self, name: str) -> LinearMixtureMDP:
        if name not in self.models:
            known = ", ".join(list(self.models)[:10]) or "none yet"
            raise BadInput(f"model is {name!r}; the models are {known}: PUT /v1/models/{name} adds one")
        if name not in self._mdps:
            self._mdps[name] = await self.in_thread(self._kept, name, self.log.model(name))
        return self._mdps[name]

    def _kept(self, name: str, npz: bytes | None) -> LinearMixtureMDP:
        """A model that was kept; DamagedLog where it cannot be read any more."""
        try:
            return from_npz_bytes(npz or b"", LinearMixtureMDP.load)
        except UNREADABLE as error:
            if MemoryError in (type(error), type(error.__cause__)):
                raise StorageError(f"there is not enough memory to read model {name}") from error
            raise damaged(self.folder, f"model {name} cannot be read") from error

    def _controller(self, ledger: Ledger, hand: Hand) -> Controller:
        return Controller(ledger, hand, self.log, self._means, self._every)

    def _install(self, controllers: dict[str, Controller]) -> None:
        """Let loops answer and learn."""
        self._reading = None
        self.loops |= controllers
        for controller in controllers.values():
            controller.solves.go_on()
            controller.insights.refresh()  # an alarm that rang before rings again, unasked

    async def _read_all(self, say: Callable[[str], None]) -> dict[str, Controller]:
        """All loops as they are on disk. None of them writes anything before all are read."""
        names = self.log.loops()
        reading = self._reading = Reading(len(names))
        found = {}
        for name in names:
            found[name] = await self._read(name, say)
            reading.done += 1
        return found

    async def _read(self, name: str, say: Callable[[str], None]) -> Controller:
        """A loop as it is on disk."""
        created = self.log.lookup(name, "created", "created")
        if created is None or not isinstance(created.event, Created):
            raise damaged(self.folder, f"loop {name} has no beginning")
        if self.models.get(created.event.model) != created.event.fingerprint:
            raise damaged(
                self.folder, f"loop {name} rests on model {created.event.model}, which is gone or another"
            )
        mdp = await self._mdp(created.event.model)
        if self.workers is None:
            ledger, learner = await self.in_thread(
                restore, self.log, name, mdp, say, True, self.closing.is_set
            )
            return self._controller(ledger, Here(learner, self._threads))
        found = await self._restored(self.workers, name)
        say(found.said)
        hand = There(self.workers, name, mdp, found.policy.policy(), found.kept)
        return self._controller(decode_ledger(found.ledger), hand)

    async def _restored(self, workers: Workers, name: str) -> apart.Restored:
        try:
            return await workers.of_loop("restore", apart.Restore(name), apart.Restored)
        except Failed as error:
            if error.kind == DamagedLog.__name__:
                raise DamagedLog(error.text) from error
            raise StorageError(f"loop {name} cannot be read ({error})") from error
        except Ended as error:
            if self.closing.is_set():
                raise Stopping from error
            raise StorageError(f"loop {name} cannot be read ({error})") from error

    async def in_thread(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Run what someone waits for beside the event loop, and without waiting for solves."""
        try:
            return await asyncio.to_thread(function, *arguments)
        except RuntimeError as error:
            if "thread" not in str(error):  # of the interpreter: "can't start new thread"
                raise
            raise StorageError("the machine has no thread left for it; send the request again") from error

    async def replay(self, controller: Controller, agent: str, settings: dict[str, Any]) -> Replay:
        """What another agent would have played; beside everything else, one after the other."""
        created = controller.ledger.created
        assert created is not None
        await self.in_thread(agent_class, agent, settings)
        if self.workers is not None:
            question = apart.Replayed(controller.name, created, agent, settings)
            return await self._aside_of("replay", controller.name, question, Replay)
        entries = self.log.read(controller.name)
        return await self._in_aside(replay, entries, controller.outcomes.mdp, agent, settings)

    async def export(self, controller: Controller) -> bytes:
        """All decisions of a loop, as Parquet; beside everything else."""
        extras.require("tables")
        created = controller.ledger.created
        assert created is not None
        if self.workers is not None:
            return await self._aside_of(
                "export", controller.name, apart.Exported(controller.name, created), bytes
            )
        return await self._in_aside(parquet, self.log.read(controller.name), controller.outcomes)

    async def _aside_of(self, kind: str, loop: str, question: Any, expected: type[Found]) -> Found:
        assert self.workers is not None
        kinds = [job.loop for job in self.workers.jobs.values() if job.kind in ("replay", "export")]
        if loop in kinds or len(kinds) >= MOST_ASIDE:
            raise Busy(
                f"{len(kinds)} replays and exports are being made, one of a loop at most; come back later"
            )
        try:
            return await self.workers.aside(kind, loop, question, expected)
        except Failed as error:
            raise BadInput(str(error)) from error
        except Ended as error:
            raise BadInput(f"the {kind} was ended: {error}") from error

    def change_work(self, name: str, request: WorkRequest) -> WorkAnswer:
        """Stop what is computed for a loop, or change its turn."""
        if name not in self._makings:
            self.loop(name)
        workers, stopped = self.workers, 0
        if workers is None:
            return WorkAnswer(name, 0, "normal")
        if request.priority is not None:
            workers.priorities[name] = request.priority
        if request.stop:
            stopped = workers.stop(name, "an operator stopped it")
        return WorkAnswer(name, stopped, workers.priority(name))

    async def _in_aside(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._aside, function, *arguments)

    def _committed(self, last: dict[str, int]) -> None:
        for name, seq in last.items():
            if name in self.loops:
                self.loops[name].committed(seq)
        self.streams.committed(last)

    def _failed(self) -> None:
        """Something was not written: forget all that rests on it, and read the loops again, once at a time."""
        self._left = [solves for solves in self._left if solves.busy]
        for controller in self.loops.values():
            controller.abandon()
            self._left.append(controller.solves)
        if self._reread is None:
            self._reading = Reading(len(self.loops))
            self._reread = self._background(self._read_again())

    async def _read_again(self) -> None:
        """Read the loops from disk, until that works."""
        pause = FIRST_PAUSE
        while True:
            try:
                failures = self.log.written.failures
                self.log.begin_anew()
                models, found = self.log.models(), await self._read_all(lambda line: None)
                if failures == self.log.written.failures:
                    break
            except Exception as error:
                self._reading = Reading(len(self.loops), trouble=" ".join(f"{error}".split()))
                self._report("loops cannot be read from disk", error)
            await asyncio.sleep(pause)
            pause = min(2.0 * pause, ROUND_SECONDS)
        self.loops, self.models, self._reread = {}, models, None
        self._install(found)

    def _report(self, message: str, error: BaseException) -> None:
        """Into the log of the server."""
        asyncio.get_running_loop().call_exception_handler({"message": message, "exception": error})

    async def _make_rounds(self) -> None:
        while True:
            await asyncio.sleep(ROUND_SECONDS)
            try:
                self.log.probe()
                for controller in self.loops.values() if self._reading is None else ():
                    controller.expire()
            except Exception as error:  # whatever it is, there is a next round
                self._report("a round failed", error)

    def _background(self, work: Any) -> asyncio.Task[Any]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._report("work in the background failed", error)

    def stop_streams(self) -> None:
        """Let those go who listen to events."""
        self.closing.set()
        self.streams.stop()
        for making in self._makings.values():
            making.task.cancel()
        if self.workers is not None:
            self.workers.quit_work(("make", "insight", "replay", "export", "model", "restore"))

    def _end_solves(self) -> None:
        """What does not come to an end is done again by the next server."""
        if self.workers is not None:
            self.workers.quit_work(("solve", "copy"))

    async def close(self, keep: bool = True) -> None:
        """Finish what runs, keep a snapshot of every loop, and give the folder back."""
        self.stop_streams()
        for task in list(self._tasks):
            task.cancel()
        resting = [solves.rest() for solves in self._left]
        for controller in self.loops.values():
            controller.insights.stop()
            resting.append(controller.solves.rest())
        ending = asyncio.get_running_loop().call_later(REST_SECONDS, self._end_solves)
        await asyncio.gather(*resting)
        ending.cancel()
        for controller in self.loops.values():
            if keep and self.log.trouble is None:
                await controller.solves.keep()
        if self.workers is not None:
            await self.workers.close()
        for pool in (self._threads, self._aside):
            pool.shutdown(cancel_futures=True)
        self.streams.close()
        self.log.close()
        self.folder.close()


def _require_clear(what: str, names: tuple[str, ...] | None) -> None:
    """BadInput for a name that is the number of another: a request may give either, and so could mean both."""
    for place, name in enumerate(names or ()):
        if (
            name.isascii()
            and name.isdigit()
            and len(name) < 10
            and int(name) < len(names or ())
            and int(name) != place
        ):
            raise BadInput(
                f"{what}[{place}] is {name!r}, which is also the number of {(names or ())[int(name)]!r}; "
                "requests may give either, so choose names that are no numbers"
            )


def _threads(count: int, name: str) -> ThreadPoolExecutor:
    """A pool whose threads are there from the start: a job is queued even where one cannot be started later."""
    pool, together = ThreadPoolExecutor(count, thread_name_prefix=name), threading.Barrier(count + 1)
    try:
        for _ in range(count):
            pool.submit(together.wait)
        together.wait()
    except BaseException:
        together.abort()
        raise
    return pool


@dataclass(frozen=True)
class Making:
    """A loop that is being made."""

    request: LoopRequest
    task: asyncio.Task[None]


def _fitting(mdp: LinearMixtureMDP, named: str | None, settings: dict[str, Any]) -> str:
    """The name of the agent; BadInput where its settings do not fit."""
    try:
        agent = named or recommended_name(mdp)
        agent_class(agent, settings)
    except InputError as error:
        raise BadInput(str(error)) from error
    return agent


@dataclass
class Reading:
    """How far the reading of loops from disk is; or why it is tried again."""

    loops: int
    done: int = 0
    trouble: str | None = None

    def line(self) -> str:
        """One line about it."""
        if self.trouble is not None:
            return f"loops cannot be read from disk, which is tried again: {self.trouble}"
        return f"loops are being read from disk: {self.done} of {self.loops} so far"


def _require_small(size: int) -> None:
    if size > UNPACKED_BYTES:
        raise ValueError(f"it unpacks to {size} bytes; {UNPACKED_BYTES} is the most")
