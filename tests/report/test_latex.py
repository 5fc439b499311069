"""What a report writes as LaTeX compiles in an article, and nothing sticks out of its text."""

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from browsing import fill

from vbmle.common.statistics import Interval
from vbmle.paper import suite as paper
from vbmle.report import latex, tables, write
from vbmle.report.tables import Row, Table, column

ARTICLE = r"""\documentclass{article}
\usepackage[utf8]{inputenc}
\usepackage[T1]{fontenc}
\usepackage{graphicx,booktabs,array,longtable}
\hbadness=10000
\begin{document}
%s
\end{document}
"""


def complaints(content: str, folder: Path) -> list[str]:
    """What LaTeX says of a document: errors, boxes that stick out, floats that do not fit a page."""
    compiler = shutil.which("pdflatex")
    if compiler is None:
        pytest.skip("no LaTeX: pdflatex is not there")
    (folder / "report.tex").write_text(ARTICLE % content, encoding="utf-8")
    done = subprocess.run(
        [compiler, "-interaction=nonstopmode", "-draftmode", "-no-shell-escape", "report.tex"],
        cwd=folder,
        capture_output=True,
        timeout=600,
    )
    log = (folder / "report.log").read_text(encoding="utf-8", errors="replace")
    assert ("Output written" in log) or ("draftmode" in log) or done.returncode == 0
    return re.findall(r"^(?:!|Overfull|LaTeX Warning: Float too large).*$", log, re.MULTILINE)


def test_the_latex_of_a_paper_s_report_fits_an_article(tmp_path: Path):
    """Records of the shape of `vbmle paper`, made up; a mark stands for each picture."""
    for planned in paper.experiments(quick=True):
        fill(tmp_path, planned)
    write(tmp_path, pictures=False)
    files = [*sorted((tmp_path / "tables").glob("*.tex")), *sorted((tmp_path / "figures").glob("*.tex"))]
    assert len(files) > 40
    texts = [file.read_text(encoding="utf-8") for file in files]
    no_pictures = r"\renewcommand{\includegraphics}[2][]{\rule{2cm}{2cm}}"
    assert complaints("\n".join([no_pictures, *(f"{text}\n\\clearpage" for text in texts)]), tmp_path) == []
    assert "S = " not in "".join(texts)  # symbols are mathematics
    assert not any(re.search(r"[θβτ≤≥²√]", text) for text in texts)


@dataclass(frozen=True)
class Wild(Row):
    """Long words, marks that mean something to TeX, and numbers of every size."""

    world: str = column("world")
    agent: str = column("agent, with a long heading")
    measure: str = column("what was measured")
    one: Interval = column("P(lower regret)")
    two: Interval = column("behind the best")
    three: Interval = column("growth exponent")
    four: float = column("seconds per step")
    five: float | None = column("times the best")
    six: Interval = column("IQM")
    seven: int = column("failed steps")


def wild(rows: int) -> Table:
    worlds = ("50% & more_$5 #1 {x} ~ ^ \\ |", "(3,2)", "1 < 3 > 2")
    made = [
        Wild(
            worlds[n % 3],
            "VBMLE (log bias, doubling) & friends, the second",
            "what following the likeliest model costs before any data at all",
            Interval(0.123456, -1234.5, 123456.7),
            Interval(1e-5 * 10**n if n < 9 else 0.0, 1e-6, 1e6),
            Interval(float("nan"), float("nan"), float("nan")) if n % 2 else Interval(1.0, 0.5, 2.0),
            2.5e-7,
            None if n % 2 else 99999.0,
            Interval(-1.0, -2.0, -0.5),
            n,
        )
        for n in range(rows)
    ]
    return Table("wild", "Wild", "", "A wild table with θ_t, p_min² and d^1.5 ≥ 1, 50% & more.", made)


@pytest.mark.parametrize("rows", [1, 5, 60])
def test_any_table_fits(tmp_path: Path, rows: int):
    found = wild(rows)
    assert complaints(latex.table(found), tmp_path) == []
    text = latex.table(found)
    assert text.count("\\toprule") == text.count("\\bottomrule") * (2 if rows == 60 else 1)
    if rows < 60:
        shown = {part.name for part in tables.present(found.shown)} - {"world", "agent", "measure"}
        heads = [head for head in ("IQM", "failed", "seconds", "growth", "behind") if head in text]
        assert len(shown) == 7
        assert len(heads) == 5  # no column is left out


def test_a_table_says_its_world_once():
    text = latex.table(wild(3))
    assert text.count("itshape") == 3 * text.count("\\begin{table}")
    same = [row for row in wild(6).rows if isinstance(row, Wild) and row.world == "(3,2)"]
    assert "itshape" not in latex.table(Table("t", "T", "", "C.", same))


def test_decimal_points_stand_below_each_other():
    assert tables.pads(["1.25", "10", "-0.5", "3 of 4", "-"]) == ["", ".00", "0", "", ""]
    assert tables.pads(["1", "20"]) == ["", ""]
    assert tables.pads(["1.5", "2"], words=True) == ["", ""]
