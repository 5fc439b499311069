"""How agents look: one label, one colour, line and marker on the whole page and in every figure.

The one table of colours. They are Okabe and Ito's, which the colour-blind can tell apart (agents do without yellow,
which vanishes on white). Variants of one agent share a hue; line and marker tell them apart, and say the same again for
those who see no colours.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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
    *(("#08519c", "#ffffff"), ("#8cc0e3", "#000000"), ("#e4e7ea", "#000000"), ("#fdc998", "#000000")),
    ("#f08c3e", "#000000"),
)
"""Ground and ink of each level, best first: blue to orange, which the colour-blind can tell apart; in grey the best is
much darker than the worst."""

PRINT: Any = {
    "pdf.fonttype": 42,
    "ps.fonttype": 42,
    "font.size": 8.0,
    **{f"{part}size": 8.0 for part in ("axes.title", "axes.label", "xtick.label", "ytick.label")},
    **{
        "legend.fontsize": 8.0,
        "axes.linewidth": 0.6,
        "grid.linewidth": 0.5,
        "mathtext.fontset": "dejavusans",
    },
    **{f"{axis}tick.major.{part}": size for axis in "xy" for part, size in (("width", 0.6), ("size", 2.5))},
}
"""Settings of matplotlib for figures on paper: 8 pt type, as TrueType in PDFs (some venues refuse its Type 3)."""

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


Styles = Mapping[str, Style]
"""By agent."""


def assign(agents: Iterable[str], kinds: Mapping[str, str] | None = None) -> dict[str, Style]:
    """A look for each label, in order of appearance: a hue for each kind of agent, a line and marker for each variant.

    `kinds` has the kind by label; without it every label is one of its own. Hues repeat after 7 kinds, with other lines
    and markers.
    """
    hues: dict[str, int] = {}
    used = dict.fromkeys(COLORS, 0)
    found, lines, markers = {}, list(LINES), list(MARKERS)
    for label in dict.fromkeys(agents):
        hue = hues.setdefault(kinds.get(label, label) if kinds else label, len(hues)) % len(COLORS)
        turn = used[COLORS[hue]]
        used[COLORS[hue]] += 1
        found[label] = Style(
            COLORS[hue], lines[(hue + turn) % len(lines)], markers[(hue + turn) % len(markers)]
        )
    return found
