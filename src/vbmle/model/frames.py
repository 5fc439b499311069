"""Tables from users: CSV and Parquet files, polars and pandas frames; columns of numbers or of names.

A column of states or actions holds whole numbers from 0 up, or names: texts none of which is a number. What is wrong
is refused with a ValueError that says where: the file or the frame, the row (the first row of data is row 1) and the
rule.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from vbmle.common import extras, parquet, validation
from vbmle.common.validation import Floats, Ints

if TYPE_CHECKING:
    import polars

PathLike: TypeAlias = str | os.PathLike[str]
Source: TypeAlias = Any
"""The path of a CSV or Parquet file, or a polars or pandas DataFrame."""

Size: TypeAlias = int | Sequence[str] | None
"""How many states or actions there are, or their names in order; None to take both from the table."""

MOST_STATES = 10**8
"""State and action numbers above this are taken for something else, an identifier or a time."""

READABLE = ("s", "a", "s_next")


@dataclass(frozen=True, eq=False)
class Table:
    """A frame, and what it is called in messages."""

    name: str
    frame: polars.DataFrame

    def text(self, column: str) -> bool:
        """Whether a column holds names: texts of which none is a number."""
        import polars

        values = self.frame[column]
        if values.dtype not in (polars.String, polars.Categorical, polars.Enum):
            return False
        stripped = values.cast(polars.String).str.strip_chars()
        return bool(stripped.cast(polars.Float64, strict=False).is_null().all()) and not bool(
            stripped.is_null().any()
        )

    def names(self, column: str) -> list[str]:
        """A column of names."""
        import polars

        return [str(item).strip() for item in self.frame[column].cast(polars.String)]


def read(source: Source, needed: tuple[str, ...]) -> Table:
    """A file, all fields of a CSV as text, or a frame as it is; refused where a column or every row is missing."""
    extras.require("tables")
    table = (
        _read_file(source) if isinstance(source, str | os.PathLike) else Table("the frame", _frame(source))
    )
    missing = [name for name in needed if name not in table.frame.columns]
    if missing:
        wanted, found = ", ".join(needed), " ".join(", ".join(table.frame.columns).split())[:200]
        raise ValueError(f"{table.name} has no column {missing[0]!r}; it needs {wanted} and has {found}")
    if table.frame.is_empty():
        raise ValueError(f"{table.name} has no rows; it needs at least one transition")
    return table


def _read_file(path: PathLike) -> Table:
    import polars
    from polars.exceptions import PanicException, PolarsError

    readers: dict[str, Any] = {
        ".csv": lambda: polars.read_csv(Path(path), infer_schema=False),
        ".parquet": lambda: parquet.read(path).frame,
    }
    suffix = Path(path).suffix.lower()
    if suffix not in readers:
        raise ValueError(f"{path} ends in {suffix!r}; it needs .csv or .parquet")
    if not Path(path).is_file():
        raise FileNotFoundError(f"there is no file {path}")
    try:
        return Table(str(path), readers[suffix]())
    except (PolarsError, PanicException, parquet.ParquetError, OSError) as error:
        first = (str(error).splitlines() or [type(error).__name__])[0]
        raise ValueError(f"{path} cannot be read as {suffix[1:]}: {first}") from error


def _frame(source: Any) -> polars.DataFrame:
    """A polars frame, or a pandas one column by column (which needs nothing but NumPy)."""
    import polars

    if isinstance(source, polars.DataFrame):
        return source
    if isinstance(source, polars.LazyFrame):
        return source.collect()
    if type(source).__module__.partition(".")[0] == "pandas" and hasattr(source, "columns"):
        columns = {str(name): source[name].to_numpy() for name in source.columns}
        return polars.DataFrame({name: polars.Series(name, _plain(c)) for name, c in columns.items()})
    raise ValueError(
        f"the table is of type {type(source).__name__}; it needs the path of a .csv or .parquet file, "
        "or a polars or pandas DataFrame"
    )


def _plain(column: Any) -> Any:
    """A column of pandas as numbers, or as a list of texts and None."""
    if column.dtype.kind in "iufb":
        return column
    return [None if item is None or item != item else str(item) for item in column.tolist()]


def numbers(
    table: Table, columns: tuple[str, ...], size: Size, known: list[str]
) -> tuple[list[Ints], list[str]]:
    """Columns of states, or of actions, as whole numbers from 0 up; and their names in order, [] where there are none.

    `known` are names that come first, from tables that were read before.
    """
    listed = [str(item) for item in size] if isinstance(size, Sequence) else None
    if all(table.text(name) for name in columns) and (listed is not None or not isinstance(size, int)):
        return _named(table, columns, listed, known)
    if listed is not None or known:
        _refuse_mix(table, columns)
    count = size if isinstance(size, int) else None
    return [_whole(table, name, count) for name in columns], []


def _named(
    table: Table, columns: tuple[str, ...], listed: list[str] | None, known: list[str]
) -> tuple[list[Ints], list[str]]:
    found = [table.names(name) for name in columns]
    order = listed or list(dict.fromkeys([*known, *(item for column in found for item in column)]))
    number = {name: i for i, name in enumerate(order)}
    for name, column in zip(columns, found, strict=True):
        for row, item in enumerate(column):
            if item not in number:
                shown = ", ".join(order[:8]) + (", ..." if len(order) > 8 else "")
                raise ValueError(f"{table.name}, row {row + 1}: {name} is {item!r}; it needs one of {shown}")
    return [np.array([number[item] for item in column], dtype=np.int64) for column in found], order


def _refuse_mix(table: Table, columns: tuple[str, ...]) -> None:
    plain = next(name for name in columns if not table.text(name))
    raise ValueError(f"{table.name}: {plain} holds numbers where names are needed; give all of it by name")


def sizes(states: Size, actions: Size) -> None:
    """Refuse sizes that are neither a number above 0 nor a list of different names."""
    for name, size in (("states", states), ("actions", actions)):
        if isinstance(size, str):
            raise ValueError(f"{name} is the text {size!r}; it needs a number or a list of names")
        if isinstance(size, Sequence):
            items = list(size)
            if not items or len({str(item) for item in items}) < len(items):
                raise ValueError(f"{name} needs at least one name, each of them once")
        elif size is not None:
            validation.positive_integer(name, size)


def _whole(table: Table, name: str, size: int | None) -> Ints:
    """A column of whole numbers from 0 up, below size where it is known."""
    import polars

    column = table.frame[name]
    text = _require_plain(table, column)
    read = (column.str.strip_chars() if text else column).cast(polars.Int64, strict=False)
    same = read == column.cast(polars.Float64, strict=False)  # 1.5 is cut to 1 by the cast
    good = read.is_not_null() & same.fill_null(False) & (read >= 0).fill_null(False)
    if size is not None:
        good = good & (read < size).fill_null(False)
    if not good.all():
        i = int((~good).arg_max() or 0)
        rule = "a whole number that is at least 0" if size is None else f"a whole number from 0 to {size - 1}"
        from_one = size is not None and read[i] == size and read.min() == 1
        hint = " (it looks numbered from 1: subtract 1)" if from_one else ""
        raise ValueError(f"{table.name}, row {i + 1}: {name} is {column[i]!r}; it needs {rule}{hint}")
    found = read.to_numpy().astype(np.int64)
    if size is None and found.max() >= MOST_STATES:
        i = int(found.argmax())
        raise ValueError(
            f"{table.name}, row {i + 1}: {name} is {found[i]}; numbers from 0 to {MOST_STATES - 1} are used"
        )
    return found


def _require_plain(table: Table, column: polars.Series) -> bool:
    """Whether a column holds text; refused where it holds neither text nor numbers."""
    import polars

    if column.dtype != polars.String and not column.dtype.is_numeric():
        raise ValueError(f"{table.name}: the column {column.name} holds {column.dtype}; it needs numbers")
    return bool(column.dtype == polars.String)


def require_from_zero(where: str, what: str, columns: Sequence[Ints]) -> None:
    """Refuse states or actions that are numbered from 1: where every one must occur, none is 0."""
    lowest = min(int(column.min()) for column in columns)
    if lowest == 1:
        highest = max(int(column.max()) for column in columns)
        fix = "subtract 1 from s and s_next" if what == "states" else "subtract 1 from a"
        raise ValueError(f"{where} numbers {what} from 1 to {highest}; they are numbered from 0: {fix}")


def probabilities(table: Table) -> Floats:
    """The column p."""
    return column_of_numbers(table, "p", 0.0, 1.0, "a number from 0 to 1")


def column_of_numbers(
    table: Table, name: str, low: float = -np.inf, high: float = np.inf, rule: str = "a finite number"
) -> Floats:
    """A column of finite numbers between two others."""
    import polars

    column = table.frame[name]
    text = _require_plain(table, column)
    p = (column.str.strip_chars() if text else column).cast(polars.Float64, strict=False)
    good = (p.is_finite() & (p >= low) & (p <= high)).fill_null(False)
    if not good.all():
        i = int((~good).arg_max() or 0)
        raise ValueError(f"{table.name}, row {i + 1}: {name} is {column[i]!r}; it needs {rule}")
    return p.to_numpy().astype(np.float64)
