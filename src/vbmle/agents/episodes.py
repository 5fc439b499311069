"""Episodes that end when the visits of a pair (s, a) have doubled (Jaksch, Ortner and Auer 2010)."""

from __future__ import annotations

import numpy as np

from vbmle.common.files import Snapshot
from vbmle.common.validation import Floats
from vbmle.model.mdp import LinearMixtureMDP


class Episodes:
    """Visits n(s, a) by row s * A + a, now and at the start of the episode."""

    def __init__(self, mdp: LinearMixtureMDP) -> None:
        self.visits: Floats = np.zeros(mdp.num_states * mdp.num_actions)
        self._before: Floats = np.zeros_like(self.visits)
        self._begun = False

    def over(self, row: int) -> bool:
        """Whether the pair about to be played was seen in this episode as often as before it, or once."""
        fresh = self.visits[row] - self._before[row]
        return not self._begun or bool(fresh >= max(1.0, self._before[row]))

    def begin(self) -> None:
        """Start an episode."""
        self._before[...] = self.visits
        self._begun = True

    def snapshot(self) -> Snapshot:
        """What `restore` continues from."""
        return {
            "episodes.visits": self.visits,
            "episodes.before": self._before,
            "episodes.begun": np.array(self._begun),
        }

    def restore(self, snapshot: Snapshot) -> None:
        """Continue from a `state`."""
        self.visits[...] = snapshot["episodes.visits"]
        self._before[...] = snapshot["episodes.before"]
        self._begun = bool(snapshot["episodes.begun"])
