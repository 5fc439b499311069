"""Which worlds and agents there are, and their settings, read from the code itself.

A world is a function in `vbmle.worlds.WORLDS`; an agent any concrete `Agent` in a module of `vbmle.agents`.
Settings and defaults are those of the signature, so nothing is listed by hand.
"""

from __future__ import annotations

import difflib
import inspect
import pkgutil
from collections.abc import Callable, Iterable
from functools import cache
from importlib import import_module
from typing import Any

from vbmle import agents as agent_modules
from vbmle.agents.base import Agent
from vbmle.experiments import InputError
from vbmle.model import World
from vbmle.worlds import WORLDS

REQUIRED = inspect.Parameter.empty
"""Stands for the default of a setting that has none."""


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


def settings_of(maker: Callable[..., Any]) -> dict[str, Any]:
    """The settings of a world or an agent with their defaults; REQUIRED where there is none."""
    parameters = inspect.signature(maker).parameters.values()
    fixed = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    return {p.name: p.default for p in parameters if p.name != "mdp" and p.kind not in fixed}


def describe(name: str, maker: Callable[..., Any]) -> str:
    """One line: the name, the settings with their defaults, and what it is."""
    written = [
        key if default is REQUIRED else f"{key}={default!r}" for key, default in settings_of(maker).items()
    ]
    text = inspect.getdoc(maker) or ""
    return f"{name}({', '.join(written)}): {text.split(chr(10))[0]}"


def require(kind: str, name: str, settings: dict[str, Any], where: str) -> None:
    """Refuse a name or a setting that the catalogue does not know, or a required setting left out."""
    known: dict[str, Any] = dict(worlds()) if kind == "world" else dict(agents())
    if name not in known:
        raise InputError(f"{where}: there is no {kind} {name!r}; {_choices(name, known)}")
    allowed = settings_of(known[name])
    for key in settings:
        if key not in allowed:
            raise InputError(f"{where}: {name} has no setting {key!r}; {_choices(key, allowed)}")
    # A seed is set for each trial.
    missing = [key for key, value in allowed.items() if value is REQUIRED and key not in {*settings, "seed"}]
    if missing:
        raise InputError(f"{where}: {name} needs a value for {missing[0]!r}")


def _choices(word: str, known: Iterable[str]) -> str:
    """The nearest match, if there is one, and all that is allowed."""
    names = list(known)
    near = difflib.get_close_matches(word, names, n=1)
    guess = f"did you mean {near[0]!r}? " if near else ""
    return f"{guess}it needs one of {', '.join(names) if names else 'none'}"
