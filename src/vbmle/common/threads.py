"""Processes that are about to start: one thread each, and without the script that starts them.

On busy cores several BLAS threads make small linear algebra many times slower. A spawned process runs the main script
again, which a script without `if __name__ == "__main__"` does not survive; what we send to a process stands in modules,
unless it is a function of that script.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType

ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "VECLIB_MAXIMUM_THREADS": "1",
}
"""Environment variables, read when NumPy is first loaded: for processes that are about to start."""


@contextmanager
def main_only_for(function: Callable[..., object]) -> Iterator[None]:
    """Within this block a process that is spawned imports the main script only if the function stands there."""
    if function.__module__ == "__main__":
        yield
        return
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main
