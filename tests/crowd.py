"""Numbered cases in all cores: a case is the same whichever process makes it, so that any can be made again alone."""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")

LIMIT = 60.0  # seconds of processor time after which a case counts as hanging
EVERY = 10.0  # seconds between two lines of progress
_LENGTH = 200
_said: list[int] = []  # the file in which this process says what it is at


def spread(
    work: Callable[[Task], Result], tasks: Iterable[Task], what: str, processes: int | None = None
) -> Iterator[Result]:
    """The results of all tasks, in their order, and now and then a line about how far it is."""
    waiting, begun = list(tasks), time.monotonic()
    said, count = begun, processes or os.cpu_count() or 1
    with (
        tempfile.TemporaryDirectory(prefix="cases-") as folder,
        ProcessPoolExecutor(count, get_context("spawn"), _begin, (folder,)) as pool,
    ):
        try:
            for number, result in enumerate(pool.map(work, waiting), 1):
                if time.monotonic() > said + EVERY or number == len(waiting):
                    said = time.monotonic()
                    print(f"{what}: {number / len(waiting):.0%} in {said - begun:.0f} s", file=sys.stderr)
                yield result
        except BrokenProcessPool:
            cases = sorted(path.read_text().strip() for path in Path(folder).iterdir())
            sys.exit(f"{what}: a process has died; it was at one of these: {'; '.join(filter(None, cases))}")


def _begin(folder: str) -> None:
    faulthandler.enable()
    faulthandler.register(signal.SIGPROF, chain=True)
    _said.append(os.open(Path(folder) / str(os.getpid()), os.O_WRONLY | os.O_CREAT, 0o600))


@contextmanager
def limited(case: str) -> Iterator[None]:
    """A case that may take so much processor time and no more: a process of a pool that hangs says where, and ends."""
    if not _said:
        yield
        return
    os.pwrite(_said[0], case.encode()[:_LENGTH].ljust(_LENGTH), 0)
    signal.setitimer(signal.ITIMER_PROF, LIMIT)
    yield
    signal.setitimer(signal.ITIMER_PROF, 0.0)
