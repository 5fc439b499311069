"""Which worlds and agents there are, and their settings, read from the code itself.

A world is a function in `vbmle.worlds.WORLDS`; for agents see `vbmle.agents.catalogue`.
Settings and defaults are those of the signature, so nothing is listed by hand.
"""

from __future__ import annotations

import inspect
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


def describe(name: str, maker: Callable[..., Any]) -> str:
    """One line: the name, the settings with their defaults, and what it is."""
    shown = []
    for key, annotation in types_of(maker).items():
        default = settings_of(maker)[key]
        shown.append(f"{key}: {written(annotation)}" + ("" if default is REQUIRED else f" = {default!r}"))
    text = inspect.getdoc(maker) or ""
    return f"{name}({', '.join(shown)}): {text.split(chr(10))[0]}"


def maker(kind: str, name: str) -> Callable[..., Any]:
    """What makes the world or the agent of that name: one of ours, or "module:name" of your own."""
    if own_parts.is_own(name):
        return own_parts.find(kind, name)
    return worlds()[name] if kind == "world" else agents()[name]


def require(kind: str, name: str, given: dict[str, Any], where: str) -> dict[str, Any]:
    """Refuse a name or a setting that is not known, or a value of another type; returns the settings."""
    known: dict[str, Any] = dict(worlds()) if kind == "world" else dict(agents())
    return settings.require(kind, known, name, given, where, f' (or your own: {kind} = "module:name")')
