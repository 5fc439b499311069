"""Distributions over MDPs of BBRL, a benchmark of Bayesian reinforcement learning: independent Dirichlet priors.

A serialised text: "Serializable", a version, "IMDPDistribution", names, "MDPDistribution", "DirMultiDistribution",
how many numbers follow, and then the numbers S, A, a zero; for each action and state the S parameters of the
Dirichlet prior of its row; a zero; rewards r(s,a,s') in the same order; and the first state. Transitions whose
parameter is 0 cannot happen. The model is tabular, one parameter for each possible transition, and its `prior` has
the parameters of the Dirichlet distributions in that order. The file has no discount.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from vbmle.formats.candidates import Where
from vbmle.model.mdp import LinearMixtureMDP

KIND = "DirMultiDistribution"


def is_it(text: str) -> bool:
    """Whether a text is one."""
    return text.startswith("Serializable") and "MDPDistribution" in text[:1000]


def read(path: Path, text: str, discount: float | None) -> LinearMixtureMDP:
    """The tabular model of a file, with its prior."""
    where = Where(path)
    lines = [line.strip() for line in text.splitlines()]
    if KIND not in lines:
        where.refuse(None, f"it is no {KIND}; distributions of other kinds cannot be read")
    begin = lines.index(KIND) + 1
    words = " ".join(lines[begin:]).split()
    numbers = np.array([where.number(None, f"number {i}", word) for i, word in enumerate(words)])
    if len(numbers) < 4 or numbers[0] != len(numbers) - 1:
        told = "nothing" if not len(numbers) else f"{numbers[0]:g} numbers"
        where.refuse(begin + 1, f"{told} announced, and {max(0, len(numbers) - 1)} follow")
    states, actions = (
        where.whole(begin + 2, name, word, 100_000) for name, word in (("S", words[1]), ("A", words[2]))
    )
    where.require_room(states, actions, 1)
    table = actions * states * states
    if len(numbers) != 2 * table + 6:
        where.refuse(
            begin + 1, f"S = {states} and A = {actions} take {2 * table + 5} numbers; there are {words[0]}"
        )
    shape = (actions, states, states)
    parameters = numbers[4 : 4 + table].reshape(shape).transpose(1, 0, 2)
    reward = numbers[5 + table : 5 + 2 * table].reshape(shape).transpose(1, 0, 2)
    if parameters.min() < 0.0:
        where.refuse(None, f"a parameter of a Dirichlet prior is {parameters.min():g}; it needs at least 0")
    if discount is None:
        where.refuse(None, "it says no discount; give one, as in vbmle.read(path, discount=0.95)")
    initial = np.zeros(states)
    initial[where.whole(None, "the first state", words[-1], states - 1)] = 1.0
    support = parameters > 0.0
    try:
        return LinearMixtureMDP.tabular(
            support, reward, discount, initial=initial, normalise_reward=True, prior=parameters[support]
        )
    except ValueError as error:
        raise ValueError(f"{where.path}: {error}") from error
