"""Limits that hold before a request is understood: on connections, on what comes before a body, and on its time.

A connection waits while its request is not complete. Where there are too many connections, the one that has waited
longest is closed, so that idle ones never keep anybody out. Once a second, those are closed that have waited too long,
and those that do not read what they are sent.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

import msgspec
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from vbmle.serve.bodies import Failure

LOG = logging.getLogger("vbmle.serve")
DESCRIPTORS_KEPT = 256
"""File descriptors for everything that is no connection."""


@dataclass(frozen=True)
class Limits:
    """What one server takes from all its connections."""

    connections: int = 4000
    requests: int = 3000  # that are being answered, streams of events among them
    head_bytes: int = 2**16  # of a request without its body
    framing: int = 16  # bytes that may come around a byte of a body, in addition
    wait_seconds: float = 30.0  # until a request is complete
    body_rate: float = 2**16  # bytes of a body for which there is another second
    read_seconds: float = 30.0  # until a client takes what it was sent
    round_seconds: float = 1.0  # between two looks at who has used up their time


@dataclass
class Crowd:
    """All connections of one server, those that have waited longest first."""

    limits: Limits = field(default_factory=Limits)
    waiting: dict[Connection, float] = field(default_factory=dict)  # since when a request is not complete
    stuck: dict[Connection, float] = field(default_factory=dict)  # since when nothing is read
    evicted: int = 0
    refused: int = 0
    dropped: int = 0

    def make_room(self, newcomer: Connection) -> bool:
        """Close the connection that has waited longest; False where none does."""
        for oldest in self.waiting:
            if oldest is not newcomer:
                self.evicted += 1
                oldest.cut()
                return True
        return False

    async def watch(self) -> None:
        """Close who has used up their time, for ever."""
        while True:
            await asyncio.sleep(self.limits.round_seconds)
            self.look(monotonic())

    def look(self, now: float) -> None:
        """Close who has used up their time."""
        for one, since in list(self.waiting.items()):
            over = now - since - self.limits.wait_seconds
            if over <= 0.0:
                break  # the others have waited less
            if over * self.limits.body_rate > one.body_bytes or one.answered:
                one.refuse(
                    408, f"the request was not complete after {now - since:.0f} s; send it again, whole"
                )
        for one, since in list(self.stuck.items()):
            if now - since > self.limits.read_seconds:
                self.dropped += 1
                LOG.warning("dropped %s, which has read nothing for %.0f s", one.address, now - since)
                one.cut()


class Connection(HttpToolsProtocol):
    """A connection that is held to the limits of its crowd."""

    def __init__(self, crowd: Crowd, **others: Any) -> None:
        super().__init__(**others)
        self._crowd, self._refused = crowd, False
        self._bytes = self.body_bytes = 0  # of the request that is coming in

    @property
    def address(self) -> str:
        """Who is at the other end."""
        return "a client" if self.client is None else f"{self.client[0]} port {self.client[1]}"

    @property
    def answered(self) -> bool:
        """Whether the request has its answer, complete or not."""
        return self.cycle is not None and self.cycle.response_complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._crowd.waiting[self] = monotonic()
        if len(self.connections) > self._crowd.limits.connections and not self._crowd.make_room(self):
            self.cut()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget()
        super().connection_lost(exc)

    def _forget(self) -> None:
        self._crowd.waiting.pop(self, None)
        self._crowd.stuck.pop(self, None)

    def cut(self) -> None:
        """End it at once; what was sent and not read is lost."""
        self._forget()
        self.transport.abort()

    def refuse(self, status: int, text: str) -> None:
        """Say why, and end it."""
        self._forget()
        self._refused = True
        self._crowd.refused += 1
        if self.cycle is None or self.answered or not self.cycle.response_started:
            body = msgspec.json.encode(Failure(text))
            head = b"content-type: application/json\r\nconnection: close\r\ncontent-length: %d\r\n\r\n" % len(
                body
            )
            self.transport.write(STATUS_LINE[status] + head + body)
        self.transport.close()

    def data_received(self, data: bytes) -> None:
        if self._refused:
            return
        self._bytes += len(data)
        super().data_received(data)
        limits = self._crowd.limits
        if self._bytes - limits.framing * self.body_bytes > limits.head_bytes and self in self._crowd.waiting:
            self._refuse_head()

    def _refuse_head(self) -> None:
        self.refuse(431, f"the head of the request has more than {self._crowd.limits.head_bytes} bytes")

    def on_message_begin(self) -> None:
        self._bytes = self.body_bytes = 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        if self._refused:
            return
        size = len(self.url) + sum(len(name) + len(value) for name, value in self.headers)
        if size > self._crowd.limits.head_bytes:
            self._refuse_head()
            return
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        if not self._refused:
            self.body_bytes += len(body)
            super().on_body(body)

    def on_message_complete(self) -> None:
        if not self._refused:
            if not self.answered:
                self._crowd.waiting.pop(self, None)
            super().on_message_complete()

    def on_response_complete(self) -> None:
        if not self.pipeline and not self.transport.is_closing():
            self._crowd.waiting[self] = monotonic()
        super().on_response_complete()

    def _start_asgi_task(self, cycle: Any, app: Any) -> None:
        if len(self.tasks) >= self._crowd.limits.requests and not self._crowd.make_room(self):
            app = _busy
        super()._start_asgi_task(cycle, app)

    def pause_writing(self) -> None:
        self._crowd.stuck.setdefault(self, monotonic())
        super().pause_writing()

    def resume_writing(self) -> None:
        self._crowd.stuck.pop(self, None)
        super().resume_writing()


async def _answer_busy(scope: Scope, receive: Receive, send: Send) -> None:
    body = msgspec.json.encode(Failure("too many requests are being answered; send it again in a moment"))
    headers = [(b"content-type", b"application/json"), (b"retry-after", b"1"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": 503, "headers": headers})
    await send({"type": "http.response.body", "body": body})


_busy: ASGIApp = _answer_busy


def room_for_connections(wanted: int) -> int:
    """How many connections the file descriptors of this process allow, raised as far as the system lets it."""
    try:
        import resource
    except ImportError:  # not on this system, which has no such limit
        return wanted
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    aim = wanted + DESCRIPTORS_KEPT
    if soft != resource.RLIM_INFINITY and soft < aim:
        soft = aim if hard == resource.RLIM_INFINITY else min(aim, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return wanted if soft == resource.RLIM_INFINITY else max(16, min(wanted, soft - DESCRIPTORS_KEPT))
