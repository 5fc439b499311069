"""Base models from files and frames: your own matrices, tables of probabilities, or logs of what happened.

    models_from_npz     one model per array, (S, A, S)
    models_from_table   a table with the columns s, a, s_next, p, and model where there are several
    models_from_logs    tables with the columns s, a, s_next: one base model for each, by frequencies
    read_log            such a log as arrays, for `Agent.observe_many`

A `path` is that of a CSV or Parquet file, or a polars or pandas frame (`vbmle.model.frames`). Each of the first three
gives a list of sparse models (S*A, S) for `LinearMixtureMDP.from_models`, with the names that the source has for
models, states and actions (`naming.NamedModels`). From logs,

    P(s'|s,a) = (n(s,a,s') + smoothing) / (n(s,a) + smoothing m(s,a)),    s' among the m(s,a) seen in any log,

so that all models have the same possible transitions, and a pair (s, a) which one log never saw is uniform on what
the others saw. What is wrong is refused with a ValueError that names the file, the row and the rule; the first
row of data is row 1.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
from scipy import sparse

from vbmle.common import validation
from vbmle.common.files import UNREADABLE, read_arrays
from vbmle.common.validation import Among, Floats, Ints
from vbmle.model import frames
from vbmle.model.base_models import ROUNDED_SUM
from vbmle.model.frames import PathLike, Size, Source
from vbmle.model.naming import NamedModels, Names

UNSEEN = ("refuse", "stay", "uniform")
MOST_GUESSED = 50_000_000
"""Transitions that unseen="uniform" may add: a gigabyte or so."""


def models_from_npz(path: PathLike) -> NamedModels:
    """Every array (S, A, S) of an .npz file as a base model, in the order of the file.

    Parameters
    ----------
    path : str or path
        An .npz file of plain arrays, each a model of its own: [s, a, s'] is the probability of s' after (s, a).

    Returns
    -------
    list of sparse arrays (S*A, S)
        For `LinearMixtureMDP.from_models`, which also takes the names that come with it.

    Raises
    ------
    ValueError
        If an array is not a model; the message names the file, the array and the rule.
    FileNotFoundError
        If there is no such file.

    Examples
    --------
    >>> import tempfile, numpy, vbmle
    >>> path = tempfile.mkdtemp() + "/models.npz"
    >>> numpy.savez(path, calm=[[[0.9, 0.1]], [[0.5, 0.5]]], busy=[[[0.2, 0.8]], [[0.5, 0.5]]])
    >>> [model.shape for model in vbmle.models_from_npz(path)]
    [(2, 2), (2, 2)]
    """
    try:
        arrays = read_arrays(path)
    except FileNotFoundError:
        raise
    except UNREADABLE as error:
        why = f" ({error})"[:200] if isinstance(error, ValueError) and str(error).isprintable() else ""
        raise ValueError(f"{path} is not an .npz file of plain arrays{why}") from error
    if not arrays:
        raise ValueError(f"{path} holds no array; it needs one for each base model")
    models: list[sparse.csr_array] = []
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
    return NamedModels(models, Names(models=tuple(arrays)))


def models_from_table(path: Source, states: Size = None, actions: Size = None) -> NamedModels:
    r"""The base models of a table with the columns s, a, s_next, p and, where there are several, model.

    Models come in the order in which the table first names them. Every model needs every pair (s, a). Rows
    that sum to 1 up to rounding stay as they are: `LinearMixtureMDP.from_models` says what becomes of them.

    Parameters
    ----------
    path : str, path or frame
        A .csv or .parquet file, or a polars or pandas frame, one row per transition; p is its probability. States and
        actions are whole numbers from 0 up, or names.
    states : int or sequence of str, optional
        The number of states, by default one more than the largest that occurs; or their names in the order you want, by
        default that in which they first occur.
    actions : int or sequence of str, optional
        The same for actions.

    Returns
    -------
    list of sparse arrays (S*A, S)
        For `LinearMixtureMDP.from_models`, which also takes the names that come with it.

    Raises
    ------
    ValueError
        If something in the file is wrong; the message names the file, the row and the rule.
    FileNotFoundError
        If there is no such file.

    Examples
    --------
    >>> import pathlib, tempfile, vbmle
    >>> path = pathlib.Path(tempfile.mkdtemp(), "coin.csv")
    >>> _ = path.write_text("s,a,s_next,p\n0,0,0,0.25\n0,0,1,0.75\n1,0,0,1\n")
    >>> vbmle.models_from_table(path)[0].toarray().tolist()
    [[0.25, 0.75], [1.0, 0.0]]
    """
    frames.sizes(states, actions)
    read = frames.read(path, ("s", "a", "s_next", "p"))
    (s, to), state_names = frames.numbers(read, ("s", "s_next"), states, [])
    (a,), action_names = frames.numbers(read, ("a",), actions, [])
    p = frames.probabilities(read)
    if not state_names:
        frames.require_from_zero(read.name, "states", [s])
    if not action_names:
        frames.require_from_zero(read.name, "actions", [a])
    labels = read.frame["model"].to_list() if "model" in read.frame.columns else ["model"] * len(p)
    if None in labels:
        raise ValueError(f"{read.name}, row {labels.index(None) + 1}: model is None; it needs a name")
    order = {name: k for k, name in enumerate(dict.fromkeys(labels))}
    kind = np.array([order[name] for name in labels], dtype=np.int64)
    size, count = _size(states, state_names, s, to), _size(actions, action_names, a)
    row = (kind * size + s) * count + a
    _no_repeats(read.name, row * size + to)
    names = Names(
        tuple(state_names) or None,
        tuple(action_names) or None,
        tuple(map(str, order)) if "model" in read.frame.columns else None,
    )
    # Where there are more pairs than rows, one of the first has none: the rest of what may be many is not looked at.
    looked_at = min(len(order) * size * count, len(p) + 1)
    near = row < looked_at
    sums: Floats = np.bincount(row[near], p[near], looked_at).astype(np.float64)
    off = np.nonzero(np.abs(sums - 1.0) > ROUNDED_SUM)[0]
    if len(off):
        _refuse_sum(read.name, int(off[0]), row, sums, list(order), (size, count), names)
    shape = (len(order) * size * count, size)
    stacked = sparse.csr_array((p, (row, to)), shape=shape)
    stacked.eliminate_zeros()
    stacked.sort_indices()
    each = size * count
    return NamedModels([stacked[k * each : (k + 1) * each] for k in range(len(order))], names)


def models_from_logs(
    paths: Sequence[Source],
    smoothing: float = 1.0,
    states: Size = None,
    actions: Size = None,
    unseen: Annotated[str, Among(UNSEEN)] = "refuse",
) -> NamedModels:
    r"""One base model for each log of transitions (columns s, a, s_next), by smoothed frequencies.

    Parameters
    ----------
    paths : list of str, path or frame
        The logs, .csv or .parquet files or frames, one for each base model. States and actions are as in
        `models_from_table`.
    smoothing : float, default 1.0
        Added to the count of every transition that occurs in any of the logs; at least 0.
    states : int or sequence of str, optional
        The number of states, by default one more than the largest that occurs; or their names in the order you want, by
        default that in which they first occur.
    actions : int or sequence of str, optional
        The same for actions.
    unseen : {"refuse", "stay", "uniform"}, default "refuse"
        What to do with a pair (s, a) that occurs in no log: "refuse" raises an error, "stay" keeps the state, "uniform"
        leads to every state with the same probability.

    Returns
    -------
    list of sparse arrays (S*A, S)
        For `LinearMixtureMDP.from_models`, which also takes the names that come with it.

    Raises
    ------
    ValueError
        If something in the file is wrong; the message names the file, the row and the rule.
    FileNotFoundError
        If there is no such file.

    Examples
    --------
    >>> import pathlib, tempfile, vbmle
    >>> path = pathlib.Path(tempfile.mkdtemp(), "monday.csv")
    >>> _ = path.write_text("s,a,s_next\n0,0,1\n0,0,1\n0,0,0\n1,0,0\n")
    >>> vbmle.models_from_logs([path], smoothing=0)[0].toarray().round(3).tolist()
    [[0.333, 0.667], [1.0, 0.0]]
    """
    validation.one_of("unseen", unseen, UNSEEN)
    extra = validation.non_negative("smoothing", smoothing)
    frames.sizes(states, actions)
    if isinstance(paths, str | os.PathLike) or hasattr(paths, "columns") or not len(paths):
        raise ValueError("paths needs a list of files or frames, one for each base model")
    steps, called = [], []
    state_names: list[str] = []
    action_names: list[str] = []
    for path in paths:
        table = frames.read(path, frames.READABLE)
        (s, to), state_names = frames.numbers(table, ("s", "s_next"), states, state_names)
        (a,), action_names = frames.numbers(table, ("a",), actions, action_names)
        steps.append((s, a, to))
        called.append(table.name)
    if unseen == "refuse" and not state_names:
        frames.require_from_zero(called[0], "states", _ends(steps))
    size = _size(states, state_names, *_ends(steps))
    count = _size(actions, action_names, *(a for _, a, _ in steps))
    shape = (size * count, size)
    counts = [
        sparse.csr_array((np.ones(len(s)), (s * count + a, to)), shape=shape) for s, a, to in steps
    ]  # repeated entries are added
    seen = sparse.csr_array(sum(counts[1:], counts[0]) > 0).astype(np.float64)
    names = Names(tuple(state_names) or None, tuple(action_names) or None)
    seen = seen + _unseen(seen, count, unseen, called, names)
    return NamedModels([_frequencies(n, seen, extra) for n in counts], names)


def read_log(path: Source, states: Size = None, actions: Size = None) -> tuple[Any, Any, Any]:
    r"""A log of transitions as three arrays: states, actions, next_states, for `Agent.observe_many`.

    Parameters
    ----------
    path : str, path or frame
        A .csv or .parquet file, or a frame, with the columns s, a, s_next, one row per step.
    states : int or sequence of str, optional
        The number of states; larger state numbers are refused. Or their names, which then become numbers.
    actions : int or sequence of str, optional
        The same for actions.

    Returns
    -------
    three (T,) arrays
        states, actions, next_states; numbers, or names where the log has names and no list of them was given.

    Raises
    ------
    ValueError
        If something in the file is wrong; the message names the file, the row and the rule.
    FileNotFoundError
        If there is no such file.

    Examples
    --------
    >>> import pathlib, tempfile, vbmle
    >>> path = pathlib.Path(tempfile.mkdtemp(), "monday.csv")
    >>> _ = path.write_text("s,a,s_next\n0,1,1\n1,1,2\n")
    >>> states, actions, next_states = vbmle.read_log(path)
    >>> next_states.tolist()
    [1, 2]
    """
    frames.sizes(states, actions)
    table = frames.read(path, frames.READABLE)
    (s, to), state_names = frames.numbers(table, ("s", "s_next"), states, [])
    (a,), action_names = frames.numbers(table, ("a",), actions, [])
    if state_names and states is None:
        s, to = (np.array(state_names)[column] for column in (s, to))
    return s, np.array(action_names)[a] if action_names and actions is None else a, to


def _ends(steps: Sequence[tuple[Ints, Ints, Ints]]) -> list[Ints]:
    return [column for s, _, to in steps for column in (s, to)]


def _size(given: Size, names: list[str], *columns: Ints) -> int:
    """How many there are: as given, as many as have names, or one more than the largest."""
    if isinstance(given, int):
        return given
    return len(names) or max(int(column.max()) for column in columns) + 1


def _no_repeats(path: str, key: Ints) -> None:
    _, first, back = np.unique(key, return_index=True, return_inverse=True)
    again = np.nonzero(first[back] != np.arange(len(key)))[0]
    if len(again):
        i = int(again[0])
        raise ValueError(
            f"{path}, row {i + 1}: this transition of this model is in row {int(first[back][i]) + 1} already; "
            "each needs a row of its own"
        )


def _refuse_sum(
    path: str,
    off: int,
    row: Ints,
    sums: Floats,
    labels: list[Any],
    shape: tuple[int, int],
    names: Names,
) -> None:
    """Say which pair (s, a) of which model is not a probability distribution, and where its first row is."""
    size, count = shape
    model, pair = divmod(off, size * count)
    what = f"{names.pair(*divmod(pair, count))} of model {labels[model]!r}"
    at = np.nonzero(row == off)[0]
    if not len(at):
        raise ValueError(f"{path} has no row for {what}; every model needs every pair (s, a)")
    raise ValueError(f"{path}, row {int(at[0]) + 1}: p sums to {sums[off]:.6g} for {what}; it needs 1")


def _unseen(
    seen: sparse.csr_array, count: int, unseen: str, called: list[str], names: Names
) -> sparse.csr_array:
    """What is possible for pairs (s, a) that no log saw."""
    rows = np.nonzero(np.diff(seen.indptr) == 0)[0]
    if len(rows) and unseen == "refuse":
        pair = names.pair(*divmod(int(rows[0]), count))
        raise ValueError(
            f"no log ({', '.join(called)}) has {pair}, one of {len(rows)} such pairs; "
            "unseen='stay' or unseen='uniform' says what they do"
        )
    size = seen.shape[1]
    if unseen == "uniform":
        if len(rows) * size > MOST_GUESSED:
            raise ValueError(
                f"{len(rows):,} pairs (s, a) occur in no log, and unseen='uniform' gives each {size:,} next states: "
                f"{len(rows) * size:,} transitions, where {MOST_GUESSED:,} is the most; unseen='stay' keeps the state"
            )
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
