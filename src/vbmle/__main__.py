"""The command `vbmle`, also without the packages that it needs: then it says in one line which."""

from __future__ import annotations

import sys

from vbmle.common.extras import require
from vbmle.terminal import one_line


def main() -> None:
    """Run the command line. `vbmle serve` and `vbmle check` do without what the other commands need."""
    if sys.argv[1:2] in (["serve"], ["check"]):
        from vbmle.serve import command

        {"serve": command.main, "check": command.check}[sys.argv[1]](sys.argv[2:])
        return
    with one_line():
        require("experiments")
    from vbmle.cli import app

    app(prog_name="vbmle")


if __name__ == "__main__":
    main()
