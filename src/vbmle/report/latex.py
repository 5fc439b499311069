"""Figures and tables as LaTeX, each with a caption that stands alone; no package is needed but graphicx."""

from __future__ import annotations

import re

from vbmle.report import tables
from vbmle.report.tables import Table

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


def table(found: Table) -> str:
    """A table: an interval stands in brackets behind its estimate."""
    columns = tables.present(found.shown)
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{escape(found.caption)}}}",
        rf"\label{{tab:{found.stem}}}",
        rf"\begin{{tabular}}{{{''.join('l' if column.words else 'r' for column in columns)}}}",
        r"\hline",
        " & ".join(escape(column.heading) for column in columns) + r" \\",
        r"\hline",
        *(
            " & ".join(escape(tables.bracketed(getattr(row, column.name))) for column in columns) + r" \\"
            for row in found.shown
        ),
        r"\hline",
        r"\end{tabular}",
        r"\end{table}",
        "",
    ]
    return "\n".join(lines)
