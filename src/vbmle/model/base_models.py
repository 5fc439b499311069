"""Base models as they were given to `LinearMixtureMDP.from_models`, dense or sparse, made ready for a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from vbmle.common import validation
from vbmle.common.validation import Floats
from vbmle.model import naming, rounded_rows, transitions
from vbmle.model.feasible_set import Constraints


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
        self._models, labels = rounded_rows.listed(models)
        self._rounding = rounded_rows.Rounding(renormalise)
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
        tables = [sparse.csr_array(model) for model in self._models]
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
