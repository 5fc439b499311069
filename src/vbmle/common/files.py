"""Files that are whole or absent; arrays on disk, as .npz without pickle, refused with one line when damaged.

An .npz may come from anywhere. A zip says how large each entry becomes, and an entry's own header says its kind and
shape. Both are read first and have to agree; a file that would swell beyond all use is refused before any of it is
unpacked.
"""

from __future__ import annotations

import errno
import io
import json
import os
import platform
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from threading import get_ident
from tokenize import TokenError
from typing import IO, Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from vbmle.common.validation import Floats

KINDS = "biuf"
MOST_ENTRIES = 1000
ALWAYS = 1 << 26
"""Bytes that any file may unpack to."""
SWELL = 100
"""Beyond that, a file may unpack to this many times its size on disk."""
_NAMES_AND_HEADERS = 1 << 16  # bytes: more than the header of any plain array
_LENGTHS = {(1, 0): 2, (2, 0): 4}  # bytes that say how long a header is, by version of the format


class InMemory(os.PathLike[str]):
    """In place of a path: the content of a file that no disk has to take."""

    def __init__(self, content: bytes) -> None:
        self.content = content

    def __fspath__(self) -> str:
        return "content.npz"

    __str__ = __fspath__


def read_arrays(path: str | os.PathLike[str]) -> dict[str, NDArray[Any]]:
    """Every array by name; ValueError where the file holds anything else, or would swell."""
    if isinstance(path, InMemory):
        return arrays_in(BytesIO(path.content), len(path.content))
    with open(path, "rb") as source:
        return arrays_in(source, os.path.getsize(path))


def unpacked_size(content: bytes) -> int:
    """Bytes that an .npz says it unpacks to, from its index alone; an error of `UNREADABLE` where it has none."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return sum(entry.file_size for entry in archive.infolist())


def arrays_in(source: IO[bytes], size: int) -> dict[str, NDArray[Any]]:
    """The arrays of what is open, of so many bytes."""
    with zipfile.ZipFile(source) as archive:
        entries = archive.infolist()
        _check_entries(entries, size)
        return {entry.filename[:-4]: _read(archive, entry) for entry in entries}


def _check_entries(entries: list[zipfile.ZipInfo], size: int) -> None:
    names = [entry.filename for entry in entries]
    if len(names) > MOST_ENTRIES:
        raise ValueError(f"it holds {len(names)} arrays; {MOST_ENTRIES} is the most")
    for name in names:
        if not name.endswith(".npy") or names.count(name) > 1:
            raise ValueError(f"its entry {name[:40]!r} is not an array; each needs a name that ends in .npy")
    for entry in entries:
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) or entry.flag_bits & 1:
            raise ValueError(f"its entry {entry.filename[:40]!r} is encrypted or packed in a way of its own")
    whole = sum(entry.file_size for entry in entries)
    if whole > max(ALWAYS, SWELL * size):
        raise ValueError(f"it would swell from {size} to {whole} bytes; {SWELL} times its size is the most")


def _header(name: str, file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, order and kind of an array, from the header that it begins with."""
    version = np.lib.format.read_magic(file)
    if version not in _LENGTHS:
        raise ValueError(f"{name[:40]!r} has version {version} of the format; it needs 1.0 or 2.0")
    length = file.read(_LENGTHS[version])
    size = int.from_bytes(length, "little")
    if size > _NAMES_AND_HEADERS:
        raise ValueError(f"{name[:40]!r} has a header of {size} bytes; {_NAMES_AND_HEADERS} is the most")
    return _parsed(version, length + file.read(size))


@lru_cache(1024)
def _parsed(version: tuple[int, int], header: bytes) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """What NumPy reads out of a header. Parsing takes longer than reading, and headers recur."""
    parse = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    return parse(io.BytesIO(header), max_header_size=_NAMES_AND_HEADERS)


def _read(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> NDArray[Any]:
    """One array: the header is checked against the size that the zip promises."""
    name = entry.filename[:-4]
    with archive.open(entry) as file:
        shape, fortran, dtype = _header(name, file)
        if dtype.kind not in KINDS or dtype.itemsize > 8 or not dtype.isnative:
            raise ValueError(f"{name[:40]!r} holds {dtype}; it needs plain numbers")
        count = 1
        for length in shape:
            if length < 0:
                raise ValueError(f"{name[:40]!r} has shape {shape}; lengths are at least 0")
            count *= int(length)
        left = entry.file_size - file.tell()
        if count * dtype.itemsize != left:
            raise ValueError(f"{name[:40]!r} has shape {shape} of {dtype}, but {left} bytes")
        content = file.read(left)
        if len(content) != left or file.read(1):
            raise ValueError(f"{name[:40]!r} is cut short")
    array = np.frombuffer(bytearray(content), dtype=dtype, count=count)
    return array.reshape(shape, order="F" if fortran else "C")


Loaded = TypeVar("Loaded")

Snapshot = dict[str, NDArray[Any]]
"""What has been learnt, as arrays by name: what an agent, or a part of one, saves and goes on from."""

UNREADABLE = (
    OSError,
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    EOFError,
    RuntimeError,
    IndexError,
    ArithmeticError,
    MemoryError,
    SyntaxError,
    TokenError,
    zipfile.BadZipFile,
    zlib.error,
)
"""What NumPy, zipfile and json raise for a file that is damaged or of another kind."""


def path_aside(path: Path) -> Path:
    """Where this thread writes what is to become `path`: no other thread, process or machine has the same name."""
    return path.with_name(f"{_start_aside(path)}{os.getpid()}-{get_ident()}.part")


def _start_aside(path: Path) -> str:
    """How the names of all temporary files for `path` begin that this machine makes; the process comes next."""
    machine = zlib.crc32(platform.node().encode())
    return f".{path.name[:100]}.{machine:08x}-"


@contextmanager
def whole_or_absent(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A path to write to, renamed to `path` in the end: whatever happens, the file is whole, as before, or absent.

    It is on the disk before it has its name. What writers that were killed have left behind is cleaned up.
    """
    aside = path_aside(Path(path))
    _remove_leftovers(Path(path))
    try:
        yield aside
        _to_disk(aside)
        os.replace(aside, path)
    finally:
        aside.unlink(missing_ok=True)


def _to_disk(path: Path) -> None:
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def _remove_leftovers(path: Path) -> None:
    """Remove temporary files beside `path` that processes of this machine left when they ended."""
    start = _start_aside(path)
    try:
        left = [name for name in os.listdir(path.parent) if name.startswith(start) and name.endswith(".part")]
    except OSError:
        return  # the next write there will say what is wrong
    for name in left:
        process = name.removeprefix(start).split("-")[0]
        if process.isdigit() and not _is_alive(int(process)):
            (path.parent / name).unlink(missing_ok=True)


def _is_alive(process: int) -> bool:
    if os.name != "posix":
        return True  # there, asking by a signal would end it
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


@contextmanager
def alone_in(folder: Path) -> Iterator[bool]:
    """Whether no other process holds the folder; if so, it is held until the end, however that comes."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".in-use").open("a") as file:
        yield _lock(file.fileno())


def _lock(file: int) -> bool:
    try:
        import fcntl
    except ImportError:  # not on this system
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno not in (
            errno.EWOULDBLOCK,
            errno.EACCES,
        )  # a disk without locks is not a reason to refuse
    return True


def save_npz(path: str | os.PathLike[str], arrays: Snapshot) -> None:
    """Write arrays by name, compressed."""
    with whole_or_absent(path) as aside, open(aside, "wb") as file:
        _write_npz(file, arrays)


def npz_of(arrays: Snapshot) -> bytes:
    """What `save_npz` would write, for whoever sends it on or keeps it elsewhere: no file, and no wait for a disk."""
    content = BytesIO()
    _write_npz(content, arrays)
    return content.getvalue()


def from_npz_bytes(content: bytes, load: Callable[[os.PathLike[str]], Loaded]) -> Loaded:
    """What `load(path)` makes of a file with that content. Nothing is written: no disk is too full for it."""
    return load(InMemory(content))


def _write_npz(file: IO[bytes], arrays: Snapshot) -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, np.asarray(array, order="C"), allow_pickle=False)


def load_npz(
    path: str | os.PathLike[str], form: str, what: str
) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """The arrays and the metadata of a file written by `save_npz`; ValueError where it is not `what`."""
    try:
        arrays = read_arrays(path)
        meta = json.loads(arrays.pop("meta").tobytes())
        found = meta["format"]
    except FileNotFoundError:
        raise
    except UNREADABLE as error:
        why = f" ({error})" if isinstance(error, ValueError) and str(error).isprintable() else ""
        raise ValueError(
            f"{path} is not {what}: it is damaged or was written by something else{why[:200]}"
        ) from error
    if found != form:
        raise ValueError(f"{path} is not {what}: its format is {str(found)[:40]!r}, not {form!r}")
    return arrays, meta


def field(meta: dict[str, Any], name: str, kind: type | tuple[type, ...]) -> Any:
    """An entry of the metadata, refused unless it is there and of its kind; a bool is not a number."""
    if name not in meta:
        raise ValueError(f"{name} is missing")
    value = meta[name]
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        wanted = kind.__name__ if isinstance(kind, type) else " or ".join(one.__name__ for one in kind)
        raise ValueError(f"{name} is {str(value)[:40]!r}; it needs a {wanted}")
    return value


def harmless(cell: Any) -> Any:
    """A cell of a CSV file as a spreadsheet may see it: text that it would run as a formula gets a quote before it."""
    if not isinstance(cell, str) or not cell.startswith(("=", "+", "-", "@", "\t", "\r")):
        return cell
    try:
        float(cell)
    except ValueError:
        return f"'{cell}"
    return cell


def pack(name: str, matrix: Floats | sparse.csr_array) -> dict[str, NDArray[Any]]:
    """A dense or CSR matrix as plain arrays under names of its own."""
    if isinstance(matrix, np.ndarray):
        return {name: matrix}
    shape = np.array(matrix.shape)
    return {
        f"{name}.data": matrix.data,
        f"{name}.indices": matrix.indices,
        f"{name}.indptr": matrix.indptr,
        f"{name}.shape": shape,
    }


def unpack(name: str, arrays: dict[str, NDArray[Any]]) -> Floats | sparse.csr_array:
    """The matrix that `pack` took apart."""
    if name in arrays:
        return arrays[name]
    parts = (arrays[f"{name}.data"], arrays[f"{name}.indices"], arrays[f"{name}.indptr"])
    return sparse.csr_array(parts, shape=tuple(arrays[f"{name}.shape"]))
