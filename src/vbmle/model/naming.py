"""Which actions are allowed where, and what states and actions are called.

A pair (s, a) that is not allowed has the reward minus infinity, and the transitions of the first action of s that is
allowed, so that nothing needs to be known about it and it says nothing about theta.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from vbmle.common.validation import Bools, Floats, Ints, index, require_shape

LONGEST_NAME = 200
"""Characters in the name of a state, an action or a base model."""


@dataclass(frozen=True)
class Names:
    """Names of states, actions and base models; None where they have numbers only."""

    states: tuple[str, ...] | None = None
    actions: tuple[str, ...] | None = None
    models: tuple[str, ...] | None = None

    def state(self, number: int) -> str:
        """A state for messages."""
        return self.states[number] if self.states else str(number)

    def action(self, number: int) -> str:
        """An action for messages."""
        return self.actions[number] if self.actions else str(number)

    def of_states(self, numbers: Ints) -> list[str] | Ints:
        """States as a column: names, or numbers where they have none."""
        return [self.states[number] for number in numbers.tolist()] if self.states else numbers

    def of_actions(self, numbers: Ints) -> list[str] | Ints:
        """Actions as a column."""
        return [self.actions[number] for number in numbers.tolist()] if self.actions else numbers

    def pair(self, state: int, action: int) -> str:
        """(s, a) for messages."""
        return f"(s={self.state(state)}, a={self.action(action)})"


class NamedModels(list[sparse.csr_array]):
    """Base models, and what their source calls them, their states and their actions."""

    def __init__(self, models: Iterable[sparse.csr_array], names: Names) -> None:
        super().__init__(models)
        self.names = names


def make_names(
    states: Sequence[str] | None, actions: Sequence[str] | None, num_states: int, num_actions: int
) -> Names:
    """Names, refused unless there is one text for each, all different."""
    return Names(named("state_names", states, num_states), named("action_names", actions, num_actions))


def named(what: str, given: Sequence[str] | None, count: int) -> tuple[str, ...] | None:
    """As many different strings as there are things; None where they have numbers only."""
    if given is None:
        return None
    if isinstance(given, str):
        raise ValueError(f"{what} is the string {given!r}; it needs a list of {count} names")
    names = tuple(given)
    first: dict[str, int] = {}
    for i, name in enumerate(names):
        if not isinstance(name, str):
            raise ValueError(f"{what}[{i}] is {name!r}; names must be strings")
        if not 0 < len(name) <= LONGEST_NAME or not name.isprintable():
            shown = repr(name) if len(name) <= LONGEST_NAME else f"a text of {len(name)} characters"
            raise ValueError(
                f"{what}[{i}] is {shown}; a name needs 1 to {LONGEST_NAME} characters that can be printed"
            )
        if first.setdefault(name, i) != i:
            raise ValueError(f"{what} has {name!r} at {first[name]} and {i}; names must differ")
    if len(names) != count:
        raise ValueError(f"{what} has {len(names)} names; it needs {count}")
    return names


def number_of(what: str, value: int | str, names: tuple[str, ...] | None, count: int) -> int:
    """The number of a state or an action that is given by number or by name."""
    if isinstance(value, str):
        if names is None:
            raise ValueError(
                f"{what} is {value!r}, but the model has no {what} names; it needs a whole number"
            )
        if value not in names:
            shown = ", ".join(names[:8]) + (", ..." if count > 8 else "")
            raise ValueError(f"{what} is {value!r}; it needs one of {shown}")
        return names.index(value)
    return index(what, value, count)


def action_mask(allowed: ArrayLike | None, states: int, actions: int, names: Names) -> Bools:
    """(S, A), True where an action may be taken; a state that has none is refused by name."""
    if allowed is None:
        return np.ones((states, actions), dtype=bool)
    array = np.asarray(allowed)
    if array.dtype != bool and not np.isin(array, (0, 1)).all():
        raise ValueError("allowed holds values other than True and False; it needs a boolean (S, A) array")
    require_shape("allowed", array, (states, actions), "(S, A)")
    mask = array.astype(bool)
    stuck = np.nonzero(~mask.any(axis=1))[0]
    if len(stuck):
        raise ValueError(
            f"allowed leaves no action in state {names.state(int(stuck[0]))}; every state needs one"
        )
    return mask


def stand_in(allowed: Bools) -> Ints:
    """For each pair s * A + a the pair whose transitions it gets: its own, or that of the first action allowed in s."""
    states, actions = allowed.shape
    own = np.arange(states * actions).reshape(states, actions)
    return np.where(allowed, own, own[np.arange(states), allowed.argmax(axis=1)][:, None]).ravel()


def filled(table: ArrayLike, allowed: Bools) -> Floats:
    """An array (S, A, ...) with the rows of pairs that are not allowed replaced."""
    array = np.array(table, dtype=np.float64)
    if array.shape[:2] != allowed.shape or allowed.all():
        return array  # a wrong shape is for others to refuse
    return array.reshape(-1, *array.shape[2:])[stand_in(allowed)].reshape(array.shape)


def one_successor(pattern: sparse.csr_array, allowed: Bools) -> sparse.csr_array:
    """A tabular pattern (S*A, S) in which pairs that are not allowed have a single successor: nothing is unknown."""
    source = sparse.csr_array(pattern[stand_in(allowed)])
    source.eliminate_zeros()
    source.sort_indices()
    pair_of = np.repeat(np.arange(source.shape[0]), np.diff(source.indptr))
    first = np.arange(source.nnz) == source.indptr[pair_of]
    keep = allowed.ravel()[pair_of] | first
    return sparse.csr_array((source.data[keep], (pair_of[keep], source.indices[keep])), shape=source.shape)
