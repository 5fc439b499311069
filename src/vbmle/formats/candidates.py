"""What formats of candidates have in common: K models of one system, their rewards, a prior and a discount.

A format reads a file into `Candidates`, and writes one from it; `model` makes a `LinearMixtureMDP` of it,
`of_model` the candidates of one. Dense arrays (K, S, A, S), since files that name each transition are small.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from vbmle.common.validation import Bools, Floats
from vbmle.model.mdp import LinearMixtureMDP
from vbmle.model.naming import Names

MOST_NUMBERS = 50_000_000
"""In (K, S, A, S): what a file may ask for. Larger models are sparse, and come from tables or `.npz` files."""

NO_NAMES = Names()
SUM_TO_1 = 1e-6
"""By so much the probabilities of a row in a file may miss 1; they are divided by their sum."""


class Where:
    """A file, for messages that name it and the line."""

    def __init__(self, path: object) -> None:
        self.path = str(path)

    def refuse(self, line: int | None, what: str) -> NoReturn:
        """ValueError that says where."""
        raise ValueError(f"{self.path}{'' if line is None else f', line {line}'}: {what}")

    def number(self, line: int | None, name: str, text: str) -> float:
        """A finite number."""
        try:
            value = float(text)
        except ValueError:
            self.refuse(line, f"{name} is {text[:40]!r}; it needs a number")
        if not np.isfinite(value):
            self.refuse(line, f"{name} is {text[:40]!r}; it needs a finite number")
        return value

    def whole(self, line: int | None, name: str, text: str, most: int) -> int:
        """A whole number from 0 to `most`."""
        digits = text.strip()
        if not (digits.isascii() and digits.isdigit() and len(digits) < 10 and int(digits) <= most):
            self.refuse(line, f"{name} is {text[:40]!r}; it needs a whole number from 0 to {most}")
        return int(digits)

    def require_room(self, states: int, actions: int, candidates: int) -> None:
        """Refuse sizes whose arrays would not fit."""
        numbers = candidates * states * actions * states
        if min(states, actions, candidates) < 1:
            self.refuse(None, f"{states} states, {actions} actions, {candidates} candidates; each needs one")
        if numbers > MOST_NUMBERS:
            sizes = f"{states} states, {actions} actions and {candidates} candidates"
            self.refuse(
                None, f"{sizes} make {numbers:,} probabilities; a file may have {MOST_NUMBERS:,} (use .npz)"
            )


@dataclass(frozen=True)
class Candidates:
    """K models with what a file says of them.

    p : (K, S, A, S) transition probabilities.
    reward : (K, S, A) or (K, S, A, S) rewards.
    allowed : (S, A) which actions may be taken.
    initial : (S,) distribution of the first state, or None for uniform.
    prior : (K,) probabilities of the candidates, or None where the file has none.
    discount : gamma, or None where the file does not say.
    """

    p: Floats
    reward: Floats
    allowed: Bools
    initial: Floats | None = None
    prior: Floats | None = None
    discount: float | None = None
    names: Names = NO_NAMES

    def checked(self, where: Where) -> Candidates:
        """The same with rows that sum to 1, and with one reward table where candidates agree."""
        total = self.p.sum(axis=3)
        off = np.abs(total - 1.0) * self.allowed
        if off.max(initial=0.0) > SUM_TO_1 or self.p.min(initial=0.0) < 0.0:
            bad = np.where(self.p.min(axis=3) < 0.0, np.inf, off)
            k, s, a = (int(i) for i in np.unravel_index(int(bad.argmax()), bad.shape))
            where.refuse(
                None,
                f"the probabilities of {self.names.pair(s, a)} in candidate {self.candidate(k)} sum to "
                f"{total[k, s, a]:.9g}, the least is {self.p[k, s, a].min():.9g}; they need to be at least 0 "
                "and to sum to 1",
            )
        p = np.where(self.allowed[:, :, None], self.p / np.where(total > 0.0, total, 1.0)[..., None], 0.0)
        return Candidates(p, self.reward, self.allowed, self.initial, self.prior, self.discount, self.names)

    def candidate(self, k: int) -> str:
        """A candidate for messages."""
        return repr(self.names.models[k]) if self.names.models else str(k)

    def model(self, where: Where, discount: float | None) -> LinearMixtureMDP:
        """The model whose theta is one of the candidates."""
        gamma = self.discount if discount is None else discount
        if gamma is None:
            where.refuse(None, "it says no discount; give one, as in vbmle.read(path, discount=0.95)")
        given = self.checked(where)
        arrays: dict[str, Floats] | list[Floats] = list(given.p)
        if self.names.models:
            arrays = dict(zip(self.names.models, given.p, strict=True))
        alike = all(np.array_equal(one, self.reward[0]) for one in self.reward[1:])
        if not alike:
            where.refuse(None, "rewards differ between candidates, and a model has one reward for all")
        try:
            return LinearMixtureMDP.from_models(
                arrays,
                self.reward[0],
                discount=gamma,
                initial=self.initial,
                domain="vertices",
                normalise_reward=True,
                allowed=None if self.allowed.all() else self.allowed,
                state_names=self.names.states,
                action_names=self.names.actions,
                prior=self.prior,
            )
        except ValueError as error:
            raise ValueError(f"{where.path}: {error}") from error

    @classmethod
    def of_model(cls, mdp: LinearMixtureMDP) -> Candidates:
        """The base models of a model, for writing."""
        states, actions = mdp.num_states, mdp.num_actions
        Where("the model").require_room(states, actions, mdp.dimension)
        for k, vertex in enumerate(np.eye(mdp.dimension)):
            if not mdp.contains(vertex):
                raise ValueError(
                    f"base model {k} is no model of its own (theta = e_{k} lies outside the feasible set); "
                    "candidates can be written only of models made with from_models"
                )
        p = np.stack([_dense(mdp.transition(vertex), actions) for vertex in np.eye(mdp.dimension)])
        rewards = [_dense(mdp.reward, actions)] * mdp.dimension
        prior = None if mdp.prior is None else np.asarray(mdp.prior) / np.sum(mdp.prior)
        table = np.stack(rewards)
        table[
            np.broadcast_to(~mdp.allowed.reshape(1, states, actions, *[1] * (table.ndim - 3)), table.shape)
        ] = 0.0
        return cls(
            p * mdp.allowed[None, :, :, None], table, mdp.allowed, mdp.initial, prior, mdp.discount, mdp.names
        )


def _dense(array: object, actions: int) -> Floats:
    """(S, A, S) or (S, A) of a dense or sparse table."""
    dense = np.asarray(array.toarray() if hasattr(array, "toarray") else array, np.float64)
    return dense.reshape(-1, actions, dense.shape[1]) if hasattr(array, "toarray") else dense


def labels(names: Sequence[str] | None, count: int, letter: str) -> list[str]:
    """Names, or letters with numbers where there are none: for formats that need a word for each."""
    return list(names) if names else [f"{letter}{i}" for i in range(count)]
