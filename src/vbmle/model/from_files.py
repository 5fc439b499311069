"""Base models from files: your own matrices, tables of probabilities, or logs of what happened.

    models_from_npz     one model per array, (S, A, S)
    models_from_table   CSV or Parquet with the columns s, a, s_next, p, and model where there are several
    models_from_logs    CSV or Parquet with the columns s, a, s_next: one base model for each file, by frequencies
    read_log            such a log as arrays, for `Agent.observe_many`

Each of the first three gives a list of sparse models (S*A, S) for `LinearMixtureMDP.from_models`. From logs,

    P(s'|s,a) = (n(s,a,s') + smoothing) / (n(s,a) + smoothing m(s,a)),    s' among the m(s,a) seen in any log,

so that all models have the same possible transitions, and a pair (s, a) which one log never saw is uniform on what
the others saw. What is wrong is refused with a ValueError that names the file, the row and the rule; the first
row of data is row 1.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import numpy as np
from scipy import sparse

from vbmle.common import extras, validation
from vbmle.common.archive import read_arrays
from vbmle.common.files import UNREADABLE
from vbmle.common.validation import Among, Floats, Ints

if TYPE_CHECKING:
    import polars

PathLike: TypeAlias = str | os.PathLike[str]
Models: TypeAlias = list[sparse.csr_array]

SUMS = 1e-4
"""How far the probabilities of a pair (s, a) in a table may sum from 1; they are then divided by their sum."""

UNSEEN = ("refuse", "stay", "uniform")

MOST_STATES = 10**8
"""State and action numbers above this are taken for something else, an identifier or a time."""


def models_from_npz(path: PathLike) -> Models:
    """Every array (S, A, S) of an .npz file as a base model, in the order of the file."""
    try:
        arrays = read_arrays(path)
    except FileNotFoundError:
        raise
    except UNREADABLE as error:
        why = f" ({error})"[:200] if isinstance(error, ValueError) and str(error).isprintable() else ""
        raise ValueError(f"{path} is not an .npz file of plain arrays{why}") from error
    if not arrays:
        raise ValueError(f"{path} holds no array; it needs one for each base model")
    models: Models = []
    wanted: tuple[int, ...] = ()
    for name, array in arrays.items():
        where = f"{path}: array {name!r}"
        if array.ndim != 3 or array.shape[0] != array.shape[2] or 0 in array.shape:
            raise ValueError(f"{where} has shape {array.shape}; a base model needs (S, A, S)")
        if array.dtype.kind not in "fiu":
            raise ValueError(f"{where} holds {array.dtype}; probabilities are numbers")
        cube = array.astype(np.float64)
        wanted = wanted or cube.shape
        validation.require_shape(where, cube, wanted, "the shape of the first array")
        validation.require_finite(where, cube)
        validation.require_stochastic(where, cube)
        models.append(sparse.csr_array(cube.reshape(-1, cube.shape[2])))
    return models


def models_from_table(path: PathLike, states: int | None = None, actions: int | None = None) -> Models:
    """The base models of a table with the columns s, a, s_next, p and, where there are several, model.

    Models come in the order in which the table first names them. `states` and `actions` are one more than the
    largest that occurs unless they are given. Every model needs every pair (s, a).
    """
    frame = _read(path, ("s", "a", "s_next", "p"))
    where = [_whole(path, frame, name, size) for name, size in _sizes(states, actions)]
    p = _probabilities(path, frame)
    names = frame["model"].to_list() if "model" in frame.columns else ["model"] * len(p)
    if None in names:
        raise ValueError(f"{path}, row {names.index(None) + 1}: model is None; it needs a name")
    order = {name: k for k, name in enumerate(dict.fromkeys(names))}
    kind = np.array([order[name] for name in names], dtype=np.int64)
    s, a, to = where
    size = int(max(s.max(), to.max())) + 1 if states is None else states
    count = int(a.max()) + 1 if actions is None else actions
    row = (kind * size + s) * count + a
    _no_repeats(path, row * size + to)
    sums: Floats = np.bincount(row, p, len(order) * size * count).astype(np.float64)
    off = np.nonzero(np.abs(sums - 1.0) > SUMS)[0]
    if len(off):
        _refuse_sum(path, int(off[0]), row, sums, list(order), (size, count))
    shape = (len(order) * size * count, size)
    stacked = sparse.csr_array((p / sums[row], (row, to)), shape=shape)
    stacked.eliminate_zeros()
    each = size * count
    return [stacked[k * each : (k + 1) * each] for k in range(len(order))]


def models_from_logs(
    paths: Sequence[PathLike],
    smoothing: float = 1.0,
    states: int | None = None,
    actions: int | None = None,
    unseen: Annotated[str, Among(UNSEEN)] = "refuse",
) -> Models:
    """One base model for each log of transitions (columns s, a, s_next), by smoothed frequencies.

    `smoothing` is added to the count of every transition that some log saw. `unseen` says what a pair (s, a) does
    that no log saw: "refuse" to go on, "stay" where it is, or "uniform" on all states.
    """
    validation.one_of("unseen", unseen, UNSEEN)
    extra = validation.non_negative("smoothing", smoothing)
    if isinstance(paths, str | os.PathLike) or not len(paths):
        raise ValueError("paths needs a list of files, one for each base model")
    logs = [read_log(path, states, actions) for path in paths]
    size = max(int(max(s.max(), to.max())) for s, _, to in logs) + 1 if states is None else states
    count = max(int(a.max()) for _, a, _ in logs) + 1 if actions is None else actions
    shape = (size * count, size)
    counts = [
        sparse.csr_array((np.ones(len(s)), (s * count + a, to)), shape=shape) for s, a, to in logs
    ]  # repeated entries are added
    seen = sparse.csr_array(sum(counts[1:], counts[0]) > 0).astype(np.float64)
    seen = seen + _unseen(seen, count, unseen, [str(path) for path in paths])
    return [_frequencies(n, seen, extra) for n in counts]


def read_log(
    path: PathLike, states: int | None = None, actions: int | None = None
) -> tuple[Ints, Ints, Ints]:
    """A log of transitions, CSV or Parquet with the columns s, a, s_next: (states, actions, next_states)."""
    frame = _read(path, ("s", "a", "s_next"))
    s, a, to = (_whole(path, frame, name, size) for name, size in _sizes(states, actions))
    return s, a, to


def _sizes(states: int | None, actions: int | None) -> list[tuple[str, int | None]]:
    for name, size in (("states", states), ("actions", actions)):
        if size is not None:
            validation.positive_integer(name, size)
    return [("s", states), ("a", actions), ("s_next", states)]


def _read(path: PathLike, needed: tuple[str, ...]) -> polars.DataFrame:
    """A CSV file with all its fields as text, or a Parquet file as it is."""
    extras.require("experiments")
    import polars
    from polars.exceptions import PanicException, PolarsError

    readers: dict[str, Any] = {
        ".csv": lambda: polars.read_csv(Path(path), infer_schema=False),
        ".parquet": lambda: polars.read_parquet(Path(path)),
    }
    suffix = Path(path).suffix.lower()
    if suffix not in readers:
        raise ValueError(f"{path} ends in {suffix!r}; it needs .csv or .parquet")
    if not Path(path).is_file():
        raise FileNotFoundError(f"there is no file {path}")
    try:
        frame: polars.DataFrame = readers[suffix]()
    except (PolarsError, PanicException, OSError) as error:
        first = (str(error).splitlines() or [type(error).__name__])[0]
        raise ValueError(f"{path} cannot be read as {suffix[1:]}: {first}") from error
    missing = [name for name in needed if name not in frame.columns]
    if missing:
        raise ValueError(
            f"{path} has no column {missing[0]!r}; it needs {', '.join(needed)} and has {', '.join(frame.columns)}"
        )
    if frame.is_empty():
        raise ValueError(f"{path} has no rows; it needs at least one transition")
    return frame


def _whole(path: PathLike, frame: polars.DataFrame, name: str, size: int | None) -> Ints:
    """A column of whole numbers from 0 on, below size where it is known."""
    import polars

    column = frame[name]
    text = _require_plain(path, column)
    read = (column.str.strip_chars() if text else column).cast(polars.Int64, strict=False)
    same = read == column.cast(polars.Float64, strict=False)  # 1.5 is cut to 1 by the cast
    good = read.is_not_null() & same.fill_null(False) & (read >= 0).fill_null(False)
    if size is not None:
        good = good & (read < size).fill_null(False)
    if not good.all():
        i = int((~good).arg_max() or 0)
        rule = "a whole number that is at least 0" if size is None else f"a whole number from 0 to {size - 1}"
        raise ValueError(f"{path}, row {i + 1}: {name} is {column[i]!r}; it needs {rule}")
    found = read.to_numpy().astype(np.int64)
    if size is None and found.max() >= MOST_STATES:
        i = int(found.argmax())
        raise ValueError(
            f"{path}, row {i + 1}: {name} is {found[i]}; numbers from 0 to {MOST_STATES - 1} are used"
        )
    return found


def _require_plain(path: PathLike, column: polars.Series) -> bool:
    """Whether a column holds text; refused where it holds neither text nor numbers."""
    import polars

    if column.dtype != polars.String and not column.dtype.is_numeric():
        raise ValueError(f"{path}: the column {column.name} holds {column.dtype}; it needs numbers")
    return bool(column.dtype == polars.String)


def _probabilities(path: PathLike, frame: polars.DataFrame) -> Floats:
    import polars

    column = frame["p"]
    text = _require_plain(path, column)
    p = (column.str.strip_chars() if text else column).cast(polars.Float64, strict=False)
    good = (p.is_finite() & (p >= 0.0) & (p <= 1.0)).fill_null(False)
    if not good.all():
        i = int((~good).arg_max() or 0)
        raise ValueError(f"{path}, row {i + 1}: p is {column[i]!r}; it needs a number from 0 to 1")
    return p.to_numpy().astype(np.float64)


def _no_repeats(path: PathLike, key: Ints) -> None:
    _, first, back = np.unique(key, return_index=True, return_inverse=True)
    again = np.nonzero(first[back] != np.arange(len(key)))[0]
    if len(again):
        i = int(again[0])
        raise ValueError(
            f"{path}, row {i + 1}: this transition of this model is in row {int(first[back][i]) + 1} already; "
            "each needs a row of its own"
        )


def _refuse_sum(
    path: PathLike, off: int, row: Ints, sums: Floats, names: list[Any], shape: tuple[int, int]
) -> None:
    """Say which pair (s, a) of which model is not a probability distribution, and where its first row is."""
    size, count = shape
    model, pair = divmod(off, size * count)
    what = f"(s={pair // count}, a={pair % count}) of model {names[model]!r}"
    at = np.nonzero(row == off)[0]
    if not len(at):
        raise ValueError(f"{path} has no row for {what}; every model needs every pair (s, a)")
    raise ValueError(f"{path}, row {int(at[0]) + 1}: p sums to {sums[off]:.6g} for {what}; it needs 1")


def _unseen(seen: sparse.csr_array, count: int, unseen: str, paths: list[str]) -> sparse.csr_array:
    """What is possible for pairs (s, a) that no log saw."""
    rows = np.nonzero(np.diff(seen.indptr) == 0)[0]
    if len(rows) and unseen == "refuse":
        state, action = divmod(int(rows[0]), count)
        raise ValueError(
            f"no log ({', '.join(paths)}) has (s={state}, a={action}), one of {len(rows)} such pairs; "
            "unseen='stay' or unseen='uniform' says what they do"
        )
    size = seen.shape[1]
    if unseen == "uniform":
        where = (np.repeat(rows, size), np.tile(np.arange(size), len(rows)))
    else:
        where = (rows, rows // count)
    return sparse.csr_array((np.ones(len(where[0])), where), shape=seen.shape)


def _frequencies(counts: sparse.csr_array, seen: sparse.csr_array, smoothing: float) -> sparse.csr_array:
    """(n + smoothing) / (n(s,a) + smoothing m); uniform on what is possible where nothing was counted."""
    blank = np.asarray(counts.sum(axis=1)).ravel() == 0.0
    weight = np.where(blank, 1.0, smoothing)
    filled = sparse.csr_array(counts + sparse.diags_array(weight) @ seen)
    total = np.asarray(filled.sum(axis=1)).ravel()
    model = sparse.csr_array(sparse.diags_array(1.0 / total) @ filled)
    model.eliminate_zeros()
    model.sort_indices()
    return model
