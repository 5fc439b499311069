"""Base models as users have them, made ready for `LinearMixtureMDP.from_models`.

They are dense or sparse, in a list or by name; rows may sum to 1 only up to rounding, axes may be in another order, and
two of them may be twins.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from vbmle.common import validation
from vbmle.common.validation import Floats
from vbmle.model import naming, transitions
from vbmle.model.feasible_set import Constraints
from vbmle.model.naming import Names
from vbmle.model.transitions import Transitions

EXACT_SUM = 1e-9
"""Rows that miss 1 by less are left as they are."""

ROUNDED_SUM = 1e-4
"""Rows that miss 1 by less, as float32 or a few printed digits do, are divided by their sum, with a warning."""

TWIN_DISTANCE = 1e-3
"""Base models that differ by less in every probability are nearly equal: it takes long to tell them apart."""

FIRST_COMPARED = 1000
"""Probabilities that are compared at first; only models that agree on these are compared in all."""

RENORMALISE = ("warn", "error", "any")


class BaseModels:
    """d base models with their names, and which actions are allowed; `features` or `constraints` checks the rest."""

    def __init__(
        self,
        models: Mapping[str, Any] | Sequence[Any],
        renormalise: str,
        allowed: ArrayLike | None,
        state_names: Sequence[str] | None,
        action_names: Sequence[str] | None,
    ) -> None:
        self._models, labels = _listed(models)
        self._rounding = _Rounding(renormalise)
        states, actions = _sizes(self._models[0])
        state_names, action_names = state_names or labels.states, action_names or labels.actions
        names = naming.make_names(state_names, action_names, states, actions)
        self.allowed = naming.action_mask(allowed, states, actions, names)
        self.names = replace(names, models=labels.models)
        self.is_sparse = any(sparse.issparse(model) for model in self._models)
        if self.is_sparse and not all(sparse.issparse(model) for model in self._models):
            raise ValueError("models mixes sparse and dense arrays; give all of them in one form")

    def features(self) -> Floats:
        """Of dense models: phi, (S, A, S, d)."""
        given = [
            model if self.allowed.all() else naming.filled(model, self.allowed) for model in self._models
        ]
        arrays = [validation.finite_array(f"models[{k}]", model, 3) for k, model in enumerate(given)]
        arrays = [self._rounding.dense(array) for array in arrays]
        self._rounding.tell()
        for k, array in enumerate(arrays):
            validation.require_shape(f"models[{k}]", array, arrays[0].shape, "the shape of models[0]")
            validation.require_stochastic(f"models[{k}]", array)
        return np.stack(arrays, axis=-1)

    def constraints(self, p_min: float, domain: str) -> Constraints:
        """Of sparse models: their possible transitions, and what is known of theta."""
        source = naming.stand_in(self.allowed)
        tables = [transitions.as_csr(f"models[{k}]", model) for k, model in enumerate(self._models)]
        if not self.allowed.all():
            tables = [table[source] for table in tables]
        possible = transitions.sparse_mixture([self._rounding.sparse(table) for table in tables])
        self._rounding.tell()
        count = len(tables)
        sums, no_zeros = np.ones((len(possible.indptr) - 1, count)), np.zeros((0, count))
        return Constraints(possible, sums, no_zeros, [], p_min, domain)


def _sizes(model: Any) -> tuple[int, int]:
    """States and actions of a base model, dense or sparse; what does not fit is refused later, by name."""
    shape = model.shape if sparse.issparse(model) else np.shape(model)
    if sparse.issparse(model):
        return shape[1], max(shape[0] // max(shape[1], 1), 1)
    return (shape[0], shape[1]) if len(shape) == 3 else (1, 1)


def _listed(models: Mapping[str, Any] | Sequence[Any]) -> tuple[list[Any], Names]:
    """Models as a list, and the names that come with them; ValueError for axes in another order."""
    if isinstance(models, Mapping):
        names, found = Names(models=tuple(str(name) for name in models)), list(models.values())
    else:
        names, found = getattr(models, "names", Names()), list(models)
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


def _row_sums(model: sparse.csr_array) -> Floats:
    """The sum of each row, added in the order of the columns: the same for one model in every form."""
    ordered = model
    if not model.has_canonical_format:
        ordered = model.copy()
        ordered.sum_duplicates()
    return np.asarray(ordered.sum(axis=1), dtype=np.float64).ravel()


class _Rounding:
    """Divides rows by their sums where that is allowed, and remembers the largest correction."""

    def __init__(self, rule: str) -> None:
        self._limit = {"warn": ROUNDED_SUM, "error": 0.0, "any": np.inf}[
            validation.one_of("renormalise", rule, RENORMALISE)
        ]
        self._largest = 0.0

    def dense(self, model: Floats) -> Floats:
        """An (S, A, S) array; rows that are too far off are left for others to refuse."""
        if model.ndim != 3 or (model < 0.0).any():
            return model
        sums = _row_sums(sparse.csr_array(model.reshape(-1, model.shape[2]))).reshape(model.shape[:2])
        return model / self._divisors(sums)[:, :, None] if self._is_off(sums) else model

    def sparse(self, model: sparse.csr_array) -> sparse.csr_array:
        """A sparse (S*A, S) array."""
        sums = _row_sums(model)
        if not self._is_off(sums) or (model.data < 0.0).any():
            return model
        mended = model.copy()
        mended.data = model.data / np.repeat(self._divisors(sums), np.diff(model.indptr))
        return mended

    def _is_off(self, sums: Floats) -> bool:
        off = np.abs(sums - 1.0)
        return bool(((off > EXACT_SUM) & (off < self._limit) & (sums > 0.0)).any())

    def _divisors(self, sums: Floats) -> Floats:
        off = np.abs(sums - 1.0)
        mend = (off > EXACT_SUM) & (off < self._limit) & (sums > 0.0)
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


def warn_of_twins(possible: Transitions, names: Sequence[str] | None) -> None:
    """Warn of the first two base models, columns of phi (transitions, d), that are equal or nearly so.

    Not where there is a single state: all models are equal there, and nothing is lost.
    """
    phi: Any = possible.phi
    if phi.shape[1] < 2 or possible.num_states == 1:
        return
    step = max(1, phi.shape[0] // FIRST_COMPARED)
    some = _columns(phi, slice(None, None, step))
    for k in range(phi.shape[1] - 1):
        near = np.nonzero(np.abs(some[:, k + 1 :] - some[:, [k]]).max(axis=0) < TWIN_DISTANCE)[0]
        for other in near + k + 1:
            pair = _columns(phi, slice(None))[:, [k, int(other)]] if step > 1 else some[:, [k, int(other)]]
            apart = float(np.abs(pair[:, 0] - pair[:, 1]).max())
            if apart < TWIN_DISTANCE:
                one, two = (repr(names[i]) if names else f"models[{i}]" for i in (k, int(other)))
                how = "are the same" if apart == 0.0 else f"differ by {apart:.2g} at most"
                told = "no data tell them apart" if apart == 0.0 else "it takes long to tell them apart"
                warnings.warn(
                    f"{one} and {two} {how}; {told}; leave one out",
                    UserWarning,
                    stacklevel=3,
                )
                return


def _columns(phi: Any, which: slice) -> Floats:
    some = phi[which]
    return np.asarray(some.toarray() if sparse.issparse(some) else some)
