"""A note that all is done, so that a run with nothing to do ends at once.

`finished.json` says which experiments, by which code, and the size and time of every record and of the page. While all
of that is as it was, no record is read and no page is made again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from vbmle.common.files import whole_or_absent
from vbmle.experiments.resume_key import PACKAGE, code_version
from vbmle.experiments.spec import Experiment

NOTE_FILE = "finished.json"
PAGE_FILE = "report.html"


def is_finished(folder: Path, experiments: Sequence[Experiment]) -> bool:
    """Whether the note is there, and still true."""
    try:
        return bool(json.loads((folder / NOTE_FILE).read_bytes()) == _state(folder, experiments))
    except (OSError, ValueError):
        return False


def note(folder: Path, experiments: Sequence[Experiment]) -> None:
    """Write down that every trial has its record and the page shows them; a folder that cannot be written is left."""
    try:
        with whole_or_absent(folder / NOTE_FILE) as aside:
            aside.write_text(json.dumps(_state(folder, experiments)))
    except OSError:
        return


def _state(folder: Path, experiments: Sequence[Experiment]) -> dict[str, Any]:
    files = [folder / PAGE_FILE, *sorted((folder / "records").rglob("*.*"))]
    seen = [[path.relative_to(folder).as_posix(), *_size_and_time(path)] for path in files if path.is_file()]
    return {
        "experiments": [experiment.digest() for experiment in experiments],
        "code": code_version(),
        "page": _page_code(),
        "files": hashlib.sha256(json.dumps(seen).encode()).hexdigest(),
        "is_complete": (folder / PAGE_FILE).is_file(),
    }


def _size_and_time(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_size, 0 if path.name == "experiment.json" else found.st_mtime_ns


def _page_code() -> str:
    """A hash of what makes the page."""
    total = hashlib.sha256()
    for path in sorted((PACKAGE / "report").rglob("*.*")):
        if path.suffix in (".py", ".css", ".js", ".html"):
            total.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return total.hexdigest()[:16]
