"""Pictures are drawn by other processes while this one goes on to the next section."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from contextlib import ExitStack
from operator import call
from types import TracebackType
from typing import Self

from vbmle.experiments.compute import Workers, wait_for

Picture = Callable[[], None]
"""Draws one; it must be picklable."""

WORTH = 24
"""Pictures that processes of our own are worth: they take two seconds to start. Workers at hand get the first."""


class Drawing:
    """All pictures that are added are drawn when the block is left; those that a worker could not draw, by us."""

    def __init__(self, workers: Workers | None = None) -> None:
        self._workers = workers
        self._open = ExitStack()
        self._waiting: list[Picture] = []
        self._handed: dict[Future[None], Picture] = {}

    def add(self, picture: Picture) -> None:
        """Have it drawn, now or later."""
        self._waiting.append(picture)
        if self._workers and (self._workers.is_open or len(self._waiting) >= WORTH):
            if not self._handed:
                self._open.enter_context(self._workers)
            self._hand_over(self._workers)

    def _hand_over(self, workers: Workers) -> None:
        left = []
        for picture in self._waiting:
            future = workers.start(call, picture)
            if future is None:
                left.append(picture)
            else:
                self._handed[future] = picture
        self._waiting = left

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            for future in self._handed:
                future.cancel()
            self._open.__exit__(kind, error, trace)
            return
        with self._open:
            failed = [self._handed[done] for done in wait_for(self._handed) if done.exception() is not None]
        for picture in [*failed, *self._waiting]:
            picture()
