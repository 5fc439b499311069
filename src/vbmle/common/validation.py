"""Checks at the border: one ValueError each, that says what was wrong, where, and what would be right."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
FLOAT = np.dtype(np.float64)
MOST_SCALE = 1e30
"""Largest factor of a radius: far beyond all use, and far below what overflows when it is squared."""


class InputError(ValueError):
    """What the user asked for cannot be done; the message is one line that says what, where and what would be right."""


class Among:
    """The values that a setting may have, given in its annotation: `Annotated[str, Among(...)]`."""

    def __init__(self, allowed: Iterable[str]) -> None:
        self.allowed = tuple(allowed)


def finite_array(name: str, value: ArrayLike, ndim: int | Sequence[int]) -> Floats:
    """A float copy of `value`, refused when it has the wrong number of axes or holds NaN or infinity."""
    if np.iscomplexobj(value):
        raise ValueError(f"{name} holds complex numbers; it needs real ones")
    array = np.array(value, dtype=np.float64, order="C")
    allowed = (ndim,) if isinstance(ndim, int) else tuple(ndim)
    if array.ndim not in allowed:
        wanted = " or ".join(str(n) for n in allowed)
        raise ValueError(f"{name} has {array.ndim} axes (shape {array.shape}); it needs {wanted}")
    require_finite(name, array)
    return array


def contiguous(name: str, value: ArrayLike) -> Floats:
    """`value` as floats in C order: itself where it is that already, without a look at its entries."""
    if type(value) is np.ndarray and value.dtype is FLOAT and value.flags.c_contiguous:
        return value
    if np.iscomplexobj(value):
        raise ValueError(f"{name} holds complex numbers; it needs real ones")
    return np.ascontiguousarray(value, dtype=np.float64)


def require_finite(name: str, array: Floats) -> None:
    """Refuse NaN and infinity, naming the first place."""
    finite = np.isfinite(array)
    if not finite.all():
        where = tuple(int(i) for i in np.argwhere(~finite)[0])
        raise ValueError(f"{name} is {array[where]} at index {where}; every entry must be finite")


def require_shape(name: str, array: NDArray[np.generic], shape: tuple[int, ...], axes: str) -> None:
    """Refuse an array whose shape is not `shape`; `axes` says what the axes mean."""
    if array.shape != shape:
        raise ValueError(f"{name} has shape {array.shape}; it needs {shape} = {axes}")


def index(name: str, value: int, size: int) -> int:
    """`value` as an int in 0 .. size-1."""
    if type(value) is int and 0 <= value < size:  # the common case, before kinds are told apart
        return value
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
        raise ValueError(f"{name} is {value!r}; it needs a whole number from 0 to {size - 1}")
    if not 0 <= value < size:
        raise ValueError(f"{name} is {value}; it needs a whole number from 0 to {size - 1}")
    return int(value)


def is_finite_number(value: object) -> bool:
    """Whether `value` is a plain number, neither bool nor NaN nor infinite."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        return False
    return bool(np.isfinite(float(value)))


def non_negative(name: str, value: float, most: float = np.inf) -> float:
    """`value` as a finite float that is at least 0, and at most `most`."""
    number = float(value)
    if not (np.isfinite(number) and number >= 0.0):
        raise ValueError(f"{name} is {value}; it needs a finite number that is at least 0")
    if number > most:
        raise ValueError(f"{name} is {value}; {most:g} is the most")
    return number


def positive(name: str, value: float) -> float:
    """`value` as a finite float above 0."""
    number = float(value)
    if not (np.isfinite(number) and number > 0.0):
        raise ValueError(f"{name} is {value}; it needs a finite number above 0")
    return number


def positive_integer(name: str, value: float) -> int:
    """`value` as an int that is at least 1."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer) or value < 1:
        raise ValueError(f"{name} is {value!r}; it needs a whole number that is at least 1")
    return int(value)


def at_most(name: str, value: int, most: int) -> int:
    """`value` as an int from 1 to `most`."""
    if positive_integer(name, value) > most:
        raise ValueError(f"{name} is {value}; {most} is the most")
    return int(value)


def fraction(name: str, value: float) -> float:
    """`value` as a float strictly between 0 and 1."""
    number = float(value)
    if not 0.0 < number < 1.0:
        raise ValueError(f"{name} is {value}; it needs a number strictly between 0 and 1")
    return number


def one_of(name: str, value: str, allowed: Sequence[str]) -> str:
    """`value`, refused unless it is one of `allowed`."""
    if value not in allowed:
        from difflib import get_close_matches

        choices = ", ".join(repr(item) for item in allowed)
        near = get_close_matches(str(value), allowed, n=1)
        guess = f" (did you mean {near[0]!r}?)" if near else ""
        raise ValueError(f"{name} is {value!r}; it needs one of {choices}{guess}")
    return value


def distribution(name: str, value: ArrayLike | None, size: int) -> Floats:
    """A probability vector of length `size`; None means uniform."""
    if value is None:
        return np.full(size, 1.0 / size)
    array = finite_array(name, value, 1)
    require_shape(name, array, (size,), "(states,)")
    if array.min() < 0.0:
        raise ValueError(
            f"{name} is {array.min()} at state {int(array.argmin())}; probabilities are at least 0"
        )
    if abs(array.sum() - 1.0) > 1e-9:
        raise ValueError(f"{name} sums to {array.sum()}; probabilities must sum to 1")
    return array


def mixture(name: str, value: ArrayLike) -> Floats:
    """Weights of a mixture: at least 0, and 1 in all."""
    if isinstance(value, str):
        raise ValueError(f"{name} is {value!r}; it needs a list of weights")
    array = finite_array(name, value, 1)
    if array.size and array.min() < 0.0:
        where = int(array.argmin())
        raise ValueError(f"{name}[{where}] is {array[where]:g}; a weight is at least 0")
    if abs(array.sum() - 1.0) > 1e-9:
        raise ValueError(f"{name} sums to {array.sum():.9g}; it needs 1")
    return array


def probability(name: str, value: float) -> float:
    """`value` as a float in [0, 1]."""
    number = non_negative(name, value)
    if number > 1.0:
        raise ValueError(f"{name} is {value}; a probability is at most 1")
    return number


def mask(name: str, value: ArrayLike | None, shape: tuple[int, int, int] | None) -> Bools:
    """A boolean (S, A, S) array of the given shape; None means nowhere."""
    if value is None and shape is not None:
        return np.zeros(shape, dtype=bool)
    array = np.asarray(value)
    if array.dtype != bool and not np.isin(array, (0, 1)).all():
        raise ValueError(f"{name} holds values other than True and False; it needs a boolean (S, A, S) array")
    if array.ndim != 3 or array.shape[0] != array.shape[2] or 0 in array.shape:
        raise ValueError(f"{name} has shape {array.shape}; it needs (S, A, S)")
    if shape is not None:
        require_shape(name, array, shape, "(S, A, S)")
    return array.astype(bool)


def require_stochastic(name: str, model: Floats) -> None:
    """Refuse an (S, A, S) array whose rows are not distributions."""
    if model.min() < -1e-12:
        where = tuple(int(i) for i in np.argwhere(model < -1e-12)[0])
        raise ValueError(f"{name} is {model[where]:g} at (s, a, s') = {where}; probabilities are at least 0")
    off = np.abs(model.sum(axis=2) - 1.0)
    if off.max() > 1e-9:
        state, action = np.unravel_index(off.argmax(), off.shape)
        total = model[state, action].sum()
        raise ValueError(f"{name} sums to {total:.9g} at (s={state}, a={action}); every row must sum to 1")


def nearest(word: object, known: Iterable[object], what: str) -> str:
    """What follows an unknown word: the nearest match, if there is one, and all that are known."""
    import difflib

    names = [str(item) for item in known]
    near = difflib.get_close_matches(str(word), names, n=1)
    guess = f" (did you mean {near[0]!r}?)" if near else ""
    return f"{guess}. {what}: {', '.join(names) if names else 'none'}"
