"""Tables as pictures: PNG and PDF, for slides and for papers that are not set in LaTeX.

Thousands of cells take matplotlib seconds, so it draws the PDF alone; the PNG has the same letters at the same places.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from vbmle.plot.styles import PRINT
from vbmle.report import tables
from vbmle.report.tables import Column, Row, Value

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from PIL.Image import Image

ROW, LETTER, SIZE = 0.19, 0.068, 8.0
"""Inches of a line and of a letter, and points of a letter."""

MARGIN, HEAD = 0.15, 1.6 * ROW
"""Inches around a page, and from its first heading to its first line."""

LONGEST = 60
"""Rows of a page; longer tables have several pages as PDF, and their first as PNG."""

BLANK = str.maketrans("0.", "\N{FIGURE SPACE}\N{PUNCTUATION SPACE}")
"""Blanks as wide as digits and points."""

DPI = 150
GREY = 102
"""Of the rule below the headings, from 0 to 255."""


@dataclass(frozen=True)
class Page:
    """The cells of a page by column, and where columns are, in inches from the upper left corner."""

    heads: Sequence[str]
    columns: Sequence[Sequence[str]]
    places: Sequence[float]
    """The left end of columns that are set left, the right end of others."""
    left: Sequence[bool]
    width: float

    @property
    def height(self) -> float:
        return ROW * (len(self.columns[0]) + 1.6) + 2 * MARGIN

    @property
    def rule(self) -> float:
        """How far down the rule is."""
        return MARGIN + HEAD - 0.3 * ROW


def write(rows: Sequence[Row], base: Path) -> None:
    """Draw rows into base.pdf and base.png."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_pdf import PdfPages

    pages = _pages(rows)
    with (
        rc_context(PRINT),
        PdfPages(base.with_name(f"{base.name}.pdf"), metadata={"CreationDate": None}) as file,
    ):
        for page in pages:
            file.savefig(_on_paper(page))
    _in_pixels(pages[0]).save(base.with_name(f"{base.name}.png"), dpi=(DPI, DPI))


def _pages(rows: Sequence[Row]) -> list[Page]:
    shown = tables.present(rows)
    heads, left = [column.heading for column in shown], [column.words for column in shown]
    columns = [_aligned([getattr(row, column.name) for row in rows], column) for column in shown]
    widths = [max(map(len, [head, *column])) for head, column in zip(heads, columns, strict=True)]
    places, at = [], MARGIN
    for number, width in enumerate(widths):
        places.append(at if left[number] else at + LETTER * width)
        at += LETTER * (width + 2)
    return [
        Page(heads, [column[start : start + LONGEST] for column in columns], places, left, at + MARGIN)
        for start in range(0, len(rows), LONGEST)
    ]


def _aligned(values: Sequence[Value], column: Column) -> list[str]:
    """Cells with decimal points below each other, where no intervals stand behind the numbers."""
    if column.intervals:
        return [tables.bracketed(value) for value in values]
    cells = [tables.text(value) for value in values]
    pads = tables.pads(cells, column.words)
    return [cell + pad.translate(BLANK) for cell, pad in zip(cells, pads, strict=True)]


def _on_paper(page: Page) -> Figure:
    """One text for each column: faster than one for each cell."""
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    width, height = page.width, page.height
    figure = Figure(figsize=(width, height))
    spacing = _spacing()
    for head, column, place, left in zip(page.heads, page.columns, page.places, page.left, strict=True):
        side, x = "left" if left else "right", place / width
        figure.text(x, 1.0 - MARGIN / height, head, size=SIZE, weight="bold", ha=side, va="top")
        lines = "\n".join(cell.replace("$", r"\$") for cell in column)
        top = 1.0 - (MARGIN + HEAD) / height
        figure.text(x, top, lines, size=SIZE, ha=side, va="top", linespacing=spacing, multialignment=side)
    ends, rule = [0.1 / width, 1 - 0.1 / width], 1.0 - page.rule / height
    figure.add_artist(Line2D(ends, [rule, rule], color=f"{GREY / 255:.2g}", linewidth=0.8))
    return figure


@cache
def _spacing() -> float:
    """The line spacing of matplotlib that makes rows ROW high; what its unit is depends on the version."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(dpi=720)
    renderer = FigureCanvasAgg(figure).get_renderer()

    def advance(spacing: float) -> float:
        heights = [
            figure.text(0, 0, "lp" + "\nlp" * more, size=SIZE, linespacing=spacing)
            .get_window_extent(renderer)
            .height
            for more in (1, 11)
        ]
        return (heights[1] - heights[0]) / 10 / figure.dpi

    single, double = advance(1.0), advance(2.0)
    return 1.0 + (ROW - single) / (double - single)


def _in_pixels(page: Page) -> Image:
    """The same page, cell by cell."""
    from matplotlib import get_data_path
    from PIL import Image, ImageDraw, ImageFont

    fonts = Path(get_data_path()) / "fonts" / "ttf"
    plain, bold = (
        ImageFont.truetype(fonts / name, SIZE / 72 * DPI)
        for name in ("DejaVuSans.ttf", "DejaVuSans-Bold.ttf")
    )
    image = Image.new("L", (round(page.width * DPI), round(page.height * DPI)), 255)
    draw = ImageDraw.Draw(image)
    for head, column, place, left in zip(page.heads, page.columns, page.places, page.left, strict=True):
        x, anchor = place * DPI, "la" if left else "ra"
        draw.text((x, MARGIN * DPI), head, 0, bold, anchor)
        for number, cell in enumerate(column):
            draw.text((x, (MARGIN + HEAD + ROW * number) * DPI), cell, 0, plain, anchor)
    draw.line([(0.1 * DPI, page.rule * DPI), ((page.width - 0.1) * DPI, page.rule * DPI)], GREY, 2)
    return image
