"""How much has been learnt: A_t = sum phi phi' + lambda I (equation 13 of the paper), kept block by block.

Blocks are those of the feasible set: all coordinates of a mixture, the row of one (s, a) in a tabular model.
A_t is kept as an inverse and updated by rank one, so that a step costs the square of the block's size.
"""

from __future__ import annotations

import numpy as np

from vbmle.common.files import Snapshot
from vbmle.common.validation import Floats
from vbmle.model.mdp import LinearMixtureMDP

PER_DIMENSION = 0.2


class Information:
    """Tells when the log-determinant of a block's information has grown enough to decide anew.

    Enough is log 2, the usual doubling, or log 2 for every five free coordinates of the block if that is more:
    in many dimensions the determinant doubles with nearly every observation, though nothing is known twice as
    well. For a tabular model, where a block is one (s, a), this is the doubling of that pair's counts.
    """

    def __init__(self, mdp: LinearMixtureMDP, ridge: float) -> None:
        self._mdp, self._domain = mdp, mdp.flat_domain
        sizes = np.diff(self._domain.coord_ptr)
        parts = [np.eye(int(size)).ravel() / (ridge or 1.0) for size in sizes]
        self._inverse: Floats = np.concatenate(parts)
        self._growth = np.zeros(len(sizes))
        self._enough = np.log(2.0) * np.maximum(1.0, PER_DIMENSION * np.diff(self._domain.free_ptr))
        self.due = True

    def add(self, transition: int) -> None:
        """Take in one observed transition, by its index."""
        from vbmle.kernels.objective import add_information

        block, growth = add_information(self._mdp.flat, self._domain, self._inverse, transition)
        self._growth[block] += growth
        if self._growth[block] > self._enough[block]:
            self.due = True

    def decided(self) -> None:
        """Start to wait again: a decision has been taken with all that is known."""
        self._growth[:] = 0.0
        self.due = False

    def snapshot(self) -> Snapshot:
        """What `restore` continues from."""
        return {
            "information.inverse": self._inverse,
            "information.growth": self._growth,
            "information.due": np.array(self.due),
        }

    def restore(self, snapshot: Snapshot) -> None:
        """Continue from a `state`."""
        self._inverse[...] = snapshot["information.inverse"]
        self._growth[...] = snapshot["information.growth"]
        self.due = bool(snapshot["information.due"])
