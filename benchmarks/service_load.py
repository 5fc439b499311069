"""The service under load: 50 clients over 10 loops, every answer on disk, while agents solve.

The server is `vbmle serve` in a process of its own, the clients are connections of this one. In the first run each asks
for a decision, reports an outcome, and begins again at once: the server is as busy as it can be, and a latency contains
the queue of 49 others. In the second each pauses after a pair, so that a latency says how long a decision takes by
itself, while one loop has a model with 100 states whose agent solves all the time.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.effort import Effort
from benchmarks.speed_table import Row, at_least, at_most
from benchmarks.tabular_steps import random_tabular
from vbmle.common.threads import ONE_THREAD
from vbmle.model.mdp import LinearMixtureMDP
from vbmle.model.world import World

CPU = "process_cpu_seconds_total"
SECTION = "the service under load"
CLIENTS, LOOPS = 50, 10
SQLITE_PAGE = 4096  # bytes, what SQLite writes at least
PAUSE = 0.25  # seconds, of the clients of the second run
BUSY_CASE = f"{CLIENTS} clients, {LOOPS} loops of 4 states"
PACED_CASE = f"{CLIENTS} clients with pauses, {LOOPS - 1} loops of 4 states, one of 100"


@dataclass
class Tally:
    """What clients saw."""

    pairs: int = 0
    decisions: list[float] = field(default_factory=list)  # seconds from asking to the answer
    solves: int = 0
    commits: int = 0
    seconds: float = 0.0
    bytes: int = 0
    cpu_seconds: float = 0.0  # of the server, all its threads; not of the processes of the agents

    @property
    def p99(self) -> float:
        """Milliseconds within which 99 of 100 decisions were answered."""
        return 1e3 * float(np.quantile(self.decisions, 0.99))


def measure(effort: Effort) -> list[Row]:
    """Pairs per second, latency with and without a large model, and what the disk does meanwhile."""
    with tempfile.TemporaryDirectory(prefix="vbmle-bench-") as folder:
        alone = fsyncs(Path(folder), effort.load_seconds / 5)
        busy = run(Path(folder) / "busy", [four_states()] * LOOPS, effort.load_seconds)
        worlds = [four_states()] * (LOOPS - 1) + [random_tabular(100, 4, 5)]
        paced = run(Path(folder) / "paced", worlds, effort.load_seconds, PAUSE)
    return rows(alone, busy, paced)


def rows(alone: float, busy: Tally, paced: Tally) -> list[Row]:
    """The table of both runs."""
    found = []
    for case, tally, many, quick in (
        (BUSY_CASE, busy, at_least(1000), None),
        (PACED_CASE, paced, None, at_most(50)),
    ):
        rates = {"solves": tally.solves / tally.seconds, "bytes_per_pair": tally.bytes / tally.pairs}
        found += [
            Row(
                SECTION,
                "decision-observation pairs",
                case,
                tally.pairs / tally.seconds,
                "per second",
                many,
                rates,
            ),
            Row(SECTION, "decisions, 99th percentile", case, tally.p99, "milliseconds", quick),
            Row(SECTION, "commits, each with one fsync", case, tally.commits / tally.seconds, "per second"),
            Row(
                SECTION,
                "processor time of the server for a pair",
                case,
                1e3 * tally.cpu_seconds / tally.pairs,
                "milliseconds",
            ),
        ]
    found.append(
        Row(SECTION, "fsyncs that the disk does alone", f"{SQLITE_PAGE} bytes each", alone, "per second")
    )
    return found


def four_states() -> World:
    """Four states, three actions, three candidates."""
    rng = np.random.default_rng(3)
    models = rng.dirichlet(np.ones(4), (3, 4, 3))
    return World(LinearMixtureMDP.from_models(list(models), rng.random((4, 3)), 0.9), [0.6, 0.3, 0.1])


def fsyncs(folder: Path, seconds: float) -> float:
    """How often a second this disk can promise that a page is there."""
    handle = os.open(folder / "fsyncs", os.O_WRONLY | os.O_CREAT, 0o600)
    count, begun = 0, perf_counter()
    while perf_counter() - begun < seconds:
        os.pwrite(handle, bytes(SQLITE_PAGE), count % 1000 * SQLITE_PAGE)
        os.fsync(handle)
        count += 1
    os.close(handle)
    return count / (perf_counter() - begun)


def run(folder: Path, worlds: list[World], seconds: float, pause: float = 0.0) -> Tally:
    """Serve a new folder, and let the clients loose on it for a while."""
    with served(folder) as port:
        tally = asyncio.run(_load(port, worlds, seconds, pause))
    tally.bytes = sum(path.stat().st_size for path in folder.glob("events.db*"))
    return tally


@contextmanager
def served(folder: Path) -> Iterator[int]:
    """A server on a free port, which is gone in the end."""
    command = [sys.executable, "-m", "vbmle", "serve", str(folder), "--port", "0"]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ | ONE_THREAD)
    try:
        assert server.stderr is not None
        line = server.stderr.readline()
        found = re.search(r":(\d+)/ ", line)
        if found is None:
            raise RuntimeError(f"the server did not start: {line.strip()}")
        yield int(found[1])
    finally:
        server.terminate()
        server.communicate()


class Connection:
    """One client: requests one after the other, over a connection that stays open."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def ask(
        self, method: str, path: str, content: bytes = b"", kind: str = "application/json"
    ) -> bytes:
        """Send a request; the body of its answer."""
        lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", f"Content-Type: {kind}"]
        head = "\r\n".join([*lines, f"Content-Length: {len(content)}", "", ""])
        self._writer.write(head.encode() + content)
        answer = await self._reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", answer, re.IGNORECASE)
        body = await self._reader.readexactly(int(length[1])) if length else b""
        if not answer.startswith(b"HTTP/1.1 2"):
            raise RuntimeError(f"{method} {path}: {body.decode(errors='replace')}")
        return body

    async def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        return json.loads(await self.ask("POST", path, json.dumps(body).encode()))

    async def close(self) -> None:
        self._writer.close()
        await self._writer.wait_closed()


async def _load(port: int, worlds: list[World], seconds: float, pause: float) -> Tally:
    clients = [Connection(*await asyncio.open_connection("127.0.0.1", port)) for _ in range(CLIENTS)]
    for number, world in enumerate(worlds):
        with tempfile.TemporaryDirectory(prefix="vbmle-bench-") as aside:
            world.mdp.save(Path(aside) / "model.npz")
            content = (Path(aside) / "model.npz").read_bytes()
        await clients[0].ask("PUT", f"/v1/models/m{number}", content, "application/octet-stream")
        body = json.dumps({"model": f"m{number}", "agent": "VBMLE"}).encode()
        await clients[0].ask("PUT", f"/v1/loops/l{number}", body)
    tally, before = Tally(), await _figures(clients[0])
    begun = perf_counter()
    until = begun + seconds
    going = [_go(client, k, worlds, (until, pause), tally) for k, client in enumerate(clients)]
    await asyncio.gather(*going)
    tally.seconds = perf_counter() - begun
    after = await _figures(clients[0])
    tally.commits = int(after["vbmle_commits_total"] - before["vbmle_commits_total"])
    tally.cpu_seconds = after[CPU] - before[CPU]
    tally.solves = int(sum(value for name, value in after.items() if name.startswith("vbmle_solves_total")))
    for client in clients:
        await client.close()
    return tally


async def _go(
    client: Connection, number: int, worlds: list[World], pace: tuple[float, float], tally: Tally
) -> None:
    """Decide and observe until the time is over, with a pause after each pair."""
    world, (until, pause) = worlds[number % LOOPS], pace
    path, state, step = f"/v1/loops/l{number % LOOPS}", 0, 0
    await asyncio.sleep(pause * number / CLIENTS)
    while (asked := perf_counter()) < until:
        decision = await client.post(f"{path}/decisions", {"state": state, "request_id": f"{number}-{step}"})
        tally.decisions.append(perf_counter() - asked)
        state = world.next_state(state, decision["action"], (step * 0.618034) % 1.0)
        await client.post(
            f"{path}/observations", {"decision_id": decision["decision_id"], "next_state": state}
        )
        step += 1
        tally.pairs += 1
        await asyncio.sleep(pause)


async def _figures(client: Connection) -> dict[str, float]:
    text = (await client.ask("GET", "/metrics")).decode()
    return {name: float(value) for name, value in re.findall(r"^([^#].*) (\S+)$", text, re.MULTILINE)}
