"""Transition counts n(s, a, s'): all that the likelihood needs, so that no cost grows with the steps taken.

Counts may forget, for a mix that drifts. Then each observation has a weight:

    half-life h    an observation that is k steps old weighs 2^(-k/h)
    window W       the last W observations weigh 1, older ones nothing

The likelihood of these counts is exactly the weighted one, sum_i weight_i log p(s_{i+1}|s_i,a_i). A weight below 2^-60
counts as none.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from vbmle.common import keeper, validation
from vbmle.common.files import Snapshot
from vbmle.common.validation import Floats, Ints, positive, positive_integer
from vbmle.core.model import BAD_STATE, Counts
from vbmle.model.mdp import LinearMixtureMDP

if TYPE_CHECKING:
    import polars

MOST_COUNTED = 2**62
"""The core keeps all counts together below this."""


class ImpossibleTransition(ValueError):
    """Something was observed that no feasible theta allows."""


class TransitionCounts:
    """How often each possible transition was seen: n(s, a, s'), the sufficient statistic of the likelihood.

    Parameters
    ----------
    mdp : LinearMixtureMDP
        The model whose transitions are counted.

    Examples
    --------
    >>> import vbmle
    >>> counts = vbmle.TransitionCounts(vbmle.worlds.riverswim(length=6).mdp)
    >>> _ = counts.add(0, 1, 1)
    >>> counts.total
    1
    """

    def __init__(self, mdp: LinearMixtureMDP) -> None:
        self.mdp = mdp
        self.core = Counts(mdp.core, mdp.possible)
        self.values: Floats = self.core.values
        self.total = 0
        """How many transitions were added."""
        self.skipped: dict[tuple[int, int, int], int] = {}
        """How often each impossible transition was skipped, where that was asked for."""
        self._add = self.core.add

    @property
    def observed(self) -> Ints:
        """The transitions seen at least once, in the order in which they were first seen."""
        return self.core.observed[: self.core.num_observed]

    @property
    def remembered(self) -> int:
        """How many observations the counts stand for: all of them, where none is forgotten."""
        return self.total

    @property
    def num_observed(self) -> int:
        """How many transitions were seen at least once."""
        return self.core.num_observed

    def visits(self) -> Floats:
        """n(s, a) of every pair s * A + a, (S*A,)."""
        return np.add.reduceat(self.values, self.mdp.transitions.indptr[:-1])

    def visits_of(self, pair: int) -> float:
        """n(s, a) of one pair s * A + a."""
        begin = self.mdp.transitions.indptr
        return float(self.values[begin[pair] : begin[pair + 1]].sum())

    def to_frame(self) -> polars.DataFrame:
        """A polars frame with a row for each transition that was seen, ordered by state, action and next state.

        Columns: state, action and next_state, by name where they have names, and count.
        """
        from vbmle.common import extras

        seen, names = np.sort(self.observed), self.mdp.names
        states, actions = np.divmod(self.mdp.transitions.pair_of[seen], self.mdp.num_actions)
        return extras.frame(
            {
                "state": names.of_states(states),
                "action": names.of_actions(actions),
                "next_state": names.of_states(self.mdp.transitions.successor[seen]),
                "count": self.values[seen],
            }
        )

    def skip(self, states: ArrayLike, actions: ArrayLike, next_states: ArrayLike) -> None:
        """Note impossible transitions without counting them."""
        for key in zip(
            *(np.atleast_1d(column).tolist() for column in (states, actions, next_states)), strict=True
        ):
            self.skipped[key] = self.skipped.get(key, 0) + 1

    def add(self, state: int, action: int, next_state: int, times: int = 1) -> int:
        """Count a transition and return its index in `mdp.transitions`.

        One that no feasible theta allows is refused (`ImpossibleTransition`), and nothing is lost.
        """
        if type(state) is int and type(action) is int and type(next_state) is int and type(times) is int:
            # ctypes takes the last 64 bits of any number: what has more, or a sign, is looked at below.
            fits = (state | action | next_state | times) >> 62 == 0 and times != 0
            i = self._add(state, action, next_state, times) if fits else BAD_STATE
            if i >= 0:  # the hot path
                self.total += times
                return i
        mdp = self.mdp
        state, action = mdp.state_number(state), mdp.action_number(action)
        next_state = mdp.state_number(next_state, "next_state")
        self._require_allowed(np.array([state]), np.array([action]))
        times = validation.positive_integer("times", times)
        if self.total + times >= MOST_COUNTED:
            raise ValueError(f"times is {times}; all counts together must stay below {MOST_COUNTED}")
        i = self._add(state, action, next_state, times)
        if i < 0:
            raise ImpossibleTransition(
                f"the transition (s={state}, a={action}, s'={next_state}) has probability 0 for every feasible "
                "theta, yet it was observed; check the features and the impossible set (it was not counted)"
            )
        self.total += times
        return i

    def add_many(self, states: ArrayLike, actions: ArrayLike, next_states: ArrayLike) -> Ints:
        """Count transitions in their order, as `add` would one by one, and return their indices.

        All of them are checked first: where one is refused, none is counted.
        """
        at = self.find_many(states, actions, next_states)
        bad = np.nonzero(at < 0)[0]
        if len(bad):
            i = int(bad[0])
            s, a, to = (np.asarray(column)[i] for column in (states, actions, next_states))
            others = f" (and {len(bad) - 1} more)" if len(bad) > 1 else ""
            raise ImpossibleTransition(
                f"the transition (s={s}, a={a}, s'={to}) at index {i}{others} has probability 0 for every feasible "
                "theta, yet it was observed; check the features and the impossible set (nothing was counted)"
            )
        return self.add_found(at)

    def find_many(self, states: ArrayLike, actions: ArrayLike, next_states: ArrayLike) -> Ints:
        """The index of each transition, -1 where no feasible theta allows it."""
        s, a, to = self.path(states, actions, next_states)
        self._require_allowed(s, a)
        known = self.mdp.transitions.pair_of * self.mdp.num_states + self.mdp.transitions.successor
        wanted = (s * self.mdp.num_actions + a) * self.mdp.num_states + to
        at = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
        return np.where((known[at] == wanted) & self.mdp.possible[at], at, -1)

    def _require_allowed(self, states: Ints, actions: Ints) -> None:
        bad = np.nonzero(~self.mdp.allowed[states, actions])[0]
        if len(bad):
            where = self.mdp.names.pair(int(states[bad[0]]), int(actions[bad[0]]))
            index = f" at index {bad[0]}" if len(states) > 1 else ""
            raise ValueError(f"the action of {where}{index} is not allowed there; nothing was counted")

    def add_found(self, at: Ints) -> Ints:
        """Count transitions by index, in their order."""
        distinct, first = np.unique(at, return_index=True)
        fresh = distinct[self.values[distinct] == 0.0]
        order = fresh[np.argsort(first[np.isin(distinct, fresh)])]
        values = self.values + np.bincount(at, minlength=len(self.values))
        self.core.load(values, np.concatenate([self.observed, order]))
        self.total += len(at)
        return at

    def path(self, states: ArrayLike, actions: ArrayLike, next_states: ArrayLike) -> list[Ints]:
        """Three arrays of whole numbers in range, all of one length."""
        sizes = (self.mdp.num_states, self.mdp.num_actions, self.mdp.num_states)
        found: list[Ints] = []
        for name, given, size in zip(
            ("states", "actions", "next_states"), (states, actions, next_states), sizes, strict=True
        ):
            array = np.asarray(given)
            if array.dtype.kind == "U" and array.ndim == 1:
                number = self.mdp.action_number if name == "actions" else self.mdp.state_number
                array = np.array([number(str(item)) for item in array], dtype=np.int64)
            if array.ndim != 1 or (array.dtype.kind not in "iu" and array.size):
                raise ValueError(
                    f"{name} has shape {array.shape} and holds {array.dtype}; it needs a list of ints"
                )
            outside = np.nonzero((array < 0) | (array >= size))[0]
            if len(outside):
                i = int(outside[0])
                raise ValueError(
                    f"{name} is {array[i]} at index {i}; it needs a whole number from 0 to {size - 1}"
                )
            if found and len(array) != len(found[0]):
                raise ValueError(
                    f"{name} has {len(array)} entries, but states has {len(found[0])}; they must have the same length"
                )
            found.append(array.astype(np.int64))
        return found

    def continue_from(self, other: TransitionCounts) -> Ints:
        """Take over the counts of another layout of the same pairs; returns the new indices, as often as counted."""
        old = other.mdp.transitions
        pair, to = old.pair_of[other.observed], old.successor[other.observed]
        actions = self.mdp.num_actions
        at = self.find_many(pair // actions, pair % actions, to)
        values = np.zeros_like(self.values)
        values[at] = other.values[other.observed]
        self.load_values(values, at)
        self.total, self.skipped = other.total, dict(other.skipped)
        return np.repeat(at, values[at].astype(np.int64))

    def load_values(self, values: Floats, observed: Ints) -> None:
        """Replace all counts, in the order in which transitions were first observed."""
        self.core.load(np.ascontiguousarray(values, np.float64), np.ascontiguousarray(observed, np.int64))
        self.total = self.core.total

    grows: ClassVar[tuple[str, ...]] = ("observed", "skipped")
    """What of a snapshot may be longer than that of fresh counts."""

    def snapshot(self) -> Snapshot:
        """What `restore` continues from."""
        skipped = [(*key, times) for key, times in self.skipped.items()]
        return {
            "values": self.values.copy(),
            "observed": self.observed.copy(),
            "skipped": np.array(skipped, dtype=np.int64).reshape(-1, 4),
        }

    def restore(self, snapshot: Snapshot) -> None:
        """Continue from a snapshot; ValueError names the field that does not fit."""
        keeper.require_like("", snapshot, self.snapshot(), self.grows)
        self._check(snapshot)
        self.load_values(snapshot["values"], snapshot["observed"])
        self.skipped = {(s, a, to): times for s, a, to, times in snapshot["skipped"].tolist()}

    def _check(self, snapshot: Snapshot) -> None:
        """Refuse counts that cannot be; their kinds and shapes are right."""
        values, observed, skipped = snapshot["values"], snapshot["observed"], snapshot["skipped"]
        keeper.require_within("values", values, 0.0, float(MOST_COUNTED))
        keeper.require_within("observed", observed, 0, len(values) - 1)
        self._check_values(values)
        if not values.sum() < MOST_COUNTED:
            raise ValueError(
                f"values add up to {values.sum():g}; all counts together stay below {MOST_COUNTED}"
            )
        if not np.array_equal(np.sort(observed), np.flatnonzero(values)):
            raise ValueError("observed does not name each transition that was counted once")
        if (values[~self.mdp.possible] > 0.0).any():
            raise ValueError("values counts a transition that no feasible theta allows")
        states, actions = self.mdp.num_states, self.mdp.num_actions
        most = np.array([states - 1, actions - 1, states - 1, MOST_COUNTED])
        keeper.require_within("skipped", skipped, np.array([0, 0, 0, 1]), most)
        if len({tuple(row) for row in skipped[:, :3].tolist()}) != len(skipped):
            raise ValueError("skipped names a transition twice")

    def _check_values(self, values: Floats) -> None:
        if (values != np.floor(values)).any():
            raise ValueError("values are not counts; they must be whole numbers")

    def _made_with(self) -> tuple[Any, ...]:
        """What counts of this kind are made with."""
        return (self.mdp,)

    def __reduce__(self) -> tuple[Any, ...]:
        """How `pickle` and `copy` make another: from a snapshot, for the numbers are the core's."""
        return _continued, (type(self), self._made_with(), self.snapshot())

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        assert isinstance(other, TransitionCounts)
        mine, theirs = (list(one._made_with()) for one in (self, other))
        return keeper.same(mine, theirs) and keeper.same(self.snapshot(), other.snapshot())

    def _repr_html_(self) -> str:
        from vbmle.common import showing

        names, total = self.mdp.names, self.mdp.transitions
        pair = total.pair_of
        order = np.argsort(-self.values, kind="stable")[: showing.MOST]
        most = [
            f"{names.pair(*divmod(int(pair[i]), self.mdp.num_actions))} to "
            f"{names.state(int(total.successor[i]))}: {self.values[i]:g}"
            for i in order
            if self.values[i] > 0
        ]
        rows = [("observations", str(self.total)), ("most frequent", "; ".join(most) or "none")]
        return showing.as_html(type(self).__name__, rows)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(total={self.total}, distinct={self.num_observed})"


def _continued(
    kind: type[TransitionCounts], made_with: tuple[Any, ...], snapshot: Snapshot
) -> TransitionCounts:
    """Counts of that kind that go on from a snapshot."""
    counts = kind(*made_with)
    counts.restore(snapshot)
    return counts


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
        keeper.require_within("last", last, 0, len(values) - 1)
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
