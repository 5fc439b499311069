"""Transition tables of Gymnasium environments, as base models and a reward r(s,a,s') that fits all of them.

A table lists outcomes (probability, next state, reward, done) by state and action. A model with a known reward
r(s,a,s') can hold one reward per (s,a,s'). Where base models disagree about it (walking off the cliff and
walking back both end at the start, for -100 and for -1), or where only some ways into a state end the episode,
the next state is **split**: it gets versions that behave alike and differ in what was paid on the way in and in
whether play is over. Version 0 has the number of the state itself, others have numbers from S on. This is exact:
the expected reward is that of the tables for every theta, and the reward, which a player sees, tells versions
apart. Where all base models agree on the mean reward of (s,a,s'), nothing is split and the mean is kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from vbmle.common import extras, validation
from vbmle.common.validation import Floats

Table = list[list[list[tuple[float, int, float, bool]]]]
Outcome = tuple[float, bool]  # reward, done
OUTCOME = "(probability, next state, reward, terminated)"
NEGATIVE_ROUNDING = 1e-12
"""A probability may be this far below 0."""

RESETS = 1000
"""Resets whose frequencies stand for an unknown distribution of the first state."""


def make(name: str, **settings: Any) -> Any:
    """An environment of Gymnasium by name."""
    extras.require("gym")
    import gymnasium

    return gymnasium.make(name, **settings)


def read(env: Any, name: str = "env") -> tuple[Table, Floats]:
    """The table of an environment by state and action, and the distribution of its first state.

    `name` is what errors call the environment: its place among the caller's arguments.
    """
    env = make(env) if isinstance(env, str) else env
    plain = getattr(env, "unwrapped", env)
    name = f"{name} ({getattr(getattr(plain, 'spec', None), 'id', None) or type(plain).__name__})"
    table = getattr(plain, "P", None)
    if table is None:
        raise ValueError(f"{name} has no transition table P; only environments with one can be mixed")
    states = _in_order(f"P of {name}", table, "state")
    by_state = [_in_order(f"P[{s}] of {name}", actions, "action") for s, actions in enumerate(states)]
    for s, by_action in enumerate(by_state):
        if len(by_action) != len(by_state[0]):
            counts = f"{len(by_action)} actions, but P[0] has {len(by_state[0])}"
            raise ValueError(f"P[{s}] of {name} has {counts}; every state needs the same actions")
    outcomes = [
        [_listed(f"P[{s}][{a}] of {name}", entries, len(by_state)) for a, entries in enumerate(by_action)]
        for s, by_action in enumerate(by_state)
    ]
    first = getattr(plain, "initial_state_distrib", None)
    if first is None:
        return outcomes, _first_states(plain, name, len(by_state))
    return outcomes, validation.distribution(f"initial_state_distrib of {name}", first, len(by_state))


def _in_order(name: str, level: Any, what: str) -> list[Any]:
    """One level of a table, a dict with keys 0, 1, ... or a list, as a list."""
    if not isinstance(level, Mapping | list | tuple):
        raise ValueError(f"{name} is of type {type(level).__name__}; it needs a dict or a list by {what}")
    if not level:
        raise ValueError(f"{name} is empty; it needs at least one {what}")
    if not isinstance(level, Mapping):
        return list(level)
    for k in range(len(level)):
        if k not in level:
            raise ValueError(
                f"{name} has {len(level)} {what}s but no {what} {k}; it needs 0, 1, ... without a gap"
            )
    return [level[k] for k in range(len(level))]


def _listed(name: str, entries: Any, states: int) -> list[tuple[float, int, float, bool]]:
    """The outcomes of one state and action, without those of probability 0."""
    if not isinstance(entries, list | tuple) or not entries:
        raise ValueError(f"{name} is {entries!r}; it needs a list of at least one outcome {OUTCOME}")
    found, total = [], 0.0
    for i, entry in enumerate(entries):
        if not isinstance(entry, list | tuple) or len(entry) != 4:
            raise ValueError(f"{name} has the outcome {entry!r} at index {i}; it needs {OUTCOME}")
        p, to, reward, ended = entry
        where = f"at index {i} of {name}"
        if not validation.is_finite_number(p) or p < -NEGATIVE_ROUNDING:
            raise ValueError(f"the probability {where} is {p!r}; it needs a number from 0 to 1")
        total += float(p)
        if p <= 0.0:
            continue
        if not validation.is_finite_number(to) or to != int(to) or not 0 <= to < states:
            raise ValueError(
                f"the next state {where} is {to!r}; it needs a whole number from 0 to {states - 1}"
            )
        if not validation.is_finite_number(reward):
            raise ValueError(f"the reward {where} is {reward!r}; it needs a finite number")
        if not isinstance(ended, bool | np.bool_ | int | np.integer) or ended not in (0, 1):
            raise ValueError(f"terminated {where} is {ended!r}; it needs True or False")
        found.append((float(p), int(to), float(reward), bool(ended)))
    if abs(total - 1.0) > 1e-9:
        raise ValueError(f"the probabilities of {name} sum to {total:.9g}; they need to sum to 1")
    return found


def _first_states(env: Any, name: str, states: int) -> Floats:
    """How often each state is the first one, over RESETS seeds."""
    if not callable(getattr(env, "reset", None)):
        raise ValueError(
            f"{name} has neither initial_state_distrib nor reset; it needs one, for its first state"
        )
    counts = np.zeros(states)
    for seed in range(RESETS):
        reply = env.reset(seed=seed)
        seen = np.asarray(reply[0] if isinstance(reply, tuple) and reply else None)
        if seen.size != 1 or seen.dtype.kind not in "iu" or not 0 <= seen.item() < states:
            rule = f"it needs (state from 0 to {states - 1}, info), or the env an initial_state_distrib"
            raise ValueError(f"reset of {name} returned {reply!r}; {rule}")
        counts[seen.item()] += 1.0
    return counts / RESETS


def slipped(table: Table, k: int) -> Table:
    """The table in which action a comes out as (a + k) mod A."""
    return [[actions[(a + k) % len(actions)] for a in range(len(actions))] for actions in table]


@dataclass
class Merged:
    """Several tables on one set of states, split where it must be.

    `of[v]` is the table's state that state v is a version of, `ended[v]` whether play is over there; `version`
    finds the state that an outcome leads to.
    """

    tables: list[Table]
    of: list[int] = field(default_factory=list)
    ended: list[bool] = field(default_factory=list)

    def __post_init__(self) -> None:
        states = len(self.tables[0])
        self._listed: dict[tuple[int, int, int], dict[Outcome, float]] = {}
        ways: list[set[bool]] = [set() for _ in range(states)]
        for s, a, to, outcomes in self._successors():
            self._listed[s, a, to] = outcomes
            ways[to] |= {done for _, done in outcomes}
        self.of = list(range(states))
        self.ended = [kinds == {True} for kinds in ways]
        self._numbers: dict[tuple[int, bool, int], int] = {}
        for outcomes_of, outcomes in self._listed.items():
            for outcome in outcomes:
                self._number(outcomes_of[2], outcome[1], self._rank(outcomes, outcome))

    def _successors(self) -> list[tuple[int, int, int, dict[Outcome, float]]]:
        """Each (s, a, s') with its outcomes and their mean reward: one outcome where all tables agree."""
        found = []
        for s in range(len(self.tables[0])):
            for a in range(len(self.tables[0][0])):
                by_state: dict[int, list[list[tuple[float, float, bool]]]] = {}
                for k, table in enumerate(self.tables):
                    for p, to, r, done in table[s][a]:
                        lists = by_state.setdefault(to, [[] for _ in self.tables])
                        lists[k].append((p, r, done))
                found += [(s, a, to, _outcomes(lists)) for to, lists in by_state.items()]
        return found

    @staticmethod
    def _rank(outcomes: dict[Outcome, float], outcome: Outcome) -> int:
        """The place of an outcome among those with the same end, the best paid first."""
        rivals = {outcomes[other] for other in outcomes if other[1] == outcome[1]}
        return sorted(rivals, reverse=True).index(outcomes[outcome])

    def _number(self, to: int, done: bool, rank: int) -> int:
        """The state that stands for a version, made when it is first asked for."""
        if rank == 0 and done == self.ended[to]:
            return to
        key = (to, done, rank)
        if key not in self._numbers:
            self._numbers[key] = len(self.of)
            self.of.append(to)
            self.ended.append(done)
        return self._numbers[key]

    def version(self, state: int, action: int, to: int, reward: float, done: bool) -> tuple[int, float]:
        """The state that an outcome of (state, action) leads to, and the reward that the model has for it."""
        outcomes = self._listed.get((self.of[state], action, to))
        if outcomes is None:
            return to, reward
        alike = [outcome for outcome in outcomes if outcome[1] == done] or list(outcomes)
        nearest = min(alike, key=lambda outcome: abs(outcome[0] - reward))
        return self._number(to, nearest[1], self._rank(outcomes, nearest)), outcomes[nearest]

    def matrices(self, initial: Floats, restart: bool) -> tuple[list[sparse.csr_array], sparse.csr_array]:
        """The base models (S*A, S) and the reward, over all versions."""
        actions, size = len(self.tables[0][0]), len(self.of)
        starts = [(float(initial[s]), int(s)) for s in np.nonzero(initial)[0]]
        reward: dict[tuple[int, int], float] = {}
        models = []
        for table in self.tables:
            weight: dict[tuple[int, int], float] = {}
            for state in range(size):
                for action in range(actions):
                    pair = state * actions + action
                    if self.ended[state]:
                        for p, to in starts if restart else [(1.0, state)]:
                            weight[pair, to] = p
                        continue
                    for p, to, r, done in table[self.of[state]][action]:
                        number, paid = self.version(state, action, to, r, done)
                        weight[pair, number] = weight.get((pair, number), 0.0) + p
                        reward[pair, number] = paid
            models.append(_csr(weight, size * actions, size))
        return models, _csr(reward, size * actions, size)


def _outcomes(lists: list[list[tuple[float, float, bool]]]) -> dict[Outcome, float]:
    """The distinct outcomes of one (s,a,s') and the reward of each; the mean for all where all tables agree."""
    ends = {done for entries in lists for _, _, done in entries}
    means = [sum(p * r for p, r, _ in es) / sum(p for p, _, _ in es) for es in lists if es]
    listed = {(r, done) for entries in lists for _, r, done in entries}
    agreed = len(ends) == 1 and max(means) - min(means) <= 1e-9 * (1.0 + abs(means[0]))
    return {outcome: means[0] if agreed else outcome[0] for outcome in sorted(listed)}


def _csr(entries: dict[tuple[int, int], float], pairs: int, states: int) -> sparse.csr_array:
    where = np.array(list(entries), dtype=np.int64).reshape(-1, 2).T
    return sparse.csr_array((list(entries.values()), (where[0], where[1])), shape=(pairs, states))
