"""Tables as pictures: PNG and PDF, for slides and for papers that are not set in LaTeX."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from vbmle.report import tables
from vbmle.report.tables import Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROW, LETTER, SIZE = 0.19, 0.068, 8.0
"""Inches of a line and of a letter, and points of a letter."""

LONGEST = 60
"""Rows of a page; longer tables have several pages as PDF, and their first as PNG."""


def write(rows: Sequence[Row], headings: Mapping[str, str], words: Sequence[str], base: Path) -> None:
    """Draw a table into base.pdf and base.png."""
    from matplotlib.backends.backend_pdf import PdfPages

    present = tables.present(headings, rows)
    columns = [key for key in present if not key.endswith("_interval")]
    heads = [present[key] for key in columns]
    lines = [[_cell(row, key, present) for key in columns] for row in rows]
    widths = [max(len(text) for text in column) for column in zip(heads, *lines, strict=True)]
    left = [key in words for key in columns]
    with PdfPages(base.with_name(f"{base.name}.pdf"), metadata={"CreationDate": None}) as pages:
        for start in range(0, len(lines), LONGEST):
            page = _page(heads, lines[start : start + LONGEST], widths, left)
            pages.savefig(page)
            if start == 0:
                page.savefig(base.with_name(f"{base.name}.png"), dpi=150)


def _cell(row: Row, key: str, present: Mapping[str, str]) -> str:
    interval = tables.cell(row, f"{key}_interval") if f"{key}_interval" in present else "-"
    return tables.cell(row, key) + ("" if interval == "-" else f" [{interval.replace(' to ', ', ')}]")


def _page(
    heads: Sequence[str], lines: Sequence[Sequence[str]], widths: Sequence[int], left: Sequence[bool]
) -> Figure:
    """One text for each column: faster than one for each cell."""
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    width = LETTER * (sum(widths) + 2 * len(widths)) + 0.3
    height = ROW * (len(lines) + 1.6) + 0.3
    figure = Figure(figsize=(width, height))
    at = 0.15
    below = (height - 0.15 - 1.6 * ROW) / height
    for number, head in enumerate(heads):
        span = LETTER * widths[number]
        place, side = (at, "left") if left[number] else (at + span, "right")
        figure.text(
            place / width, (height - 0.15) / height, head, size=SIZE, weight="bold", ha=side, va="top"
        )
        column = "\n".join(line[number].replace("$", r"\$") for line in lines)
        spacing = ROW * 72 / SIZE / 1.2
        figure.text(
            place / width,
            below,
            column,
            size=SIZE,
            ha=side,
            va="top",
            linespacing=spacing,
            multialignment=side,
        )
        at += span + 2 * LETTER
    rule = below + 0.3 * ROW / height
    figure.add_artist(Line2D([0.1 / width, 1 - 0.1 / width], [rule, rule], color="0.4", linewidth=0.8))
    return figure
