"""Worlds and agents of your own in a sweep: `agent = "mypackage.controllers:Greedy"`.

The name is that of a module and, after the colon, of a class or function in it (or of a `World`). Whoever wrote the
spec chooses the name, and need not be who runs it. So the module has to lie in the folder of the spec or in the
working directory, or its package has to be allowed on the command line (`allow`); one of the standard library never is.

The code of its package, and the content of files that its settings name, belong to the resume key: they are hashed when
the spec is read, the hash travels with every trial, and a worker that has different code reports that instead of a
record.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from vbmle.common.settings import fit, nearest, settings_of
from vbmle.experiments import InputError
from vbmle.model.world import World

FROM_FILE = "vbmle.experiments.model_worlds:from_file"
"""What makes a world of { model = "file", theta = ... }."""

FILE_KEYS = ("model", "theta", "reward", "discount", "domain")
WANTED = {
    "world": "a function that returns a vbmle.World, or a World",
    "agent": "a class",
    "metric": "a function of a vbmle.Step",
}
AGENT_METHODS = ("act", "observe", "policy")


class Own(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a record needs to know of a part of yours, so that it can be read without it."""

    code: str
    """A hash of its code, and of the files that its settings name."""
    seeded: bool
    """Whether it takes a seed."""
    home: str
    """The folder where its package was found."""
    made: bool = False
    """Whether it is a World itself, not what makes one."""


class Metric(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A metric of your own: a function of a `vbmle.Step`."""

    name: str
    code: str
    """A hash of its code."""
    home: str
    """The folder where its package was found."""

    def python(self) -> str:
        """How Python calls it."""
        return python(self.name)

    def function(self) -> Callable[[Any], float]:
        """The function; refused where its code is not what the sweep was begun with."""
        require_same(self.name, {}, self)
        return find("metric", self.name)


def metric(name: Any, where: str) -> Metric:
    """What records need to know of a metric; one line about what does not fit."""
    if not isinstance(name, str) or not is_own(name):
        raise InputError(f'{where} is {name!r}; it needs the name of a function, "module:function"')
    try:
        find("metric", name)
    except InputError as error:
        raise InputError(f"{where}: {error}") from None
    return Metric(name, code_of(name, {}), str(_home(name)))


def python(name: str) -> str:
    """How Python calls what has that name."""
    module, _, attribute = name.partition(":")
    return f"__import__({module!r}, fromlist=['*']).{attribute}"


def is_own(name: str) -> bool:
    """Whether a name is that of a module and something in it."""
    return ":" in name


_homes: set[Path] = set()
_allowed: set[str] = set()


def look_in(*folders: Path) -> None:
    """Find modules in these folders, after all others: they are those of the project."""
    for folder in folders:
        _homes.add(folder.resolve())
        if str(folder.resolve()) not in sys.path:
            sys.path.append(str(folder.resolve()))


def allow(*packages: str) -> None:
    """Let specs name what is in these packages, wherever they lie; one line about what is no package of yours."""
    for package in packages:
        if not package.isidentifier() or package in sys.stdlib_module_names:
            raise InputError(
                f"--allow is {package!r}; it needs the name of a package that is not Python's own"
            )
        _allowed.add(package)


def require_allowed(what: str, name: str) -> None:
    """InputError for a module that the spec may not choose; nothing of it has been run by then."""
    top = name.partition(":")[0].partition(".")[0]
    if name == FROM_FILE or (top == "vbmle" and what == "sections") or top in _allowed:
        return
    if top == "vbmle":
        raise InputError(f"{what} {name!r}: what vbmle has goes by its own name, without a module")
    if top in sys.stdlib_module_names:
        raise InputError(f"{what} {name!r}: {top} is Python's own; a spec may name code of yours only")
    found = importlib.util.find_spec(top) if top.isidentifier() else None
    if found is None:  # the import will say so
        return
    folders = [Path(folder) for folder in found.submodule_search_locations or ()] or [Path(str(found.origin))]
    if not {folder.resolve().parent for folder in folders} & _homes:
        raise InputError(
            f"{what} {name!r}: {top} lies in {folders[0].parent}, not with the spec nor in the working directory; "
            f"if you trust it, allow it: --allow {top}"
        )


def describe(kind: str, name: str, settings: dict[str, Any], where: str) -> tuple[dict[str, Any], Own]:
    """The settings, checked as those of our own, and what records need to know; one line about what does not fit."""
    try:
        maker = find(kind, name)
    except InputError as error:
        raise InputError(f"{where}: {error}") from None
    fitted = fit(where, name, maker, settings)
    seeded = "seed" in settings_of(maker)
    return fitted, Own(code_of(name, fitted), seeded, str(_home(name)), _is_world(name))


def require_same(name: str, settings: dict[str, Any], own: Own | Metric) -> None:
    """Refuse to run with other code than that which the trial was planned with."""
    look_in(Path(own.home))  # it was allowed where the sweep was planned
    if code_of(name, settings) != own.code:
        raise ValueError(f"the code or the files of {name} here differ from those the sweep was begun with")


def _is_world(name: str) -> bool:
    """Whether what was found under that name is a World, not what makes one."""
    module, _, attribute = name.partition(":")
    return isinstance(getattr(importlib.import_module(module), attribute), World)


@cache
def find(kind: str, name: str) -> Callable[..., Any]:
    """What makes the world or the agent of that name; InputError in one line where there is none."""
    module_name, _, attribute = name.partition(":")
    require_allowed(kind, name)
    try:
        module = importlib.import_module(module_name)
    except Exception as error:  # whatever the module raises
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise InputError(f"{kind} {name!r}: cannot import {module_name!r} ({reason})") from None
    if not hasattr(module, attribute):
        public = [key for key in vars(module) if not key.startswith("_")]
        known = nearest(attribute, public, "It has")
        raise InputError(f"{kind} {name!r}: {module_name} has no {attribute!r}{known}")
    found = getattr(module, attribute)
    if kind == "world" and isinstance(found, World):
        return lambda: found
    defined = str(getattr(found, "__module__", None) or "").partition(".")[0]
    if callable(found) and defined != module_name.partition(".")[0] and defined not in _allowed:
        raise InputError(
            f"{kind} {name!r}: {module_name} only imports it from {defined or 'elsewhere'}; name what it makes itself"
        )
    if not callable(found):
        raise InputError(f"{kind} {name!r} is of type {type(found).__name__}; it needs {WANTED[kind]}")
    if kind == "agent" and isinstance(found, type):
        missing = [method for method in AGENT_METHODS if not hasattr(found, method)]
        if missing:
            raise InputError(f"{kind} {name!r} has no {missing[0]!r}; an agent needs act, observe and policy")
    return found


def code_of(name: str, settings: dict[str, Any]) -> str:
    """A hash of the sources of its package (ours are in the key already) and of the files that settings name."""
    total = hashlib.sha256()
    for path in _sources(name):
        total.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    for key, value in sorted(settings.items()):
        if isinstance(value, str) and len(value) < 4096 and Path(value).is_file():
            total.update(key.encode() + b"\0" + Path(value).read_bytes() + b"\0")
    return total.hexdigest()[:16]


def _sources(name: str) -> Iterator[Path]:
    """The Python files of the package, or the one of a module without a package."""
    top = name.partition(":")[0].partition(".")[0]
    if top == "vbmle":
        return
    module = importlib.import_module(top)
    if hasattr(module, "__path__"):
        for folder in sorted(module.__path__):
            yield from sorted(Path(folder).rglob("*.py"))
    elif getattr(module, "__file__", None):
        yield Path(str(module.__file__))


def _home(name: str) -> Path:
    """The folder that has the package."""
    module = importlib.import_module(name.partition(":")[0].partition(".")[0])
    folders = sorted(getattr(module, "__path__", []))
    if folders:
        return Path(folders[0]).resolve().parent
    return Path(str(module.__file__)).resolve().parent


def from_file(given: dict[str, Any], folder: Path, where: str) -> tuple[str, dict[str, Any]]:
    """The name and the settings of a world that a file describes, found in the folder of the spec."""
    for key in given:
        if key not in FILE_KEYS:
            known = nearest(key, FILE_KEYS, "Known fields")
            raise InputError(f"{where}: unknown field {key!r} of a world from a file{known}")
    if "model" not in given:
        raise InputError(
            f'{where}: world needs the file of a model: {{ model = "depot.npz", theta = "random" }}'
        )
    settings = dict(given)
    for key in ("model", "reward"):
        value = settings.get(key)
        if isinstance(value, str):
            path = folder / value
            if not path.is_file():
                raise InputError(f"{where}: {key} is {value!r}; there is no such file in {folder}")
            settings[key] = str(path.resolve())
    return FROM_FILE, settings
