"""The border to the compiled core: finds and loads it, and carries memory across, its arrays as NumPy's and NumPy's as
its.

Two libraries come from the same sources on x86-64: one for every such processor, and one for wide vectors, which is
taken where the processor can run it. VBMLE_LIBRARY names another file in their place. The library that is taken answers
a few questions with known answers before anybody relies on it. Calls release the GIL.

What its functions take and return, its structs and its statuses are in `generated`, made from its headers; the
constants of its solvers, from core/src/common/tuning.hpp, are in TUNING.
"""

from __future__ import annotations

import ctypes
import math
import os
import sys
from collections.abc import Iterator, Mapping
from ctypes import addressof, byref, c_char, c_void_p
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

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


def give_seconds(seconds: float) -> None:
    """Give the calls of this thread so many seconds from now on; infinity ends that."""
    lib.vb_give_seconds(seconds)


def time_is_up() -> bool:
    """Whether they have passed: then what is iterated has ended with what it had."""
    return bool(lib.vb_time_is_up())


OUT_OF_MEMORY = int(vb_statuses.VB_OUT_OF_MEMORY)
REFUSED = OUT_OF_MEMORY
"""Statuses from here on say that nothing was done."""


def check(status: int) -> None:
    """Raise what the status of a refused call says. Others say how a computation ended, and pass."""
    if status == OUT_OF_MEMORY:
        raise MemoryError(status_text(status))
    if status >= REFUSED:
        raise ValueError(status_text(status))


@dataclass(frozen=True)
class Constant:
    """A number that was chosen: its value, what it is counted in, and what happens at it."""

    value: float
    unit: str
    meaning: str


def _rows() -> Iterator[tuple[str, Constant]]:
    for k in count():
        name = lib.vb_constant_name(k)
        if name is None:
            return
        unit, meaning = lib.vb_constant_unit(k).decode(), lib.vb_constant_meaning(k).decode()
        yield name.decode(), Constant(lib.vb_constant_value(k), unit, meaning)


TUNING: dict[str, Constant] = dict(_rows())
"""Every constant by its name."""


Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_FLOAT, _INT, _SHORT = np.dtype(np.float64), np.dtype(np.int64), np.dtype(np.int32)
_first: Any = c_char.from_buffer


class Handle:
    """One object of the core, freed when it goes.

    Arrays in its memory hold this, never the class that holds the arrays: NumPy's arrays take no part in garbage
    collection, so that such a circle would never be freed.
    """

    __slots__ = ("_free", "_kept", "_kind", "_library", "address")

    def __init__(
        self, kind: str, kept: object, *arguments: Any, library: Any = lib, how: str = "new"
    ) -> None:
        """`vb_<kind>_<how>(*arguments, out)` makes it; `kept` is what it uses and must outlive it."""
        self.address: int | None = None
        self._kind, self._library = kind, library
        made = c_void_p()
        check(getattr(library, f"vb_{kind}_{how}")(*arguments, byref(made)))
        self._free = getattr(library, f"vb_{kind}_free")
        self.address, self._kept = made.value, kept

    def __del__(self) -> None:
        if self.address:
            self._free(self.address)

    def look(self, view: Any) -> Any:
        """Fill a `vb_<kind>_view` with where its memory lies, and return it."""
        check(getattr(self._library, f"vb_{self._kind}_look")(self.address, view))
        return view

    def arrays(self, view: Any, **shapes: tuple[int, ...]) -> dict[str, NDArray[Any]]:
        """The arrays of a view, by name. They keep the object alive, and writing them writes the core's memory."""
        return {name: self._array(view, name, shape) for name, shape in shapes.items()}

    def _array(self, view: Any, name: str, shape: tuple[int, ...]) -> NDArray[Any]:
        kind, count = np.dtype(view.arrays[name]), math.prod(shape)
        if count == 0:
            return np.zeros(shape, kind)
        buffer = (c_char * (count * kind.itemsize)).from_address(getattr(view, name))
        buffer.owner = self
        return np.frombuffer(buffer, kind).reshape(shape)


class Stateful:
    """An object of the core whose state is arrays in its memory, by name: all that its next call depends on."""

    _state: dict[str, NDArray[Any]]

    def snapshot(self) -> dict[str, NDArray[Any]]:
        """What `restore` continues from: copies."""
        return {name: array.copy() for name, array in self._state.items()}

    def restore(self, snapshot: dict[str, NDArray[Any]]) -> None:
        """Continue from a snapshot of such an object on the same model."""
        for name, array in self._state.items():
            array[...] = snapshot[name]


def floats(array: Floats, *shape: int) -> int:
    """The address of a contiguous array of doubles; with a shape, that shape is required."""
    return _address(array, _FLOAT, shape)


def ints(array: Ints, *shape: int) -> int:
    """The address of a contiguous array of 64-bit whole numbers."""
    return _address(array, _INT, shape)


def short_ints(array: NDArray[np.int32], *shape: int) -> int:
    """The address of a contiguous array of 32-bit whole numbers."""
    return _address(array, _SHORT, shape)


def _address(array: NDArray[Any], kind: np.dtype[Any], shape: tuple[int, ...]) -> int:
    if array.dtype != kind or not array.flags.c_contiguous or (shape and array.shape != shape):
        wanted = f"{kind} of shape {shape}" if shape else str(kind)
        raise ValueError(
            f"an array of {array.dtype} and shape {array.shape} was given; the core needs a contiguous {wanted}"
        )
    return address(array)


def address(array: NDArray[Any]) -> int:
    """The address of an array that is known to be as the core needs it."""
    try:
        return addressof(_first(array))
    except (TypeError, ValueError):  # read-only, or empty: the way that takes four times as long
        return int(array.ctypes.data)


def shown(array: NDArray[Any]) -> NDArray[Any]:
    """The same memory to look at: for what the core relies on, and users see."""
    out = array.view()
    out.flags.writeable = False
    return out


class Remembered:
    """The address of an array of doubles, looked up once as long as it is the same array: that costs a microsecond."""

    __slots__ = ("_address", "_array", "_shape")

    def __init__(self, *shape: int) -> None:
        self._shape, self._address = shape, 0
        self._array: Floats | None = None

    def of(self, array: Floats) -> int:
        """The address; the array is kept, so that no other can take its place."""
        if array is not self._array:
            self._address, self._array = floats(array, *self._shape), array
        return self._address
