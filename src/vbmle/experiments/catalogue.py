"""Which worlds and agents there are, and their settings, read from the code itself.

A world is a function in `vbmle.worlds.WORLDS`; an agent any concrete `Agent` in a module of `vbmle.agents`.
Settings and defaults are those of the signature, so nothing is listed by hand.
"""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

from vbmle import agents as agent_modules
from vbmle.agents.base import Agent
from vbmle.experiments import InputError, own_parts
from vbmle.experiments.settings import REQUIRED, fit, nearest, settings_of, types_of, written
from vbmle.model.world import World
from vbmle.worlds import WORLDS


def worlds() -> dict[str, Callable[..., World]]:
    """Every world by name."""
    return dict(WORLDS)


@cache
def agents() -> dict[str, type[Agent]]:
    """Every agent by name, in alphabetical order."""
    found: dict[str, type[Agent]] = {}
    for info in pkgutil.iter_modules(agent_modules.__path__):
        module = import_module(f"{agent_modules.__name__}.{info.name}")
        for name, value in vars(module).items():
            concrete = inspect.isclass(value) and issubclass(value, Agent) and not inspect.isabstract(value)
            if concrete and not name.startswith("_") and value.__module__ == module.__name__:
                found[name] = value
    return dict(sorted(found.items()))


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


def require(kind: str, name: str, settings: dict[str, Any], where: str) -> dict[str, Any]:
    """Refuse a name or a setting that is not known, or a value of another type; returns the settings."""
    known: dict[str, Any] = dict(worlds()) if kind == "world" else dict(agents())
    if name not in known:
        hint = f' (or your own: {kind} = "module:name")'
        raise InputError(f"{where}: there is no {kind} {name!r}; {nearest(name, known)}{hint}")
    return fit(where, name, known[name], settings)
