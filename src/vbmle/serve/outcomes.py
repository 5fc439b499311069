"""A model as the service sees it: names of states and actions, which outcomes are possible, and what they earn."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from vbmle.model.mdp import LinearMixtureMDP
from vbmle.serve.refusals import BadInput
from vbmle.simulation import rewards

REMEMBERED = 2**16
"""Transitions whose reward is at hand; others are looked up again."""


class Outcomes:
    """The model of one loop."""

    def __init__(self, mdp: LinearMixtureMDP) -> None:
        self.mdp = mdp
        self.state_names, self.action_names = mdp.names.states, mdp.names.actions
        self._rewards = rewards(mdp)
        known = self._rewards[np.isfinite(self._rewards)]  # that of a forbidden action is not
        self.least, self.most = float(known.min()), float(known.max())
        self.reward = lru_cache(REMEMBERED)(self._reward)

    def require_possible(self, state: int, action: int, next_state: int) -> None:
        """BadInput for a transition that no feasible theta allows."""
        if self.reward(state, action, next_state) is None:
            raise BadInput(
                f"the model calls it impossible that action {self.action_name(action)} in state "
                f"{self.state_name(state)} leads to state {self.state_name(next_state)}; report what happened, "
                "or correct the model (it was not counted)"
            )

    def _reward(self, state: int, action: int, next_state: int) -> float | None:
        """What a transition earns, in the user's units; None for one that no feasible theta allows."""
        at = self.mdp.transitions.find(state, action, next_state)
        return float(self._rewards[at]) if at >= 0 and self.mdp.possible[at] else None

    def state(self, given: int | str, where: str = "state") -> int:
        """A state by number or by name."""
        return _index(where, given, self.mdp.num_states, self.state_names)

    def action(self, given: int | str, where: str) -> int:
        """An action by number or by name."""
        return _index(where, given, self.mdp.num_actions, self.action_names)

    def require_allowed(self, state: int, action: int, where: str) -> int:
        """The action, refused where the model rules it out in that state."""
        if not self.mdp.allowed[state, action]:
            raise BadInput(
                f"{where} is {self.action_name(action)}; the model forbids that in state {self.state_name(state)}"
            )
        return action

    def state_name(self, state: int) -> str:
        """The state as people read it."""
        return self.mdp.names.state(state)

    def action_name(self, action: int) -> str:
        """The action as people read it."""
        return self.mdp.names.action(action)


def _index(where: str, given: int | str, size: int, names: tuple[str, ...] | None) -> int:
    if isinstance(given, str):
        if names is not None and given in names:
            return names.index(given)
        known = f"one of {', '.join(names[:20])}{', ...' if size > 20 else ''}" if names else _span(size)
        raise BadInput(f"{where} is {given!r}; it needs {known}")
    if not 0 <= given < size:
        raise BadInput(f"{where} is {given}; it needs {_span(size)}")
    return given


def _span(size: int) -> str:
    return f"a whole number from 0 to {size - 1}"
