"""CRAAM's CSV, which CADP and other codes for several models use: one row for each transition of each candidate.

    idstatefrom,idaction,idstateto,idoutcome,probability,reward

idoutcome is the candidate; all numbers from 0. An action that no candidate has in a state is not allowed there. A
reward belongs to a transition; where it is the same for all transitions of a pair it becomes a reward of the pair.
Beside the file may lie `initial.csv` (idstate,probability) and `parameters.csv` (parameter,value), with the
discount.
"""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np

from vbmle.common.validation import Floats
from vbmle.formats.candidates import Candidates, Where

HEADER = ("idstatefrom", "idaction", "idstateto", "idoutcome", "probability", "reward")
MOST_NUMBER = 1_000_000


def is_it(text: str) -> bool:
    """Whether a text begins with the header."""
    return text.lstrip("\ufeff").partition("\n")[0].strip().replace(" ", "") == ",".join(HEADER)


def read(path: Path, text: str) -> Candidates:
    """The candidates of a file."""
    where, rows = Where(path), []
    for line, cells in _lines(where, text):
        if line == 1 or not cells:
            continue
        if len(cells) != len(HEADER):
            where.refuse(line, f"there are {len(cells)} columns; it needs {len(HEADER)}: {','.join(HEADER)}")
        numbers = [
            where.whole(line, name, cell, MOST_NUMBER) for name, cell in zip(HEADER, cells[:4], strict=False)
        ]
        rows.append(
            (
                *numbers,
                *(where.number(line, name, cell) for name, cell in zip(HEADER[4:], cells[4:], strict=True)),
            )
        )
    if not rows:
        where.refuse(None, "there are no transitions")
    table = np.array(rows, np.float64)
    s, a, to, k = table[:, :4].astype(np.int64).T
    states, actions, count = max(int(s.max()), int(to.max())) + 1, int(a.max()) + 1, int(k.max()) + 1
    where.require_room(states, actions, count)
    p, reward = np.zeros((2, count, states, actions, states))
    seen = np.zeros(p.shape, bool)
    for i in range(len(rows)):
        place = k[i], s[i], a[i], to[i]
        if seen[place]:
            where.refuse(
                i + 2, f"the transition {s[i]}, {a[i]}, {to[i]} of candidate {k[i]} stands there twice"
            )
        seen[place] = True
        p[place], reward[place] = table[i, 4], table[i, 5]
    has, allowed = np.asarray(seen.any(axis=3)), np.asarray(seen.any(axis=(0, 3)))
    missing = np.argwhere(allowed[None] & ~has)
    if len(missing):
        k0, s0, a0 = missing[0]
        where.refuse(None, f"candidate {k0} has no transitions of (s={s0}, a={a0}), which others have")
    initial, discount = beside(path, states)
    return Candidates(p, by_pair(reward, seen), allowed, initial, None, discount)


def _lines(where: Where, text: str) -> list[tuple[int, list[str]]]:
    """The cells of each line, with its number."""
    try:
        return list(enumerate(csv.reader(io.StringIO(text.lstrip("\ufeff"), newline="")), start=1))
    except csv.Error as error:
        where.refuse(None, f"it is not CSV ({error})")


def by_pair(reward: Floats, seen: np.ndarray) -> Floats:
    """(K, S, A) where all transitions that a file names of a pair have one reward, else the table (K, S, A, S)."""
    least = np.where(seen, reward, np.inf).min(axis=3)
    most = np.where(seen, reward, -np.inf).max(axis=3)
    return np.where(np.isfinite(least), least, 0.0) if (most <= least).all() else reward


def beside(path: Path, states: int) -> tuple[Floats | None, float | None]:
    """The distribution of the first state and the discount, where files beside it say them."""
    initial, discount = None, None
    if (file := path.with_name("initial.csv")).is_file():
        where, initial = Where(file), np.zeros(states)
        for line, row in _two_columns(where, file, "idstate,probability"):
            initial[where.whole(line, "idstate", row[0], states - 1)] = where.number(
                line, "probability", row[1]
            )
    if (file := path.with_name("parameters.csv")).is_file():
        where = Where(file)
        for line, row in _two_columns(where, file, "parameter,value"):
            if row[0].strip() == "discount":
                discount = where.number(line, "discount", row[1])
    return initial, discount


def _two_columns(where: Where, file: Path, header: str) -> list[tuple[int, list[str]]]:
    lines = _lines(where, file.read_text(encoding="utf-8"))
    if not lines or ",".join(cell.strip() for cell in lines[0][1]) != header:
        where.refuse(1, f"it needs the header {header}")
    for line, row in lines[1:]:
        if row and len(row) != 2:
            where.refuse(line, f"there are {len(row)} columns; it needs 2: {header}")
    return [(line, row) for line, row in lines[1:] if row]


def write(given: Candidates) -> str:
    """The same as text; the prior, the first state and the discount have no place in it."""
    lines = [",".join(HEADER)]
    reward = given.reward if given.reward.ndim == 4 else given.reward[..., None]
    for k, s, a, to in np.argwhere(given.p > 0.0):
        worth = reward[k, s, a, to if reward.shape[3] > 1 else 0]
        lines.append(f"{s},{a},{to},{k},{float(given.p[k, s, a, to])!r},{float(worth)!r}")
    return "\n".join(lines) + "\n"
