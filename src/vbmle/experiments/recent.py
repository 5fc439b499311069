"""Records that this process wrote itself: the report that follows a run need not read thousands of files again."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vbmle.experiments.records import Record
    from vbmle.experiments.spec import Trial

MOST_BYTES = 400_000_000
"""Of columns that are kept; what comes after is read from its file."""

Signature = tuple[int, int, int]


@dataclass
class Recent:
    """By file: the record in it, while the file is as it was written."""

    bytes: int = 0
    _known: dict[Path, tuple[Signature, str, Record]] = field(default_factory=dict)

    def add(self, path: Path, code: str, record: Record) -> None:
        """A record that `code` has made and that is now in a file."""
        size = sum(column.nbytes for column in record.columns.values())
        if self.bytes + size <= MOST_BYTES:
            self.bytes += size
            self._known[path] = _signature(path), code, record

    def get(self, path: Path, code: str, trial: Trial) -> Record | None:
        """The record of that trial; None where it was not written here, or its file has been changed since."""
        signature, by, record = self._known.get(path, (None, "", None))
        if record is None or (by, record.trial) != (code, trial):
            return None
        try:
            return record if _signature(path) == signature else None
        except OSError:
            return None


def _signature(path: Path) -> Signature:
    found = path.stat()
    return found.st_size, found.st_mtime_ns, found.st_ino
