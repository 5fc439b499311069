"""`vbmle serve`: its arguments, read without what the other commands need."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from vbmle.common import extras
from vbmle.common.validation import InputError
from vbmle.terminal import FAILED, one_line, say

ABOUT = "Serve decisions over HTTP, durably; the page at its address says what to do next."


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise InputError(f"{message} (see {self.prog} --help)")

    def format_help(self) -> str:
        """As the help of the other commands begins."""
        return super().format_help().replace("usage:", "Usage:", 1)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser("vbmle serve", description=ABOUT)
    parser.add_argument(
        "folder", metavar="FOLDER", type=Path, help="Where everything is kept; made if missing."
    )
    parser.add_argument(
        "--host", metavar="H", default="127.0.0.1", help="Where to listen; other machines need a token."
    )
    parser.add_argument("--port", metavar="N", type=int, default=8417, help="The port; 0 takes any free one.")
    parser.add_argument(
        "--token-file", metavar="F", type=Path, help="A file with the token that every request must bring."
    )
    return parser


ABOUT_CHECKING = (
    "Say whether the events of a server's folder are as they were written, and mend what can be mended."
)


def _parser_of_checks() -> argparse.ArgumentParser:
    parser = _Parser("vbmle check", description=ABOUT_CHECKING)
    parser.add_argument("folder", metavar="FOLDER", type=Path, help="The folder of a server.")
    parser.add_argument(
        "--mend", action="store_true", help="Mend it, if there is one way to; the original is kept beside it."
    )
    return parser


def check(arguments: Sequence[str]) -> None:
    """Say what is wrong with the database of a folder; ends with 1 where something is, and was not mended."""
    with one_line():
        given = _parser_of_checks().parse_args(arguments)
        extras.require("serve")
        from vbmle.serve.check import examine
        from vbmle.serve.mending import mend

        database, kept = given.folder / "events.db", None
        if not database.is_file():
            raise InputError(f"there is no {database}; give the folder of a server")
        store, kept = mend(given.folder) if given.mend else (examine(database), None)
        events = sum(len(rows) for rows in store.loops.values())
        for finding in store.findings:
            print(
                finding.what
                + ("" if finding.mended else " (it stays so)" if finding.odd else " (cannot be mended)")
            )
        if store.sound:
            print(
                f"{database} is sound: {events} events of {len(store.loops)} loops, {len(store.models)} models"
            )
        elif kept is not None:
            print(f"{database} is mended, with {events} events; as it was, it is in {kept}")
        elif store.mendable:
            print(f"all of it can be mended, and the original is kept: vbmle check {given.folder} --mend")
        else:
            print(f"{database} stays as it is; restore your last backup of the folder")
        if not store.sound and kept is None:
            sys.exit(FAILED)


def main(arguments: Sequence[str]) -> None:
    """Serve a folder until SIGTERM or Ctrl-C; where that cannot be, end with one line that says why."""
    with one_line():
        given = _parser().parse_args(arguments)
        from vbmle.serve.server import run

        run(given.folder, given.host, given.port, given.token_file, say)
