"""Figures and tables as LaTeX, each with a caption that stands alone. Tables need the packages booktabs, array and
longtable, and fit the text of an article: 8 pt type, a heading for each world, intervals below their estimates, and a
second table where the columns are still too many.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from vbmle.plot import mathematics
from vbmle.report import tables
from vbmle.report.tables import Column, Row, Table

SPECIAL = {
    **{"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"},
    **{"“": "``", "”": "''", "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}"},
}
MARKS = re.compile("|".join([*(re.escape(mark) for mark in SPECIAL), r"[&%$#_{}]"]))

TEXT_WIDTH = 345.0
"""Points: of an article at 10 pt, the narrowest that is usual for one column."""

GAP = 6.0
"""Points between columns, twice \\tabcolsep."""

WORDY = 26
"""Letters from which on a column of words is set in lines of its own."""

LONG = 40
"""Lines from which on a table may break over pages."""

LETTER, DIGIT, THIN = 4.7, 4.3, 2.6
"""Points of a character at 8 pt, no less than they take."""

SMALL = 0.88
"""An interval is set in so much smaller type."""


def escape(text: str) -> str:
    """Text that LaTeX prints as it is, with its symbols as mathematics."""
    return mathematics.split(text, _plain, mathematics.in_tex)


def _plain(text: str) -> str:
    return MARKS.sub(lambda found: SPECIAL.get(found.group(), f"\\{found.group()}"), text)


def figure(stem: str, caption: str, wide: bool = True) -> str:
    """A figure that includes the PDF beside it; one that is not wide has the width of a column of two."""
    size = r"[width=\linewidth,height=0.8\textheight,keepaspectratio]" if wide else ""
    lines = [
        r"\begin{figure}",
        r"\centering",
        rf"\includegraphics{size}{{{{{stem}}}.pdf}}",  # in braces: names may have dots
        rf"\caption{{{escape(caption)}}}",
        rf"\label{{fig:{stem}}}",
        r"\end{figure}",
        "",
    ]
    return "\n".join(lines)


@dataclass(frozen=True)
class Part:
    """A table, or so many of its columns as fit: what stands above and below its rows, and each row with the heading
    of its group. The page puts the rows that it shows between the two."""

    head: str
    foot: str
    rows: Sequence[str]
    groups: Sequence[str]


def table(found: Table) -> str:
    """The whole table."""
    return "\n".join(put_together(part) for part in parts(found))


def put_together(part: Part) -> str:
    lines, last = [part.head], ""
    for row, group in zip(part.rows, part.groups, strict=True):
        lines += [group] if group and group != last else []
        lines.append(row)
        last = group
    return "\n".join([*lines, part.foot, ""])


def parts(found: Table) -> list[Part]:
    """The table in as many parts as it takes for each to fit."""
    rows = found.shown
    columns = tables.present(rows)
    grouped = (
        len(columns) > 1 and columns[0].name == "world" and len({_of(row, columns[0]) for row in rows}) > 1
    )
    shown = columns[1:] if grouped else columns
    groups = [_heading(_of(row, columns[0])) if grouped else "" for row in rows]
    long = _lines(rows, groups) > LONG
    made = []
    for number, part in enumerate(_that_fit(shown, rows)):
        pads = [tables.pads([_of(row, column) for row in rows], column.words) for column in part]
        lines = [_row(row, part, pad) for row, *pad in zip(rows, *pads, strict=True)]
        made.append(Part(_head(found, part, rows, long, number), _foot(long), lines, groups))
    return made


def _lines(rows: Sequence[Row], groups: Sequence[str]) -> int:
    with_ends = sum(any(tables.ends(value) for value in vars(row).values()) for row in rows)
    return len(rows) + with_ends + len({group for group in groups if group})


def _of(row: Row, column: Column) -> str:
    return tables.text(getattr(row, column.name))


def _heading(world: str) -> str:
    return rf"\addlinespace[2pt]\multicolumn{{2}}{{@{{}}l}}{{\itshape {escape(world)}}} \\"


# Columns


def _that_fit(columns: Sequence[Column], rows: Sequence[Row]) -> list[list[Column]]:
    """Columns in sets that fit the text; each set begins with the columns of words that begin the table."""
    keys: list[Column] = []
    for column in columns[:-1]:
        taken = sum(_width(one, rows) + GAP for one in [*keys, column])
        if not column.words or (keys and taken > 0.5 * TEXT_WIDTH):
            break
        keys.append(column)
    widths = {column.name: _width(column, rows) + GAP for column in columns}
    rest, found = [column for column in columns if column not in keys], list[list[Column]]()
    room = TEXT_WIDTH - sum(widths[column.name] for column in keys)
    left = 0.0
    for column in rest:
        if not found or widths[column.name] > left:
            found.append([*keys])
            left = room
        found[-1].append(column)
        left -= widths[column.name]
    return found or [keys]


def _width(column: Column, rows: Sequence[Row]) -> float:
    """Points, of the longest cell or word of the heading."""
    values = [getattr(row, column.name) for row in rows]
    if column.words and _is_wordy(column, rows):
        return WORDY * DIGIT
    shown = [tables.text(value) for value in values]
    cells = [_points(one + pad) for one, pad in zip(shown, tables.pads(shown, column.words), strict=True)]
    ends = [SMALL * _points(f"[{tables.ends(value)}]") for value in values]
    return max([*cells, *ends, *(_points(word) for word in column.heading.split())])


def _is_wordy(column: Column, rows: Sequence[Row]) -> bool:
    return max(len(_of(row, column)) for row in rows) > WORDY


def _points(text: str) -> float:
    return sum(
        DIGIT if mark.isdigit() else THIN if mark in " .,:;[]()'|il" else LETTER for mark in text
    ) + sum(2.6 for mark in text if mark in "mwMW%")


def _kind(column: Column, rows: Sequence[Row]) -> str:
    if column.words and _is_wordy(column, rows):
        return rf">{{\raggedright\arraybackslash\hangindent=1em}}p{{{math.floor(WORDY * DIGIT)}pt}}"
    return "l" if column.words else "r"


# Lines


def _head(found: Table, columns: Sequence[Column], rows: Sequence[Row], long: bool, number: int) -> str:
    kinds = "".join(_kind(column, rows) for column in columns)
    heads = " & ".join(_stacked(column) for column in columns) + r" \\"
    caption = escape(found.caption) if number == 0 else escape(f"{found.title} (continued).")
    label = rf"\label{{tab:{found.stem}{f'-{number + 1}' if number else ''}}}"
    size = r"\footnotesize\setlength{\tabcolsep}{3pt}"
    above = [r"\toprule", heads, r"\midrule"]
    if long:
        begin = [rf"\begin{{longtable}}{{@{{}}{kinds}@{{}}}}", rf"\caption{{{caption}}}{label}\\"]
        return "\n".join(
            [
                rf"{{{size}\setlength{{\LTcapwidth}}{{\linewidth}}",
                *begin,
                *above,
                r"\endfirsthead",
                *above,
                r"\endhead",
            ]
        )
    return "\n".join(
        [
            r"\begin{table}",
            r"\centering",
            size,
            rf"\caption{{{caption}}}",
            label,
            rf"\begin{{tabular}}{{@{{}}{kinds}@{{}}}}",
            *above,
        ]
    )


def _foot(long: bool) -> str:
    return "\n".join(
        [r"\bottomrule", r"\end{longtable}}"] if long else [r"\bottomrule", r"\end{tabular}", r"\end{table}"]
    )


def _stacked(column: Column) -> str:
    """A heading in lines of a word each, at the foot of its cell."""
    words = [escape(word) for word in _paired(column.heading)]
    if len(words) == 1:
        return words[0]
    lines, side = r" \\ ".join(words), "l" if column.words else "r"
    return rf"\begin{{tabular}}[b]{{@{{}}{side}@{{}}}}{lines}\end{{tabular}}"


def _paired(heading: str) -> list[str]:
    """Words, the short ones together."""
    lines: list[str] = []
    longest = max(len(word) for word in heading.split())
    for word in heading.split():
        if lines and len(lines[-1]) + len(word) + 1 <= longest:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def _row(row: Row, columns: Sequence[Column], pads: Sequence[str]) -> str:
    """A line of estimates and, where some have one, a line of their intervals."""
    cells = [
        escape(_of(row, column)) + (rf"\phantom{{{pad}}}" if pad else "")
        for column, pad in zip(columns, pads, strict=True)
    ]
    ends = [tables.ends(getattr(row, column.name)) for column in columns]
    if not any(ends):
        return " & ".join(cells) + r" \\"
    below = [rf"\scriptsize [{escape(end.replace(' to ', ', '))}]" if end else "" for end in ends]
    return " & ".join(cells) + r" \\*[-2pt] " + " & ".join(below) + r" \\"
