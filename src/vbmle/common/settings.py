"""Settings: what a signature asks for, and the message about a name or a value that does not fit.

Names, types, defaults and allowed values are those of the code: of an agent's fields (`vbmle.common.stated`), or of a
function's annotations, with choices as `Literal[...]` or `Annotated[str, Among(...)]`. What an annotation cannot say is
left to the maker itself.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, cast, get_args, get_type_hints

import msgspec
from numpy.typing import ArrayLike

from vbmle.common import stated
from vbmle.common.stated import REQUIRED, Stated, choices_of_type, is_function, members_of
from vbmle.common.validation import InputError
from vbmle.common.validation import nearest as nearest

TYPE_WORDS = {
    int: "a whole number",
    float: "a number",
    str: "a string",
    bool: "true or false",
    type(None): "nothing",
}
GIVEN = {"mdp"}
"""Arguments that are not settings."""


@cache
def settings_of(maker: Callable[..., Any]) -> dict[str, Any]:
    """The settings of a world or an agent with their defaults; REQUIRED where there is none."""
    given = GIVEN | ({"theta"} if getattr(maker, "needs_truth", False) else set())
    if is_stated(maker):
        fields = stated.settings_of(cast(type[Stated], maker))
        return {one.name: one.default for one in fields if one.name not in given}
    parameters = inspect.signature(maker).parameters.values()
    collected = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    return {p.name: p.default for p in parameters if p.name not in given and p.kind not in collected}


@cache
def types_of(maker: Callable[..., Any]) -> dict[str, Any]:
    """The annotations of its settings, as far as they can be found out."""
    if is_stated(maker):
        fields = stated.settings_of(cast(type[Stated], maker))
        return {one.name: one.annotation for one in fields if one.name in settings_of(maker)}
    plain = isinstance(maker, type) and not issubclass(maker, msgspec.Struct)
    try:
        hints = get_type_hints(maker.__init__ if plain else maker, include_extras=True)
    except NameError:  # names that only a type checker imports
        hints = {}
    return {name: hints.get(name, Any) for name in settings_of(maker)}


def is_stated(maker: Callable[..., Any]) -> bool:
    """Whether its settings are its fields."""
    return isinstance(maker, type) and issubclass(maker, Stated) and maker.made_of_fields


def choices_of(maker: Callable[..., Any]) -> dict[str, list[Any]]:
    """The values that are listed for its settings, by name; settings that take anything else are left out."""
    found = {}
    for name, annotation in types_of(maker).items():
        members = members_of(annotation)
        listed = [item for member in members for item in choices_of_type(member)]
        if listed:
            found[name] = listed
    return found


def written(annotation: Any) -> str:
    """A type as it is shown in a list of settings."""
    if choices := choices_of_type(annotation):
        return " | ".join(repr(item) for item in choices)
    if len(members_of(annotation)) > 1:
        members, array = get_args(annotation), get_args(ArrayLike)
        if set(array) <= set(members):
            return " | ".join(["list", *(written(item) for item in members if item not in array)])
        return " | ".join(written(member) for member in members)
    if is_function(annotation):
        return "function"
    if annotation is type(None):
        return "None"
    plain = isinstance(annotation, type) and not get_args(annotation)
    return annotation.__name__ if plain else str(annotation)


def fit(where: str, owner: str, maker: Callable[..., Any], given: dict[str, Any]) -> dict[str, Any]:
    """`given` with whole numbers as floats where floats are asked for; one line about what does not fit."""
    defaults, wanted = settings_of(maker), types_of(maker)
    for key in given:
        if key not in defaults:
            known = nearest(key, defaults, f"Settings of {owner}")
            raise InputError(f"{where}: unknown setting {key!r}{known}")
    # A seed is set for each trial.
    missing = [key for key, value in defaults.items() if value is REQUIRED and key not in {*given, "seed"}]
    if missing:
        raise InputError(f"{where}: {owner} needs a value for {missing[0]!r}, {_words(wanted[missing[0]])}")
    return {key: _fitted(f"{where}: {key}", value, wanted[key]) for key, value in given.items()}


def require(
    kind: str,
    known: Mapping[str, Callable[..., Any]],
    name: str,
    given: dict[str, Any],
    where: str,
    hint: str = "",
) -> dict[str, Any]:
    """Refuse a name or a setting that is not known, or a value of another type; returns the settings."""
    if name not in known:
        raise InputError(f"{where}: unknown {kind} {name!r}{nearest(name, known, f'Known {kind}s')}{hint}")
    return fit(where, name, known[name], given)


def _fitted(where: str, value: Any, annotation: Any) -> Any:
    members = members_of(annotation)
    if all(is_function(member) for member in members):
        raise InputError(f"{where} is {value!r}; it needs a function, which only Python code can give")
    for member in members:
        choices = choices_of_type(member)
        if choices:
            if any(value == item and type(value) is type(item) for item in choices):
                return value
        elif not is_function(member):
            try:
                return msgspec.convert(value, member, strict=True)
            except msgspec.ValidationError:
                continue
            except (TypeError, NotImplementedError):  # a type it does not know: for the maker to judge
                return value
    choices = choices_of_type(annotation) or [item for member in members for item in choices_of_type(member)]
    if choices and isinstance(value, str):
        raise InputError(f"{where}: unknown value {value!r}{nearest(value, choices, 'Known values')}")
    raise InputError(f"{where} is {value!r}; it needs {_words(annotation)}")


def _words(annotation: Any) -> str:
    members = members_of(annotation)
    said = []
    for member in members:
        if choices := choices_of_type(member):
            said.append(f"one of {', '.join(map(str, choices))}")
        elif not is_function(member):
            said.append(TYPE_WORDS.get(member) or written(member))
    if set(get_args(ArrayLike)) <= set(members):
        return "a list of numbers"
    return " or ".join(said)
