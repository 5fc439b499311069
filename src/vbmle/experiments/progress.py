"""How a run is shown: bars on a terminal, one bar in a notebook, a few lines elsewhere.

What is no notebook's goes to stderr; results go to stdout.
"""

from __future__ import annotations

import html
import sys
from contextlib import AbstractContextManager, nullcontext
from time import monotonic
from types import TracebackType
from typing import Any, Self, TextIO

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
)
from rich.progress import TimeRemainingColumn as Remaining
from rich.text import Text

QUIET_SECONDS = 20.0
"""Time between two lines when nobody watches."""

NOTEBOOK_SECONDS = 0.3
"""Time between two pictures of the bar in a notebook."""


class Bars:
    """A bar for every agent, with its rate and the time that remains."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True)
        self._progress: Progress | None = None
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def say(self, line: str) -> None:
        self._console.print(line, markup=False, highlight=False, soft_wrap=True)

    def begin(self, name: str, totals: dict[str, int], done: dict[str, int]) -> None:
        self._stop()  # the bars of the experiment before stay where they are
        self.say(name)
        columns = [TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), _Rate()]
        self._progress = Progress(*columns, Remaining(compact=True), console=self._console)
        self._progress.start()
        for agent, total in totals.items():
            self._tasks[agent] = self._progress.add_task(agent, total=total, completed=done[agent])

    def finished(self, agent: str) -> None:
        if self._progress is not None:
            self._progress.advance(self._tasks[agent])

    def _stop(self) -> None:
        if self._progress is not None:
            self._progress.stop()


class Lines:
    """A line now and then."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._name, self._left, self._total, self._last = "", 0, 0, monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def say(self, line: str) -> None:
        print(line, file=self._stream, flush=True)

    def begin(self, name: str, totals: dict[str, int], done: dict[str, int]) -> None:
        self._name = name
        self._total = sum(totals.values())
        self._left = self._total - sum(done.values())
        self.say(f"{name}: running {self._left} of {self._total} trials")
        self._last = monotonic()

    def finished(self, agent: str) -> None:
        self._left -= 1
        if monotonic() - self._last >= QUIET_SECONDS:
            self.say(f"{self._name}: {self._total - self._left} of {self._total} trials done")
            self._last = monotonic()


class NotebookBar:
    """One line of HTML in the cell that is running, written over and over."""

    def __init__(self) -> None:
        self._name, self._done, self._total, self._last = "", 0, 0, monotonic()
        self._shown: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown is not None:
            self._show()

    def say(self, line: str) -> None:
        print(line, flush=True)

    def begin(self, name: str, totals: dict[str, int], done: dict[str, int]) -> None:
        self._name, self._total, self._done = name, sum(totals.values()), sum(done.values())
        self._show()

    def finished(self, agent: str) -> None:
        self._done += 1
        if monotonic() - self._last >= NOTEBOOK_SECONDS:
            self._show()

    def _show(self) -> None:
        from IPython.display import display

        self._last = monotonic()
        text = f"{self._name}: {self._done} of {self._total} trials"
        bar = f'<progress value="{self._done}" max="{self._total}"></progress> {html.escape(text)}'
        content = {"text/plain": text, "text/html": bar}
        if self._shown is None:
            self._shown = display(content, raw=True, display_id=True)
        else:
            self._shown.update(content, raw=True)


class _Rate(ProgressColumn):
    """Trials per second, or seconds per trial where they are long."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        if not speed:
            return Text("")
        return Text(f"{speed:.1f} trials/s" if speed >= 1.0 else f"{1.0 / speed:.1f} s/trial")


def in_notebook() -> bool:
    """Whether a kernel runs this, whose output is a cell."""
    shell = sys.modules.get("IPython")
    running = shell.get_ipython() if shell else None
    return running is not None and hasattr(running, "kernel")


def watch() -> Bars | Lines | NotebookBar:
    """What suits where the output goes."""
    if in_notebook():
        return NotebookBar()
    return Bars() if sys.stderr.isatty() else Lines()


def busy(text: str) -> AbstractContextManager[object]:
    """Say on a terminal that something goes on; elsewhere nothing."""
    return Console(stderr=True).status(text) if sys.stderr.isatty() else nullcontext()
