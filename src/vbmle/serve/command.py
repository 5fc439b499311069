"""`vbmle serve`: its arguments, read without what the other commands need."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from vbmle.common.validation import InputError
from vbmle.terminal import one_line, say

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


def main(arguments: Sequence[str]) -> None:
    """Serve a folder until SIGTERM or Ctrl-C; where that cannot be, end with one line that says why."""
    with one_line():
        given = _parser().parse_args(arguments)
        from vbmle.serve.server import run

        run(given.folder, given.host, given.port, given.token_file, say)
