"""Transition counts n(s, a, s'): all that the likelihood needs, so that no cost grows with the steps taken."""

from __future__ import annotations

import numpy as np

from vbmle import validation
from vbmle.model import LinearMixtureMDP
from vbmle.polytope import FLAT, row_norms
from vbmle.validation import Floats, Ints


class TransitionCounts:
    """How often each possible transition was seen: n(s, a, s'), the sufficient statistic of the likelihood."""

    def __init__(self, mdp: LinearMixtureMDP) -> None:
        self.mdp = mdp
        self.values: Floats = np.zeros(mdp.transitions.count)
        self.observed: Ints = np.zeros(mdp.transitions.count, np.int64)
        self.num_observed = 0
        self._total = 0
        # Where P is flat, a probability that is 0 all over it comes out as rounding of either sign.
        least = FLAT * np.minimum(1.0, row_norms(mdp.transitions.phi))
        self._possible = mdp.transitions.probabilities(mdp.polytope.interior) > least

    @property
    def total(self) -> int:
        """How many transitions were added."""
        return self._total

    def add(self, state: int, action: int, next_state: int, times: int = 1) -> int:
        """Count a transition and return its index in `mdp.transitions`.

        One that no feasible theta allows is refused, and nothing is lost.
        """
        mdp = self.mdp
        state = validation.index("state", state, mdp.num_states)
        action = validation.index("action", action, mdp.num_actions)
        next_state = validation.index("next_state", next_state, mdp.num_states)
        if times != 1:
            times = validation.positive_integer("times", times)
        i = mdp.transitions.find(state, action, next_state)
        if i < 0 or not self._possible[i]:
            raise ValueError(
                f"the transition (s={state}, a={action}, s'={next_state}) has probability 0 for every feasible "
                "theta, yet it was observed; check the features and the impossible set (it was not counted)"
            )
        if self.values[i] == 0.0:
            self.observed[self.num_observed] = i
            self.num_observed += 1
        self.values[i] += times
        self._total += times
        return i

    def load_values(self, values: Floats, observed: Ints) -> None:
        """Replace all counts, in the order in which transitions were first observed."""
        self.values = values.copy()
        self.num_observed = len(observed)
        self.observed[: len(observed)] = observed
        self._total = int(values.sum())

    def __repr__(self) -> str:
        return f"TransitionCounts(total={self.total}, distinct={self.num_observed})"
