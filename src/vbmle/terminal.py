"""How a command speaks and ends: complaints in one line, and exit codes.

0 done; 1 some trials failed (named, the others kept); 2 bad input (one line that says what and where); 130 stopped by
Ctrl-C (what is complete is kept).
"""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Sequence
from typing import Any, cast

import typer
from typer.core import TyperGroup

from vbmle.common.extras import MissingExtra
from vbmle.experiments import InputError

FAILED, BAD_INPUT, INTERRUPTED = 1, 2, 130
FAILURES_SHOWN = 5

UsageError = cast(type[typer.BadParameter], typer.BadParameter.__base__)
"""What typer raises for arguments that do not fit; it has no public name there."""


class OneLine(TyperGroup):
    """Commands whose complaints about their input are one line."""

    def main(self, *args: Any, **extra: Any) -> Any:
        extra["standalone_mode"] = False
        try:
            code = super().main(*args, **extra)
        except UsageError as error:
            problem = error.format_message().rstrip(".")
            code = _complain(f"{problem} (see vbmle --help)")
        except (InputError, MissingExtra) as error:
            code = _complain(str(error))
        except typer.Abort:
            code = INTERRUPTED
        if code == INTERRUPTED:
            say("vbmle: interrupted; what is complete is kept, run again to go on")
            _ending.append(INTERRUPTED)
        sys.exit(code if isinstance(code, int) else 0)


def _complain(text: str) -> int:
    say("vbmle: " + " ".join(text.split()))
    return BAD_INPUT


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
        raise typer.Exit(FAILED)
