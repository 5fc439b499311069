"""The core's parts, for tests: the library that core/build.py puts beside the one that is loaded, and its binding."""

from pathlib import Path

from parts.generated import FUNCTIONS, INTERFACE
from vbmle.core import library


def load() -> library.Library:
    """The library of parts that belongs to the core in use."""
    core = Path(library.lib._name)
    path = core.with_stem(f"{core.stem}_parts")
    if not path.exists():
        raise ImportError(f"{path} is missing; build it with: make core")
    found = library.Library(path, FUNCTIONS)
    if found.vb_part_interface() != INTERFACE:
        raise ImportError(f"{path} was made from other headers; build it with: make core")
    return found


lib = load()
