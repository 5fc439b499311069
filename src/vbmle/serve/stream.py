"""Events of a loop as they are committed, by server-sent events: what is on disk first, then what comes.

All streams together take a fifth of the time of one thread, and what many wait for is read once. So decisions do not
wait for them, however many listen. Who does not read what was sent is dropped (see `connections`).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter, sleep
from typing import NamedTuple

from vbmle.serve import events
from vbmle.serve.clock import moment
from vbmle.serve.event_log import EventLog, Raw
from vbmle.serve.refusals import Busy

AT_ONCE = 500
HEARTBEAT_SECONDS = 15.0
"""A comment now and then, so that a connection that has died is noticed."""

MOST_STREAMS = 1000
SHARE = 0.2
"""Of the time of one thread, for reading what all streams want together."""
PAUSE = 0.004
"""Seconds between two looks of a stream at what is new, for each stream that there is."""


class Chunk(NamedTuple):
    """Some events, ready to be sent, and the number of the last of them."""

    last: int
    content: bytes


class Streams:
    """All streams of one service. For the thread of the event loop."""

    def __init__(self, log: EventLog) -> None:
        self.count = 0
        self._log, self._closing = log, False
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="vbmle-streams")
        self._news: dict[str, asyncio.Event] = {}
        self._durable: dict[str, int] = {}
        self._reading: dict[tuple[str, int], asyncio.Future[Chunk | None]] = {}

    def committed(self, last: dict[str, int]) -> None:
        """Up to these numbers, the events of these loops are on disk."""
        self._durable |= last
        for name in last:
            if (news := self._news.pop(name, None)) is not None:
                news.set()

    def stop(self) -> None:
        """Let those go who listen."""
        self._closing = True
        for news in self._news.values():
            news.set()
        self._news = {}

    def close(self) -> None:
        """Give everything back."""
        self.stop()
        self._thread.shutdown(cancel_futures=True)

    def require_room(self) -> None:
        """Busy where there are as many streams as there may be."""
        if self.count >= MOST_STREAMS:
            raise Busy(
                f"{self.count} streams of events are open, which is the most; close one, or come back later"
            )

    async def follow(self, loop: str, after: int, follow: bool) -> AsyncIterator[bytes]:
        """The events of a loop after a number; with `follow` for as long as the client listens."""
        self.count += 1
        try:
            yield b": the events of a loop, each with its number\n\n"
            while not self._closing:
                if (chunk := await self._some(loop, after)) is not None:
                    after = chunk.last
                    yield chunk.content
                elif not follow:
                    return
                elif not await self._something_new(loop, after):
                    yield b": still here\n\n"
        finally:
            self.count -= 1

    async def _some(self, loop: str, after: int) -> Chunk | None:
        """The next events; those who ask for the same share the answer."""
        reading = self._reading.get((loop, after))
        if reading is None:
            reading = asyncio.wrap_future(self._thread.submit(self._read, loop, after))
            self._reading[loop, after] = reading
            reading.add_done_callback(lambda done: self._reading.pop((loop, after)))
        return await asyncio.shield(reading)

    def _read(self, loop: str, after: int) -> Chunk | None:
        """In the thread."""
        begun = perf_counter()
        rows = self._log.raw(loop, after, AT_ONCE)
        content = b"".join(frame(row) for row in rows)
        if not rows:
            return None
        sleep((perf_counter() - begun) * (1.0 / SHARE - 1.0))
        return Chunk(rows[-1].seq, content)

    async def _something_new(self, loop: str, after: int) -> bool:
        """Wait for something new, or for a while."""
        try:
            async with asyncio.timeout(HEARTBEAT_SECONDS):
                while not self._closing and self._durable.get(loop, 0) <= after:
                    await self._news.setdefault(loop, asyncio.Event()).wait()
                await asyncio.sleep(PAUSE * self.count)  # what comes together is sent together
        except TimeoutError:
            return False
        return True


def frame(row: Raw) -> bytes:
    """An event in the form of server-sent events: what is stored, with its number and time."""
    decision = b',"decision_id":"%b"' % events.decision_id(row.seq).encode() if row.kind == "decided" else b""
    about = b'"seq":%d,"time":"%b"%b}' % (row.seq, moment(row.time).encode(), decision)
    return b"id: %d\nevent: %b\ndata: %b,%b\n\n" % (row.seq, row.kind.encode(), row.body[:-1], about)
