"""How objects show themselves in a notebook: small tables in HTML, never longer than a screen."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from html import escape

import numpy as np

from vbmle.common.keeper import Rows
from vbmle.common.validation import Floats, Ints

LINE = 180
"""Characters of a line of text."""

MOST = 8
"""Entries that are shown one by one."""

DIGITS = 4


def as_text(name: str, rows: Rows) -> str:
    """The same in a line."""
    told = ", ".join(f"{title}: {text}" for title, text in rows)
    return f"{name}({textwrap.shorten(told, LINE, placeholder=' ...')})"


def as_html(title: str, rows: Rows) -> str:
    """A table of two columns under a title."""
    body = "".join(f"<tr><th>{escape(name)}</th><td>{escape(text)}</td></tr>" for name, text in rows)
    return f"<table><caption>{escape(title)}</caption><tbody>{body}</tbody></table>"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table with a heading; of more rows than fit on a screen, the first."""
    top = "".join(f"<th>{escape(name)}</th>" for name in head)
    shown = "".join(
        f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows[: 2 * MOST]
    )
    left = len(rows) - 2 * MOST
    rest = f"<tr><td>and {left} more</td></tr>" if left > 0 else ""
    return f"<table><thead><tr>{top}</tr></thead><tbody>{shown}{rest}</tbody></table>"


def some(items: Iterable[object]) -> str:
    """A list of names, cut where it is long."""
    listed = [str(item) for item in items]
    return ", ".join(
        listed if len(listed) <= MOST else [*listed[: MOST - 1], f"and {len(listed) - MOST + 1} more"]
    )


def number(value: float) -> str:
    return f"{value:.{DIGITS}g}"


def numbers(values: Floats, names: Sequence[str] = ()) -> str:
    """A vector in a line, each number under its name where it has one."""
    texts = [number(value) for value in np.asarray(values, dtype=float).ravel()]
    return some(f"{name} {text}" for name, text in zip(names, texts, strict=True)) if names else some(texts)


def between(low: Floats, high: Floats) -> str:
    """The least and the largest of some intervals, state by state."""
    return some(f"{number(a)} to {number(b)}" for a, b in zip(low, high, strict=True))


def choices(states: Sequence[str] | None, actions: Sequence[str] | None, policy: Ints) -> str:
    """A policy in words: what is done where; of many states, how often each action is."""
    done = [actions[a] if actions else str(a) for a in policy.tolist()]
    if len(done) <= MOST:
        where = states or [str(s) for s in range(len(done))]
        return some(f"{state}: {action}" for state, action in zip(where, done, strict=True))
    return some(f"{action} in {done.count(action)} of {len(done)} states" for action in dict.fromkeys(done))
