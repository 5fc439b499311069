"""What `pip install vbmle` leaves out, and the one line that says how to get it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars

UNIX = () if sys.platform == "win32" else ("uvloop",)
"""What there is for Unix alone."""

EXTRAS = {
    "gym": ("gymnasium",),
    "tables": ("polars",),
    "experiments": ("typer", "rich", "msgspec", "polars", "matplotlib", "gymnasium", "jinja2"),
    "cluster": ("distributed",),
    "serve": ("msgspec", "jinja2", "starlette", "uvicorn", "httptools", "prometheus_client", *UNIX),
}
"""The extras of pyproject.toml, each with the packages that its code imports."""


class MissingExtra(ImportError):
    """A package that an extra of vbmle brings is missing; the message is one line that names it."""


@cache
def require(extra: str) -> None:
    """Refuse to go on without the packages of an extra."""
    for package in EXTRAS[extra]:
        if find_spec(package) is None:
            raise MissingExtra(
                f'this needs the package {package}: pip install "vbmle[{extra}]"', name=package
            )


def frame(columns: Mapping[str, Any]) -> polars.DataFrame:
    """Columns of equal length as a polars frame; a column that is None is left out."""
    require("tables")
    import polars

    return polars.DataFrame({name: values for name, values in columns.items() if values is not None})
