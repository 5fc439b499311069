"""Storms around a server in a process of its own: connections, threads and children that fail, or children are killed.

`python tests/storms.py N --server` tells N stories of them. Clients repeat what gets no answer, and in the end all that
was answered is in the log once, `vbmle check` has nothing to say, SIGTERM ends the server, and it starts again.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
from serving import DEPOT, NPZ, audit, happened, process
from weather import EVERY_KIND, Fault, Faults, Kind

from vbmle import Client
from vbmle.serve import events
from vbmle.serve.check import examine
from vbmle.serve.client import Decision

KINDS = (Kind.ACCEPT, Kind.RECEIVE, Kind.SEND, Kind.THREAD, Kind.CHILD, Kind.OPEN, Kind.WRITE)
REACH = {Kind.ACCEPT: 4, Kind.THREAD: 4, Kind.CHILD: 1}
STEPS, LIMIT = 8, 120.0


class Patient(threading.Thread):
    """A client of one loop that goes on until it has made its steps."""

    def __init__(self, url: str, loop: str, seed: int) -> None:
        super().__init__(daemon=True)
        self.url, self.loop, self.uniforms = url, loop, np.random.default_rng(seed)
        self.decisions: dict[str, Decision] = {}
        self.outcomes: dict[str, int] = {}
        self.error: Exception | None = None

    def run(self) -> None:
        state = 0
        try:
            with Client(self.url, patience=LIMIT, timeout=2.0) as client:
                loop = client.loop(self.loop)
                for number in range(STEPS):
                    name = f"{self.loop}-{number}"
                    self.decisions[name] = decision = loop.act(state, request_id=name)
                    state = DEPOT.next_state(state, decision.action, float(self.uniforms.random()))
                    loop.observe(decision, state)
                    self.outcomes[decision.decision_id] = state
        except Exception as error:
            self.error = error

    def require_kept(self, folder: Path) -> None:
        """Everything answered is in the log as it was answered, once."""
        assert self.error is None, self.error
        told = happened(folder, self.loop)
        decided = [(one.request_id, one.action) for one in told if isinstance(one, events.Decided)]
        assert sorted(decided) == sorted((name, one.action) for name, one in self.decisions.items())
        observed = [(one.decision_id, one.next_state) for one in told if isinstance(one, events.Observed)]
        assert sorted(observed) == sorted(self.outcomes.items())
        audit(folder, self.loop)


def drawn(rng: np.random.Generator) -> tuple[Fault, ...]:
    """One fault, or a pair."""
    faults = []
    for _ in range(1 + int(rng.random() < 0.5)):
        kind = KINDS[int(rng.integers(len(KINDS)))]
        mode, value = EVERY_KIND[kind][int(rng.integers(len(EVERY_KIND[kind])))]
        count = int(rng.choice([1, 3, 20, 10**6]))
        faults.append(Fault(kind, mode, value, int(rng.integers(REACH.get(kind, 60))), count))
    return tuple(faults)


def children(process_id: int) -> list[int]:
    """The processes that a server has started."""
    told = Path(f"/proc/{process_id}/task/{process_id}/children").read_text()
    return [int(number) for number in told.split()]


def tell(
    number: int, seed: int, folder: Path, faults: Faults, environment: dict[str, str]
) -> tuple[str, int]:
    """One story; what was done, and how often it struck."""
    rng = np.random.default_rng([seed, number])
    loops, chosen, kills = int(rng.integers(2, 9)), drawn(rng), bool(rng.random() < 0.3)
    faults.heal()
    faults.about(folder)
    with process(folder, environment=environment) as server:
        assert server.url is not None, server.lines
        first = server.client()
        first.put_model("depot", NPZ)
        for k in range(loops):
            first.loop(f"loop-{k}").create("depot", "VBMLE")
        first.close()
        faults.set(*chosen)
        clients = [Patient(server.url, f"loop-{k}", k) for k in range(loops)]
        for client in clients:
            client.start()
        time.sleep(float(rng.uniform(0.1, 0.5)))
        for child in children(server.process.pid) if kills else ():
            os.kill(child, signal.SIGKILL)
        struck = faults.heal()
        for client in clients:
            client.join(LIMIT)
        assert server.stop() == 0, server.lines
    findings = examine(folder / "events.db").findings
    assert not findings, findings[0]
    for client in clients:
        client.require_kept(folder)
    with process(folder) as server:
        assert server.url is not None, server.lines
        answer = server.client().loop("loop-0").act(0, request_id="loop-0-0")
        assert answer == clients[0].decisions["loop-0-0"]
    return f"{loops} loops, {' and '.join(map(str, chosen))}{', children killed' if kills else ''}", struck


def tell_all(given: argparse.Namespace, faults: Faults, environment: dict[str, str]) -> int:
    """Tell all stories; 1 where one was broken."""
    broken = struck = 0
    memory = Path("/dev/shm")
    numbers = range(given.count) if given.only is None else (given.only,)
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as made:
        for number in numbers:
            folder = Path(made) / "folder"
            shutil.rmtree(folder, ignore_errors=True)
            try:
                struck += bool(tell(number, given.seed, folder, faults, environment)[1])
            except Exception as error:
                broken += 1
                what = " and ".join(map(str, drawn_for(number, given.seed)))
                print(f"story {number}: {what}: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
    print(f"{len(numbers)} stories of servers, {struck} struck, {broken} broken")
    return bool(broken)


def drawn_for(number: int, seed: int) -> tuple[Fault, ...]:
    """The faults of a story by its number."""
    rng = np.random.default_rng([seed, number])
    rng.integers(2, 9)
    return drawn(rng)
