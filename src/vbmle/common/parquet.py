"""Parquet files that may come from anywhere, read by a process of its own.

The library that reads them (polars) ends its process on some damaged files, where Python would raise an error: a length
that bits were flipped in is asked of the memory, and there is no way to catch that. So a child reads them. It gets the
bytes, answers with the table as Arrow IPC, and may die; the next file gets a new one. What it may take of memory and of
time is bounded.
"""

from __future__ import annotations

import atexit
import io
import json
import os
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any, NamedTuple

from vbmle.common import messages

if TYPE_CHECKING:
    import polars

ALWAYS = 1 << 28
"""Bytes that the tables of any file may take."""
SWELL = 100
"""Beyond that, a table may take this many times the size of its file."""
LONGEST = 60.0
"""Seconds of processor time that reading one file may take."""
_WORK = 3  # times the size of a table that reading it needs: the columns, their copy, their bytes
_CHILD = "from vbmle.common import parquet; parquet.answer()"


class Content(NamedTuple):
    """What is in a file."""

    frame: polars.DataFrame
    metadata: dict[str, str]
    """What the writer noted, by key."""


class ParquetError(ValueError):
    """A file that cannot be read, and in one line why."""


def read(path: str | os.PathLike[str]) -> Content:
    """The table in a file and what its writer noted; ParquetError where it is damaged, OSError where it is missing."""
    with open(path, "rb") as file:
        content = file.read()
    with _reader.lock:
        metadata, table = _reader.ask(content)
    import polars

    return Content(polars.read_ipc(io.BytesIO(table)), metadata)


class _Reader:
    """The process that reads: started when it is first needed, and again after a file has ended it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def ask(self, content: bytes) -> tuple[dict[str, str], bytes]:
        """What was noted in a file, and its table as Arrow IPC."""
        process = self._process or self._start()
        self._process = None  # whatever happens now, half an answer is never read as the next one
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            messages.write(process.stdin, content)
            head, table = messages.read(process.stdout), messages.read(process.stdout)
        except OSError:
            head = table = None
        except BaseException:
            messages.end(process)
            raise
        if head is None or table is None:
            raise ParquetError(_epitaph(process))
        self._process = process
        found = json.loads(head)
        if "error" in found:
            raise ParquetError(found["error"])
        return found["metadata"], table

    def _start(self) -> subprocess.Popen[bytes]:
        """A child that is ready; it knows the same modules, is deaf to Ctrl-C and ends when this process does."""
        places = os.pathsep.join(place for place in sys.path if place)
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", _CHILD],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"PYTHONPATH": places, "POLARS_MAX_THREADS": "1"},
            start_new_session=True,
        )
        assert process.stdout is not None
        if messages.read(process.stdout) is None:
            messages.end(process)
            raise RuntimeError(
                f"the process that reads Parquet files did not start ({sys.executable}); try: "
                f'{sys.executable} -c "import polars"'
            )
        return process

    def close(self) -> None:
        """End the child, if there is one."""
        if self._process is not None:
            messages.end(self._process)
            self._process = None

    def forget(self) -> None:
        """In a process that was forked: the child is the parent's."""
        self.lock, self._process = threading.Lock(), None


_reader = _Reader()
atexit.register(_reader.close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reader.forget)


def _epitaph(process: subprocess.Popen[bytes]) -> str:
    code = messages.end(process)
    return (
        f"it is damaged, or its table would take more than {ALWAYS >> 20} MiB and {SWELL} times its size "
        f"or {LONGEST:.0f} seconds (the process that read it ended with {code})"
    )


def answer() -> None:
    """In the child: read what comes until nothing does."""
    import polars

    source, target = sys.stdin.buffer, sys.stdout.buffer
    bounds = _Bounds()
    messages.write(target, b"ready")
    while (content := messages.read(source)) is not None:
        bounds.put(len(content))
        head, table = _parse(polars, content)
        messages.write(target, json.dumps(head).encode())
        messages.write(target, table)


def _parse(polars: Any, content: bytes) -> tuple[dict[str, Any], bytes]:
    """The head of the answer, and the table in it."""
    try:
        metadata = polars.read_parquet_metadata(io.BytesIO(content))
        frame = polars.read_parquet(io.BytesIO(content))
        table = io.BytesIO()
        frame.write_ipc(table, compression="uncompressed")
    except BaseException as error:  # polars panics, and a panic is no Exception
        first = (str(error).splitlines() or [""])[0]
        return {"error": first or type(error).__name__}, b""
    return {"metadata": metadata}, table.getvalue()


class _Bounds:
    """What the child may take for a file: beyond it the system ends it. Nothing on systems without such bounds."""

    def __init__(self) -> None:
        try:
            with open("/proc/self/statm") as file:
                self._own = int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        except (OSError, ValueError):
            self._own = 0

    def put(self, size: int) -> None:
        """Bounds for a file of so many bytes."""
        if not self._own:
            return
        import resource
        import signal

        most = self._own + size + _WORK * max(ALWAYS, SWELL * size)
        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        resource.setrlimit(
            resource.RLIMIT_AS, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard)
        )
        signal.setitimer(signal.ITIMER_PROF, LONGEST)
