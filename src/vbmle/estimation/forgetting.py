"""Counts that forget, for a mix that drifts: n(s, a, s') with a weight for each observation.

    half-life h    an observation that is k steps old weighs 2^(-k/h)
    window W       the last W observations weigh 1, older ones nothing

The likelihood of these counts is exactly the weighted one, sum_i weight_i log p(s_{i+1}|s_i,a_i). A weight below 2^-60
counts as none.
"""

from __future__ import annotations

from collections import deque
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from vbmle.common import saved_checks
from vbmle.common.files import Snapshot
from vbmle.common.validation import Floats, Ints, positive, positive_integer
from vbmle.estimation.counts import MOST_COUNTED, TransitionCounts
from vbmle.model.mdp import LinearMixtureMDP

NEGLIGIBLE_WEIGHT = 2.0**-60
"""A weight below this counts as none."""

Forget = float | dict[str, float] | None
"""A half-life in steps, {"half_life": steps}, {"window": steps}, or None for never."""


def read_forget(forget: Forget) -> tuple[str, float] | None:
    """What `forget` says, ("half_life", h) or ("window", W); None where nothing is forgotten."""
    if forget is None:
        return None
    kinds = ("half_life", "window")
    if isinstance(forget, dict):
        if len(forget) != 1 or next(iter(forget)) not in kinds:
            raise ValueError(
                f"forget is {forget}; it needs a half-life in steps, {{'half_life': h}} or {{'window': w}}"
            )
        kind, steps = next(iter(forget.items()))
    else:
        kind, steps = "half_life", forget
    if kind == "window":
        return kind, positive_integer("forget's window", steps)
    return kind, positive("forget's half-life", steps)


class ForgettingCounts(TransitionCounts):
    """Transition counts in which old observations weigh less. `total` counts them all, `remembered` their weights."""

    grows: ClassVar[tuple[str, ...]] = (*TransitionCounts.grows, "last")

    def __init__(self, mdp: LinearMixtureMDP, forget: Forget) -> None:
        super().__init__(mdp)
        found = read_forget(forget)
        if found is None:
            raise ValueError("forget is None; counts that forget need a half-life or a window")
        self.kind, self.steps = found
        self._decay = 2.0 ** (-1.0 / self.steps) if self.kind == "half_life" else 1.0
        self._used = 0  # the total when a decision last used them
        self._last: deque[int] = deque()  # what is in the window, by index, the oldest first

    def _made_with(self) -> tuple[Any, ...]:
        return self.mdp, {self.kind: self.steps}

    @property
    def remembered(self) -> int:
        """The sum of all weights, rounded down."""
        return int(self.values.sum() + 1e-9)

    @property
    def aged(self) -> bool:
        """Whether a quarter of the half-life, or of the window, has passed since a decision."""
        return self.total - self._used >= max(1.0, 0.25 * self.steps)

    def decided(self) -> None:
        """A decision was taken."""
        self._used = self.total

    def add(self, state: int, action: int, next_state: int, times: int = 1) -> int:
        """Count a transition, and let the others age by one step."""
        if times != 1:
            raise ValueError(f"times is {times!r}; counts that forget take one observation at a time")
        at = self.find_many([state], [action], [next_state])
        if at[0] < 0:
            return super().add(state, action, next_state, times)  # says what is wrong with it
        self.add_found(at)
        return int(at[0])

    def add_many(self, states: ArrayLike, actions: ArrayLike, next_states: ArrayLike) -> Ints:
        """Count transitions in their order, as `add` would one by one."""
        at = self.find_many(states, actions, next_states)
        return super().add_many(states, actions, next_states) if (at < 0).any() else self.add_found(at)

    def add_found(self, at: Ints) -> Ints:
        """Count transitions by index, in their order."""
        values, order = self.values.copy(), dict.fromkeys(self.observed.tolist())
        for i in np.asarray(at).tolist():
            values *= self._decay
            values[i] += 1.0
            order.setdefault(i)
            if self.kind == "window":
                self._last.append(i)
                if len(self._last) > self.steps:
                    values[self._last.popleft()] -= 1.0
        kept = np.array([i for i in order if values[i] >= NEGLIGIBLE_WEIGHT], dtype=np.int64)
        values[values < NEGLIGIBLE_WEIGHT] = 0.0
        self.core.load(values, kept)
        self.total += len(at)
        return at

    def continue_from(self, other: TransitionCounts) -> Ints:
        """Take over what counts of another layout have, the window too."""
        found = super().continue_from(other)
        if isinstance(other, ForgettingCounts):
            transitions, actions = other.mdp.transitions, self.mdp.num_actions
            last = np.array(other._last, dtype=np.int64)
            pair = transitions.pair_of[last]
            self._last = deque(
                self.find_many(pair // actions, pair % actions, transitions.successor[last]).tolist()
            )
        return found

    def carry(self, snapshot: Snapshot, now: dict[int, int]) -> None:
        """Take over the age of a snapshot of other counts; `now` maps the indices of then to those of now."""
        self.total, self._used = (int(number) for number in snapshot["counts.progress"])
        self._last = deque(now[int(i)] for i in snapshot["counts.last"])

    def snapshot(self) -> Snapshot:
        """What `restore` continues from."""
        last = np.array(self._last, dtype=np.int64)
        return super().snapshot() | {"progress": np.array([self.total, self._used]), "last": last}

    def restore(self, snapshot: Snapshot) -> None:
        """Continue from a snapshot; ValueError names the field that does not fit."""
        super().restore(snapshot)
        self.total, self._used = (int(number) for number in snapshot["progress"])
        self._last = deque(snapshot["last"].tolist())

    def _check(self, snapshot: Snapshot) -> None:
        super()._check(snapshot)
        values, last, (total, used) = snapshot["values"], snapshot["last"], snapshot["progress"].tolist()
        if not 0 <= used <= total < MOST_COUNTED:
            raise ValueError(
                f"progress is {total}, {used}; it needs all steps, and those at the last decision"
            )
        saved_checks.require_within("last", last, 0, len(values) - 1)
        window = min(total, self.steps) if self.kind == "window" else 0
        if len(last) != window:
            raise ValueError(f"last has {len(last)} entries; it needs the {window:g} in the window")
        if self.kind == "window" and not np.array_equal(values, np.bincount(last, minlength=len(values))):
            raise ValueError("values are not those of the observations in the window")
        # With decay d, t observations weigh (1 - d^t) / (1 - d) together, up to rounding and what is negligible.
        if self.kind == "half_life":
            d = self._decay
            weight = float(total) if d == 1.0 else (1.0 - d**total) / (1.0 - d)
            if not abs(values.sum() - weight) <= 1e-6 * weight + 1e-9:
                raise ValueError(f"values add up to {values.sum():g}; {total} observations weigh {weight:g}")

    def _check_values(self, values: Floats) -> None:
        if ((values > 0.0) & (values < NEGLIGIBLE_WEIGHT)).any():
            raise ValueError("values holds a weight that is too small to be kept")
