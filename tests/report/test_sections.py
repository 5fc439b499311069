"""What you add to a report, and what a report does not know by name."""

import re
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest
from made_up import Losses, made_up, saved

import vbmle
from vbmle import report
from vbmle.agents.base import Role
from vbmle.experiments import InputError, catalogue
from vbmle.report import write

LOSSES: Losses = {("w", "ours"): [1.0, 2.0] * 4, ("w", "base"): [3.0, 4.0] * 4}

MINE = """
from dataclasses import dataclass

from vbmle.report import significance
from vbmle.report.sections import Card, Run, Sections, Text
from vbmle.common.statistics import Interval
from vbmle.report.tables import Row, Table, column


@dataclass(frozen=True)
class Gap(Row):
    world: str = column("world")
    gap: Interval = column("base minus ours")


def cards(run: Run) -> list[Card]:
    rows = []
    for world in run.worlds("made up"):
        found = significance.difference(world, "base", "ours")
        assert found is not None
        rows.append(Gap(world.label, found.found))
    table = Table("my-gaps", "My gaps", "", "All of them.", rows)
    return [Card("mine", "What did I want to know?", "That it is 2.", tables=[table])]


sections = Sections({"made up": Text("Mine", question="Who is <better>?", cards=("regret",))}, cards)
"""


def test_a_spec_names_what_adds_to_its_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "mypages.py").write_text(MINE)
    monkeypatch.setattr(sys, "path", [*sys.path])
    folder = saved(tmp_path / "run", made_up(LOSSES, sections="mypages:sections"))
    page = write(folder, pictures=False).read_text()
    assert '<a href="#mine">What did I want to know?</a>' in page
    assert "Who is &lt;better&gt;?" in page
    assert page.index("What did I want to know?") < page.index("Who is &lt;better&gt;?")
    assert (folder / "tables" / "my-gaps.csv").read_text().splitlines()[:2] == [
        "world,gap,gap_low,gap_high",
        "w,2.0,2.0,2.0",
    ]
    assert r"base \\ minus \\ ours" in (folder / "tables" / "my-gaps.tex").read_text()


@pytest.mark.parametrize(
    "name", ["nowhere:sections", "mypages:missing", "vbmle.report.sections:Card", "nonsense"]
)
def test_what_cannot_be_added_is_one_line(tmp_path: Path, name: str):
    folder = saved(tmp_path, made_up(LOSSES, sections=name))
    with pytest.raises(InputError) as caught:
        write(folder, pictures=False)
    assert name in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_report_knows_no_agent_and_no_experiment_by_name():
    """Its sources, the words of its page among them; the paper and our suites add what they have to say."""
    names = {kind for kind in catalogue.agents()} | {kind.label for kind in catalogue.agents().values()}
    names |= {"paper", "league", "compare", "study", "choices", "growth", "rivals"}
    known = "|".join(re.escape(name) for name in sorted(names - {"", *get_args(Role)}))
    home = Path(report.__file__).parent
    sources = [
        path
        for path in home.rglob("*")
        if path.suffix in (".py", ".html", ".js") and "plotly" not in path.name
    ]
    assert len(sources) > 20
    for path in sources:
        text = path.read_text()
        found = re.findall(rf"""["'](?:{known})["']""", text.replace('yref: "paper"', ""))
        assert found == [], path.name
        assert re.findall(r"\b(?:VBMLE|UCLK|PSRL|UCRL2?)\b", text) == [], path.name


def test_reading_a_report_of_records_needs_no_paper():
    """What adds to a report is imported where a spec names it, and nowhere else."""
    code = "import sys, vbmle.report.page, vbmle.report.sections; sys.exit('vbmle.paper' in sys.modules)"
    command = [sys.executable, "-c", code]
    assert subprocess.run(command, cwd=Path(vbmle.__file__).parents[1], check=False).returncode == 0
