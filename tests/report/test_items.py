"""The figures and tables of the paper, by the names that it gives them."""

import csv
import re
from pathlib import Path

from browsing import fill

from vbmle.paper import suite
from vbmle.report import write


def test_every_item_of_the_paper_leads_to_its_card_and_to_files_that_are_there(tmp_path: Path):
    for planned in suite.experiments(quick=True):
        if planned.name in ("paper", "distance"):
            fill(tmp_path, planned)
    page = write(tmp_path, pictures=False).read_text()
    table = page[page.index('id="items"') : page.index('id="claim-regret"')]
    names = re.findall(r'<th scope="row"><a [^>]*>([^<]*)</a></th>', table)
    assert names[:5] == ["Figure 1a", "Figure 1b", "Figure of the appendix", "Figure 2a", "Figure 2b"]
    assert "Table 1" in names  # these records have no regret of VBMLE, and so no ratio of spreads
    for card in re.findall(r'href="#([^"]*)"', table):
        assert f'id="{card}"' in page
    files = re.findall(r'href="((?:figures|tables)/[^"]*)"', table)
    assert {"figures/figure-1a.csv", "figures/figure-1a-all.csv", "tables/table-1.tex"} <= set(files)
    assert all((tmp_path / name).is_file() for name in files)
    with (tmp_path / "figures" / "figure-1a.csv").open() as file:
        assert {row["agent"] for row in csv.DictReader(file)} == {"VBMLE", "UCLK"}
    with (tmp_path / "figures" / "figure-1a-all.csv").open() as file:
        assert {row["agent"] for row in csv.DictReader(file)} == set(suite.AGENTS)
    questions = re.findall(r"<h3>(.*?)(?:</h3>| <span)", page)
    assert len(questions) == len(set(questions))
    assert 'id="distance"' not in page  # in the details of the claim
