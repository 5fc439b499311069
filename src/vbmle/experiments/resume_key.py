"""The resume rule: a record is kept while the code that made it decides its numbers as the code of now would.

The key is the version and a hash of the sources in DECIDING, with the core's C++ sources, or where there are none (an
installed package) the compiled library itself. What only looks at records or presents them (report, cli) is
not in it. Settings and seeds need not be: each record has them in a fingerprint of its own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGE = Path(__file__).parents[1]

DECIDING = (
    "common/validation.py",
    "core",
    "model",
    "planning",
    "estimation",
    "agents",
    "worlds",
    "simulation.py",
    "theory/hardness.py",
    "theory/lure.py",
    "theory/trace.py",
    "experiments/measures.py",
    "experiments/model_worlds.py",
    "experiments/playing.py",
    "experiments/world_measures.py",
)
"""Files and folders of the package that the numbers in a record depend on."""


@cache
def code_version(package: Path = PACKAGE) -> str:
    """The version, and a hash of all that decides numbers: records made by other code are not mixed with ours."""
    total = hashlib.sha256()
    for name, path in sorted({**dict(deciding_files(package)), **dict(core_files(package))}.items()):
        total.update(name.encode() + b"\0" + path.read_bytes() + b"\0")
    return f"{version_of('vbmle')}+{total.hexdigest()[:12]}"


def deciding_files(package: Path = PACKAGE) -> Iterator[tuple[str, Path]]:
    """The Python files of the key, by name."""
    for part in DECIDING:
        found = [package / part] if part.endswith(".py") else (package / part).rglob("*.py")
        yield from ((path.relative_to(package).as_posix(), path) for path in found)


def core_files(package: Path = PACKAGE) -> Iterator[tuple[str, Path]]:
    """The core's sources and how they are compiled, by name; the library where the sources are not there."""
    core = package.parents[1] / "core"
    if (core / "build.py").exists():
        found = [core / "build.py", *(core / "include").rglob("*.h"), *(core / "src").rglob("*.[ch]pp")]
        yield from ((f"core/{path.relative_to(core).as_posix()}", path) for path in found)
    else:
        yield from ((path.name, path) for path in (package / "core").glob("libvbmle.*"))


def version_of(package: str) -> str:
    """The version of a package, or the word unknown."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"
