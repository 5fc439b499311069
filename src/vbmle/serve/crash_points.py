"""The places where something is written to disk, by name, so that tests can stop the process at each of them.

`passing(POINT)` does nothing in service. With VBMLE_CRASH="POINT:N" in the environment the process kills itself
(SIGKILL) when it passes there for the Nth time, which is as sudden as a power cut to everything that runs in it.
"""

from __future__ import annotations

import os
import signal

POINTS = (
    "folder locked",
    "schema half made",
    "schema made",
    "batch begun",
    "batch inserted",
    "batch committed",
    "snapshot half written",
    "snapshot written aside",
    "snapshot in place",
    "old snapshot removed",
)

VARIABLE = "VBMLE_CRASH"
_wanted = os.environ.get(VARIABLE)  # looking it up takes longer than anything else at most points
_passed: dict[str, int] = {}


def passing(point: str) -> None:
    """Say that the process is at this point now."""
    if point not in POINTS:
        raise ValueError(f"point is {point!r}; it needs one of {', '.join(POINTS)}")
    if _wanted is None:
        return
    _passed[point] = _passed.get(point, 0) + 1
    if _wanted == f"{point}:{_passed[point]}":
        os.kill(os.getpid(), signal.SIGKILL)
