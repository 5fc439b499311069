"""Events of a loop as they are committed, by server-sent events: what is on disk first, then what comes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from itertools import islice

import msgspec

from vbmle.serve import events
from vbmle.serve.clock import moment
from vbmle.serve.events import Decided, Entry
from vbmle.serve.service import Service

AT_ONCE = 500
HEARTBEAT_SECONDS = 15.0
"""A comment now and then, so that a connection that has died is noticed."""


async def follow(service: Service, loop: str, after: int, follow: bool) -> AsyncIterator[bytes]:
    """The events of a loop after a number; with `follow` for as long as the client listens."""
    yield b": the events of a loop, each with its number\n\n"
    while True:
        entries = await service.in_thread(_some, service, loop, after)
        if entries:
            after = entries[-1].seq
            yield b"".join(frame(entry) for entry in entries)
            continue
        if not follow or service.closing.is_set():
            return
        if not await _news(service, loop, after):
            yield b": still here\n\n"


async def _news(service: Service, loop: str, after: int) -> bool:
    """Wait for something new, or for a while."""
    until = asyncio.timeout(HEARTBEAT_SECONDS)
    try:
        async with until:
            while not service.closing.is_set() and service.durable(loop) <= after:
                await service.news.wait()
    except TimeoutError:
        return False
    return True


def _some(service: Service, loop: str, after: int) -> list[Entry]:
    return list(islice(service.log.read(loop, after), AT_ONCE))


def frame(entry: Entry) -> bytes:
    """An event in the form of server-sent events."""
    body = msgspec.to_builtins(entry.event) | {"seq": entry.seq, "time": moment(entry.time)}
    if isinstance(entry.event, Decided):
        body["decision_id"] = events.decision_id(entry.seq)
    return b"id: %d\nevent: %b\ndata: %b\n\n" % (entry.seq, body["kind"].encode(), msgspec.json.encode(body))
