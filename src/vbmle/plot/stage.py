"""The axes that a picture is drawn on: yours, or new ones of the size of a column."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from vbmle.common import extras

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIZE = (4.2, 2.9)
"""Inches: scaled to a column of a paper (3.4), text of 9 points stays above 7."""

TEXT = 9.0
"""Points."""


@contextmanager
def stage(ax: Axes | None, size: tuple[float, float] = SIZE) -> Iterator[Axes]:
    """Axes to draw on, with our text sizes where they are new."""
    extras.require("experiments")
    if ax is not None:
        yield ax
        return
    from matplotlib import pyplot, rcParams

    before = rcParams[
        "font.size"
    ]  # alone: a context of all settings would undo what a notebook sets at its first figure
    rcParams["font.size"] = TEXT
    try:
        _, made = pyplot.subplots(figsize=size, layout="constrained", dpi=130)
        yield made
    finally:
        rcParams["font.size"] = before


def legend(ax: Axes, **how: Any) -> None:
    """One entry for each name, where there are two or more."""
    handles, labels = ax.get_legend_handles_labels()
    if len(labels) > 1:
        ax.legend(handles, labels, frameon=False, fontsize="small", **how)
