"""An agent is two methods and a policy: act(state) -> action, observe(state, action, next_state), policy.

`Agent` adds saving and exact continuation; `TallyAgent` also the transition counts that all who learn a model
learn from; `CountingAgent` an estimate theta; `SolvingAgent` the solver that turns counts into theta and policy.
"""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from vbmle.common.files import Snapshot, load_npz, save_npz
from vbmle.common.validation import Floats, Ints, index
from vbmle.estimation.counts import TransitionCounts
from vbmle.estimation.information import Information
from vbmle.estimation.maximiser import Solver
from vbmle.model.mdp import LinearMixtureMDP
from vbmle.model.transitions import one_hot

if TYPE_CHECKING:
    from vbmle.estimation.confidence import Confidence

FORMAT = "vbmle-agent-1"


class Agent(ABC):
    """The protocol. A subclass of its own needs `observe` and `policy`, and `act` where it decides only when asked.

    `settings` are the keyword arguments that rebuild the agent; `_snapshot` and `_restore` what it has learnt.
    """

    randomised = False
    """Whether actions may differ from `policy`."""

    needs_truth = False
    """Whether the setting `theta` is the hidden truth of the world, to be filled in by whoever runs it there."""

    def __init__(self, mdp: LinearMixtureMDP, **settings: Any) -> None:
        self.mdp = mdp
        self.settings = settings

    def act(self, state: int) -> int:
        """The action to take in `state`, that of the policy in force; asking twice gives the same answer."""
        return int(self.policy[index("state", state, self.mdp.num_states)])

    @abstractmethod
    def observe(self, state: int, action: int, next_state: int) -> None:
        """Learn from one transition."""

    def observe_many(self, states: ArrayLike, actions: ArrayLike, next_states: ArrayLike) -> None:
        """Learn from logged transitions, in their order: the same as observing them one by one."""
        columns = (np.asarray(column).tolist() for column in (states, actions, next_states))
        for state, action, next_state in zip(*columns, strict=True):
            self.observe(state, action, next_state)

    @property
    @abstractmethod
    def policy(self) -> Ints:
        """The stationary policy in force, (S,) ints."""

    def _snapshot(self) -> Snapshot:
        """What was learnt, as arrays."""
        return {}

    def _restore(self, snapshot: Snapshot) -> None:
        """Take over what `_snapshot` gave."""
        for name in snapshot:
            raise ValueError(f"{type(self).__name__} does not know what to do with {name!r}")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the agent as .npz (no pickle): after `load`, act and observe go on exactly as before."""
        kept = {name: value for name, value in self.settings.items() if not callable(value)}
        functions = sorted(set(self.settings) - set(kept))
        meta = {
            "format": FORMAT,
            "class": type(self).__name__,
            "model": self.mdp.fingerprint(),
            "settings": kept,
            "functions": functions,
        }
        save_npz(path, {"meta": np.frombuffer(json.dumps(meta).encode(), dtype=np.uint8), **self._snapshot()})

    @classmethod
    def load(cls, path: str | os.PathLike[str], mdp: LinearMixtureMDP, **functions: Any) -> Self:
        """Rebuild a saved agent on the same model; settings that are functions must be given again by name."""
        snapshot, meta = load_npz(path, FORMAT, "an agent written by Agent.save")
        if meta["class"] != cls.__name__:
            raise ValueError(f"{path} holds a {meta['class']}; load it with {meta['class']}.load")
        if meta["model"] != mdp.fingerprint():
            raise ValueError(f"{path} was saved on another model ({meta['model']}, not {mdp.fingerprint()})")
        missing = [name for name in meta["functions"] if name not in functions]
        if missing:
            raise ValueError(
                f"{path} used a function for {missing[0]!r}; give it again: load(..., {missing[0]}=...)"
            )
        agent = cls(mdp, **meta["settings"], **functions)
        try:
            agent._restore(snapshot)
        except (KeyError, ValueError) as error:
            raise ValueError(f"{path} is a damaged agent file: {error}") from error
        return agent


def tabular_coordinates(mdp: LinearMixtureMDP) -> Ints | None:
    """The coordinate of each transition where P is one whole simplex per (s, a); else None."""
    return one_hot(mdp.transitions) if mdp.domain == "polytope" and mdp.p_min == 0.0 else None


class TallyAgent(Agent):
    """An agent that learns from transition counts and decides at most once per observation and state."""

    def __init__(self, mdp: LinearMixtureMDP, **settings: Any) -> None:
        super().__init__(mdp, **settings)
        self.counts = TransitionCounts(mdp)
        self._decided = -1  # the state decided for since the last observation

    @abstractmethod
    def _decide(self, state: int) -> None:
        """Update the policy, and what it rests on, for acting in `state`."""

    def act(self, state: int) -> int:
        if state != self._decided:
            state = index("state", state, self.mdp.num_states)
            self._decide(state)
            self._decided = state
        return int(self.policy[state])  # checked already: this is the hot path

    def observe(self, state: int, action: int, next_state: int) -> None:
        self.counts.add(state, action, next_state)
        self._decided = -1

    def confidence(self, delta: float = 0.1, state: int | None = None) -> Confidence:
        """What the data prove of V* and of the policy in force, at confidence 1 - delta at all times at once.

        Needs the counts alone (see `vbmle.estimation.likelihood_set`), and changes nothing. With a `state`, it is
        about the states that can be reached from there.
        """
        from vbmle.estimation.confidence import confidence

        return confidence(self.counts, self.policy, delta, state)

    def observe_many(self, states: ArrayLike, actions: ArrayLike, next_states: ArrayLike) -> None:
        """Learn from logged transitions at once: the same as one by one, and refused as a whole."""
        kind = type(self)
        if kind.observe is not TallyAgent.observe and kind._noted is TallyAgent._noted:
            super().observe_many(
                states, actions, next_states
            )  # it learns more than counts, and only one by one
            return
        self._noted(self.counts.add_many(states, actions, next_states))
        self._decided = -1

    def _noted(self, seen: Ints) -> None:
        """What `observe` learns beside the counts, for transitions by index, in their order."""

    def _snapshot(self) -> Snapshot:
        return {
            "counts.values": self.counts.values,
            "counts.observed": self.counts.observed[: self.counts.num_observed],
            "decided": np.array(self._decided),
        }

    def _restore(self, snapshot: Snapshot) -> None:
        self.counts.load_values(snapshot["counts.values"], snapshot["counts.observed"])
        self._decided = int(snapshot["decided"])


class CountingAgent(TallyAgent):
    """An agent that learns from transition counts and keeps an estimate `theta`."""

    @property
    @abstractmethod
    def theta(self) -> Floats:
        """The parameter in force."""


class Lazy(TallyAgent):
    """For agents that may wait until the information about what they observe has doubled; None: they never wait."""

    _information: Information | None

    def observe(self, state: int, action: int, next_state: int) -> None:
        seen = self.counts.add(state, action, next_state)
        self._decided = -1
        if self._information is not None:
            self._information.add(seen)

    def _noted(self, seen: Ints) -> None:
        if self._information is not None:
            for transition in seen:
                self._information.add(int(transition))

    def _waits(self) -> bool:
        """Whether the last decision stands; where it does not, the next wait begins."""
        if self._information is None:
            return False
        if self._information.due:
            self._information.decided()
            return False
        return True

    def _snapshot(self) -> Snapshot:
        return super()._snapshot() | (self._information.snapshot() if self._information is not None else {})

    def _restore(self, snapshot: Snapshot) -> None:
        super()._restore(snapshot)
        if self._information is not None:
            self._information.restore(snapshot)


class SolvingAgent(CountingAgent):
    """A counting agent whose theta and policy are those of one warm-started solver with that many places."""

    def __init__(self, mdp: LinearMixtureMDP, places: int = 1, **settings: Any) -> None:
        super().__init__(mdp, **settings)
        self._solver = Solver(mdp, places=places, seed=settings.get("seed", 0))
        self._solver.plan()

    @property
    def policy(self) -> Ints:
        return self._solver.policy

    @property
    def theta(self) -> Floats:
        return self._solver.theta

    def _snapshot(self) -> Snapshot:
        return super()._snapshot() | self._solver.snapshot()

    def _restore(self, snapshot: Snapshot) -> None:
        super()._restore(snapshot)
        self._solver.restore(snapshot)
