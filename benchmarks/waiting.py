"""How long a person waits: for the import, the first answer, a finished sweep, and for Ctrl-C to take effect.

These are seconds on a clock, since that is what a person waits for; every other figure of the table is a ratio
or processor time.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from importlib.metadata import metadata
from pathlib import Path

from benchmarks.effort import Effort
from benchmarks.speed_table import Row, at_most
from benchmarks.walks import median
from vbmle.experiments import InputError, record_file

SECTION = "waiting"
COMMAND = [sys.executable, "-m", "vbmle"]
HEED = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
"""For a process that heeds interrupts even where the bench is a shell's background job, which ignores them."""
SPEC = """
trials = {trials}
horizon = 100

[worlds.river]
world = "riverswim"

[agents.MaximumLikelihood]
"""
FEW, MANY = 2, 2000  # trials: soon done, and more than are played before the signal


def measure(effort: Effort) -> list[Row]:
    """All of them, each the median of a few tries."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        figures = {
            ("import vbmle", "in a new interpreter", 0.25): [_imported() for _ in range(effort.tries)],
            ("the first answer", "the README's example, whole", 3.0): [
                _run([sys.executable, "-c", readme_example()]) for _ in range(effort.tries)
            ],
            ("a sweep with nothing left to do", "vbmle run again", 2.0): _finished(folder, effort.tries),
            ("Ctrl-C until all processes have ended", "vbmle run, 2 workers", 2.0): [
                _interrupted(folder / f"stopped{turn}") for turn in range(effort.tries)
            ],
        }
    return [
        Row(SECTION, what, case, median(seconds), "seconds", at_most(most), {"longest": max(seconds)})
        for (what, case, most), seconds in figures.items()
    ]


def readme_example() -> str:
    """The first program of the README, which an installed package carries as its description."""
    found = re.search(r"```python\n(.*?)```", str(metadata("vbmle").json["description"]), re.DOTALL)
    if found is None:
        raise RuntimeError("the package's description, its README, has no example in Python")
    return found.group(1)


def _imported() -> float:
    """What the import adds to the start of an interpreter."""
    code = "import time; begun = time.perf_counter(); import vbmle; print(time.perf_counter() - begun)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(done.stdout)


def _run(command: list[str]) -> float:
    begun = time.perf_counter()
    subprocess.run(command, capture_output=True, check=True)
    return time.perf_counter() - begun


def _finished(folder: Path, tries: int) -> list[float]:
    spec = folder / "short.toml"
    spec.write_text(SPEC.format(trials=FEW), encoding="utf-8")
    command = [*COMMAND, "run", str(spec), "--jobs", "2", "--out", str(folder / "done")]
    _run(command)
    return [_run(command) for _ in range(tries)]


def _interrupted(folder: Path) -> float:
    """Seconds from the signal to the end of the last process, its first record being there."""
    folder.mkdir()
    spec = folder / "long.toml"
    spec.write_text(SPEC.format(trials=MANY), encoding="utf-8")
    heedful = [sys.executable, "-c", f"{HEED}; from vbmle.__main__ import main; main()"]
    command = [*heedful, "run", str(spec), "--jobs", "2", "--out", str(folder)]
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        while process.poll() is None and not _has_records(folder):
            time.sleep(0.02)
        begun = time.perf_counter()
        os.killpg(process.pid, signal.SIGINT)
        if process.wait() != 130:
            raise RuntimeError(
                f"vbmle run ended with exit code {process.returncode} on an interrupt, not with 130"
            )
        while _has_processes(process.pid):
            time.sleep(0.01)
        return time.perf_counter() - begun
    finally:
        if _has_processes(process.pid):
            os.killpg(process.pid, signal.SIGKILL)


def _has_records(folder: Path) -> bool:
    """Whether the first record is on disk."""
    try:
        with record_file.reading(folder) as file:
            return bool(file.rows("long"))
    except InputError:  # there is no file yet, or it is being made
        return False


def _has_processes(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True
