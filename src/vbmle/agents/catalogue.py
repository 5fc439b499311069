"""Which agents there are: any concrete `Agent` in a module of `vbmle.agents`, so that none is listed by hand."""

from __future__ import annotations

import inspect
import pkgutil
from functools import cache
from importlib import import_module

from vbmle import agents as modules
from vbmle.agents.base import Agent


@cache
def agents() -> dict[str, type[Agent]]:
    """Every agent by name, in alphabetical order."""
    found: dict[str, type[Agent]] = {}
    for info in pkgutil.iter_modules(modules.__path__):
        module = import_module(f"{modules.__name__}.{info.name}")
        for name, value in vars(module).items():
            concrete = inspect.isclass(value) and issubclass(value, Agent) and not inspect.isabstract(value)
            if concrete and not name.startswith("_") and value.__module__ == module.__name__:
                found[name] = value
    return dict(sorted(found.items()))


def general() -> dict[str, type[Agent]]:
    """Those for models of every kind: none that needs candidates."""
    return {name: kind for name, kind in agents().items() if not kind.needs_candidates}
