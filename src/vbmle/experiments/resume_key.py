"""The resume rule: a record is kept while the code that made it decides its numbers as the code of now would."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

BYSTANDERS = {"cli.py", "experiments", "report"}
"""Parts of the package that no number in a record depends on, but for MEASURES. (Seeds are checked themselves.)"""

MEASURES = Path("experiments/measures.py")


@cache
def code_version() -> str:
    """The version, and a hash of the sources: records made by other code are not mixed with ours."""
    root = Path(__file__).parents[1]
    total = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        part = path.relative_to(root)
        if part.parts[0] not in BYSTANDERS or part == MEASURES:
            total.update(part.as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return f"{version_of('vbmle')}+{total.hexdigest()[:12]}"


def version_of(package: str) -> str:
    """The version of a package, or the word unknown."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"
