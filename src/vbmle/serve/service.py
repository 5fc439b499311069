"""All loops and models of a folder: what is there when the service starts, and what is added."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from vbmle.common.files import UNREADABLE, from_npz_bytes
from vbmle.common.validation import InputError
from vbmle.model.mdp import LinearMixtureMDP
from vbmle.serve import snapshots
from vbmle.serve.apart import Apart
from vbmle.serve.bodies import LoopAnswer, LoopRequest, ModelAnswer
from vbmle.serve.clock import Clock
from vbmle.serve.controller import Controller, Pools
from vbmle.serve.event_log import EventLog, damaged
from vbmle.serve.events import Created, PolicySet
from vbmle.serve.folder import Folder
from vbmle.serve.insight import here
from vbmle.serve.learner import Learner, recommended_name
from vbmle.serve.ledger import Ledger
from vbmle.serve.outcomes import Outcomes
from vbmle.serve.refusals import BadInput, Busy, Conflict, NotFound
from vbmle.serve.solves import SNAPSHOT_EVERY

ROUND_SECONDS = 5.0
"""Between two looks at what is overdue, and after a failure at whether the disk works again."""


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
        self.news = asyncio.Event()
        self.closing = asyncio.Event()
        self._every = snapshot_every
        self._mdps: dict[str, LinearMixtureMDP] = {}
        self._making = asyncio.Lock()
        self._reading = False
        self._durable: dict[str, int] = {}
        self._apart = Apart(folder.database) if apart else None
        self._pools = Pools(
            ThreadPoolExecutor(max(1, (os.cpu_count() or 2) - 1), thread_name_prefix="vbmle-solves"),
            ThreadPoolExecutor(1, thread_name_prefix="vbmle-insight"),
            asyncio.Lock(),
            self._apart.look if self._apart else here,
        )
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

        With `apart`, insight is computed in a process of its own.
        """
        folder = Folder(path)
        snapshots.remove_leftovers(folder.snapshots)
        try:
            service = cls(folder, clock or Clock(), snapshot_every, apart)
        except BaseException:
            folder.close()
            raise
        try:
            for name in service.log.loops():
                await service._read(name, say)
        except BaseException:
            service.log.close()
            folder.close()
            raise
        service._background(service._make_rounds())
        return service

    @property
    def ready(self) -> str | None:
        """None where requests can be served; else one line about why not."""
        if self.closing.is_set():
            return "the server is stopping"
        return self.log.trouble or ("loops are being read from disk" if self._reading else None)

    def loop(self, name: str) -> Controller:
        """A loop by name."""
        self._require_steady()
        if name not in self.loops:
            known = ", ".join(list(self.loops)[:10]) or "none yet"
            raise NotFound(f"there is no loop {name}; the loops are {known}: PUT /v1/loops/{name} makes one")
        return self.loops[name]

    def _require_steady(self) -> None:
        if self._reading:
            raise Busy("loops are being read from disk after a failed write; send the request again")

    async def put_model(self, name: str, npz: bytes) -> tuple[ModelAnswer, bool]:
        """Keep a model; the same again changes nothing. Also says whether it is new."""
        try:
            mdp = await self.in_thread(from_npz_bytes, npz, LinearMixtureMDP.load)
        except (*UNREADABLE, IndexError, ArithmeticError, MemoryError) as error:
            text = " ".join(str(error).split(": ", 1)[-1].split())  # without the name of a temporary file
            raise BadInput(
                f"the body is not the .npz of a model ({text}); send what LinearMixtureMDP.save wrote"
            ) from error
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

    async def put_loop(self, name: str, request: LoopRequest) -> tuple[LoopAnswer, bool]:
        """Make a loop; the same again changes nothing. Also says whether it is new."""
        async with self._making:
            self._require_steady()
            known = self.loops.get(name)
            if known is not None:
                self._require_same(name, request, known)
                return self._answer(known), False
            mdp = await self._mdp(request.model)
            agent, learner = await self.in_thread(self._fresh, mdp, request.agent, request.settings)
            self._require_steady()  # while the agent was made, a write may have failed
            ledger = Ledger(name)
            created = Created(
                request.model,
                self.models[request.model],
                agent,
                request.settings,
                request.mode,
                request.expire_after,
                recommended=request.agent is None,
            )
            ledger.apply(self.log.append(name, created), Outcomes(mdp).reward)
            await self.log.settled()
            self.loops[name] = self._controller(ledger, learner)
            return self._answer(self.loops[name]), True

    @staticmethod
    def _fresh(mdp: LinearMixtureMDP, named: str | None, settings: dict[str, Any]) -> tuple[str, Learner]:
        try:
            agent = named or recommended_name(mdp)
            return agent, Learner.fresh(mdp, agent, settings)
        except InputError as error:
            raise BadInput(str(error)) from error

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
        except (*UNREADABLE, IndexError, ArithmeticError, MemoryError) as error:
            raise damaged(self.folder, f"model {name} cannot be read") from error

    def _controller(self, ledger: Ledger, learner: Learner) -> Controller:
        controller = Controller(ledger, learner, self.log, self._pools, self._every)
        controller.solves.go_on()
        return controller

    async def _read(self, name: str, say: Callable[[str], None]) -> None:
        """A loop as it is on disk."""
        created = self.log.lookup(name, "created", "created")
        if created is None or not isinstance(created.event, Created):
            raise damaged(self.folder, f"loop {name} has no beginning")
        if self.models.get(created.event.model) != created.event.fingerprint:
            raise damaged(
                self.folder, f"loop {name} rests on model {created.event.model}, which is gone or another"
            )
        mdp = await self._mdp(created.event.model)
        ledger, learner = await self.in_thread(restore, self.log, name, mdp, say)
        self.loops[name] = self._controller(ledger, learner)
        self.loops[name].insights.refresh()  # an alarm that rang before rings again, unasked

    async def in_thread(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Run what someone waits for beside the event loop, and without waiting for solves."""
        return await asyncio.to_thread(function, *arguments)

    async def beside(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Run what takes long and can wait, such as a replay, without keeping agents from learning."""
        return await asyncio.wrap_future(self._pools.insight.submit(function, *arguments))

    def durable(self, name: str) -> int:
        """The number of the last event of a loop that was committed since the start; 0 where none was."""
        return self._durable.get(name, 0)

    def _committed(self, last: dict[str, int]) -> None:
        self._durable |= last
        for name, seq in last.items():
            if name in self.loops:
                self.loops[name].committed(seq)
        self._tell()

    def _tell(self) -> None:
        """Wake up who waits for news."""
        self.news, before = asyncio.Event(), self.news
        before.set()

    def _failed(self) -> None:
        """Something was not written: forget all that rests on it, and read the loops again."""
        for controller in self.loops.values():
            controller.abandon()
        self._reading = True
        self._background(self._read_again())

    async def _read_again(self) -> None:
        for controller in self.loops.values():
            await controller.solves.rest()
        self.loops = {}
        for name in self.log.loops():
            await self._read(name, lambda line: None)
        self.models = self.log.models()
        self._reading = False

    async def _make_rounds(self) -> None:
        while True:
            await asyncio.sleep(ROUND_SECONDS)
            self.log.probe()
            if not self._reading:
                for controller in self.loops.values():
                    controller.expire()

    def _background(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            context = {"message": "work in the background failed", "exception": error}
            task.get_loop().call_exception_handler(context)

    def stop_streams(self) -> None:
        """Let those go who listen to events."""
        self.closing.set()
        self._tell()

    async def close(self, keep: bool = True) -> None:
        """Finish what runs, keep a snapshot of every loop, and give the folder back."""
        self.stop_streams()
        for controller in self.loops.values():
            controller.insights.stop()
            await controller.solves.rest()
            if keep and self.log.trouble is None:
                await controller.solves.keep()
        for task in list(self._tasks):
            task.cancel()
        if self._apart is not None:
            self._apart.close()
        for pool in (self._pools.solves, self._pools.insight):
            pool.shutdown(cancel_futures=True)
        if self._apart is not None:
            self._apart.clear()
        self.log.close()
        self.folder.close()


def restore(
    log: EventLog, name: str, mdp: LinearMixtureMDP, say: Callable[[str], None], shortcut: bool = True
) -> tuple[Ledger, Learner]:
    """A loop and its agent, from the latest snapshot that fits the log, or from the first event."""
    ledger, learner = Ledger(name), None
    if shortcut:
        ledger, learner = _from_snapshot(log, name, mdp) or (ledger, learner)
    begun, reward = ledger.seq, Outcomes(mdp).reward
    for entry in log.read(name, ledger.seq, ledger.check):
        if isinstance(entry.event, Created):
            learner = Learner.fresh(mdp, entry.event.agent, entry.event.settings)
        elif isinstance(entry.event, PolicySet):
            assert learner is not None
            assert ledger.solving is not None
            learner.solve(entry.event.version, ledger.batch, ledger.solving.state)
        ledger.apply(entry, reward)
    assert learner is not None
    say(
        f"loop {name}: read from event {begun + 1} on"
        if begun
        else f"loop {name}: read from its first event on"
    )
    return ledger, learner


def _from_snapshot(log: EventLog, name: str, mdp: LinearMixtureMDP) -> tuple[Ledger, Learner] | None:
    for path in snapshots.found(Path(log.folder.snapshots), name):
        snapshot = snapshots.read(path)
        entry = log.event(name, snapshot.ledger.seq) if snapshot else None
        if snapshot is None or entry is None or entry.check != snapshot.ledger.check:
            continue
        try:
            snapshot.ledger.require_fits(name, mdp)
            assert snapshot.ledger.created is not None
            learner = Learner.load(mdp, snapshot.ledger.created.agent, snapshot.arrays)
        except UNREADABLE:
            continue
        learner.kept = snapshot.ledger.length
        return snapshot.ledger, learner
    return None
