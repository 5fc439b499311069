"""How agents look: one label, one colour, line and marker on the whole page and in every figure.

The one table of colours. They are Okabe and Ito's, which the colour-blind can tell apart (agents do without yellow,
which vanishes on white). Line and marker say the same again, and tell agents apart where there are more of them
than colours.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

BLUE, RED, GREEN, PINK = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
ORANGE, SKY, YELLOW = "#E69F00", "#56B4E9", "#F0E442"
INK = "#000000"
"""Drawn in the colour of the text: white on a dark page."""

GREY = "#666666"
"""For what belongs to no agent."""

COLORS = (BLUE, RED, GREEN, PINK, ORANGE, SKY, INK)

LEVELS = (1.05, 1.5, 3.0, 10.0)
"""Where the colours of the picture of who wins change: mean regret over the best agent's."""

LEVEL_COLORS = (
    *(("#08519c", "#ffffff"), ("#8cc0e3", "#000000"), ("#e4e7ea", "#000000"), ("#fdbe85", "#000000")),
    ("#b63d00", "#ffffff"),
)
"""Ground and ink of each level, best first: blue to orange, which the colour-blind can tell apart."""

# By the name of the line in plotly: what matplotlib calls it.
LINES: dict[str, Any] = {
    "solid": "-",
    "dash": (0, (5, 2)),
    "dashdot": (0, (5, 2, 1, 2)),
    "dot": (0, (1, 1.5)),
    "longdash": (0, (9, 3)),
    "longdashdot": (0, (9, 2, 1, 2)),
}
MARKERS = {
    **{"circle": "o", "square": "s", "triangle-up": "^", "diamond": "D", "triangle-down": "v"},
    **{"cross": "P", "x": "X", "pentagon": "p", "star": "*", "hexagon": "h"},
}

FIRST = ("VBMLE", "maximum likelihood", "UCLK", "PSRL", "UCRL2", "approximated VBMLE", "Random")
"""Agents whose look does not depend on who else is there."""


@dataclass(frozen=True)
class Style:
    """The names are plotly's."""

    color: str
    dash: str
    marker: str

    @property
    def line(self) -> Any:
        """The dash as matplotlib wants it."""
        return LINES[self.dash]

    @property
    def symbol(self) -> str:
        """The marker as matplotlib wants it."""
        return MARKERS[self.marker]


def style(number: int) -> Style:
    """The look of the n-th agent: colours repeat after 7, and then with another line and marker."""
    lines, markers = list(LINES), list(MARKERS)
    turn = number // len(COLORS)
    return Style(
        COLORS[number % len(COLORS)],
        lines[(number + 3 * turn) % len(lines)],
        markers[(number + 4 * turn) % len(markers)],
    )


def assign(agents: Iterable[str]) -> dict[str, Style]:
    """A look for each label: its own for those we know, then in order of appearance."""
    labels = list(dict.fromkeys(agents))
    known = {label: number for number, label in enumerate(FIRST) if label in labels}
    # Few newcomers take what the absent leave free, so that a small comparison has strong colours.
    free = [number for number in range(len(FIRST) + len(labels)) if number not in known.values()]
    others = dict(zip((label for label in labels if label not in known), free, strict=False))
    return {label: style((known | others)[label]) for label in labels}
