"""Settings: what a signature asks for, and the message about a name or a value that does not fit.

Names, types, defaults and allowed values are those of the code: a parameter's annotation, with its choices as
`Literal[...]` or `Annotated[str, Among(...)]`. What an annotation cannot say is left to the maker itself.
"""

from __future__ import annotations

import difflib
import inspect
import types
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
from numpy.typing import ArrayLike

from vbmle.common.validation import Among, InputError

REQUIRED = inspect.Parameter.empty
"""Stands for the default of a setting that has none."""

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
    parameters = inspect.signature(maker).parameters.values()
    collected = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    given = GIVEN | ({"theta"} if getattr(maker, "needs_truth", False) else set())
    return {p.name: p.default for p in parameters if p.name not in given and p.kind not in collected}


@cache
def types_of(maker: Callable[..., Any]) -> dict[str, Any]:
    """The annotations of its settings, as far as they can be found out."""
    plain = isinstance(maker, type) and not issubclass(maker, msgspec.Struct)
    try:
        hints = get_type_hints(maker.__init__ if plain else maker, include_extras=True)
    except NameError:  # names that only a type checker imports
        hints = {}
    return {name: hints.get(name, Any) for name in settings_of(maker)}


def choices_of(maker: Callable[..., Any]) -> dict[str, list[Any]]:
    """The values that are listed for its settings, by name; settings that take anything else are left out."""
    found = {}
    for name, annotation in types_of(maker).items():
        members = get_args(annotation) if _is_union(annotation) else (annotation,)
        listed = [item for member in members for item in _choices(member)]
        if listed:
            found[name] = listed
    return found


def written(annotation: Any) -> str:
    """A type as it is shown in a list of settings."""
    if choices := _choices(annotation):
        return " | ".join(repr(item) for item in choices)
    if _is_union(annotation):
        members, array = get_args(annotation), get_args(ArrayLike)
        if set(array) <= set(members):
            return " | ".join(["list", *(written(item) for item in members if item not in array)])
        return " | ".join(written(member) for member in members)
    if _is_function(annotation):
        return "function"
    if annotation is type(None):
        return "None"
    plain = isinstance(annotation, type) and not get_args(annotation)
    return annotation.__name__ if plain else str(annotation)


def fit(where: str, owner: str, maker: Callable[..., Any], given: dict[str, Any]) -> dict[str, Any]:
    """`given` with whole numbers as floats where floats are asked for; one line about what does not fit."""
    defaults, wanted = settings_of(maker), types_of(maker)
    former = getattr(maker, "renamed", {})
    for key in given:
        if key in former:
            raise InputError(f"{where}: {owner} has no setting {key!r}; it is called {former[key]!r} now")
        if key not in defaults:
            raise InputError(f"{where}: {owner} has no setting {key!r}; {nearest(key, defaults)}")
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
        raise InputError(f"{where}: there is no {kind} {name!r}; {nearest(name, known)}{hint}")
    return fit(where, name, known[name], given)


def nearest(word: Any, known: Iterable[Any]) -> str:
    """The nearest match, if there is one, and all that is allowed."""
    names = [str(item) for item in known]
    near = difflib.get_close_matches(str(word), names, n=1)
    guess = f"did you mean {near[0]!r}? " if near else ""
    return f"{guess}it needs one of {', '.join(names) if names else 'none'}"


def _fitted(where: str, value: Any, annotation: Any) -> Any:
    members = get_args(annotation) if _is_union(annotation) else (annotation,)
    if all(_is_function(member) for member in members):
        raise InputError(f"{where} is {value!r}; it needs a function, which only Python code can give")
    for member in members:
        choices = _choices(member)
        if choices:
            if any(value == item and type(value) is type(item) for item in choices):
                return value
        elif not _is_function(member):
            try:
                return msgspec.convert(value, member, strict=True)
            except msgspec.ValidationError:
                continue
            except (TypeError, NotImplementedError):  # a type it does not know: for the maker to judge
                return value
    choices = _choices(annotation) or [item for member in members for item in _choices(member)]
    if choices and isinstance(value, str):
        raise InputError(f"{where} is {value!r}; {nearest(value, choices)}")
    raise InputError(f"{where} is {value!r}; it needs {_words(annotation)}")


def _choices(annotation: Any) -> list[Any]:
    """The values that are listed in an annotation; none if it lists none."""
    if get_origin(annotation) is Literal:
        return list(get_args(annotation))
    if get_origin(annotation) is Annotated:
        notes = [note for note in annotation.__metadata__ if isinstance(note, Among)]
        return list(notes[0].allowed) if notes else _choices(get_args(annotation)[0])
    return []


def _words(annotation: Any) -> str:
    members = get_args(annotation) if _is_union(annotation) else (annotation,)
    said = []
    for member in members:
        if choices := _choices(member):
            said.append(f"one of {', '.join(map(str, choices))}")
        elif not _is_function(member):
            said.append(TYPE_WORDS.get(member) or written(member))
    if set(get_args(ArrayLike)) <= set(members):
        return "a list of numbers"
    return " or ".join(said)


def _is_union(annotation: Any) -> bool:
    return get_origin(annotation) in (Union, types.UnionType)


def _is_function(annotation: Any) -> bool:
    return (get_origin(annotation) or annotation) is Callable
