"""Lines of s, a, s', r, p: one model, as several collections of tabular MDPs keep them.

    s, a, s', r, p
    0, 0, 1, 0.0, 0.3
    start, 1, 0.5

The last kind of line gives the distribution of the first state. A line `time_limit, N` is passed over. The reward
belongs to the transition. The file has no discount.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from vbmle.formats.candidates import Candidates, Where
from vbmle.formats.craam import by_pair

HEADER = "s,a,s',r,p"
MOST_NUMBER = 1_000_000


def is_it(text: str) -> bool:
    """Whether a text begins with the header."""
    return "".join(text.lstrip("\ufeff").partition("\n")[0].split()) == HEADER


def read(path: Path, text: str) -> Candidates:
    """The one model of a file."""
    where, rows, start = Where(path), {}, {}
    for line, told in enumerate(text.splitlines(), start=1):
        cells = [cell.strip() for cell in told.split(",")]
        if line == 1 or cells in ([""], []) or cells[0] == "time_limit":
            continue
        if cells[0] == "start" and len(cells) == 3:
            start[where.whole(line, "state", cells[1], MOST_NUMBER)] = where.number(
                line, "probability", cells[2]
            )
            continue
        if len(cells) != 5:
            where.refuse(line, f"there are {len(cells)} values; it needs s, a, s', r, p")
        place = tuple(
            where.whole(line, n, c, MOST_NUMBER) for n, c in zip(("s", "a", "s'"), cells, strict=False)
        )
        if place in rows:
            where.refuse(line, f"the transition {place} stands there twice")
        rows[place] = where.number(line, "r", cells[3]), where.number(line, "p", cells[4])
    if not rows:
        where.refuse(None, "there are no transitions")
    states = max(max(s, to) for s, _, to in rows) + 1
    actions = max(a for _, a, _ in rows) + 1
    where.require_room(states, actions, 1)
    p, reward = np.zeros((2, 1, states, actions, states))
    seen = np.zeros(p.shape, bool)
    for (s, a, to), (r, chance) in rows.items():
        p[0, s, a, to], reward[0, s, a, to], seen[0, s, a, to] = chance, r, True
    initial = None
    if start:
        if max(start) >= states:
            where.refuse(None, f"it starts in state {max(start)}; states go from 0 to {states - 1}")
        initial = np.zeros(states)
        initial[list(start)] = list(start.values())
    return Candidates(p, by_pair(reward, seen), seen[0].any(axis=2), initial)
