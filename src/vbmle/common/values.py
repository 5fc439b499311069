"""Values: what is equal where all that it holds is equal, arrays included."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np


def same(one: Any, other: Any) -> bool:
    """Whether two things are equal; arrays where they have one type, one shape and equal entries, and NaN is NaN."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        alike = isinstance(one, np.ndarray) and isinstance(other, np.ndarray) and one.dtype == other.dtype
        return alike and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float) and isinstance(other, float) and one != one:
        return other != other
    return bool(one == other)


class Value:
    """Gives a frozen dataclass that holds arrays its `==`; declare it with `eq=False`."""

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return all(same(getattr(self, field.name), getattr(other, field.name)) for field in fields(self))  # type: ignore[arg-type]
