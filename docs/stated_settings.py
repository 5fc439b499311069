"""The reference shows a class whose settings are its fields as Python does: with what these make of it.

mkdocstrings reads sources and runs nothing, but the docstring's list of parameters and the `__init__` of such a class
are made of its fields when it is imported (`vbmle.common.stated`).
"""

from __future__ import annotations

import importlib
import inspect
from typing import Any

import griffe


class StatedClasses(griffe.Extension):
    """Gives such classes their docstring and their signature."""

    def on_class(self, *, cls: griffe.Class, **_: Any) -> None:
        from vbmle.common.stated import Stated

        if not cls.module.path.startswith("vbmle.agents"):
            return
        live = getattr(importlib.import_module(cls.module.path), cls.name, None)
        if not (isinstance(live, type) and issubclass(live, Stated) and live.made_of_fields):
            return
        if cls.docstring is not None and "__init__" not in cls.members:
            cls.docstring.value = inspect.getdoc(live) or ""
            cls.set_member("__init__", _init(live))


def _init(live: type[Any]) -> griffe.Function:
    """The `__init__` of a class, as griffe would have read it: names and defaults."""
    found = inspect.signature(live).parameters.values()
    kinds = {one.kind: griffe.ParameterKind[one.kind.name.lower()] for one in found}
    listed = [
        griffe.Parameter(
            one.name,
            kind=kinds[one.kind],
            default=None if one.default is one.empty else repr(one.default),
        )
        for one in found
    ]
    own = griffe.Parameter("self", kind=griffe.ParameterKind.positional_or_keyword)
    return griffe.Function("__init__", parameters=griffe.Parameters(own, *listed))
