"""The resume rule: a record is kept while the code that made it decides its numbers as the code of now would.

The key is the version and a hash of the sources in DECIDING, with the core's sources, or where there are none (an
installed package) the compiled library itself. No comment, docstring or blank line is in it, and neither is what only
looks at records or presents them (report, cli). Settings and seeds need not be: each record has them in a key of
its own (`Trial.key`). Another minor version of Python is other code: one may read a source or add numbers otherwise.
"""

from __future__ import annotations

import ast
import hashlib
import re
import sys
from collections.abc import Iterator
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGE = Path(__file__).parents[1]

DECIDING = (
    "common/keeper.py",
    "common/stated.py",
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
    "experiments/continuing.py",
    "experiments/measures.py",
    "experiments/model_worlds.py",
    "experiments/playing.py",
    "experiments/world_measures.py",
)
"""Files and folders of the package that the numbers in a record depend on."""

COMMENT = re.compile(r"""("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|//[^\n]*|/\*.*?\*/""", re.DOTALL)
"""A comment of C or C++, or, as a group, a literal: what looks like a comment there is none."""


@cache
def code_version(package: Path = PACKAGE) -> str:
    """The version, and a hash of all that decides numbers: records made by other code are not mixed with ours."""
    total = hashlib.sha256(repr(sys.version_info[:2]).encode())
    for name, path in sorted({**dict(deciding_files(package)), **dict(core_files(package))}.items()):
        total.update(name.encode() + b"\0" + substance(path) + b"\0")
    return f"{version_of('vbmle')}+{total.hexdigest()[:12]}"


def substance(path: Path) -> bytes:
    """Of a source its meaning, without comments and layout; of any other file all of it."""
    if path.suffix == ".py":
        tree = ast.parse(path.read_bytes())
        _drop_texts(tree)
        return ast.dump(tree).encode()
    if path.suffix in (".h", ".hpp", ".cpp"):
        return _without_comments(path.read_text(encoding="utf-8")).encode()
    return path.read_bytes()


def _drop_texts(block: ast.AST) -> None:
    """Take docstrings, of attributes too, out of a module, class or function, and all within."""
    body = getattr(block, "body", None)
    if isinstance(body, list):
        for inner in body:
            _drop_texts(inner)
        body[:] = [inner for inner in body if not _is_text(inner)]


def _is_text(statement: ast.AST) -> bool:
    value = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def _without_comments(text: str) -> str:
    """Of C or C++: lines that say something, with single blanks."""
    told = COMMENT.sub(lambda found: found[1] or " ", text)
    lines = (" ".join(line.split()) for line in told.splitlines())
    return "\n".join(line for line in lines if line)


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
