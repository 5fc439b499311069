"""The disk, memory or descriptors give out for a while, with many loops under load.

Nothing answered is lost, the service goes on by itself, and the next start finds a log that is sound.
"""

import asyncio
import os
import resource
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from serving import DEPOT, Local, audit, happened, served

from vbmle.serve import events
from vbmle.serve.bodies import DecisionRequest
from vbmle.serve.event_log import StorageError

LOOPS = [f"depot-{number}" for number in range(4)]


class Client:
    """Decides and observes until it is told to stop, repeats what is not answered, and remembers what is."""

    def __init__(self, local: Local, loop: str, seed: int) -> None:
        self.local, self.loop, self.uniforms = local, loop, np.random.default_rng(seed)
        self.decisions: dict[str, dict[str, Any]] = {}
        self.outcomes: dict[str, int] = {}
        self.statuses: set[int] = set()
        self.stopped = False

    async def go(self) -> None:
        state, number = 0, 0
        while not self.stopped:
            body: dict[str, Any] = {"state": state, "request_id": f"{self.loop}-{number}"}
            decision, number = await self._until_answered("decisions", body), number + 1
            self.decisions[body["request_id"]] = decision
            state = DEPOT.next_state(state, decision["action"], float(self.uniforms.random()))
            told = {"decision_id": decision["decision_id"], "next_state": state}
            await self._until_answered("observations", told)
            self.outcomes[decision["decision_id"]] = state

    async def _until_answered(self, what: str, body: dict[str, Any]) -> Any:
        while True:
            answer = await self.local.post(what, body, self.loop)
            if answer.status == 200:
                return answer.body
            self.statuses.add(answer.status)
            await asyncio.sleep(0.002)

    def require_kept(self, folder: Path) -> None:
        """Everything answered is in the log, once, and the log is one that an agent can be led through."""
        told = happened(folder, self.loop)
        decided = [one.request_id for one in told if isinstance(one, events.Decided)]
        assert len(decided) == len(set(decided))
        assert self.decisions.keys() <= set(decided)
        observed = [(one.decision_id, one.next_state) for one in told if isinstance(one, events.Observed)]
        assert len(observed) == len(set(observed))
        assert self.outcomes.items() <= set(observed)
        audit(folder, self.loop)


async def under_load(
    local: Local, trouble: Callable[[], Any], better: Callable[[], Any], rounds: int = 2
) -> list[Client]:
    """Clients of many loops; `rounds` times, trouble begins, lasts a while and ends."""
    for loop in LOOPS:
        if loop not in local.service.loops:
            await local.make("VBMLE", loop)
    clients = [Client(local, loop, seed) for seed, loop in enumerate(LOOPS)]
    tasks = [asyncio.ensure_future(client.go()) for client in clients]
    for _ in range(rounds):
        await asyncio.sleep(0.15)
        trouble()
        await asyncio.sleep(0.5)
        better()
    steps = [len(client.outcomes) for client in clients]
    while any(len(client.outcomes) < before + 5 for client, before in zip(clients, steps, strict=True)):
        await asyncio.sleep(0.01)
    for client in clients:
        client.stopped = True
    await asyncio.gather(*tasks)
    await local.rest()
    return clients


def require_sound(folder: Path, clients: list[Client]) -> None:
    """Nothing answered is lost, clients were only told to come back, and the next start goes on."""
    assert set().union(*(client.statuses for client in clients)) <= {503, 507}
    for client in clients:
        client.require_kept(folder)

    async def again(local: Local) -> None:
        assert set(local.service.loops) == set(LOOPS)
        for loop in LOOPS:
            await local.play(3, loop, prefix="again")

    served(folder, again)


def test_a_full_disk_under_many_loops_damages_nothing(tmp_path: Path):
    """One failed commit after the other: the loops are read again once at a time, and write nothing until all are."""

    async def test(local: Local) -> list[Client]:
        writer = local.service.log._writer

        def full() -> None:
            (pages,) = writer.execute("PRAGMA page_count").fetchone()
            writer.execute(f"PRAGMA max_page_count = {pages}")

        clients = await under_load(local, full, lambda: writer.execute("PRAGMA max_page_count = 1000000"))
        assert local.service.log.written.failures > 2
        return clients

    clients = served(tmp_path, test)
    assert 507 in clients[0].statuses
    require_sound(tmp_path, clients)


def test_loops_that_cannot_be_read_again_for_a_while_are_read_in_the_end(tmp_path: Path):
    """A write fails, and no descriptor is left to read the loops with."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)

    async def test(local: Local) -> list[Client]:
        writer = local.service.log._writer
        said: list[str] = []

        def short() -> None:
            os.close(first := os.open(os.devnull, os.O_RDONLY))
            resource.setrlimit(resource.RLIMIT_NOFILE, (first, most[1]))
            writer.execute("PRAGMA query_only = ON")

        def better() -> None:
            said.append(str(local.service._reading and local.service._reading.line()))
            writer.execute("PRAGMA query_only = OFF")
            resource.setrlimit(resource.RLIMIT_NOFILE, most)

        asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
        clients = await under_load(local, short, better)
        assert any("cannot be read" in line and "tried again" in line for line in said)
        assert local.service.ready is None
        return clients

    try:
        clients = served(tmp_path, test)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, most)
    require_sound(tmp_path, clients)


class Short:
    """A connection to a database for which there is no memory, for as long as it is said."""

    def __init__(self, connection: Any) -> None:
        self.connection, self.short = connection, False

    def __getattr__(self, name: str) -> Any:
        if self.short and name in ("execute", "executemany"):
            raise MemoryError
        return getattr(self.connection, name)


def test_a_commit_without_memory_is_an_answer_like_any_other(tmp_path: Path):
    async def test(local: Local) -> list[Client]:
        log: Any = local.service.log
        log._writer = writer = Short(log._writer)
        said: list[str] = []

        def better() -> None:
            said.append(str(local.service.ready))
            writer.short = False

        clients = await under_load(local, lambda: setattr(writer, "short", True), better)
        assert all("memory" in line for line in said)
        return clients

    require_sound(tmp_path, served(tmp_path, test))


def test_a_request_for_what_was_forgotten_is_not_answered_from_memory(tmp_path: Path):
    """A controller that was asked before a write failed, and looks after it, has events that nobody wrote."""

    async def test(local: Local) -> None:
        await local.make("VBMLE", "depot")
        controller, log = local.service.loops["depot"], local.service.log
        log._writer.execute("PRAGMA query_only = ON")
        body: dict[str, Any] = {"state": 1, "request_id": "r"}
        assert (await local.post("decisions", body)).status == 503
        with pytest.raises(StorageError):
            await controller.decide(DecisionRequest(**body))
        log._writer.execute("PRAGMA query_only = OFF")
        while (answer := await local.post("decisions", body)).status == 503:
            await asyncio.sleep(0.001)
        assert answer.status == 200
        with pytest.raises(StorageError):
            await controller.set_mode("live")

    served(tmp_path, test)
    assert len(happened(tmp_path, "depot")) == 2


def test_a_start_needs_no_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    async def test(local: Local) -> None:
        if "depot" not in local.service.loops:
            await local.make("VBMLE")
        await local.play(3, prefix=f"r{local.service.loops['depot'].ledger.length}")
        await local.rest()

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "no such folder"))
    served(tmp_path / "folder", test)
    served(tmp_path / "folder", test)
    assert audit(tmp_path / "folder", "depot").observations == 6
