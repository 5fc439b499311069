"""The constants of the core's solvers, as core/src/common/tuning.hpp has them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

from vbmle.core.library import lib


@dataclass(frozen=True)
class Constant:
    """A number that was chosen: its value, what it is counted in, and what happens at it."""

    value: float
    unit: str
    meaning: str


def _rows() -> Iterator[tuple[str, Constant]]:
    for k in count():
        name = lib.vb_constant_name(k)
        if name is None:
            return
        unit, meaning = lib.vb_constant_unit(k).decode(), lib.vb_constant_meaning(k).decode()
        yield name.decode(), Constant(lib.vb_constant_value(k), unit, meaning)


TUNING: dict[str, Constant] = dict(_rows())
"""Every constant by its name."""
