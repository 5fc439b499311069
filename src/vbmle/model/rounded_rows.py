"""Base models as users have them: rows that sum to 1 up to rounding, models by name, axes in another order."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from vbmle.common import validation
from vbmle.common.validation import Floats

EXACT = 1e-9
"""Rows that miss 1 by less are left as they are."""

ROUNDED = 1e-4
"""Rows that miss 1 by less, as float32 or a few printed digits do, are divided by their sum, with a warning."""

RENORMALISE = ("warn", "error", "any")


def listed(models: Mapping[str, Any] | Sequence[Any]) -> tuple[list[Any], tuple[str, ...] | None]:
    """Models as a list, and their names where they are given by name; ValueError for axes in another order."""
    if isinstance(models, Mapping):
        names: tuple[str, ...] | None = tuple(str(name) for name in models)
        found = list(models.values())
    else:
        names, found = None, list(models)
    if len(found) == 0:
        raise ValueError("models is empty; it needs at least one base model")
    for k, model in enumerate(found):
        shape: tuple[int, ...] = () if sparse.issparse(model) else tuple(np.shape(model))
        if len(shape) == 3 and shape[1] == shape[2] != shape[0]:
            raise ValueError(
                f"models[{k}] has shape {shape}, which looks like (A, S, S); it needs (S, A, S): "
                "np.swapaxes(model, 0, 1)"
            )
    return found, names


class Rounding:
    """Divides rows by their sums where that is allowed, and remembers the largest correction."""

    def __init__(self, rule: str) -> None:
        self._limit = {"warn": ROUNDED, "error": 0.0, "any": np.inf}[
            validation.one_of("renormalise", rule, RENORMALISE)
        ]
        self._largest = 0.0

    def dense(self, model: Floats) -> Floats:
        """An (S, A, S) array; rows that are too far off are left for others to refuse."""
        if model.ndim != 3 or (model < 0.0).any():
            return model
        sums = model.sum(axis=2)
        return model / self._divisors(sums)[:, :, None] if self._is_off(sums) else model

    def sparse(self, model: sparse.csr_array) -> sparse.csr_array:
        """A sparse (S*A, S) array."""
        sums = np.asarray(model.sum(axis=1)).ravel()
        if not self._is_off(sums) or (model.data < 0.0).any():
            return model
        return sparse.csr_array(sparse.diags_array(1.0 / self._divisors(sums)) @ model)

    def _is_off(self, sums: Floats) -> bool:
        off = np.abs(sums - 1.0)
        return bool(((off > EXACT) & (off < self._limit) & (sums > 0.0)).any())

    def _divisors(self, sums: Floats) -> Floats:
        off = np.abs(sums - 1.0)
        mend = (off > EXACT) & (off < self._limit) & (sums > 0.0)
        self._largest = max(self._largest, float(off[mend].max()))
        return np.where(mend, sums, 1.0)

    def tell(self) -> None:
        """Warn of the largest correction, if there was one."""
        if self._largest > 0.0:
            warnings.warn(
                f"rows of models sum to 1 up to {self._largest:.2g}; they were divided by their sums "
                "(renormalise='error' refuses them)",
                UserWarning,
                stacklevel=4,
            )
