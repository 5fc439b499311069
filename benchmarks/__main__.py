"""python -m benchmarks DIR [--quick] [--surface]: what `vbmle bench` starts, in an interpreter with one thread."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from vbmle.common.validation import InputError
from vbmle.terminal import INTERRUPTED, one_line

OTHERS = ("cvxpy", "clarabel", "quantecon", "mdpsolver", "uvicorn")
"""Packages that the table compares with, or measures, and that nothing else needs."""


def require(folder: Path, packages: Sequence[str] = OTHERS) -> None:
    """Say what is missing before anything is measured."""
    missing = [name for name in packages if find_spec(name) is None]
    if missing:
        raise InputError(f'the bench needs {", ".join(missing)}: pip install "vbmle[dev]", or run make bench')
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--out {folder} cannot be a folder: {error.strerror}") from None
    if not os.access(folder, os.W_OK):
        raise InputError(f"--out {folder} cannot be written to")


def main(folder: Path, quick: bool, surface: bool = False) -> None:
    """Measure everything, or what a decision costs over sizes of models, where nothing is missing."""
    with one_line():
        require(folder, ("matplotlib",) if surface else OTHERS)
    if surface:
        from benchmarks.surface import run
    else:
        from benchmarks.runner import run  # type: ignore[assignment]

    try:
        run(folder, quick)
    except KeyboardInterrupt:  # whoever started this says so
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main(Path(sys.argv[1]), quick="--quick" in sys.argv[2:], surface="--surface" in sys.argv[2:])
