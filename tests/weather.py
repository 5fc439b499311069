"""Faults of the system for tests of the service, and clients that live through them.

`Faults` is the Python side of faults.c: which calls of a process fail, are slow or do half, from when on, how often.
"""

from __future__ import annotations

import asyncio
import errno
import mmap
import os
import shutil
import struct
import subprocess
import sys
from enum import IntEnum
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from serving import DEPOT, Local, audit, happened

from vbmle.serve import events

SOURCE = Path(__file__).with_name("faults.c")


class Kind(IntEnum):
    """What a call is about, in the order of faults.c."""

    (
        OPEN,
        READ,
        WRITE,
        SYNC,
        TRUNCATE,
        MAP,
        LOCK,
        NAME,
        MEMORY,
        THREAD,
        CLOCK,
        CHILD,
        ACCEPT,
        RECEIVE,
        SEND,
    ) = range(15)


class Mode(IntEnum):
    """What happens to it."""

    FAILS, SLOW, SHORT = range(3)


class Fault(NamedTuple):
    """Calls of a kind from one on, and what happens to them; the value is an errno, or microseconds."""

    kind: Kind
    mode: Mode
    value: int
    after: int
    times: int

    def __str__(self) -> str:
        what = {
            Mode.FAILS: errno.errorcode.get(self.value, "?"),
            Mode.SLOW: f"slow by {self.value} us",
            Mode.SHORT: "short",
        }[self.mode]
        return f"{self.kind.name} {what} after {self.after}, {self.times} times"


EVERY_KIND: dict[Kind, list[tuple[Mode, int]]] = {
    Kind.OPEN: [(Mode.FAILS, errno.EMFILE), (Mode.FAILS, errno.EACCES), (Mode.FAILS, errno.EINTR)],
    Kind.READ: [(Mode.FAILS, errno.EIO), (Mode.FAILS, errno.EINTR), (Mode.SHORT, 0), (Mode.SLOW, 5000)],
    Kind.WRITE: [(Mode.FAILS, errno.ENOSPC), (Mode.FAILS, errno.EIO), (Mode.FAILS, errno.EINTR), (Mode.SHORT, 0),
                 (Mode.SLOW, 5000)],
    Kind.SYNC: [(Mode.FAILS, errno.EIO), (Mode.FAILS, errno.ENOSPC), (Mode.SLOW, 20000)],
    Kind.TRUNCATE: [(Mode.FAILS, errno.EIO), (Mode.FAILS, errno.ENOSPC)],
    Kind.MAP: [(Mode.FAILS, errno.ENOMEM)],
    Kind.LOCK: [(Mode.FAILS, errno.EAGAIN), (Mode.FAILS, errno.EIO), (Mode.FAILS, errno.EINTR)],
    Kind.NAME: [(Mode.FAILS, errno.EIO), (Mode.FAILS, errno.EACCES)],
    Kind.MEMORY: [(Mode.FAILS, errno.ENOMEM)],
    Kind.THREAD: [(Mode.FAILS, errno.EAGAIN)],
    Kind.CLOCK: [(Mode.FAILS, 0)],
    Kind.CHILD: [(Mode.FAILS, errno.EAGAIN), (Mode.FAILS, errno.ENOMEM)],
    Kind.ACCEPT: [(Mode.FAILS, errno.EMFILE), (Mode.FAILS, errno.ECONNABORTED), (Mode.FAILS, errno.EINTR)],
    Kind.RECEIVE: [(Mode.FAILS, errno.ECONNRESET), (Mode.FAILS, errno.EINTR), (Mode.SHORT, 0)],
    Kind.SEND: [(Mode.FAILS, errno.EPIPE), (Mode.FAILS, errno.EINTR), (Mode.FAILS, errno.ENOBUFS), (Mode.SHORT, 0)],
}  # fmt: skip
"""What may happen to calls of each kind."""

ON_DISK = (Kind.OPEN, Kind.READ, Kind.WRITE, Kind.SYNC, Kind.TRUNCATE, Kind.MAP, Kind.LOCK, Kind.NAME)
OF_NETWORK = (Kind.ACCEPT, Kind.RECEIVE, Kind.SEND)


class Faults:
    """The memory that is shared with a process whose calls can be made to fail."""

    ONE, SLOTS = struct.Struct("<iiiiqqq"), 4
    SEEN, CLOCK, FOLDER, SIZE = 160, 288, 296, 808

    def __init__(self, path: Path) -> None:
        self.path = path
        if not path.exists():
            path.write_bytes(bytes(self.SIZE))
        with path.open("r+b") as file:
            self._memory = mmap.mmap(file.fileno(), self.SIZE)

    @staticmethod
    def library(folder: Path) -> Path:
        """What is loaded before the C library, compiled."""
        made = folder / "faults.so"
        compiler = next((name for name in ("cc", "gcc", "clang") if shutil.which(name)), None)
        start = [compiler] if compiler else [sys.executable, "-m", "ziglang", "cc"]
        command = [
            *start,
            "-std=gnu11",
            "-O2",
            "-Wall",
            "-Wextra",
            "-shared",
            "-fPIC",
            str(SOURCE),
            "-o",
            str(made),
            "-ldl",
        ]
        subprocess.run(command, check=True)
        return made

    def environment(self, library: Path) -> dict[str, str]:
        """For a process whose calls are to fail."""
        return {**os.environ, "LD_PRELOAD": str(library), "VBMLE_FAULTS": str(self.path)}

    def about(self, folder: Path) -> None:
        """Whose files calls on disk must be about."""
        name = str(folder.resolve()).encode()
        self._memory[self.FOLDER : self.FOLDER + 512] = name.ljust(512, b"\0")

    def set(self, *faults: Fault) -> None:
        """Let these happen from now on."""
        self.heal()
        for slot, fault in enumerate(faults):
            if fault.kind == Kind.CLOCK:
                self._memory[self.CLOCK : self.CLOCK + 8] = struct.pack("<q", fault.value * 10**9)
                continue
            place = slot * self.ONE.size
            whole = self.ONE.pack(fault.kind, fault.mode, fault.value, 1, fault.after, fault.times, 0)
            self._memory[place + 16 : place + self.ONE.size] = whole[16:]
            self._memory[place : place + 16] = whole[:16]

    def heal(self) -> int:
        """Let nothing happen any more; how often something did."""
        fired = self.fired
        for slot in range(self.SLOTS):
            self._memory[slot * self.ONE.size : (slot + 1) * self.ONE.size] = bytes(self.ONE.size)
        self._memory[self.CLOCK : self.CLOCK + 8] = bytes(8)
        return fired

    @property
    def fired(self) -> int:
        """How many calls were struck since `set`."""
        return sum(self.ONE.unpack_from(self._memory, slot * self.ONE.size)[6] for slot in range(self.SLOTS))

    def seen(self) -> dict[Kind, int]:
        """How many calls of each kind there have been."""
        counts = struct.unpack_from("<16q", self._memory, self.SEEN)
        return {kind: counts[kind] for kind in Kind}


class Retrying:
    """Decides and observes, repeats what is not answered, and remembers what is."""

    def __init__(self, local: Local, loop: str, seed: int, most: int = 10**9) -> None:
        self.local, self.loop, self.uniforms = local, loop, np.random.default_rng(seed)
        self.decisions: dict[str, dict[str, Any]] = {}
        self.outcomes: dict[str, int] = {}
        self.statuses: set[int] = set()
        self.most, self.stopped, self.prefix = most, False, ""

    async def go(self) -> None:
        state, number = 0, 0
        while not self.stopped and number < self.most:
            body: dict[str, Any] = {"state": state, "request_id": f"{self.prefix}{self.loop}-{number}"}
            decision, number = await self.until_answered("decisions", body), number + 1
            self.decisions[body["request_id"]] = decision
            state = DEPOT.next_state(state, decision["action"], float(self.uniforms.random()))
            told = {"decision_id": decision["decision_id"], "next_state": state}
            await self.until_answered("observations", told)
            self.outcomes[decision["decision_id"]] = state

    async def until_answered(self, what: str, body: dict[str, Any]) -> Any:
        while True:
            answer = await self.local.post(what, body, self.loop)
            if answer.status == 200:
                return answer.body
            self.statuses.add(answer.status)
            await asyncio.sleep(0.002)

    def require_kept(self, folder: Path) -> None:
        """Everything answered is in the log as it was answered, once, and an agent can be led through the log."""
        told = happened(folder, self.loop)
        decided = [(one.request_id, one.action) for one in told if isinstance(one, events.Decided)]
        assert len(decided) == len(dict(decided))
        assert {name: one["action"] for name, one in self.decisions.items()}.items() <= set(decided)
        observed = [(one.decision_id, one.next_state) for one in told if isinstance(one, events.Observed)]
        assert len(observed) == len(dict(observed))
        assert self.outcomes.items() <= set(observed)
        audit(folder, self.loop)
