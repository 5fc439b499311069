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

import pytest
from serving import Local, audit, happened, served
from weather import Retrying

from vbmle.serve.bodies import DecisionRequest
from vbmle.serve.event_log import StorageError

LOOPS = [f"depot-{number}" for number in range(4)]


async def under_load(
    local: Local, trouble: Callable[[], Any], better: Callable[[], Any], rounds: int = 2
) -> list[Retrying]:
    """Clients of many loops; `rounds` times, trouble begins, lasts a while and ends."""
    for loop in LOOPS:
        if loop not in local.service.loops:
            await local.make("VBMLE", loop)
    clients = [Retrying(local, loop, seed) for seed, loop in enumerate(LOOPS)]
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


def require_sound(folder: Path, clients: list[Retrying]) -> None:
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

    async def test(local: Local) -> list[Retrying]:
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

    async def test(local: Local) -> list[Retrying]:
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
    async def test(local: Local) -> list[Retrying]:
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
