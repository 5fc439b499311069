"""Which worlds and agents there are, and their settings, read from the code itself.

A world is a function in `vbmle.worlds.WORLDS`; for agents see `vbmle.agents.catalogue`.
Settings and defaults are those of the signature, so nothing is listed by hand.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

from vbmle.agents.catalogue import agents as agents
from vbmle.agents.catalogue import general as general
from vbmle.common import settings
from vbmle.common.settings import settings_of, types_of, written
from vbmle.common.stated import REQUIRED
from vbmle.experiments import own_parts
from vbmle.model.world import World
from vbmle.worlds import WORLDS


def worlds() -> dict[str, Callable[..., World]]:
    """Every world by name."""
    return dict(WORLDS)


def about(maker: Callable[..., Any]) -> str:
    """What it is, in one sentence."""
    return (inspect.getdoc(maker) or "").partition("\n")[0]


def described(maker: Callable[..., Any]) -> list[tuple[str, str, str, str]]:
    """Of each setting the name, the type, the default and the meaning; there is no default where it is required."""
    text, rows = inspect.getdoc(maker) or "", []
    for key, annotation in types_of(maker).items():
        default = settings_of(maker)[key]
        shown = "" if default is REQUIRED else repr(default)
        rows.append((key, written(annotation), shown, _meaning(key, text)))
    return rows


def _meaning(setting: str, text: str) -> str:
    """What a docstring says of a parameter."""
    found = re.search(rf"^{setting} :[^\n]*\n((?:[ ]+[^\n]*\n?)+)", text, re.MULTILINE)
    return " ".join(found[1].split()) if found else ""


def maker(kind: str, name: str) -> Callable[..., Any]:
    """What makes the world or the agent of that name: one of ours, or "module:name" of your own."""
    if own_parts.is_own(name):
        return own_parts.find(kind, name)
    return worlds()[name] if kind == "world" else agents()[name]


def require(kind: str, name: str, given: dict[str, Any], where: str) -> dict[str, Any]:
    """Refuse a name or a setting that is not known, or a value of another type; returns the settings."""
    known: dict[str, Any] = dict(worlds()) if kind == "world" else dict(agents())
    return settings.require(kind, known, name, given, where, f' (or your own: {kind} = "module:name")')
