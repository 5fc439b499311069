"""Who goes first where there is more to do than there are cores: what answers requests, before what looks at agents.

A process may be made to wait, but no thread of the server: one that waits for a core while it holds the interpreter
would keep the event loop waiting too.
"""

from __future__ import annotations

import os

LOWER = 10
"""Added to the nice value: where cores are short, a tenth of the time that an equal would get."""

LEAST = 19


def lower_process(pid: int) -> None:
    """Let a process wait for others."""
    usual = os.getpriority(os.PRIO_PROCESS, pid)
    os.setpriority(os.PRIO_PROCESS, pid, min(usual + LOWER, LEAST))
