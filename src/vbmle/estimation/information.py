"""How much has been learnt: A_t = sum phi phi' + lambda I (equation 13 of the paper), kept block by block.

Blocks are those of the feasible set: all coordinates of a mixture, the row of one (s, a) in a tabular model.
A_t is kept as an inverse and updated by rank one, so that a step costs the square of the block's size.
"""

from __future__ import annotations

import math

import numpy as np

from vbmle.common import keeper
from vbmle.common.files import Snapshot
from vbmle.core import regression as core
from vbmle.model.mdp import LinearMixtureMDP


class Information:
    """Says when the log-determinant of a block's information has grown enough to decide again.

    Enough is the logarithm of `factor`, by default the usual doubling, or that for every five free coordinates of the
    block if it is more: in many dimensions the determinant doubles with nearly every observation, though nothing is
    known twice as well. For a tabular model, where a block is one (s, a), it is that pair's counts that double.
    """

    def __init__(self, mdp: LinearMixtureMDP, ridge: float, factor: float = 2.0) -> None:
        self._sizes = np.diff(mdp.flat_set.coordinate_begin)
        self._core = core.Information(mdp.core, ridge or 1.0, math.log(factor))
        self.add, self.follow, self.decided = self._core.add, self._core.follow, self._core.decided

    @property
    def due(self) -> bool:
        """Whether to decide again."""
        return self._core.due

    def snapshot(self) -> Snapshot:
        """What `restore` continues from."""
        return self._core.snapshot()

    def restore(self, snapshot: Snapshot) -> None:
        """Continue from a snapshot."""
        keeper.require_like("", snapshot, self.snapshot())
        begin = 0
        for size in self._sizes.tolist():
            block = snapshot["inverse"][begin : begin + size * size].reshape(size, size)
            keeper.require_symmetric("inverse", block)
            if size and np.linalg.eigvalsh(block)[0] <= 0.0:
                raise ValueError("inverse is not positive definite")
            begin += size * size
        keeper.require_within("growth", snapshot["growth"], 0.0, np.finfo(np.float64).max)
        self._core.restore(snapshot)
