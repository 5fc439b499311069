"""Swatches: how an agent's line and marker look, drawn once and used wherever the agent is named."""

from __future__ import annotations

import math
from collections.abc import Mapping

from vbmle.plot.styles import INK, Style

DASHES = {
    "solid": "",
    "dash": "7 3",
    "dashdot": "7 3 2 3",
    "dot": "2 3",
    "longdash": "11 4",
    "longdashdot": "11 3 2 3",
}
CORNERS = {"square": (4, 45), "triangle-up": (3, -90), "diamond": (4, 0), "triangle-down": (3, 90)}
CORNERS |= {"pentagon": (5, -90), "hexagon": (6, -90)}


def swatches(styles: Mapping[str, Style]) -> str:
    """The drawings that `legend` refers to."""
    drawn = [
        _swatch(f"s{number}", look, faint)
        for number, look in enumerate(styles.values())
        for faint in (False, True)
    ]
    drawn.append(_swatch("none", Style("#808080", "dash", ""), False))
    return f'<svg width="0" height="0" class="store" aria-hidden="true">{"".join(drawn)}</svg>'


def legend(number: int | None, faint: bool = False) -> str:
    """The look of the n-th agent; of nobody for None."""
    name = "none" if number is None else f"s{number}{'f' if faint else ''}"
    return f'<svg class="swatch" aria-hidden="true"><use href="#{name}"/></svg>'


def _swatch(name: str, look: Style, faint: bool) -> str:
    color = "currentColor" if look.color == INK else look.color
    dash = DASHES["dot" if faint else look.dash]
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    line = f'<path d="M1 7H37" stroke-width="{1.5 if faint else 2.5}"{dashes}/>'
    marker = "" if faint else _marker(look.marker)
    drawing = f'<g stroke="{color}" fill="{color}">{line}{marker}</g>'
    return f'<symbol id="{name}{"f" if faint else ""}" viewBox="0 0 38 14">{drawing}</symbol>'


def _marker(name: str) -> str:
    if name == "circle":
        return '<circle cx="19" cy="7" r="4" stroke="none"/>'
    if name in CORNERS:
        count, turn = CORNERS[name]
        return _polygon([(4.8, turn + 360 * corner / count) for corner in range(count)])
    if name == "star":
        return _polygon([(5.5 if corner % 2 == 0 else 2.3, -90 + 36 * corner) for corner in range(10)])
    if name == "cross":
        return '<path d="M19 2V12M14 7H24" stroke-width="3.4"/>'
    if name == "x":
        return '<path d="M15.2 3.2L22.8 10.8M22.8 3.2L15.2 10.8" stroke-width="3"/>'
    return ""


def _polygon(corners: list[tuple[float, float]]) -> str:
    places = (
        f"{19 + r * math.cos(math.radians(angle)):.1f},{7 + r * math.sin(math.radians(angle)):.1f}"
        for r, angle in corners
    )
    return f'<polygon stroke="none" points="{" ".join(places)}"/>'
