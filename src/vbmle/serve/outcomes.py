"""A model as the service sees it: names of states and actions, which outcomes are possible, and what they earn."""

from __future__ import annotations

from collections.abc import Sequence

from vbmle.estimation.counts import TransitionCounts
from vbmle.model.mdp import LinearMixtureMDP
from vbmle.serve.refusals import BadInput
from vbmle.simulation import rewards


class Outcomes:
    """The model of one loop; for one thread."""

    def __init__(self, mdp: LinearMixtureMDP) -> None:
        self.mdp = mdp
        self.state_names = _names(mdp, "state_names", mdp.num_states)
        self.action_names = _names(mdp, "action_names", mdp.num_actions)
        self._rewards = rewards(mdp)
        self._counts = TransitionCounts(mdp)  # it knows which transitions there are, and in which order

    def require_possible(self, state: int, action: int, next_state: int) -> None:
        """ValueError for a transition that no feasible theta allows."""
        self._counts.add(state, action, next_state)

    def reward(self, state: int, action: int, next_state: int) -> float | None:
        """What a transition earns, in the user's units; None for one that the model does not know."""
        try:
            return float(self._rewards[self._counts.add(state, action, next_state)])
        except ValueError:
            return None

    def value(self, V: float) -> float:
        """A value of the planner in the user's units."""
        return V * self.mdp.reward_scale + self.mdp.reward_offset / (1.0 - self.mdp.discount)

    def state(self, given: int | str, where: str = "state") -> int:
        """A state by number or by name."""
        return _index(where, given, self.mdp.num_states, self.state_names)

    def action(self, given: int | str, where: str) -> int:
        """An action by number or by name."""
        return _index(where, given, self.mdp.num_actions, self.action_names)

    def state_name(self, state: int) -> str:
        """The state as people read it."""
        return self.state_names[state] if self.state_names else str(state)

    def action_name(self, action: int) -> str:
        """The action as people read it."""
        return self.action_names[action] if self.action_names else str(action)


def _names(mdp: LinearMixtureMDP, attribute: str, count: int) -> list[str] | None:
    names: Sequence[object] | None = getattr(mdp, attribute, None)
    return [str(name) for name in names] if names is not None and len(names) == count else None


def _index(where: str, given: int | str, size: int, names: list[str] | None) -> int:
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
