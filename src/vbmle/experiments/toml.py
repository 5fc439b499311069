"""Tables as TOML text, which `tomllib` reads back: what Python's library only reads."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

BARE = re.compile(r"[A-Za-z0-9_-]+")
"""A key that needs no quotes."""


def written(content: Mapping[str, Any], path: tuple[str, ...] = ()) -> str:
    """Values first, then tables, each under its full name; tables within those are written in one line."""
    plain = {key: value for key, value in content.items() if path or not isinstance(value, Mapping)}
    lines = [f"{_key(key)} = {_value(value)}\n" for key, value in plain.items()]
    for key, table in content.items():
        if key in plain:
            continue
        if table and all(isinstance(inner, Mapping) for inner in table.values()) and key in NESTED:
            for label, inner in table.items():
                lines.append(f"\n[{key}.{_key(label)}]\n{written(inner, (key, label))}")
        else:
            lines.append(f"\n[{key}]\n{written(table, (key,))}")
    return "".join(lines)


NESTED = ("worlds", "agents")
"""Tables of tables."""


def _key(key: str) -> str:
    return key if BARE.fullmatch(key) else _text(key)


def _text(text: str) -> str:
    """A basic string: escapes are those of JSON, and DEL."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return repr(value)  # inf and nan are spelled alike
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(key)} = {_value(inner)}" for key, inner in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_value(item) for item in value) + "]"
    raise ValueError(f"{value!r} cannot be written as TOML")
