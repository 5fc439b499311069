"""Messages between a process and its child, through pipes: eight bytes with the length of the rest, and the rest."""

from __future__ import annotations

import struct
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
