"""Settings stated once, as fields: what follows from them."""

import inspect
from collections.abc import Callable
from typing import Annotated, Any, ClassVar

import pytest

from vbmle.common.stated import ABOVE_0, REQUIRED, Seed, Stated, settings_of, up_to
from vbmle.common.validation import Among

Shape = Annotated[str, Among(("round", "square"))] | Callable[[float], float]


class Thing(Stated):
    """What is stated.

    Examples
    --------
    >>> Thing(1.0).size
    1.0
    """

    given: ClassVar = {"home": ("str", "Where it is.")}

    home: str
    size: Annotated[float, ABOVE_0, "How large it is."]
    shape: Annotated[Shape, "What it looks like."] = "round"
    colour: Annotated[str, Among(("red", "blue")), "What it is painted."] | None = None
    copies: Annotated[int, up_to(3), "How many there are."] = 1
    seed: Seed = 0

    def __post_init__(self) -> None:
        for setting in settings_of(type(self)):
            vars(self)[setting.name] = setting.checked(getattr(self, setting.name))


def test_the_signature_follows():
    found = inspect.signature(Thing)
    assert list(found.parameters) == ["home", "size", "shape", "colour", "copies", "seed"]
    assert [one.default for one in settings_of(Thing)] == [REQUIRED, "round", None, 1, 0]
    assert Thing("here", 2).size == 2.0


def test_the_docstring_lists_them_before_its_first_section():
    text = inspect.getdoc(Thing) or ""
    head, _, rest = text.partition("Parameters\n----------\n")
    assert head == "What is stated.\n\n"
    assert "size : float\n    How large it is. Above 0.\n" in rest
    assert 'shape : {"round", "square"} or function, default "round"\n' in rest
    assert 'colour : "red" or "blue" or None, optional\n' in rest
    assert "copies : int, default 1\n    How many there are. From 1 to 3.\n" in rest
    assert rest.index("Raises\n------\n") < rest.index("Examples\n--------\n")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"size": 0.0}, "size is 0.0; it needs a finite number above 0"),
        ({"size": 1.0, "shape": "long"}, "shape is 'long'; it needs one of 'round', 'square'"),
        ({"size": 1.0, "colour": "bleu"}, "colour is 'bleu'.*did you mean 'blue'"),
        ({"size": 1.0, "copies": 4}, "copies is 4; 3 is the most"),
        ({"size": 1.0, "seed": -1}, "seed is -1"),
    ],
)
def test_what_is_out_of_range_is_refused(settings: dict[str, Any], said: str):
    with pytest.raises(ValueError, match=said):
        Thing("here", **settings)


def test_functions_and_nothing_are_let_through_where_they_may_stand():
    assert Thing("here", 1.0, shape=abs, colour=None).shape is abs


def test_a_setting_stays_as_it_was_given():
    thing = Thing("here", 1.0)
    with pytest.raises(AttributeError, match="size is a setting of Thing"):
        thing.size = 2.0
    assert thing.size == 1.0


def test_one_that_writes_its_own_init_keeps_it_and_so_do_its_heirs():
    class Own(Thing):
        def __init__(self, length: float) -> None:
            super().__init__("there", 2.0 * length)

    class Heir(Own):
        """One that adds nothing."""

    make: Any = Heir
    assert make(3.0).size == 6.0
    assert not Heir.made_of_fields
    assert inspect.getdoc(Heir) == "One that adds nothing."
