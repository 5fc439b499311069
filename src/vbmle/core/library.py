"""Finds and loads the compiled core.

Two libraries come from the same sources on x86-64: one for every such processor, and one for wide vectors, which is
taken where the processor can run it. VBMLE_LIBRARY names another file in their place. The library that is taken answers
a few questions with known answers before anybody relies on it. Calls release the GIL.

What the core's functions take and return, its structs and its statuses are in `generated`, made from its headers.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
CHECKOUT = HERE.parents[2]
"""Where the sources of the core are, in a checkout; an installed package has none."""

ENDING = {"darwin": ".dylib", "win32": ".dll"}.get(sys.platform, ".so")
CHOSEN = "VBMLE_LIBRARY"


def _remedy(checkout: Path) -> str:
    """What to do where the core is missing, or is another one."""
    if (checkout / "core" / "build.py").exists():
        return "build it with: make core"
    return "install it with: pip install --force-reinstall --no-deps vbmle"


try:
    from vbmle.core.generated import FUNCTIONS, INTERFACE, vb_statuses
except ModuleNotFoundError as missing:
    raise ImportError(
        f"the binding of the compiled core, {missing.name}, is missing; {_remedy(CHECKOUT)}"
    ) from None


class Library(ctypes.CDLL):
    """A library whose functions are declared on first use, as the headers have them."""

    def __init__(self, path: Path, functions: Mapping[str, tuple[Any, list[Any]]]) -> None:
        super().__init__(str(path))
        self._functions = functions

    def __getattr__(self, name: str) -> Any:
        if name not in self._functions:
            raise AttributeError(f"the headers of the core have no function {name}")
        function = super().__getattr__(name)
        function.restype, function.argtypes = self._functions[name]
        return function


def load(folder: Path = HERE, checkout: Path = CHECKOUT) -> Library:
    """The library that VBMLE_LIBRARY names, or else the one in `folder` that suits this processor."""
    chosen = os.environ.get(CHOSEN)
    if chosen:
        library = _opened(Path(chosen), f"{CHOSEN} must name a library that core/build.py made")
        return _proved(library, f"{CHOSEN} must name one that another compiler built")
    remedy, other = _remedy(checkout), _other_compiler(checkout)
    path = folder / f"libvbmle{ENDING}"
    if is_stale(path, checkout):
        print(f"vbmle: the compiled core is older than its sources; {remedy}", file=sys.stderr, flush=True)
    baseline = _opened(path, remedy)
    wide = folder / f"libvbmle_wide{ENDING}"
    if not wide.exists() or not baseline.vb_runs_wide():
        return _proved(baseline, other)
    return _proved(_opened(wide, remedy), other)


def is_stale(library: Path, checkout: Path) -> bool:
    """Whether a source in the checkout, if this is one, is younger than the library."""
    try:
        made = library.stat().st_mtime_ns
    except OSError:
        return False
    folders = [str(checkout / "core" / name) for name in ("src", "include")]
    return any(when > made for folder in folders for when in _times(folder))


def _times(folder: str) -> Iterator[int]:
    """When each source below a folder was last changed."""
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return
    for entry in entries:
        if entry.is_dir():
            yield from _times(entry.path)
        elif entry.name.endswith((".cpp", ".hpp", ".h")):
            yield entry.stat().st_mtime_ns


def _opened(path: Path, remedy: str) -> Library:
    """The library at `path`, if it is there and was made from the headers that this package was made from."""
    if not path.exists():
        raise ImportError(f"the compiled core {path} is missing; {remedy}")
    try:
        found = Library(path, FUNCTIONS)
        speaks = found.vb_interface()
    except (OSError, AttributeError) as error:
        raise ImportError(f"the compiled core {path} does not load ({error}); {remedy}") from None
    if speaks != INTERFACE:
        told = f"speaks interface {speaks:016x}, and this package {INTERFACE:016x}"
        raise ImportError(f"the compiled core {path} {told}; {remedy}")
    return found


def _proved(library: Library, remedy: str) -> Library:
    """The library, if it knows a few answers: a compiler may compute something else than what is written."""
    wrong = library.vb_self_test()
    if wrong is None:
        return library
    who = f"the compiled core {library._name}, built by {_built_by(library)}"
    raise ImportError(f"{who}, computes {wrong.decode()} wrongly; {remedy}")


def _built_by(library: Library) -> str:
    return str(library.vb_built_by().decode())


def _other_compiler(checkout: Path) -> str:
    """What to do about a compiler that cannot be trusted."""
    if (checkout / "core" / "build.py").exists():
        return "build it with another compiler, as in: make clean; CXX=g++ make core"
    return (
        "install it with another compiler, as in: "
        "CXX=g++ pip install --force-reinstall --no-binary vbmle --no-deps vbmle"
    )


lib = load()


def built_by() -> str:
    """The compiler of the core, its version, and the processors that it was built for."""
    return _built_by(lib)


def status_text(status: int) -> str:
    """What a status of the core means, in words."""
    return str(lib.vb_status_text(status).decode())


OUT_OF_MEMORY = int(vb_statuses.VB_OUT_OF_MEMORY)
REFUSED = OUT_OF_MEMORY
"""Statuses from here on say that nothing was done."""


def check(status: int) -> None:
    """Raise what the status of a refused call says. Others say how a computation ended, and pass."""
    if status == OUT_OF_MEMORY:
        raise MemoryError(status_text(status))
    if status >= REFUSED:
        raise ValueError(status_text(status))
