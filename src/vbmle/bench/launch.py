"""How the table gets a process of its own: BLAS reads the number of its threads when NumPy is first loaded."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from vbmle.common.threads import ONE_THREAD
from vbmle.experiments import InputError

OTHERS = ("cvxpy", "clarabel", "quantecon", "mdpsolver", "uvicorn")
"""Packages that the table compares with, or measures, and that nothing else needs."""


def launch(folder: Path, quick: bool) -> int:
    """Run the bench in a new interpreter with one thread; returns its exit code."""
    missing = [name for name in OTHERS if find_spec(name) is None]
    if missing:
        raise InputError(f'the bench needs {", ".join(missing)}: pip install "vbmle[dev]", or run make bench')
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--out {folder} cannot be a folder: {error.strerror}") from None
    if not os.access(folder, os.W_OK):
        raise InputError(f"--out {folder} cannot be written to")
    command = [sys.executable, "-m", "vbmle.bench", str(folder), *(["--quick"] if quick else [])]
    return subprocess.run(command, env=os.environ | ONE_THREAD, check=False).returncode
