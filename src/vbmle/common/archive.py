"""Reading .npz files that may come from anywhere: plain arrays of numbers, their size known before it is taken.

A zip says how large each entry becomes, and an entry's own header says its kind and shape. Both are read first and
have to agree; a file that would swell beyond all use is refused before any of it is unpacked.
"""

from __future__ import annotations

import io
import os
import zipfile
from functools import lru_cache
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

KINDS = "biuf"
MOST_ENTRIES = 1000
ALWAYS = 1 << 26
"""Bytes that any file may unpack to."""
SWELL = 100
"""Beyond that, a file may unpack to this many times its size on disk."""
_NAMES_AND_HEADERS = 1 << 16  # bytes: more than the header of any plain array
_LENGTHS = {(1, 0): 2, (2, 0): 4}  # bytes that say how long a header is, by version of the format


def read_arrays(path: str | os.PathLike[str]) -> dict[str, NDArray[Any]]:
    """Every array by name; ValueError where the file holds anything else, or would swell."""
    with open(path, "rb") as source:
        return arrays_in(source, os.path.getsize(path))


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
