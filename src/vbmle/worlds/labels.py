"""What states, actions and rewards of a world stand for: what a picture needs beside the numbers.

A world without labels is drawn as a graph. Others lay their states out in panels, each a two-dimensional
array of state numbers (-1 where there is none): a grid to walk on, a map of two quantities, or, with a single
row, a curve over one quantity.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike

from vbmle.common import validation
from vbmle.common.validation import Among, Floats, Ints
from vbmle.model.mdp import LinearMixtureMDP
from vbmle.model.world import World

Mix = Annotated[str, Among(("random",))]


@dataclass(frozen=True, eq=False)
class Labels:
    """How to show a world: `panels` by title, what their axes and the actions are called, the unit of reward.

    `glyphs` has one sign per action (an arrow) where actions move through a grid; `marks` a text per state.
    """

    panels: dict[str, Ints]
    actions: tuple[str, ...]
    unit: str = "reward"
    x: str = ""
    y: str = ""
    glyphs: tuple[str, ...] = ()
    marks: dict[int, str] | None = None


class LabelledWorld(World):
    """A world that knows what its states, actions and rewards stand for."""

    def __init__(self, mdp: LinearMixtureMDP, theta: ArrayLike, labels: Labels) -> None:
        super().__init__(mdp, theta)
        self.labels = labels


def weights(name: str, mix: ArrayLike | str, count: int, seed: int) -> Floats:
    """The hidden theta of a mix of `count` base models: as given, or "random", drawn from the simplex by seed."""
    if isinstance(mix, str):
        validation.one_of(name, mix, ("random",))
        sequence = np.random.SeedSequence(validation.index("seed", seed, 2**63))
        return np.random.default_rng(sequence).dirichlet(np.ones(count))
    theta = validation.finite_array(name, mix, 1)
    if len(theta) != count:
        raise ValueError(f"{name} has {len(theta)} weights; it needs {count}, one for each base model")
    return validation.mixture(name, theta)
