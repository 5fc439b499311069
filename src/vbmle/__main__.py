"""The command `vbmle`, also without the packages that it needs: then it says in one line which."""

from __future__ import annotations

import sys

from vbmle.common.extras import MissingExtra, require

BAD_INPUT = 2


def main() -> None:
    """Run the command line."""
    try:
        require("experiments")
    except MissingExtra as error:
        print(f"vbmle: {error}", file=sys.stderr)
        sys.exit(BAD_INPUT)
    from vbmle.cli import app

    app(prog_name="vbmle")


if __name__ == "__main__":
    main()
