"""The paper's world as a choice, for the suites that run in it."""

from __future__ import annotations

from vbmle.experiments.spec import Choice

SIZES = {"(3,2)": (3, 2, 5), "(5,4)": (5, 4, 5), "(15,4)": (15, 4, 10)}
"""States, actions and dimension by the paper's name for the world."""


def network(states: int, actions: int, dimension: int) -> dict[str, int | float | str]:
    """The settings of the paper's world at one size."""
    return {
        "states": states,
        "actions": actions,
        "dimension": dimension,
        "hidden": 32,
        "temperature": 0.01,
        "discount": 0.9,
    }


def random_network(states: int = 5, actions: int = 4, dimension: int = 5, **changes: float | str) -> Choice:
    """The paper's world at one size, with other settings changed."""
    return Choice("random_network", network(states, actions, dimension) | changes)
