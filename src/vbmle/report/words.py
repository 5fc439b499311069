"""How numbers, counts and lists of names are written in a sentence."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

ENCLOSED = re.compile(r"\([^()]*\)|\[[^\[\]]*\]|“[^”]*”")


def named(name: str) -> str:
    """A name as it stands in a sentence: in quotation marks where a comma in it would be taken for the list's."""
    return f"“{name}”" if _has_comma(name) else name


def _has_comma(text: str) -> bool:
    """Outside brackets and quotation marks, where a comma cannot be taken for that of a list."""
    return any(mark in ENCLOSED.sub("", text) for mark in ",;")


def listed(names: Sequence[str]) -> str:
    """Names as a list: a, b and c."""
    return join([named(name) for name in names])


def some(names: Sequence[str], what: str, most: int = 4) -> str:
    """Names as a list; only their number where there are more."""
    return listed(names) if len(names) <= most else count(len(names), what)


def join(parts: Sequence[str]) -> str:
    """Parts as a list; by semicolons where a part has a comma of its own."""
    if len(parts) < 2:
        return "".join(parts)
    if any(_has_comma(part) for part in parts):
        return "; ".join(parts)
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


def count(number: int, word: str) -> str:
    """1 world, 2 worlds."""
    return f"{number} {word}{'' if number == 1 else 's'}"


def several(numbers: Sequence[int]) -> str:
    """A number, or the least and the largest."""
    return f"{min(numbers)}" if min(numbers) == max(numbers) else f"{min(numbers)} to {max(numbers)}"


def short(value: float) -> str:
    """Two significant digits below ten, whole numbers above."""
    if math.isnan(value):
        return "-"
    if abs(value) < 1e-9:
        return "0"
    if abs(value) >= 10:
        return f"{value:.0f}"
    if abs(value) < 1e-3:
        return f"{value:.1e}"
    return f"{float(f'{value:.1e}'):.6f}".rstrip("0").rstrip(".")


def capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]
