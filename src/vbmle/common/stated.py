"""Settings that are stated once, as fields of the class that has them:

    ridge: Annotated[float, AT_LEAST_0, "The weight of the penalty ridge/2 |theta|^2."] = 1.0

A field has a type, what its values must keep (a `Check`, or the choices of `Among`), a default and one sentence. From
there come the signature, which type checkers and editors read too, the check, the docstring's list of parameters, and
what the command line and the spec of a sweep say about a setting.
"""

from __future__ import annotations

import inspect
import textwrap
import types
from collections.abc import Callable, Sequence
from dataclasses import MISSING, dataclass, fields
from functools import partial, wraps
from typing import (
    Annotated,
    Any,
    ClassVar,
    Literal,
    NamedTuple,
    ParamSpec,
    TypeVar,
    Union,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np
from numpy.typing import ArrayLike

from vbmle.common.validation import (
    MOST_SCALE,
    Among,
    at_most,
    fraction,
    index,
    nearest,
    non_negative,
    one_of,
    positive,
    positive_integer,
    probability,
)

P = ParamSpec("P")
R = TypeVar("R")

UNEXPECTED = "unexpected keyword argument"

REQUIRED = inspect.Parameter.empty
"""Stands for the default of a setting that has none."""

RAISES = """

Raises
------
ValueError
    If a setting is out of range; the message names it and what it needs."""


class Check(NamedTuple):
    """What a value must keep: in words, and as a function of name and value that returns the value or raises."""

    words: str
    check: Callable[[str, Any], Any]


class AmongOwn(NamedTuple):
    """The choices are those of an attribute of the class that has the setting."""

    attribute: str


AT_LEAST_0 = Check("at least 0", non_negative)
ABOVE_0 = Check("above 0", positive)
BETWEEN_0_AND_1 = Check("strictly between 0 and 1", fraction)
AT_LEAST_1 = Check("at least 1", positive_integer)
NOT_NEGATIVE = Check("at least 0", lambda name, value: index(name, value, 2**63))
A_SCALE = Check("at least 0", partial(non_negative, most=MOST_SCALE))
A_PROBABILITY = Check("in [0, 1]", probability)
YES_OR_NO = Check("", lambda name, value: bool(value))
Seed = Annotated[
    int, NOT_NEGATIVE, "Seeds everything that the agent draws for itself; the world's luck has its own seed."
]


def up_to(most: int) -> Check:
    """A whole number from 1 to `most`."""
    return Check(f"from 1 to {most}", partial(at_most, most=most))


class Setting(NamedTuple):
    """What a field says."""

    name: str
    annotation: Any
    """Its type, with the choices where there are any."""
    default: Any
    sentence: str
    checks: tuple[Check, ...]

    def checked(self, value: Any) -> Any:
        """`value` in the form in which it is kept; ValueError where it is none of those allowed."""
        for check in self.checks:
            value = check.check(self.name, value)
        if self.checks:
            return value
        members = members_of(self.annotation)
        free = (value is None and type(None) in members) or (
            callable(value) and any(map(is_function, members))
        )
        allowed = [choice for member in members for choice in choices_of_type(member)]
        return value if free or not allowed else one_of(self.name, value, allowed)


@dataclass_transform(eq_default=False)
class Stated:
    """Makes the annotated fields of its subclasses settings: `__init__` takes them, and the docstring lists them."""

    given: ClassVar[dict[str, tuple[str, str]]] = {}
    """Fields that are no settings, with what the docstring says of them: a type, and a sentence."""

    _settings: ClassVar[tuple[Setting, ...]]

    made_of_fields: ClassVar[bool] = True
    """Whether it is made by an `__init__` that takes its fields, not by one that somebody wrote."""

    def __init_subclass__(cls, **extra: Any) -> None:
        super().__init_subclass__(**extra)
        if "__init__" in vars(cls) and "made_of_fields" not in vars(cls):
            cls.made_of_fields = False
        text = cls.__doc__
        dataclass(init=cls.made_of_fields, eq=False, repr=False, match_args=False)(cls)
        if cls.made_of_fields and "made_of_fields" not in vars(cls):
            cls.__init__.__annotations__ |= {one.name: one.annotation for one in settings_of(cls)}
            for one in settings_of(cls):
                setattr(cls, one.name, _Kept(one))
            cls.__doc__ = text and _with_parameters(inspect.cleandoc(text), cls)
            cls.__init__ = suggesting(cls.__init__)  # type: ignore[method-assign]


class _Kept:
    """A setting of an object: it can be looked at, and stays as it was given."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting

    def __get__(self, owner: object | None, kind: type[Any]) -> Any:
        if owner is not None:
            return vars(owner)[self.setting.name]
        if self.setting.default is REQUIRED:
            raise AttributeError(f"{self.setting.name} has no default")
        return self.setting.default

    def __set__(self, owner: object, value: Any) -> None:
        name = self.setting.name
        if name in vars(owner):
            what = type(owner).__name__
            raise AttributeError(f"{name} is a setting of {what}, which stays as given; make another {what}")
        vars(owner)[name] = value


def settings_of(kind: type[Stated]) -> tuple[Setting, ...]:
    """The settings of a class, in the order of its signature."""
    if "_settings" not in vars(kind):
        kind._settings = _read(kind)
    return kind._settings


def _read(kind: type[Stated]) -> tuple[Setting, ...]:
    hints = get_type_hints(kind, include_extras=True)
    ordered = sorted((field for field in fields(kind) if field.init), key=lambda field: bool(field.kw_only))  # type: ignore[arg-type]
    found = []
    for field in ordered:
        if field.name in kind.given:
            continue
        annotation = hints[field.name]
        notes = annotation.__metadata__ if get_origin(annotation) is Annotated else ()
        plain = annotation.__origin__ if notes else annotation
        among = [note for note in notes if isinstance(note, Among)]
        among += [Among(getattr(kind, note.attribute)) for note in notes if isinstance(note, AmongOwn)]
        found.append(
            Setting(
                field.name,
                Annotated[plain, among[-1]] if among else plain,
                REQUIRED if field.default is MISSING else field.default,
                next((note for note in reversed(notes) if isinstance(note, str)), ""),
                tuple(note for note in notes if isinstance(note, Check)),
            )
        )
    return tuple(found)


def members_of(annotation: Any) -> tuple[Any, ...]:
    """What a union is made of; the type itself where it is none."""
    return get_args(annotation) if get_origin(annotation) in (Union, types.UnionType) else (annotation,)


def choices_of_type(annotation: Any) -> list[Any]:
    """The values that are listed in an annotation; none if it lists none."""
    if get_origin(annotation) is Literal:
        return list(get_args(annotation))
    if get_origin(annotation) is Annotated:
        notes = [note for note in annotation.__metadata__ if isinstance(note, Among)]
        return list(notes[0].allowed) if notes else choices_of_type(get_args(annotation)[0])
    return []


def is_function(annotation: Any) -> bool:
    """Whether an annotation asks for a function."""
    return (get_origin(annotation) or annotation) is Callable


def _with_parameters(text: str, kind: type[Stated]) -> str:
    """A docstring with the list of its parameters before its first section."""
    listed = [f"{name} : {what}\n{_indented(about)}" for name, (what, about) in kind.given.items()]
    for setting in settings_of(kind):
        words = " ".join(f"{check.words.capitalize()}." for check in setting.checks if check.words)
        listed.append(
            f"{setting.name} : {_said(setting)}\n{_indented(f'{setting.sentence} {words}'.strip())}"
        )
    made = "Parameters\n----------\n" + "\n".join(listed) + RAISES
    head, rule, rest = text.partition("\n\nExamples\n--------\n")
    return f"{head}\n\n{made}{rule}{rest}"


def _indented(sentence: str) -> str:
    return textwrap.fill(
        sentence, 100, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False
    )


def _said(setting: Setting) -> str:
    """The type and the default of a setting, as docstrings write them."""
    members = [member for member in members_of(setting.annotation) if member is not type(None)]
    members = [np.ndarray] if set(get_args(ArrayLike)) <= set(members) else members
    said = " or ".join(dict.fromkeys(_type_words(member) for member in members))
    if setting.default is REQUIRED:
        return said
    if setting.default is not None:
        return f"{said}, default {_quoted(setting.default)}"
    if said.startswith("{"):  # the first of listed choices would be taken for the default
        said = said.strip("{}").replace(", ", " or ") + " or None"
    return f"{said}, optional"


def _type_words(annotation: Any) -> str:
    if choices := choices_of_type(annotation):
        return "{" + ", ".join(map(_quoted, choices)) + "}"
    origin = get_origin(annotation) or annotation
    if is_function(annotation):
        return "function"
    if origin is Sequence:
        return f"sequence of {_type_words(get_args(annotation)[0])}"
    return "array" if origin is np.ndarray else str(origin.__name__)


def _quoted(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


def suggesting(function: Callable[P, R]) -> Callable[P, R]:
    """The same function, whose TypeError about an unknown keyword names the nearest known one."""

    @wraps(function)
    def called(*arguments: P.args, **named: P.kwargs) -> R:
        try:
            return function(*arguments, **named)
        except TypeError as error:
            inside = error.__traceback__ is not None and error.__traceback__.tb_next is not None
            if inside or UNEXPECTED not in str(error):  # what it calls in turn is not our business
                raise
            known = [name for name in inspect.signature(function).parameters if name != "self"]
            unknown = next(name for name in named if name not in known)
            raise TypeError(_unexpected(function.__qualname__, unknown, known)) from None

    return called


def _unexpected(name: str, unknown: str, known: list[str]) -> str:
    owner = name.removesuffix(".__init__")
    return f"{owner}() got an {UNEXPECTED} {unknown!r}{nearest(unknown, known, 'Known arguments')}"
