"""What is refused before it is understood: too many connections, heads and bodies without an end, files that swell."""

import asyncio
import io
import json
import logging
import zipfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uvicorn
from refusals import require_told
from serving import NPZ, PATIENCE, Local, process, served
from uvicorn.server import ServerState

from vbmle.serve import service as service_module
from vbmle.serve.connections import Connection, Crowd, Limits
from vbmle.serve.guard import GUESSES, Guesses

TOKEN = "a-token-of-enough-characters"
FEW = Limits(
    connections=4, head_bytes=2000, wait_seconds=5.0, body_rate=1.0, read_seconds=5.0, round_seconds=1e9
)
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
Ends = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Wire:
    """A service behind real connections, held to few."""

    def __init__(self, crowd: Crowd, port: int) -> None:
        self.crowd, self._port = crowd, port
        self._opened: list[asyncio.StreamWriter] = []

    async def open(self, content: bytes = b"") -> Ends:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port, limit=2**22)
        self._opened.append(writer)
        writer.write(content)
        return reader, writer

    async def status(self, ends: Ends) -> int:
        return int((await ends[0].readuntil(b"\r\n")).split()[1])

    async def until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            await asyncio.sleep(0.001)

    def close(self) -> None:
        for writer in self._opened:
            writer.close()


@asynccontextmanager
async def wired(local: Local, limits: Limits = FEW) -> AsyncIterator[Wire]:
    crowd, loop = Crowd(limits), asyncio.get_running_loop()
    protocol: Any = partial(Connection, crowd)
    config = uvicorn.Config(local.app, http=protocol, ws="none", lifespan="off", log_level="critical")
    config.load()
    state = ServerState()
    server = await loop.create_server(
        lambda: protocol(config=config, server_state=state, app_state={}), "127.0.0.1", 0
    )
    wire = Wire(crowd, server.sockets[0].getsockname()[1])
    try:
        yield wire
    finally:
        wire.close()
        server.close()


def over_the_wire(folder: Path, test: Callable[[Wire, Local], Awaitable[None]], limits: Limits = FEW) -> None:
    async def run(local: Local) -> None:
        async with wired(local, limits) as wire:
            await test(wire, local)

    served(folder, run)


def test_idle_connections_keep_nobody_out(tmp_path: Path):
    async def test(wire: Wire, local: Local) -> None:
        idle = [await wire.open() for _ in range(20)]
        asking = await wire.open(HEALTH)
        assert await wire.status(asking) == 200
        assert wire.crowd.evicted >= 16
        closed = [await reader.read() for reader, _ in idle[:16]]
        assert closed == [b""] * 16, "the oldest are closed first"

    over_the_wire(tmp_path, test)


def test_a_request_that_is_being_answered_is_not_closed_for_idle_ones(tmp_path: Path):
    async def test(wire: Wire, local: Local) -> None:
        await local.make()
        listening = await wire.open(b"GET /v1/loops/depot/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert await wire.status(listening) == 200
        for _ in range(20):
            await wire.open()
        await wire.until(lambda: wire.crowd.evicted >= 16)
        await local.decide(1, "r")
        assert b"decided" in await listening[0].readuntil(b"event: decided\n")

    over_the_wire(tmp_path, test)


@pytest.mark.parametrize(
    "request_",
    [
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nLong: " + b"x" * 500_000,  # one line without an end
        b"GET /healthz HTTP/1.1\r\n" + b"a: b\r\n" * 100_000,  # lines without an end
        b"GET /" + b"x" * 500_000,
        b"\r\n" * 300_000,
    ],
)
def test_a_head_without_an_end_is_refused(request_: bytes, tmp_path: Path):
    async def test(wire: Wire, local: Local) -> None:
        reader, _ = await wire.open(request_)
        with suppress(ConnectionError):  # it is closed while more is coming
            await reader.read()
        assert (wire.crowd.refused, len(wire.crowd.waiting)) == (1, 0)

    over_the_wire(tmp_path, test)


def test_a_head_that_is_complete_and_too_long_is_told_so(tmp_path: Path):
    async def test(wire: Wire, local: Local) -> None:
        ends = await wire.open(HEALTH[:-2] + b"Long: " + b"x" * 2000 + b"\r\n\r\n")
        assert await wire.status(ends) == 431
        body = (await ends[0].read()).partition(b"\r\n\r\n")[2]
        require_told(json.loads(body)["error"], "head", "2000 bytes")

    over_the_wire(tmp_path, test)


def test_a_chunked_body_cannot_hide_a_head_behind_it(tmp_path: Path):
    async def test(wire: Wire, local: Local) -> None:
        begun = b"POST /v1/models HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"
        ends = await wire.open(begun)
        await wire.until(lambda: bool(wire.crowd.waiting))
        ends[1].write(b"Trailer: " + b"x" * 500_000)
        with suppress(ConnectionError):
            await ends[0].read()
        assert (wire.crowd.refused, len(wire.crowd.waiting)) == (1, 0)

    over_the_wire(tmp_path, test)


@pytest.mark.parametrize(
    "begun",
    [
        b"GET /healthz HTTP/1.1\r\nHos",
        b"POST /v1/loops/depot/mode HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Content-Length: 100\r\n\r\n{",
    ],
)
def test_a_request_that_is_never_complete_is_ended(begun: bytes, tmp_path: Path):
    async def test(wire: Wire, local: Local) -> None:
        ends = await wire.open(begun)
        await wire.until(lambda: bool(wire.crowd.waiting))
        (since,) = wire.crowd.waiting.values()
        wire.crowd.look(since + 4.0)
        assert wire.crowd.waiting
        wire.crowd.look(since + 8.0)
        assert await wire.status(ends) == 408

    over_the_wire(tmp_path, test)


def test_who_does_not_read_is_dropped_and_others_are_not(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    async def test(wire: Wire, local: Local) -> None:
        await local.make()
        await local.play(30)
        for number in range(300):
            await local.post("decisions", {"state": 1, "request_id": f"{number:0200}"})
        whole = b"GET /v1/loops/depot/events HTTP/1.1\r\nHost: localhost\r\n\r\n"
        _, writer = await wire.open()
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        writer.write(whole)
        for transport in [one.transport for one in wire.crowd.waiting]:
            transport.set_write_buffer_limits(1000)
            transport.get_extra_info("socket").setsockopt(1, 7, 2048)  # a small buffer of the system
        listening = await wire.open(whole)
        await wire.until(lambda: bool(wire.crowd.stuck))
        (since,) = wire.crowd.stuck.values()
        wire.crowd.look(since + 4.0)
        assert wire.crowd.dropped == 0
        wire.crowd.look(since + 6.0)
        assert wire.crowd.dropped == 1
        await wire.until(lambda: local.service.streams.count == 1)
        await local.decide(1, "last")
        await listening[0].readuntil(b'"last"')
        writer.transport.abort()

    with caplog.at_level(logging.WARNING):
        over_the_wire(tmp_path, test)
    assert "dropped" in caplog.text


def test_too_many_requests_at_once_are_told_to_come_back(tmp_path: Path):
    async def test(wire: Wire, local: Local) -> None:
        await local.make()
        for _ in range(3):
            listening = await wire.open(b"GET /v1/loops/depot/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert await wire.status(listening) == 200
        assert await wire.status(await wire.open(HEALTH)) == 503

    over_the_wire(tmp_path, test, replace(FEW, requests=3))


def test_what_many_listeners_wait_for_is_read_once(tmp_path: Path):
    async def test(local: Local) -> None:
        await local.make()
        await local.play(5)
        await local.rest()
        streams: Any = local.service.streams
        reads: list[int] = []
        usual = streams._read

        def counted(loop: str, after: int) -> Any:
            reads.append(after)
            return usual(loop, after)

        streams._read = counted

        async def all_of_it() -> bytes:
            return b"".join([chunk async for chunk in streams.follow("depot", 0, False)])

        found = await asyncio.gather(*(all_of_it() for _ in range(100)))
        assert len(set(found)) == 1
        assert len(reads) == 2, "once what there is, and once that there is no more"

    served(tmp_path, test)


def test_there_is_an_end_to_listeners(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("vbmle.serve.stream.MOST_STREAMS", 0)

    async def test(local: Local) -> None:
        await local.make()
        refused = await local.ask("GET", "/v1/loops/depot/events?follow=false")
        assert refused.status == 503
        require_told(refused.body["error"], "0 streams", "most")

    served(tmp_path, test)


@pytest.mark.parametrize("origin", ["http://[", "http://[::1", "//]"])
def test_an_origin_that_is_no_address_is_refused(origin: str, tmp_path: Path):
    async def test(local: Local) -> None:
        answer = await local.ask("GET", "/v1/loops", headers={"origin": origin})
        assert answer.status == 403
        require_told(answer.body["error"], "another site")

    served(tmp_path, test)


def test_guesses_of_a_token_are_slowed_down_and_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    async def test(local: Local) -> None:
        async def status(token: str) -> int:
            return (await local.ask("GET", "/v1/loops", headers={"authorization": f"Bearer {token}"})).status

        assert await status(TOKEN) == 200
        found = [await status(f"guess-{number}") for number in range(GUESSES)]
        assert found == [401] * GUESSES
        assert await status(TOKEN) == 429, "not even the right one is looked at, or guessing would go on"
        refused = await local.ask("GET", "/v1/loops", headers={"authorization": "Bearer guess"})
        require_told(refused.body["error"], "wrong tokens", "again")
        assert refused.headers["retry-after"] == "1"
        assert (await local.ask("GET", "/healthz")).status == 200

    with caplog.at_level(logging.WARNING):
        served(tmp_path, test, token=TOKEN)
    told = [line for line in caplog.messages if "wrong token" in line]
    assert len(told) == GUESSES.bit_length(), "the first, and whenever they have doubled"


def test_an_address_is_forgiven_after_a_while_and_others_never_wait():
    now = [100.0]
    guesses = Guesses(lambda: now[0])
    for _ in range(GUESSES):
        assert guesses.seconds_left("one") == 0.0
        guesses.wrong("one")
    assert 0.0 < guesses.seconds_left("one") <= 1.0
    assert guesses.seconds_left("other") == 0.0
    now[0] += 1.0
    assert guesses.seconds_left("one") == 0.0
    guesses.wrong("one")
    assert guesses.seconds_left("one") > 0.0
    now[0] += 1000.0
    for _ in range(GUESSES):
        assert guesses.seconds_left("one") == 0.0
        guesses.wrong("one")


def test_a_model_that_would_swell_is_refused_by_its_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("a.npy", "w") as entry:
        np.lib.format.write_array(entry, np.zeros(2**21))
    monkeypatch.setattr(service_module, "UNPACKED_BYTES", 2**20)

    def never(*arguments: Any) -> None:
        raise AssertionError("it was unpacked")

    monkeypatch.setattr(service_module, "from_npz_bytes", never)

    async def test(local: Local) -> None:
        answer = await local.ask("PUT", "/v1/models/large", content=content.getvalue())
        assert answer.status == 422
        require_told(answer.body["error"], str(2**24 + 128), str(2**20))

    served(tmp_path, test)


def test_a_folder_takes_so_many_models_and_loops(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(service_module, "MOST_MODELS", 1)
    monkeypatch.setattr(service_module, "MOST_LOOPS", 1)

    async def test(local: Local) -> None:
        await local.make()
        await local.ask("PUT", "/v1/models/depot", content=NPZ)  # the same again is none more
        for path, body in (("models/other", NPZ), ("loops/other", b'{"model": "depot"}')):
            headers = {"content-type": "application/json"}
            answer = await local.ask("PUT", f"/v1/{path}", content=body, headers=headers)
            assert answer.status == 422
            require_told(answer.body["error"], "folder has 1", "most")

    served(tmp_path, test)


def test_health_answers_while_many_connections_are_idle(tmp_path: Path):
    """More of them than the server takes, on a real server with its own limits."""

    async def ask(address: str, port: int) -> None:
        ends = [await asyncio.open_connection(address, port) for _ in range(2100)]
        reader, writer = await asyncio.open_connection(address, port)
        writer.write(HEALTH)
        assert (await reader.readuntil(b"\r\n")).split()[1] == b"200"
        for _, one in [*ends, (reader, writer)]:
            one.transport.abort()

    with process(tmp_path) as server:
        address, _, port = (server.url or "").removeprefix("http://").partition(":")
        asyncio.run(asyncio.wait_for(ask(address, int(port)), PATIENCE))
        assert server.stop() == 0
