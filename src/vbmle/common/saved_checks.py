"""Snapshots from elsewhere, checked against what the model implies before any of them is used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

MOST_LAYERS = 64
"""How often something that grows by layers may have grown: each halves an error, so that none needs more."""


def require_like(
    name: str,
    given: Mapping[str, NDArray[Any]],
    like: Mapping[str, NDArray[Any]],
    grows: tuple[str, ...] = (),
) -> None:
    """Refuse a snapshot that lacks a field, has one too many, or one of another kind or shape.

    `like` is the snapshot of a fresh part on the same model. Fields that grow may differ in length; NaN is refused
    where a fresh part has none.
    """
    for key in like:
        if key not in given:
            raise ValueError(f"{name}{key} is missing")
        array, wanted = given[key], like[key]
        if array.dtype != wanted.dtype:
            raise ValueError(f"{name}{key} holds {array.dtype}; it needs {wanted.dtype}")
        same = array.shape == wanted.shape
        if key in grows and array.ndim == wanted.ndim:
            same = array.shape[1:] == wanted.shape[1:]
        if not same:
            raise ValueError(f"{name}{key} has shape {array.shape}; it needs {wanted.shape}")
        if array.dtype.kind == "f" and (np.isnan(array) & ~np.isnan(wanted).any()).any():
            raise ValueError(f"{name}{key} holds NaN; it needs numbers")
    for key in given:
        if key not in like:
            raise ValueError(f"there is no {name}{key[:40]}")


def require_layers(given: Mapping[str, NDArray[Any]], grows: tuple[str, ...]) -> int:
    """How many layers there are: as many in each field that grows, and at least one."""
    lengths = {len(given[key]) for key in grows}
    if len(lengths) != 1 or not 1 <= min(lengths) <= MOST_LAYERS:
        raise ValueError(
            f"{', '.join(grows)} have lengths {sorted(lengths)}; they need one, from 1 to {MOST_LAYERS}"
        )
    return lengths.pop()


def require_within(name: str, array: NDArray[Any], low: ArrayLike, high: ArrayLike) -> None:
    """Refuse numbers outside [low, high], naming the first."""
    bad = ~((array >= low) & (array <= high))
    if bad.any():
        at = tuple(int(i) for i in np.argwhere(bad)[0])
        least, most = (float(np.broadcast_to(end, array.shape)[at]) for end in (low, high))
        raise ValueError(f"{name} is {array[at]} at {at}; it needs numbers from {least:g} to {most:g}")


def require_finite(name: str, array: NDArray[Any]) -> None:
    """Refuse NaN and infinity."""
    require_within(name, array, -np.finfo(np.float64).max, np.finfo(np.float64).max)


def require_inverse(name: str, matrix: NDArray[Any], inverse: NDArray[Any]) -> float:
    """Refuse a matrix that is not symmetric and positive definite, or an inverse that is not its own; log det."""
    require_symmetric(name, matrix)
    require_symmetric(f"{name}'s inverse", inverse)
    sign, log_det = np.linalg.slogdet(matrix)
    if sign <= 0 or np.linalg.eigvalsh(matrix)[0] <= 0.0:
        raise ValueError(f"{name} is not positive definite")
    off = float(np.abs(matrix @ inverse - np.eye(len(matrix))).max())
    if not off <= 1e-6 + 1e-12 * float(np.linalg.cond(matrix)):
        raise ValueError(
            f"{name} and its inverse do not belong together: their product is {off:.2g} from one"
        )
    return float(log_det)


def require_symmetric(name: str, matrix: NDArray[Any]) -> None:
    """Refuse a matrix that is not symmetric up to rounding."""
    require_finite(name, matrix)
    if not np.abs(matrix - matrix.T).max(initial=0.0) <= 1e-8 * np.abs(matrix).max(initial=0.0):
        raise ValueError(f"{name} is not symmetric")
