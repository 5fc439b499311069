"""Messages between a process and its child, through pipes: eight bytes with the length of the rest, and the rest."""

from __future__ import annotations

import struct
import subprocess
from contextlib import suppress
from typing import IO

LENGTH = struct.Struct(">Q")


def write(pipe: IO[bytes], content: bytes) -> None:
    """Send a message."""
    pipe.write(LENGTH.pack(len(content)))
    pipe.write(content)
    pipe.flush()


def read(pipe: IO[bytes]) -> bytes | None:
    """The next message; None where there is no other."""
    head = pipe.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    (size,) = LENGTH.unpack(head)
    content = pipe.read(size)
    return content if len(content) == size else None


def end(process: subprocess.Popen[bytes]) -> int:
    """End the child, if it has not ended by itself, and let go of its pipes; how it ended."""
    process.kill()
    code = process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError):  # what was not sent is of no use any more
                pipe.close()
    return code
