"""How a command speaks and ends: complaints in one line, and exit codes.

0 done; 1 some trials failed (named, the others kept); 2 bad input (one line that says what and where); 130 stopped by
Ctrl-C (what is complete is kept).
"""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from vbmle.common.extras import MissingExtra
from vbmle.common.validation import InputError

FAILED, BAD_INPUT, INTERRUPTED = 1, 2, 130
FAILURES_SHOWN = 5


@contextmanager
def one_line() -> Iterator[None]:
    """Where a command cannot go on, end it with one line that says why, and with the code for that."""
    try:
        yield
    except (InputError, MissingExtra) as error:
        say("vbmle: " + " ".join(str(error).split()))
        sys.exit(BAD_INPUT)
    except KeyboardInterrupt:
        say("vbmle: interrupted; what is complete is kept, run again to go on")
        _ending.append(INTERRUPTED)
        sys.exit(INTERRUPTED)


_ending: list[int] = []


@atexit.register
def _leave() -> None:
    """After an interrupt, end here: on a busy machine the interpreter takes seconds to take itself apart.

    Registered before any pool is imported, so that this comes last of what is done at exit.
    """
    if _ending:
        sys.stdout.flush()
        os._exit(_ending[0])


def say(line: str) -> None:
    """A line for the person at the terminal; stdout is for results."""
    print(line, file=sys.stderr, flush=True)


def name_failures(failures: Sequence[str]) -> None:
    """Say what failed, if anything did, and end with the code for it."""
    for failure in failures[:FAILURES_SHOWN]:
        say(f"vbmle: {failure}")
    if failures:
        more = len(failures) - FAILURES_SHOWN
        say(f"vbmle: {len(failures)} trials failed{f', {more} more than shown' if more > 0 else ''}")
        sys.exit(FAILED)
