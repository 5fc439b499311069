"""POMDPX: factored models as XML, with the candidates as a hidden variable that never changes.

State variables with fullyObs="true" are the state (their product, if there are several), the others choose the
candidate and must keep their value: this is the hidden-model MDP of adaptive management. Tables are of type TBL. In
an Instance `*` is any value, and `-` runs over all values, which the numbers then list, the last `-` fastest;
`uniform` and `identity` stand for numbers. Later entries replace earlier ones. Rewards may depend on the action,
the state before and after, and the candidate; several functions add up. Observations must tell nothing.
"""

from __future__ import annotations

import itertools
import re
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from math import prod
from pathlib import Path
from xml.sax.saxutils import escape

import numpy as np

from vbmle.common.validation import Floats
from vbmle.formats.candidates import MOST_NUMBERS, Candidates, Where, labels
from vbmle.formats.craam import by_pair
from vbmle.model.naming import Names

MOST_VARIABLES = 20
SUM_TO_1 = 1e-9


@dataclass(frozen=True)
class Variable:
    """A state or action variable: its name before and after a step, and its values."""

    before: str
    after: str
    values: tuple[str, ...]
    hidden: bool = False


@dataclass(frozen=True)
class Domain:
    """All variables of a file: those of the state, those that choose the candidate, and the action's."""

    where: Where
    observed: tuple[Variable, ...]
    hidden: tuple[Variable, ...]
    action: tuple[Variable, ...]

    def of_name(self, name: str) -> tuple[int, tuple[str, ...]]:
        """The axis of a variable in a full table (candidates, states, actions, states after), and its values."""
        before = [*self.hidden, *self.observed, *self.action]
        for i, one in enumerate(before):
            if name == one.before or (one.hidden and name == one.after):
                return i, one.values
        for i, one in enumerate(self.observed):
            if name == one.after:
                return len(before) + i, one.values
        self.where.refuse(None, f"there is no variable {name[:40]!r}")

    @property
    def shape(self) -> tuple[int, ...]:
        """Of a full table."""
        return tuple(len(one.values) for one in (*self.hidden, *self.observed, *self.action, *self.observed))

    def as_table(self, full: Floats) -> Floats:
        """A full table with one axis for candidates, states, actions and states after: (K, S, A, S)."""
        groups = (self.hidden, self.observed, self.action, self.observed)
        return np.broadcast_to(full, self.shape).reshape(
            [prod(len(v.values) for v in group) for group in groups]
        )


def is_it(text: str) -> bool:
    """Whether a text is one."""
    return re.search(r"<pomdpx\b", text[:5000]) is not None


def read(path: Path, content: bytes) -> Candidates:
    """The candidates of a file."""
    where = Where(path)
    if re.search(rb"<!(DOCTYPE|ENTITY)", content):
        where.refuse(None, "it defines entities, which a model has no use for")
    try:
        root = ET.fromstring(content)
    except (ET.ParseError, ValueError, LookupError) as error:
        where.refuse(None, f"it is not XML ({str(error)[:100]})")
    domain = _domain(where, root)
    states, actions = (prod(len(v.values) for v in group) for group in (domain.observed, domain.action))
    count = prod(len(v.values) for v in domain.hidden)
    where.require_room(states, actions, count)
    initial, prior = _beginnings(domain, root)
    p = _transitions(domain, root)
    reward = by_pair(_rewards(domain, root), p > 0.0)
    names = Names(*(_joined(group) for group in (domain.observed, domain.action, domain.hidden)))
    discount = where.number(None, "Discount", _text(root, "Discount") or "")
    allowed = np.ones((states, actions), bool)
    return Candidates(p, reward, allowed, initial, prior, discount, names)


def _text(node: ET.Element, name: str) -> str | None:
    found = node.find(name)
    return None if found is None or found.text is None else found.text.strip()


def _joined(group: tuple[Variable, ...]) -> tuple[str, ...]:
    return tuple(",".join(values) for values in itertools.product(*(v.values for v in group)))


def _domain(where: Where, root: ET.Element) -> Domain:
    variables = root.find("Variable")
    if variables is None:
        where.refuse(None, "there is no <Variable>")
    observed: list[Variable] = []
    hidden: list[Variable] = []
    for node in variables.findall("StateVar"):
        sees = node.get("fullyObs", "false").strip().lower() == "true"
        names = node.get("vnamePrev", ""), node.get("vnameCurr", "")
        one = Variable(*names, _values(where, node), not sees)
        (observed if sees else hidden).append(one)
    action = [
        Variable(node.get("vname", ""), "", _values(where, node)) for node in variables.findall("ActionVar")
    ]
    for node in variables.findall("ObsVar"):
        if len(_values(where, node)) > 1:
            where.refuse(
                None,
                f"the observation {node.get('vname', '')!r} has several values; only the state may be seen",
            )
    if not observed or not action or len(observed) + len(hidden) + len(action) > MOST_VARIABLES:
        where.refuse(
            None,
            f"there are {len(observed)} observed and {len(hidden)} hidden state variables and {len(action)} of "
            f"actions; it needs an observed one and one of actions, {MOST_VARIABLES} at most",
        )
    return Domain(where, tuple(observed), tuple(hidden), tuple(action))


def _values(where: Where, node: ET.Element) -> tuple[str, ...]:
    name, count = node.get("vnamePrev") or node.get("vname") or "", _text(node, "NumValues")
    if count is not None:
        return tuple(f"s{i}" for i in range(where.whole(None, f"NumValues of {name}", count, MOST_NUMBERS)))
    values = tuple((_text(node, "ValueEnum") or "").split())
    if not values or len(set(values)) < len(values):
        where.refuse(None, f"the values of {name[:40]!r} are {values[:5]}; it needs different ones")
    return values


def _beginnings(domain: Domain, root: ET.Element) -> tuple[Floats, Floats]:
    """The distribution of the first state and the prior."""
    found: dict[str, Floats] = {}
    for var, parents, entries in _blocks(domain, root, "InitialStateBelief", "CondProb", "ProbTable"):
        if parents:
            domain.where.refuse(None, f"the first {var!r} depends on {parents[0]!r}; that cannot be read")
        found[var] = _table(domain, [var], entries)
    made = []
    for group in (domain.observed, domain.hidden):
        total = np.ones(1)
        for one in group:
            first = found.get(one.before, np.full(len(one.values), 1.0 / len(one.values)))
            if first.min() < 0.0 or abs(first.sum() - 1.0) > SUM_TO_1:
                domain.where.refuse(
                    None, f"the first {one.before!r} has probabilities {first.tolist()}; they must sum to 1"
                )
            total = np.outer(total, first).ravel()
        made.append(total)
    return made[0], made[1]


def _transitions(domain: Domain, root: ET.Element) -> Floats:
    """(K, S, A, S): the product of the tables of the observed variables."""
    full, known = np.ones((1,) * len(domain.shape)), set()
    kept = {one.after: one for one in domain.hidden}
    for var, parents, entries in _blocks(domain, root, "StateTransitionFunction", "CondProb", "ProbTable"):
        if var in kept:
            _require_constant(domain, kept[var], parents, entries)
            continue
        known.add(var)
        full = full * _spread(domain, [*parents, var], _table(domain, [*parents, var], entries))
    for one in domain.observed:
        if one.after not in known:
            domain.where.refuse(None, f"there are no transition probabilities of {one.after[:40]!r}")
    return np.ascontiguousarray(domain.as_table(full))


def _require_constant(
    domain: Domain, one: Variable, parents: list[str], entries: list[tuple[str, str]]
) -> None:
    """Refuse a hidden variable that may change."""
    if one.before not in parents:
        domain.where.refuse(
            None, f"the hidden {one.after!r} forgets its value; a candidate must never change"
        )
    names = [*parents, one.after]
    shape = [
        len(one.values) if name in (one.before, one.after) else len(domain.of_name(name)[1]) for name in names
    ]
    table = _filled(
        domain, [one.values if n in (one.before, one.after) else domain.of_name(n)[1] for n in names], entries
    )
    axis = parents.index(one.before)
    same = np.eye(len(one.values)).reshape(
        [n if i in (axis, len(parents)) else 1 for i, n in enumerate(shape)]
    )
    if np.abs(table - same).max() > SUM_TO_1:
        domain.where.refuse(None, f"the hidden {one.after!r} may change; a candidate must never change")


def _rewards(domain: Domain, root: ET.Element) -> Floats:
    """(K, S, A, S): the sum of all functions."""
    full = np.zeros((1,) * len(domain.shape))
    for _, parents, entries in _blocks(domain, root, "RewardFunction", "Func", "ValueTable"):
        full = full + _spread(domain, parents, _table(domain, parents, entries))
    return np.ascontiguousarray(domain.as_table(full))


def _blocks(
    domain: Domain, root: ET.Element, section: str, kind: str, numbers: str
) -> list[tuple[str, list[str], list[tuple[str, str]]]]:
    """Of each table in a section the variable, its parents and the entries."""
    found = []
    for node in root.iterfind(f"{section}/{kind}"):
        parameter = node.find("Parameter")
        if parameter is None or parameter.get("type", "TBL") != "TBL":
            domain.where.refuse(
                None, f"a {kind} in {section} has no table of type TBL; other kinds cannot be read"
            )
        parents = [name for name in (_text(node, "Parent") or "").split() if name != "null"]
        entries = [(_text(e, "Instance") or "", _text(e, numbers) or "") for e in parameter.findall("Entry")]
        found.append((_text(node, "Var") or "", parents, entries))
    return found


def _table(domain: Domain, names: list[str], entries: list[tuple[str, str]]) -> Floats:
    """The table over these variables."""
    return _filled(domain, [domain.of_name(name)[1] for name in names], entries)


def _filled(domain: Domain, values: list[tuple[str, ...]], entries: list[tuple[str, str]]) -> Floats:
    shape = [len(one) for one in values]
    if prod(shape) > MOST_NUMBERS:
        domain.where.refuse(None, f"a table has {prod(shape):,} numbers; {MOST_NUMBERS:,} at most")
    table = np.zeros(shape)
    for instance, numbers in entries:
        words = instance.split()
        if len(words) != len(values):
            domain.where.refuse(
                None, f"Instance {instance[:60]!r} has {len(words)} words; it needs {len(values)}"
            )
        place = tuple(
            slice(None) if word in ("*", "-") else _number(domain, instance, word, one)
            for word, one in zip(words, values, strict=True)
        )
        runs = [len(one) for word, one in zip(words, values, strict=True) if word == "-"]
        kept = [n if word == "-" else 1 for word, n in zip(words, shape, strict=True) if word in ("*", "-")]
        table[place] = _numbers(domain, instance, numbers, runs).reshape(kept)
    return table


def _number(domain: Domain, instance: str, word: str, values: tuple[str, ...]) -> int:
    if word not in values:
        domain.where.refuse(
            None, f"Instance {instance[:60]!r}: {word[:40]!r} is none of {', '.join(values[:8])}"
        )
    return values.index(word)


def _numbers(domain: Domain, instance: str, text: str, runs: list[int]) -> Floats:
    """The numbers of an entry, one for each combination of what its dashes run over."""
    where, wanted = domain.where, prod(runs)
    if text == "uniform" and runs:
        return np.full(wanted, 1.0 / runs[-1])
    if text == "identity" and len(runs) == 2 and runs[0] == runs[1]:
        return np.eye(runs[0]).ravel()
    words = text.split()
    if len(words) != wanted:
        where.refuse(None, f"Instance {instance[:60]!r} has {len(words)} numbers; it needs {wanted}")
    return np.array([where.number(None, f"Instance {instance[:60]!r}", word) for word in words])


def _spread(domain: Domain, names: list[str], table: Floats) -> Floats:
    """A table with its axes where a full table has them."""
    axes = [domain.of_name(name)[0] for name in names]
    if len(set(axes)) < len(axes):
        domain.where.refuse(None, f"a table has a variable twice: {', '.join(names)[:80]}")
    order = np.argsort(axes)
    shape = np.ones(len(domain.shape), int)
    shape[np.sort(axes)] = np.array(table.shape)[order] if axes else []
    return table.transpose(order).reshape(shape)


def write(given: Candidates) -> str:
    """The same as POMDPX, with every number in its own entry."""
    count, states, actions = given.p.shape[:3]
    names = [
        labels([name.replace(" ", "_") for name in own] if own else None, n, letter)
        for own, n, letter in (
            (given.names.states, states, "s"),
            (given.names.actions, actions, "a"),
            (given.names.models, count, "m"),
        )
    ]
    state, action, model = names
    initial = np.full(states, 1.0 / states) if given.initial is None else given.initial
    prior = np.full(count, 1.0 / count) if given.prior is None else given.prior
    moves = [
        _entry(f"{action[a]} {model[k]} {state[s]} -", given.p[k, s, a], "ProbTable")
        for k, s, a in np.ndindex(count, states, actions)
    ]
    after = given.reward.ndim == 4
    rewards = [
        _entry(
            f"{action[a]} {model[k]} {state[s]}{' -' if after else ''}",
            np.atleast_1d(given.reward[k, s, a]),
            "ValueTable",
        )
        for k, s, a in np.ndindex(count, states, actions)
    ]
    same = ["<Entry><Instance>- -</Instance><ProbTable>identity</ProbTable></Entry>"]
    nothing = ["<Entry><Instance>* * -</Instance><ProbTable>1.0</ProbTable></Entry>"]
    sections = {
        "Variable": [
            _state("state", "true", state),
            _state("model", "false", model),
            f'<ActionVar vname="action"><ValueEnum>{escape(" ".join(action))}</ValueEnum></ActionVar>',
            '<ObsVar vname="nothing"><ValueEnum>o</ValueEnum></ObsVar>',
            '<RewardVar vname="reward"/>',
        ],
        "InitialStateBelief": [
            _block("CondProb", "state_0", "null", [_entry("-", initial, "ProbTable")]),
            _block("CondProb", "model_0", "null", [_entry("-", prior, "ProbTable")]),
        ],
        "StateTransitionFunction": [
            _block("CondProb", "state_1", "action model_0 state_0", moves),
            _block("CondProb", "model_1", "model_0", same),
        ],
        "ObsFunction": [_block("CondProb", "nothing", "action state_1", nothing)],
        "RewardFunction": [
            _block("Func", "reward", f"action model_0 state_0{' state_1' if after else ''}", rewards)
        ],
    }
    told = [line for name, own in sections.items() for line in (f"<{name}>", *own, f"</{name}>")]
    begin = ['<?xml version="1.0" encoding="UTF-8"?>', '<pomdpx version="1.0">']
    return "\n".join([*begin, f"<Discount>{given.discount!r}</Discount>", *told, "</pomdpx>"]) + "\n"


def _state(name: str, seen: str, values: list[str]) -> str:
    told = escape(" ".join(values))
    return (
        f'<StateVar vnamePrev="{name}_0" vnameCurr="{name}_1" fullyObs="{seen}">'
        f"<ValueEnum>{told}</ValueEnum></StateVar>"
    )


def _entry(instance: str, numbers: Floats, kind: str) -> str:
    told = " ".join(repr(float(number)) for number in numbers)
    return f"<Entry><Instance>{escape(instance)}</Instance><{kind}>{told}</{kind}></Entry>"


def _block(kind: str, var: str, parents: str, entries: list[str]) -> str:
    inner = "\n".join(entries)
    return f'<{kind}><Var>{var}</Var><Parent>{parents}</Parent><Parameter type="TBL">\n{inner}\n</Parameter></{kind}>'
