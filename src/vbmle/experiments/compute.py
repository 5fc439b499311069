"""Where trials run. `concurrent.futures.Executor` is the seam: anything that opens one can do the work.

At home that is a process pool; on a cluster see `vbmle.experiments.cluster`. A process pool breaks as a whole
when one worker is killed, so what was in flight is then tried again one by one in a new pool, where a task that
kills its worker can be told from the bystanders.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from itertools import islice
from types import TracebackType
from typing import Self, TypeVar

from vbmle.common.threads import ONE_THREAD, main_only_for

Task = TypeVar("Task")
Result = TypeVar("Result")

TRIES_ALONE = 2
"""How often a task may kill a worker that has nothing else to do."""

NAP = 0.2
"""Seconds after which a waiting parent looks up."""

BREAKS_IN_A_ROW = 6
"""Pools that break without finishing anything before the rest is given up."""


class Lost:
    """Stands for the result of a task whose worker died, or whose result did not come back."""

    def __init__(self, reason: BaseException | None = None) -> None:
        died = "its worker process died, again and again (out of memory?)"
        self.message = f"{type(reason).__name__}: {reason}" if reason else died


class PoolGone(Exception):
    """The pool went away with all its tasks: the scheduler of a cluster was stopped."""


def processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def ends_at_once() -> Iterator[None]:
    """Within this block Ctrl-C ends the process on the spot: a long call of the core would not let Python see it."""
    main = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGINT, signal.SIG_DFL) if main else None
    try:
        yield
    finally:
        if main:
            signal.signal(signal.SIGINT, before)


class Workers:
    """A pool that is opened again when it breaks, and whose processes are gone when the (outermost) block is left.

    `open_pool` makes the executor; by default a pool of `jobs` processes, one BLAS thread each.
    """

    def __init__(self, jobs: int, open_pool: Callable[[], Executor] | None = None) -> None:
        self.jobs = jobs
        self._open_pool = open_pool or (lambda: _process_pool(jobs))
        self._blocks = 0

    @property
    def is_open(self) -> bool:
        """Whether there is a pool: within a block."""
        return self._blocks > 0

    def __enter__(self) -> Self:
        self._blocks += 1
        if self._blocks > 1:
            return self
        self._environment = {name: os.environ.get(name) for name in ONE_THREAD}
        os.environ.update(ONE_THREAD)  # processes read it when they start
        self._bystanders = set(multiprocessing.active_children())
        self._pool = self._open_pool()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._blocks -= 1
        if self._blocks:
            return
        if kind is not None:
            self._kill()
        self._pool.shutdown(wait=kind is None, cancel_futures=True)
        for name, value in self._environment.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value

    def results(
        self, function: Callable[[Task], Result], tasks: Iterable[Task], at_once: int | None = None
    ) -> Iterator[tuple[Task, Result | Lost]]:
        """Each task with its result, in the order in which they finish; tasks are taken as there is room for them."""
        coming, waiting, suspects, breaks = iter(tasks), deque[Task](), deque[Task](), 0
        window = at_once or 2 * self.jobs  # one that runs and one that waits for every worker
        running: dict[Future[Result], Task] = {}
        while True:
            waiting.extend(islice(coming, window - len(waiting)))
            if not waiting and not running:
                break
            broken = self._submit(function, waiting, running, window)
            for future in _finished(running):
                if future.cancelled():
                    raise PoolGone
                error = future.exception()
                if isinstance(error, BrokenExecutor):
                    broken = True
                    continue
                breaks = 0
                yield running.pop(future), Lost(error) if error else future.result()
            if broken:
                breaks += 1
                suspects.extend(running.values())
                running.clear()
                self._reopen()
                if breaks >= BREAKS_IN_A_ROW:
                    suspects.extend([*waiting, *coming])
                    yield from ((task, Lost()) for task in suspects)
                    return
        for task in suspects:
            yield task, self._alone(function, task)

    def start(self, function: Callable[[Task], Result], task: Task) -> Future[Result] | None:
        """Hand over one task, to be waited for by `wait_for`; None if the pool turned out to be broken."""
        try:
            return self._hand_over(function, task)
        except BrokenExecutor:
            return None

    def _submit(
        self,
        function: Callable[[Task], Result],
        waiting: deque[Task],
        running: dict[Future[Result], Task],
        window: int,
    ) -> bool:
        """Fill the window; True if the pool turned out to be broken."""
        while waiting and len(running) < window:
            try:
                running[self._hand_over(function, waiting[0])] = waiting[0]
            except BrokenExecutor:
                return True
            waiting.popleft()
        return False

    def _alone(self, function: Callable[[Task], Result], task: Task) -> Result | Lost:
        for _ in range(TRIES_ALONE):
            try:
                return next(iter(_finished([self._hand_over(function, task)]))).result()
            except BrokenExecutor:
                self._reopen()
        return Lost()

    def _hand_over(self, function: Callable[[Task], Result], task: Task) -> Future[Result]:
        """Submit, which may start a process: that inherits the mask, and leaves Ctrl-C to us from its first moment."""
        if not hasattr(signal, "pthread_sigmask"):
            with main_only_for(function):
                return self._pool.submit(function, task)
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            with main_only_for(function):
                return self._pool.submit(function, task)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)  # one that came meanwhile arrives now

    def _reopen(self) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._pool = self._open_pool()

    def _kill(self) -> None:
        """End the worker processes now: their results are no longer needed."""
        for process in set(multiprocessing.active_children()) - self._bystanders:
            process.kill()


def _finished(running: Iterable[Future[Result]]) -> set[Future[Result]]:
    """Wait until at least one is done.

    In short naps: a Ctrl-C that the system hands to another thread does not wake this one, which alone acts on it.
    """
    running = list(running)
    finished: set[Future[Result]] = set()
    while running and not finished:
        finished, _ = wait(running, timeout=NAP, return_when=FIRST_COMPLETED)
    return finished


def wait_for(futures: Iterable[Future[Result]]) -> list[Future[Result]]:
    """Wait until all are done, in naps as well; returns them."""
    waiting = list(futures)
    while not all(future.done() for future in waiting):
        wait(waiting, timeout=NAP)
    return waiting


def _process_pool(jobs: int) -> ProcessPoolExecutor:
    # Spawned, not forked: a copy of a process that has threads (BLAS, polars) may hang.
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(jobs, mp_context=context, initializer=_start_worker)


def _start_worker() -> None:
    """Leave Ctrl-C to the parent, and do not outlive it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_die_with_parent, daemon=True).start()


def _die_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
