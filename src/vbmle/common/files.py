"""Files that are whole or absent; arrays on disk, as .npz without pickle, refused with one line when damaged."""

from __future__ import annotations

import json
import os
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from vbmle.common.validation import Floats

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
    zipfile.BadZipFile,
    zlib.error,
)
"""What NumPy, zipfile and json raise for a file that is damaged or of another kind."""


def path_aside(path: Path) -> Path:
    """Where this process writes what is to become `path`."""
    return path.with_name(f".{path.name}.{os.getpid()}.part")


@contextmanager
def whole_or_absent(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A path to write to, renamed to `path` in the end: whatever happens, the file is whole, as before, or absent."""
    aside = path_aside(Path(path))
    try:
        yield aside
        os.replace(aside, path)
    finally:
        aside.unlink(missing_ok=True)


def save_npz(path: str | os.PathLike[str], arrays: dict[str, NDArray[Any]]) -> None:
    """Write arrays by name, compressed."""
    with (
        whole_or_absent(path) as aside,
        open(aside, "wb") as file,
        zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, np.asarray(array, order="C"), allow_pickle=False)


def load_npz(
    path: str | os.PathLike[str], form: str | tuple[str, ...], what: str
) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """The arrays and the metadata of a file written by `save_npz`; ValueError where it is not `what`."""
    try:
        with open(path, "rb") as source, np.load(source, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        meta = json.loads(arrays.pop("meta").tobytes())
        found = meta["format"]
    except FileNotFoundError:
        raise
    except UNREADABLE as error:
        raise ValueError(f"{path} is not {what}: it is damaged or was written by something else") from error
    known = (form,) if isinstance(form, str) else form
    if found not in known:
        raise ValueError(
            f"{path} is not {what}: its format is {found!r}, not {' or '.join(map(repr, known))}"
        )
    return arrays, meta


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
