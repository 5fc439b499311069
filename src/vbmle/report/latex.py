"""Figures and tables as LaTeX, each with a caption that stands alone; no package is needed but graphicx."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from vbmle.report import tables
from vbmle.report.tables import Row

SPECIAL = {
    **{
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "“": "``",
        "”": "''",
    },
    **{
        "θ": r"$\theta$",
        "β": r"$\beta$",
        "τ": r"$\tau$",
        "≤": r"$\le$",
        "·": r"$\cdot$",
        "²": "$^2$",
        "√": r"$\surd$",
    },
}
MARKS = re.compile("|".join([*(re.escape(mark) for mark in SPECIAL), r"[&%$#_{}]"]))


def escape(text: str) -> str:
    """Text that LaTeX prints as it is."""
    return MARKS.sub(lambda found: SPECIAL.get(found.group(), f"\\{found.group()}"), text)


def figure(stem: str, caption: str) -> str:
    """A figure that includes the PDF beside it."""
    lines = [
        r"\begin{figure}",
        r"\centering",
        rf"\includegraphics[width=\linewidth]{{{{{stem}}}.pdf}}",  # in braces: names may have dots
        rf"\caption{{{escape(caption)}}}",
        rf"\label{{fig:{stem}}}",
        r"\end{figure}",
        "",
    ]
    return "\n".join(lines)


def table(
    rows: Sequence[Row], headings: Mapping[str, str], words: Sequence[str], caption: str, label: str
) -> str:
    """A table: an interval stands in brackets behind its estimate. `words` are the columns that are set left."""
    present = tables.present(headings, rows)
    columns = [key for key in present if not key.endswith("_interval")]
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{escape(caption)}}}",
        rf"\label{{tab:{label}}}",
        rf"\begin{{tabular}}{{{''.join('l' if key in words else 'r' for key in columns)}}}",
        r"\hline",
        " & ".join(escape(present[key]) for key in columns) + r" \\",
        r"\hline",
        *(" & ".join(_cell(row, key, present) for key in columns) + r" \\" for row in rows),
        r"\hline",
        r"\end{tabular}",
        r"\end{table}",
        "",
    ]
    return "\n".join(lines)


def _cell(row: Row, key: str, present: Mapping[str, str]) -> str:
    interval = tables.cell(row, f"{key}_interval") if f"{key}_interval" in present else "-"
    behind = "" if interval == "-" else f" [{escape(interval.replace(' to ', ', '))}]"
    return escape(tables.cell(row, key)) + behind
