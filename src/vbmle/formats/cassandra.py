"""Cassandra's .MDP and .POMDP: text in which every table may be given by entry, by row, or whole.

    discount: 0.95
    values: reward
    states: low high
    actions: wait act
    observations: low high
    start: 0.5 0.5
    T: wait : low : high 0.3
    T: act
    uniform
    O: * : low : low 1.0
    R: act : low : * : * -5

In a .MDP the state is seen, and there is one candidate. In a .POMDP an observation must be the same function of the
next state after every action: states with the same observation are one observed state under different candidates,
the first of each observation under the first candidate, and so on. A candidate must never change, and the start
must be a prior over candidates times a distribution of states.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from vbmle.common.validation import Floats, Ints
from vbmle.formats.candidates import MOST_NUMBERS, Candidates, Where, labels
from vbmle.formats.craam import by_pair
from vbmle.model.naming import Names

TOKEN = re.compile(r"[:]|[^\s:]+")
SUM_TO_1 = 1e-6
KEYWORDS = ("discount", "values", "states", "actions", "observations", "start", "T", "O", "R", "E")


def is_it(text: str) -> bool:
    """Whether a text names states and actions in this way."""
    return all(re.search(rf"^\s*{word}\s*:", text, re.MULTILINE) for word in ("states", "actions"))


@dataclass
class Reader:
    """The words of a file, one after another, and what they have said so far."""

    where: Where
    words: list[tuple[int, str]]
    at: int = 0
    named: dict[str, tuple[str, ...]] = field(default_factory=dict)
    discount: float | None = None
    sign: float = 1.0
    start: Floats | None = None

    def peek(self, ahead: int = 0) -> str:
        """A word that comes, or nothing at the end."""
        return self.words[self.at + ahead][1] if self.at + ahead < len(self.words) else ""

    @property
    def line(self) -> int:
        """That of the word taken last."""
        return self.words[max(0, self.at - 1)][0] if self.words else 0

    def take(self, wanted: str | None = None) -> str:
        """The next word."""
        word = self.peek()
        if not word or (wanted is not None and word != wanted):
            self.where.refuse(self.line, f"there is {word[:40]!r}; it needs {wanted or 'another word'!r}")
        self.at += 1
        return word

    def at_section(self) -> bool:
        """Whether a new line of the kind `word:` begins, or the file ends."""
        return not self.peek() or (
            self.peek() in KEYWORDS and (self.peek(1) == ":" or self.peek(1) in ("include", "exclude"))
        )

    def rest(self) -> list[str]:
        """All words up to the next section."""
        found = []
        while not self.at_section():
            found.append(self.take())
        return found

    def colon(self) -> bool:
        """Whether a colon came, which is taken."""
        if self.peek() != ":":
            return False
        self.at += 1
        return True

    def place(self, kind: str) -> Ints:
        """The numbers of states, actions or observations that a word stands for: one, or all for `*`."""
        names, word = self.named[kind], self.take()
        if word == "*":
            return np.arange(len(names))
        if word in names:
            return np.array([names.index(word)])
        return np.array([self.where.whole(self.line, f"one of the {kind}", word, len(names) - 1)])

    def numbers(self, count: int) -> Floats:
        """As many numbers."""
        return np.array([self.where.number(self.line, "an entry", self.take()) for _ in range(count)])

    def table(self, rows: int, columns: int) -> Floats:
        """A row or several, spelled out or by a word."""
        if self.peek() == "uniform":
            self.take()
            return np.full((rows, columns), 1.0 / columns)
        if self.peek() == "identity" and rows == columns:
            self.take()
            return np.eye(rows)
        return self.numbers(rows * columns).reshape(rows, columns)


def read(path: Path, text: str) -> Candidates:
    """The candidates of a file."""
    where = Where(path)
    words = [
        (number, word)
        for number, line in enumerate(text.splitlines(), start=1)
        for word in TOKEN.findall(line.partition("#")[0])
    ]
    reader = Reader(where, words)
    _preamble(reader)
    states, actions = (len(reader.named[kind]) for kind in ("states", "actions"))
    seen = len(reader.named.get("observations", ()))
    where.require_room(states, actions, 1)
    if actions * states * states * max(1, seen) > MOST_NUMBERS:
        where.refuse(None, f"rewards by observation make more than {MOST_NUMBERS:,} numbers")
    p, looks = np.zeros((actions, states, states)), np.zeros((actions, states, seen))
    reward = np.zeros((actions, states, states, max(1, seen)))
    while reader.peek():
        kind = reader.take()
        if kind not in ("T", "O", "R") or (kind == "O" and not seen):
            where.refuse(reader.line, f"there is {kind[:40]!r}; it needs T, {'O, ' if seen else ''}or R")
        reader.take(":")
        if kind == "T":
            _probabilities(reader, p, ("states", "states"))
        elif kind == "O":
            _probabilities(reader, looks, ("states", "observations"))
        else:
            _reward(reader, reward, seen)
    return _candidates(reader, p, looks, reader.sign * _expected(reward, looks))


def _preamble(reader: Reader) -> None:
    """The first sections, up to the first table."""
    while reader.peek() and reader.peek() not in ("T", "O", "R"):
        kind = reader.take()
        if kind == "start" and reader.peek() in ("include", "exclude"):
            _start_of(reader, reader.take())
            continue
        reader.take(":")
        if kind == "discount":
            reader.discount = float(reader.numbers(1)[0])
        elif kind == "values":
            reader.sign = {"reward": 1.0, "cost": -1.0}.get(word := reader.take(), 0.0)
            if not reader.sign:
                reader.where.refuse(reader.line, f"values is {word[:40]!r}; it needs reward or cost")
        elif kind in ("states", "actions", "observations"):
            reader.named[kind] = _names(reader, kind, reader.rest())
        elif kind == "start":
            _start(reader)
        else:
            reader.where.refuse(
                reader.line, f"there is {kind[:40]!r}; it needs one of {', '.join(KEYWORDS[:-1])}"
            )
    for kind in ("states", "actions"):
        if kind not in reader.named:
            reader.where.refuse(None, f"it does not say its {kind}")


def _names(reader: Reader, kind: str, words: list[str]) -> tuple[str, ...]:
    if len(words) == 1 and words[0].isdigit():
        return tuple(str(i) for i in range(reader.where.whole(reader.line, kind, words[0], 100_000)))
    if not words or len(set(words)) < len(words):
        reader.where.refuse(reader.line, f"{kind} are {words[:5]}; it needs a number or different names")
    return tuple(words)


def _start(reader: Reader) -> None:
    """A distribution, `uniform`, or one state."""
    states = reader.named.get("states", ())
    words = reader.rest()
    if words == ["uniform"]:
        reader.start = np.full(len(states), 1.0 / max(1, len(states)))
    elif len(words) == 1 and len(states) > 1:
        reader.start = np.zeros(len(states))
        number = states.index(words[0]) if words[0] in states else None
        reader.start[
            reader.where.whole(reader.line, "start", words[0], len(states) - 1) if number is None else number
        ] = 1.0
    else:
        if len(words) != len(states):
            reader.where.refuse(
                reader.line, f"start has {len(words)} numbers; there are {len(states)} states"
            )
        reader.start = np.array([reader.where.number(reader.line, "start", word) for word in words])


def _start_of(reader: Reader, how: str) -> None:
    """Uniform over the states that are named, or over the others."""
    reader.take(":")
    states = reader.named.get("states", ())
    named = np.zeros(len(states), bool)
    for word in reader.rest():
        if word not in states:
            word = states[reader.where.whole(reader.line, "start", word, len(states) - 1)]
        named[states.index(word)] = True
    chosen = named if how == "include" else ~named
    if not chosen.any():
        reader.where.refuse(reader.line, f"start {how} leaves no state")
    reader.start = chosen / chosen.sum()


def _probabilities(reader: Reader, into: Floats, kinds: tuple[str, str]) -> None:
    """`T:` or `O:` of an action; of a row; or of an entry."""
    actions = reader.place("actions")
    rows, columns = into.shape[1:]
    if not reader.colon():
        into[actions] = reader.table(rows, columns)
        return
    first = reader.place(kinds[0])
    if not reader.colon():
        into[np.ix_(actions, first)] = reader.table(1, columns)
        return
    second = reader.place(kinds[1])
    into[np.ix_(actions, first, second)] = reader.numbers(1)[0]


def _reward(reader: Reader, into: Floats, seen: int) -> None:
    """`R: a : s : s' : o v`, or without the last ones, which are then spelled out; a .MDP has no observations."""
    actions = reader.place("actions")
    reader.take(":")
    before = reader.place("states")
    if not reader.colon():
        table = reader.numbers(into.shape[2] * into.shape[3]).reshape(into.shape[2:])
        into[np.ix_(actions, before)] = table
        return
    after = reader.place("states")
    if seen and not reader.colon():
        into[np.ix_(actions, before, after)] = reader.numbers(seen)
        return
    if not seen and reader.colon() and reader.take() != "*":
        reader.where.refuse(reader.line, "a reward depends on an observation, and there are none")
    looks = reader.place("observations") if seen else np.zeros(1, np.int64)
    into[np.ix_(actions, before, after, looks)] = reader.numbers(1)[0]


def _expected(reward: Floats, looks: Floats) -> Floats:
    """(A, S, S): rewards by observation, averaged over what is observed in the next state."""
    if not looks.shape[2]:
        return reward[..., 0]
    return np.einsum("asto,ato->ast", reward, looks)


def _candidates(reader: Reader, p: Floats, looks: Floats, reward: Floats) -> Candidates:
    """States as pairs of an observed state and a candidate."""
    where, states = reader.where, len(reader.named["states"])
    shown = _shown(where, looks) if looks.shape[2] else np.arange(states)
    count = int(np.bincount(shown).max())
    if (np.bincount(shown, minlength=shown.max() + 1) != count).any():
        where.refuse(
            None,
            "some observations belong to more states than others; each needs one state for each candidate",
        )
    observed = int(shown.max()) + 1
    place = np.argsort(shown, kind="stable").reshape(
        observed, count
    )  # the state of (observed state, candidate)
    own = np.stack([p[:, place[:, k]][:, :, place[:, k]] for k in range(count)])
    lost = np.abs(own.sum(axis=3) - np.stack([p[:, place[:, k]].sum(axis=2) for k in range(count)])).max()
    if lost > SUM_TO_1:
        where.refuse(None, f"a candidate may change (with probability {lost:.3g}); it must never change")
    table = np.stack([reward[:, place[:, k]][:, :, place[:, k]] for k in range(count)])
    start = np.full(states, 1.0 / states) if reader.start is None else reader.start
    joint = start[place]
    if start.min() < 0.0 or abs(start.sum() - 1.0) > SUM_TO_1:
        where.refuse(None, f"the probabilities of start sum to {start.sum():.9g}; they need to sum to 1")
    initial, prior = joint.sum(axis=1), joint.sum(axis=0)
    if np.abs(joint - np.outer(initial, prior)).max() > SUM_TO_1:
        where.refuse(
            None,
            "in start the candidate depends on the state; it needs a prior times a distribution of states",
        )
    own, table = (one.transpose(0, 2, 1, 3) for one in (own, table))
    names = Names(
        _named(reader, "observations" if looks.shape[2] else "states"), _named(reader, "actions"), None
    )
    allowed = np.ones((observed, len(reader.named["actions"])), bool)
    rewards = by_pair(table, own > 0.0)
    return Candidates(np.ascontiguousarray(own), rewards, allowed, initial, prior, reader.discount, names)


def _named(reader: Reader, kind: str) -> tuple[str, ...] | None:
    names = reader.named[kind]
    return None if names == tuple(str(i) for i in range(len(names))) else names


def _shown(where: Where, looks: Floats) -> Ints:
    """The observation of each state, which must be certain and the same after every action."""
    shown: Ints = looks[0].argmax(axis=1)
    certain = np.take_along_axis(looks, shown[None, :, None], axis=2)
    if np.abs(certain - 1.0).max() > SUM_TO_1:
        where.refuse(
            None,
            "an observation is uncertain or depends on the action; states must be seen, and candidates not",
        )
    _, numbered = np.unique(shown, return_inverse=True)
    if len(set(shown.tolist())) < looks.shape[2]:
        where.refuse(None, "an observation belongs to no state; each needs one state for each candidate")
    return np.asarray(numbered, np.int64)


def write(given: Candidates) -> str:
    """The same as text: a .MDP where there is one candidate, else a .POMDP."""
    count, states, actions = given.p.shape[:3]
    seen = labels(_words(given.names.states), states, "s")
    acts = labels(_words(given.names.actions), actions, "a")
    models = labels(_words(given.names.models), count, "m")
    full = seen if count == 1 else [f"{s}_{m}" for m in models for s in seen]
    initial = np.full(states, 1.0 / states) if given.initial is None else given.initial
    prior = np.full(count, 1.0 / count) if given.prior is None else given.prior
    lines = [
        f"discount: {given.discount!r}",
        "values: reward",
        f"states: {' '.join(full)}",
        f"actions: {' '.join(acts)}",
    ]
    if count > 1:
        lines.append(f"observations: {' '.join(seen)}")
    lines.append("start: " + " ".join(repr(float(x)) for x in np.outer(prior, initial).ravel()))
    for k, s, a, to in np.argwhere(given.p > 0.0):
        here, there = full[k * states + s], full[k * states + to]
        lines.append(f"T: {acts[a]} : {here} : {there} {float(given.p[k, s, a, to])!r}")
    if count > 1:
        lines += [
            f"O: * : {full[k * states + s]} : {seen[s]} 1.0" for k in range(count) for s in range(states)
        ]
    tail = " : *" if count > 1 else ""
    reward = given.reward if given.reward.ndim == 4 else given.reward[..., None]
    for k, s, a, to in np.argwhere(reward != 0.0):
        there = full[k * states + to] if reward.shape[3] > 1 else "*"
        lines.append(f"R: {acts[a]} : {full[k * states + s]} : {there}{tail} {float(reward[k, s, a, to])!r}")
    return "\n".join(lines) + "\n"


def _words(names: tuple[str, ...] | None) -> list[str] | None:
    """Names without what separates words here."""
    return None if names is None else [re.sub(r"[\s:#]+", "_", name) for name in names]
