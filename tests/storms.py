"""Stories of the service in hostile weather: python tests/storms.py N [--seed S] [--only CASE] [--server]

In each, clients of 2 to 8 loops decide and observe at once, and one call of the system or a pair of them fails, is slow
or does half, at a point of the story that the case draws, until it heals. Afterwards every answered request has to be
in the log once and as it was answered, `vbmle check` has nothing to say, every decision is what the policy in force
says, the server starts again, and every loop goes on as a twin that is read from the first event.

With --every, one story is told once for each call that it makes on disk and for memory. With --server, it is a server
in a process of its own, with faults of connections, threads and children.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import errno
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from serving import Local, served
from weather import EVERY_KIND, ON_DISK, Fault, Faults, Kind, Mode, Retrying

from vbmle.common.validation import InputError
from vbmle.serve.check import examine
from vbmle.serve.event_log import StorageError
from vbmle.serve.service import Service

AGENTS = ("VBMLE", "MaximumLikelihood", "PSRL", "QLearning")
SNAPSHOT_EVERY = 15
STEPS = 8
LIMIT = 60.0
"""Seconds after which a story counts as hanging."""

HERE = (*ON_DISK, Kind.MEMORY, Kind.THREAD, Kind.CLOCK)
DECADE = 10 * 365 * 86400
SAID_EVERY = 50
MEMORY = Path("/dev/shm")


class Broken(AssertionError):
    """A promise was not kept."""


class Story(NamedTuple):
    """How many loops, which faults, and when: under load, or while the server starts again."""

    number: int
    loops: int
    faults: tuple[Fault, ...]
    at_start: bool
    cleanly: bool  # whether the server is closed in good order

    def __str__(self) -> str:
        when = "at the start" if self.at_start else "under load"
        return f"story {self.number}: {self.loops} loops, {when}: {' and '.join(map(str, self.faults))}"


Points = dict[bool, dict[Kind, int]]
"""How many calls of each kind there are in a part of a story with two loops: at the start, and under load."""


def drawn(number: int, seed: int, points: Points) -> Story:
    """A story of its own for each number."""
    rng = np.random.default_rng([seed, number])
    loops, at_start = int(rng.integers(2, 9)), bool(rng.random() < 0.25)
    kinds = [kind for kind in HERE if points[at_start].get(kind)]
    faults = []
    for _ in range(1 + int(rng.random() < 0.5)):
        kind = kinds[int(rng.integers(len(kinds)))]
        mode, value = EVERY_KIND[kind][int(rng.integers(len(EVERY_KIND[kind])))]
        if kind == Kind.CLOCK:
            value = int(rng.choice([-DECADE, DECADE]))
        count = int(rng.choice([1, 2, 5, 10**6]))
        faults.append(Fault(kind, mode, value, int(rng.integers(points[at_start][kind])), count))
    return Story(number, loops, tuple(faults), at_start, bool(rng.random() < 0.5))


async def load(local: Local, story: Story, steps: int, begin: int) -> list[Retrying]:
    """Clients of all loops at once, until each has made its steps."""
    clients = [Retrying(local, f"loop-{k}", 1000 * begin + k, steps) for k in range(story.loops)]
    for client in clients:
        client.prefix = f"{begin}-"
    async with asyncio.timeout(LIMIT):
        await asyncio.gather(*(client.go() for client in clients))
    return clients


class Healing(threading.Thread):
    """Heals a while after something has happened, apart from the event loop, which may have to wait."""

    def __init__(self, faults: Faults, after: float) -> None:
        super().__init__(daemon=True)
        self.faults, self.after, self.struck, self.over = faults, after, 0, threading.Event()

    def run(self) -> None:
        while not self.faults.fired:
            if self.over.wait(0.002):
                return
        self.over.wait(self.after)
        self.struck = self.faults.heal()

    def end(self) -> int:
        """Heal at last; how often something was struck."""
        self.over.set()
        self.join()
        return self.struck + self.faults.heal()


def tell(
    story: Story, folder: Path, faults: Faults, recorded: list[dict[Kind, int]] | None = None
) -> tuple[int, set[int]]:
    """The whole story; how often something was struck, and what clients were told meanwhile."""
    rng, struck = np.random.default_rng([7, story.number]), [0]
    all_clients: list[Retrying] = []

    async def first(service: Service) -> None:
        local = Local(service)
        for k in range(story.loops):
            await local.make(AGENTS[(story.number + k) % len(AGENTS)], f"loop-{k}")
        healing = Healing(faults, float(rng.uniform(0.0, 0.15)))
        healing.start()
        if not story.at_start:
            faults.set(*story.faults)
        before = faults.seen()
        all_clients.extend(await load(local, story, STEPS, 0))
        if recorded is not None and not story.at_start:
            recorded.append(difference(before, faults.seen()) | {Kind.CLOCK: 1})
        struck[0] = healing.end()
        async with asyncio.timeout(LIMIT):
            await local.rest()

    async def second(service: Service) -> None:
        all_clients.extend(await load(Local(service), story, 3, 1))
        async with asyncio.timeout(LIMIT):
            await Local(service).rest()

    run(folder, first, keep=story.cleanly)
    if story.at_start:
        faults.set(*story.faults)
        struck[0] = start_in(folder, faults, second, recorded)
    else:
        run(folder, second, keep=True)
    require_kept(folder, story, all_clients)
    return struck[0], set().union(*(client.statuses for client in all_clients))


def run(folder: Path, part: Any, keep: bool) -> None:
    """A service on the folder for one part of the story."""

    async def whole() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
        service = await Service.open(folder, snapshot_every=SNAPSHOT_EVERY)
        try:
            await part(service)
        finally:
            await service.close(keep=keep)

    asyncio.run(whole())


def difference(before: dict[Kind, int], after: dict[Kind, int]) -> dict[Kind, int]:
    """How many calls there were in between."""
    return {kind: after[kind] - before[kind] for kind in Kind}


def start_in(folder: Path, faults: Faults, part: Any, recorded: list[dict[Kind, int]] | None) -> int:
    """Start in the fault, which may be refused in one line that calls nothing damaged, and start when it has healed."""
    struck, before = 0, faults.seen()
    for _ in range(3):
        begun = False

        async def healing(service: Service) -> None:
            nonlocal begun, struck
            begun = True
            if recorded is not None:
                recorded.append(difference(before, faults.seen()))
            struck = faults.heal()
            await part(service)

        try:
            run(folder, healing, keep=True)
        except (InputError, StorageError, MemoryError, RuntimeError) as error:
            struck += faults.heal()
            if begun or (type(error) is RuntimeError and "thread" not in str(error)):
                raise
            if "damaged" in str(error):
                raise Broken(f"nothing is damaged, and it says: {error}") from error
            continue
        return struck
    raise Broken("the server does not start")


def require_kept(folder: Path, story: Story, clients: Sequence[Retrying]) -> None:
    """The promises."""
    told = set().union(*(client.statuses for client in clients))
    if told - {503, 507}:
        raise Broken(f"clients were told {sorted(told - {503, 507})}")
    found = examine(folder / "events.db").findings
    if found:
        raise Broken(f"vbmle check: {found[0].what}")
    for client in clients:
        client.require_kept(folder)
    twin = folder.with_name("twin")
    shutil.rmtree(twin, ignore_errors=True)
    shutil.copytree(folder, twin)
    shutil.rmtree(twin / "snapshots")

    async def asked(local: Local) -> list[tuple[int, int]]:
        await local.rest()
        answers = []
        for k in range(story.loops):
            for state in range(4):
                body = {"state": state, "request_id": f"next-{state}"}
                answer = (await local.post("decisions", body, f"loop-{k}")).body
                answers.append((answer["action"], answer["policy_version"]))
        return answers

    if served(folder, asked) != served(twin, asked):
        raise Broken("a loop goes on in another way than its twin")


@contextlib.contextmanager
def shared_memory() -> Iterator[Path]:
    """A folder in memory: nothing waits for a disk that the case did not slow down."""
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None, prefix="storms-") as made:
        yield Path(made)


def points_of(folder: Path, faults: Faults) -> Points:
    """How many calls of each kind are made where nothing happens."""
    recorded: list[dict[Kind, int]] = []
    # Calls for memory are counted only where one of them may fail.
    never = (Fault(Kind.MEMORY, Mode.FAILS, errno.ENOMEM, 10**12, 1),)
    for at_start in (False, True):
        shutil.rmtree(folder, ignore_errors=True)
        tell(Story(0, 2, never, at_start, True), folder, faults, recorded)
    return {False: recorded[0], True: recorded[1] | {Kind.CLOCK: 0}}


def every(points: Points) -> Iterator[Story]:
    """The same story, with each of its calls on disk and for memory failing once, and from there on until it heals."""
    number = 10**6
    for kind in (*ON_DISK, Kind.MEMORY):
        for after, at_start in [(n, part) for part in (False, True) for n in range(points[part][kind])]:
            mode, value = EVERY_KIND[kind][after % len(EVERY_KIND[kind])]
            number += 1
            yield Story(number, 2, (Fault(kind, mode, value, after, (1, 10**6)[after % 2]),), at_start, True)


class Tally:
    """What happened in all stories."""

    def __init__(self) -> None:
        self.stories, self.struck, self.pairs = 0, 0, 0
        self.broken: list[str] = []
        self.kinds: Counter[str] = Counter()
        self.points: set[tuple[Any, ...]] = set()
        self.began = time.monotonic()

    def tell(self, story: Story, folder: Path, faults: Faults) -> None:
        """One story, and what came of it."""
        shutil.rmtree(folder, ignore_errors=True)
        faults.about(folder)
        self.stories += 1
        try:
            struck, _ = tell(story, folder, faults)
        except Exception as error:
            faults.heal()
            self.broken.append(f"{story}: {type(error).__name__}: {' '.join(str(error).split())[:300]}")
            print(self.broken[-1], file=sys.stderr, flush=True)
            return
        self.struck += bool(struck)
        self.pairs += len(story.faults) == 2
        for fault in story.faults:
            self.kinds[fault.kind.name] += 1
            self.points.add((story.loops, story.at_start, *fault[:4]))
        if self.stories % SAID_EVERY == 0:
            print(self.line(), file=sys.stderr, flush=True)

    def line(self) -> str:
        """One line about it."""
        return (
            f"{self.stories} stories, {self.struck} struck, {self.pairs} with pairs, {len(self.points)} points, "
            f"{len(self.broken)} broken, {time.monotonic() - self.began:.0f} s"
        )


def inside(given: argparse.Namespace) -> int:
    """In the process whose calls fail."""
    logging.disable(logging.CRITICAL)
    faults, tally = Faults(Path(os.environ["VBMLE_FAULTS"])), Tally()
    with shared_memory() as made:
        folder = made / "folder"
        faults.about(folder)
        points = points_of(folder, faults)
        numbers = range(given.count) if given.only is None else (given.only,)
        stories: Iterator[Story] = (drawn(number, given.seed, points) for number in numbers)
        for story in every(points) if given.every else stories:
            tally.tell(story, folder, faults)
    print(tally.line())
    print(", ".join(f"{name} {count}" for name, count in sorted(tally.kinds.items())))
    return bool(tally.broken)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int)
    parser.add_argument("--every", action="store_true")
    parser.add_argument("--server", action="store_true")
    return parser.parse_args()


def main() -> None:
    """Tell the stories in a process of its own, with what makes calls fail loaded first."""
    given = arguments()
    if "VBMLE_FAULTS" in os.environ and not given.server:
        sys.exit(inside(given))
    with tempfile.TemporaryDirectory() as made:
        faults = Faults(Path(made) / "faults")
        environment = faults.environment(Faults.library(Path(made)))
        if given.server:
            from storms_of_servers import tell_all

            sys.exit(tell_all(given, faults, environment))
        done = subprocess.run([sys.executable, *sys.argv], env=environment)
        sys.exit(done.returncode)


if __name__ == "__main__":
    main()
