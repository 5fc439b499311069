"""Ways to damage or doctor a file, for `fuzz_files`: mutant k of a kind is the same in every process."""

from __future__ import annotations

import io
import json
import re
import warnings
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

ODD_NUMBERS = (-1.0, 0.5, np.nan, np.inf, -np.inf, 1e300, -1e300, 2.0**62, -(2.0**63), 1e-320, 2.0)
ODD_CELLS = ("", "-1", "0.5", "nan", "inf", "1e300", "x", "=1+1", "9" * 20, "2", "true", '"', "é")
ODD_META: tuple[Any, ...] = (
    *(None, [], {}, -1, 0.5, 1e300, float("nan"), "evil", True, [[]], 10**30, [0, 0, 0]),
)
TEXTS = ("meta", "state")
"""Fields that hold JSON."""


@dataclass
class Kind:
    """One kind of file: a whole one, how it is loaded, and what must hold of what was loaded.

    A refusal is one line with one of the words in `named`, by default the name of the file. `edited` changes a field
    of a file whose form is its own.
    """

    name: str
    content: bytes
    load: Callable[[Path], Any]
    check: Callable[[Any], None]
    file: str = "mutant.npz"
    refusals: tuple[type[Exception], ...] = (ValueError,)
    named: tuple[str, ...] = ()
    edited: Callable[[bytes, np.random.Generator], bytes] | None = None
    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    entries: dict[str, bytes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.named = self.named or (Path(self.file).name,)
        if self.file.endswith(".csv"):
            self.edited = edit_table
        if self.file.endswith(".npz"):
            self.arrays = read_content(self.content)
            self.entries = {name: encoded(array) for name, array in self.arrays.items()}

    def with_arrays(self, arrays: dict[str, np.ndarray]) -> bytes:
        """The file with these arrays; those that are its own are not encoded again."""
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            for name, array in arrays.items():
                own = array is self.arrays.get(name)
                entry = zipfile.ZipInfo(
                    f"{name}.npy"
                )  # made in 1980, so that bytes do not depend on the time
                archive.writestr(entry, self.entries[name] if own else encoded(array))
        return out.getvalue()


def read_content(content: bytes) -> dict[str, np.ndarray]:
    with np.load(io.BytesIO(content), allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}


def encoded(array: np.ndarray) -> bytes:
    out = io.BytesIO()
    np.lib.format.write_array(out, np.asarray(array), allow_pickle=False)
    return out.getvalue()


def flip(content: bytes, rng: np.random.Generator) -> bytes:
    """Some bits flipped."""
    out = bytearray(content)
    for place in rng.integers(len(out), size=int(rng.integers(1, 9))):
        out[place] ^= 1 << int(rng.integers(8))
    return bytes(out)


def cut(content: bytes, rng: np.random.Generator) -> bytes:
    """Cut off, or a stretch overwritten."""
    at = int(rng.integers(len(content)))
    if rng.random() < 0.5:
        return content[:at]
    return content[:at] + bytes(int(rng.integers(1, 200))) + content[at:]


def pick(rng: np.random.Generator, names: dict[str, Any]) -> str:
    known = sorted(names)
    return known[int(rng.integers(len(known)))]


def edit(arrays: dict[str, np.ndarray], rng: np.random.Generator) -> None:
    """One field changed: a number, its kind, its shape, its order, or gone."""
    name = pick(rng, arrays)
    array = arrays[name].copy()
    way = int(rng.integers(8))
    if name in TEXTS or (way == 0 and "meta" in arrays):
        edit_text_field(arrays, name if name in TEXTS else "meta", rng)
    elif way == 1:
        del arrays[name]
    elif way == 2:
        longer = rng.random() < 0.5
        arrays[name] = np.concatenate([array.ravel(), array.ravel()[:1]]) if longer else array.ravel()[:-1]
    elif way == 3:
        with np.errstate(invalid="ignore"):
            arrays[name] = array.astype(("f4", "i4", "u1", "f8", "i8", "?")[int(rng.integers(6))])
    elif way == 4:
        arrays[name] = array[::-1].copy() if array.ndim else array + 1
    elif array.size:
        edit_numbers(array, way, rng)
        arrays[name] = array


def edit_numbers(array: np.ndarray, way: int, rng: np.random.Generator) -> None:
    """One or two numbers made odd or a little off, or all doubled."""
    flat, odd = array.reshape(-1), ODD_NUMBERS[int(rng.integers(len(ODD_NUMBERS)))]
    places = rng.integers(flat.size, size=int(rng.integers(1, 3)))
    with np.errstate(invalid="ignore", over="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if way == 5:
            flat[places] = np.array(odd).astype(array.dtype)
        elif way == 6:
            flat[places] = flat[places] + np.array((-1, 1, 7)[int(rng.integers(3))]).astype(array.dtype)
        else:
            flat *= np.array(2).astype(array.dtype)


def edit_text_field(arrays: dict[str, np.ndarray], name: str, rng: np.random.Generator) -> None:
    """One entry of a field that holds JSON made odd, or nesting without end."""
    meta = json.loads(arrays[name].tobytes())
    where = meta
    inner = [key for key in sorted(meta) if isinstance(meta[key], dict) and meta[key]]
    if inner and rng.random() < 0.5:
        where = meta[inner[int(rng.integers(len(inner)))]]
    where[pick(rng, where)] = ODD_META[int(rng.integers(len(ODD_META)))]
    text = json.dumps(meta) if rng.random() < 0.9 else "[" * 100_000
    arrays[name] = np.frombuffer(text.encode(), np.uint8)


@cache
def swollen(seed: int) -> bytes:
    """A small file that claims, or holds, a great deal."""
    rng = np.random.default_rng(seed)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        if seed % 2:
            header = io.BytesIO()
            about = {"descr": "<f8", "fortran_order": False, "shape": (int(rng.integers(2**40)), 3)}
            np.lib.format.write_array_header_1_0(header, about)
            archive.writestr("indptr.npy", header.getvalue() + bytes(1000))
        else:
            archive.writestr("indptr.npy", bytes(100_000_000))
    return out.getvalue()


def edit_table(content: bytes, rng: np.random.Generator) -> bytes:
    """A cell, a line or a column of a CSV file changed, doubled or gone."""
    table = [line.split(",") for line in content.decode().splitlines()]
    row, way = int(rng.integers(len(table))), int(rng.integers(4))
    column = int(rng.integers(len(table[row])))
    if way == 0:
        del table[row]
    elif way == 1:
        table.append(table[row])
    elif way == 2:
        table = [line[:column] + line[column + 1 :] for line in table]
    else:
        table[row][column] = ODD_CELLS[int(rng.integers(len(ODD_CELLS)))]
    return "\n".join(",".join(line) for line in table).encode()


def edit_words(content: bytes, rng: np.random.Generator) -> bytes:
    """A word or a line of a text changed, doubled, moved or gone."""
    lines = content.decode().splitlines()
    row, way = int(rng.integers(len(lines))), int(rng.integers(4))
    if way == 0:
        del lines[row]
    elif way == 1:
        lines.insert(int(rng.integers(len(lines))), lines[row])
    else:
        words = re.split(r"([\s:<>,]+)", lines[row])
        at = int(rng.integers(len(words)))
        words[at] = (
            ODD_CELLS[int(rng.integers(len(ODD_CELLS)))] if way == 2 else words[int(rng.integers(len(words)))]
        )
        lines[row] = "".join(words)
    return "\n".join(lines).encode()


def mutant(kind: Kind, others: list[Kind], number: int, seed: int = 0) -> bytes:
    """Mutant `number` of a kind."""
    rng = np.random.default_rng([seed, number, *kind.name.encode()])
    way = rng.random()
    if way < 0.15:
        return flip(kind.content, rng)
    if way < 0.25:
        return cut(kind.content, rng)
    if way < 0.26:
        return swollen(number % 2)
    if way < 0.28:
        return others[int(rng.integers(len(others)))].content
    if kind.edited is not None:
        return kind.edited(kind.content, rng)
    if not kind.arrays:
        return flip(kind.content, rng) if way < 0.8 else cut(kind.content, rng)
    arrays = dict(kind.arrays)
    if way < 0.35:
        other = others[int(rng.integers(len(others)))].arrays or kind.arrays
        name = pick(rng, other)
        arrays[name] = other[name]
    else:
        edit(arrays, rng)
    return kind.with_arrays(arrays)
