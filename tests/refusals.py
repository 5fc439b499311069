"""What an error has to tell, in whatever words: the thing, its place, and what would be right."""

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest


def require_told(text: str, *facts: str) -> None:
    """The text is one line with all of these in it: names, places and values, each of them whole."""
    assert "\n" not in text
    missing = [fact for fact in facts if not re.search(_whole(fact), text)]
    assert missing == [], text


def _whole(fact: str) -> str:
    """A pattern for it that does not find 1 in 12 or in 1.5, nor phi in phi_next."""
    before = r"(?<![\w.])" if re.match(r"[\w-]", fact) else ""
    after = r"(?!\w|\.\d)" if re.search(r"\w$", fact) else ""
    return before + re.escape(fact) + after


@contextmanager
def refused(*facts: str, by: type[Exception] = ValueError) -> Iterator[pytest.ExceptionInfo[Any]]:
    """What is done inside is refused, by an error that tells these facts."""
    with pytest.raises(by) as error:
        yield error
    require_told(str(error.value), *facts)


@contextmanager
def warned(*facts: str) -> Iterator[None]:
    """What is done inside is warned about, by a warning that tells these facts."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        yield
    (warning,) = told
    assert issubclass(warning.category, UserWarning)
    require_told(str(warning.message), *facts)
