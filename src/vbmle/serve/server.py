"""The server: opens the folder and the port, serves until it is told to stop, and closes both."""

from __future__ import annotations

import asyncio
import gc
import ipaddress
import logging
import os
import signal
import socket
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from vbmle.common import extras
from vbmle.common.validation import InputError

extras.require("serve")

import uvicorn  # noqa: E402
from starlette.types import ASGIApp  # noqa: E402

from vbmle.serve.application import application  # noqa: E402
from vbmle.serve.connections import Connection, Crowd, Limits, room_for_connections  # noqa: E402
from vbmle.serve.event_log import DamagedLog, StorageError  # noqa: E402
from vbmle.serve.restoring import Stopping  # noqa: E402
from vbmle.serve.service import Service  # noqa: E402
from vbmle.serve.solves import SNAPSHOT_EVERY  # noqa: E402

if sys.platform == "win32":
    new_event_loop = asyncio.new_event_loop
else:
    from uvloop import new_event_loop

SWITCH_SECONDS = 0.0001
"""How long a solve may keep the interpreter to itself while a request waits; fifty times less than by default."""

SHORTEST_TOKEN = 16
SEND_BUFFER = 2**18
"""Bytes that the system may keep for a client that does not read them."""
LAST_REQUESTS_SECONDS = 5


def run(
    folder: Path,
    host: str,
    port: int,
    token_file: Path | None,
    say: Callable[[str], None],
    snapshot_every: int = SNAPSHOT_EVERY,
) -> None:
    """Serve a folder until SIGTERM or Ctrl-C; InputError says in one line why that cannot be."""
    token = None if token_file is None else read_token(token_file)
    if token is None and not is_loopback(host):
        raise InputError(
            f"--host is {host}, which others can reach; without a token only this machine is served: "
            "give --token-file, or leave --host out"
        )
    listener = listen(host, port)

    async def serve() -> None:
        service = Service.begin(folder, snapshot_every=snapshot_every, apart=True)
        try:
            await _serve(service, listener, application(service, token, version("vbmle"), (host,)), say)
        finally:
            await service.close()

    try:
        with asyncio.Runner(loop_factory=new_event_loop) as runner:
            runner.run(serve())
    except (DamagedLog, StorageError) as error:
        raise InputError(str(error)) from error
    except MemoryError as error:
        raise InputError(
            f"there is not enough memory to serve {folder}; free some, then start again"
        ) from error
    except RuntimeError as error:
        if "thread" not in str(error):  # of the interpreter: "can't start new thread"
            raise
        raise InputError(
            f"the machine has no thread left to serve {folder}; free some, then start again"
        ) from error


async def _serve(service: Service, listener: socket.socket, app: ASGIApp, say: Callable[[str], None]) -> None:
    sys.setswitchinterval(SWITCH_SECONDS)
    logging.getLogger("asyncio").setLevel(logging.ERROR)  # a client that hangs up is no news
    limits = Limits()
    crowd = Crowd(replace(limits, connections=room_for_connections(limits.connections)))
    protocol: Any = partial(Connection, crowd)
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        lifespan="off",
        timeout_graceful_shutdown=LAST_REQUESTS_SECONDS,
        server_header=False,
        proxy_headers=False,
        http=protocol,
        ws="none",
    )
    name, port = listener.getsockname()[:2]
    shown = f"[{name}]" if ":" in name else name
    server = Server(config, service, crowd)
    with server.capture_signals():  # whoever reads the line may already stop it
        serving = asyncio.ensure_future(server.serve(sockets=[listener]))
        reading = asyncio.ensure_future(service.read(say))  # meanwhile health is told, and how far it is
        await asyncio.wait({serving, reading}, return_when=asyncio.FIRST_COMPLETED)
        if serving.done():
            reading.cancel()
        elif reading.exception() is None:
            gc.collect()
            gc.freeze()  # what is there now stays: looking for garbage in it would stop everything for 50 ms
            say(f"serving {service.folder.path} at http://{shown}:{port}/ (Ctrl-C stops it)")
        else:
            server.should_exit = True
        await serving
        with suppress(asyncio.CancelledError, Stopping):
            await reading


class Server(uvicorn.Server):
    """Ends the streams of events when it is told to stop, so that nobody waits for them."""

    def __init__(self, config: uvicorn.Config, service: Service, crowd: Crowd) -> None:
        super().__init__(config)
        self._service, self._crowd = service, crowd

    async def main_loop(self) -> None:
        watching = asyncio.create_task(self._crowd.watch())
        await super().main_loop()
        watching.cancel()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop in good order, and return: the loops are still to be closed."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self.handle_exit, number, None)
        yield
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._service.stop_streams()
        await super().shutdown(sockets)


def listen(host: str, port: int) -> socket.socket:
    """A socket on which nobody else listens."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(
            family, kind, protocol
        )  # asyncio sends small answers at once only if it is TCP by name
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)
        listener.bind(address)
        listener.listen(2048)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(
            f"cannot listen on {host} port {port} ({reason}); choose another --port or --host"
        ) from error
    return listener


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches it."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _require_private(path: Path, found: os.stat_result) -> None:
    """A token is for those alone who may ask. A group may read one that belongs to somebody else: so it was let in."""
    others = stat.S_IRGRP | stat.S_IROTH if found.st_uid == os.geteuid() else stat.S_IROTH
    if found.st_mode & others:
        raise InputError(
            f"--token-file: others can read {path} (mode {stat.S_IMODE(found.st_mode):04o}); "
            f"keep the token to the server: chmod 600 {path}, and make a new one if others may have read it"
        )


def read_token(path: Path) -> str:
    """The content of a token file, without the end of its line."""
    try:
        with path.open("rb") as file:
            _require_private(path, os.fstat(file.fileno()))
            token = file.read().decode("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"--token-file: cannot read {path} ({getattr(error, 'strerror', None) or error})"
        ) from error
    if len(token) < SHORTEST_TOKEN or not token.isascii() or not token.isprintable():
        raise InputError(
            f"--token-file: {path} has {len(token)} characters; a token needs at least {SHORTEST_TOKEN} plain ones, "
            "such as the output of: openssl rand -hex 32"
        )
    return token
