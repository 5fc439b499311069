"""What is wrong with a body, in the words of this service: what was given, where, and what would be right."""

from __future__ import annotations

import re
from typing import Any

import msgspec

KINDS = {
    "int": "a whole number",
    "float": "a number",
    "str": "a text",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}
"""What msgspec calls a kind of value, and what it is called here."""

LONGEST_SHOWN = 60
STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]|(\[\.\.\.\])")


def refusal(error: msgspec.ValidationError, content: bytes, choices: dict[str, tuple[str, ...]]) -> str:
    """One line about a body that is JSON and does not fit; `choices` has the words of fields that take only some."""
    what, _, where = str(error).partition(" - at ")
    steps, place = _steps(where.strip("`"))
    given, known = _at(content, steps)
    shown = _shown(given) if known else "what it should not be"
    name = place or "the body"
    if match := re.fullmatch(r"Object missing required field `(.*)`", what):
        return f"{name}: {match[1]} is missing"
    if match := re.fullmatch(r"Object contains unknown field `(.*)`", what):
        return f"{name}: there is no field {match[1]!r}; /openapi.json has those that there are"
    if what.startswith("Invalid enum value"):
        return f"{name} is {shown}; it needs one of {', '.join(choices.get(place.split('.')[-1], ()))}"
    if match := re.fullmatch(r"Expected `str` matching regex '(.*)'", what):
        return f"{name} is {shown}; it needs 1 to 64 letters, digits, '.', '_' or '-'"
    if match := re.fullmatch(r"Expected `(.*?)` of length (<=|>=) (\d+)", what):
        return f"{name} is {shown}; it needs {_length(match[1], match[2], match[3])}"
    if match := re.fullmatch(r"Expected `(.*?)` (<=|>=|<|>) (\S+)", what):
        bound = {"<=": "of at most", ">=": "of at least", "<": "below", ">": "above"}[match[2]]
        return f"{name} is {shown}; it needs a number {bound} {float(match[3]):,.15g}"
    if match := re.fullmatch(r"Expected `(.*?)`, got `.*`", what):
        return f"{name} is {shown}; it needs {_kinds(match[1])}"
    return f"{name} is {shown}; /openapi.json says what it needs"


def not_json(error: Exception) -> str:
    """What is wrong with a body that is no JSON."""
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8"
    at = re.search(r"\(byte (\d+)\)", str(error))
    return f"it breaks off or goes wrong at byte {at[1]}" if at else "it breaks off"


def _steps(where: str) -> tuple[list[str | int | None], str]:
    """A path such as $.allowed[1] as steps, and as people write it."""
    found = STEP.findall(where)
    steps: list[str | int | None] = [int(at) if at else key or None for key, at, _ in found]
    place = "".join(f"[{at}]" if at else f".{key}" if key else "[...]" for key, at, _ in found)
    return steps, place.removeprefix(".")


def _at(content: bytes, steps: list[str | int | None]) -> tuple[Any, bool]:
    """What was given at a place, and whether that is known: what comes after it may be no JSON."""
    try:
        value = msgspec.json.decode(content)
        for step in steps:
            value = value[step]
    except (msgspec.DecodeError, RecursionError, TypeError, KeyError, IndexError):
        return None, False
    return value, True


def _shown(given: Any) -> str:
    if isinstance(given, str):
        return repr(given) if len(given) <= LONGEST_SHOWN else f"a text of {len(given)} characters"
    if isinstance(given, dict):
        return "an object"
    if isinstance(given, list):
        return f"a list of {len(given)}"
    return msgspec.json.encode(given).decode()


def _length(kind: str, sign: str, bound: str) -> str:
    unit = "character" if kind == "str" else "entry" if bound == "1" else "entries"
    plural = "s" if kind == "str" and bound != "1" else ""
    return f"at {'least' if sign == '>=' else 'most'} {bound} {unit}{plural}"


def _kinds(names: str) -> str:
    words = [KINDS.get(name.strip(), name.strip()) for name in names.split("|")]
    return " or ".join(words)
