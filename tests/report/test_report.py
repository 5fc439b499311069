"""The page, its files and its tables on records whose truth is known."""

import csv
import dataclasses
import re
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import msgspec
import numpy as np
import pytest
from made_up import Losses, made_up, saved, worlds_of
from matplotlib import colors, image

from vbmle.common.statistics import Interval
from vbmle.plot import styles
from vbmle.report import charts, figures, runs, sections, table_pictures, tables, write
from vbmle.report import page as page_module
from vbmle.report.sections import Text
from vbmle.report.tables import Row, Value, column


@dataclass(frozen=True)
class Mean(Row):
    world: str = column("world")
    agent: str = column("agent")
    mean: float = column("mean")


# Tables


def test_the_table_says_what_was_lost():
    (row, other) = tables.regret(
        worlds_of({("w", "a"): [0.0, 1.0, 2.0, 9.0], ("w", "b"): [1.0, 1.0, 1.0, None]})
    )
    assert (row.mean.value, row.median.value, row.iqm.value, row.trials) == (3.0, 1.5, 1.5, 4)
    assert row.std == pytest.approx(np.std([0.0, 1.0, 2.0, 9.0], ddof=1), abs=1e-12)
    assert row.seconds_per_step == pytest.approx(0.002, abs=1e-15)
    assert other.trials == 3


def test_pairs_compare_the_same_trials():
    """Where b is missing a lost 100: that must not enter."""
    losses: Losses = {("w", "a"): [1.0, 2.0, 100.0, 4.0], ("w", "b"): [2.0, 2.0, None, 5.0]}
    (row,) = tables.pairs(worlds_of(losses))
    assert (row.agent, row.against) == ("b", "a")
    assert row.difference.value == pytest.approx(2.0 / 3.0, abs=1e-12)
    assert (row.trials, row.less, row.same, row.more) == (3, 0, 1, 2)


def test_the_reference_is_the_other_in_each_of_its_pairs():
    losses: Losses = {("w", agent): [1.0, 2.0] for agent in "abc"}
    rows = tables.pairs(worlds_of(losses, reference="b"))
    assert [(row.agent, row.against) for row in rows] == [("a", "b"), ("c", "b"), ("c", "a")]


def test_csv_keeps_numbers_in_full(tmp_path: Path):
    worlds = worlds_of({("w", "a"): [1.0 / 3.0, 2.0 / 3.0]})
    tables.write(tables.regret(worlds), tmp_path / "t.csv")
    (row,) = csv.DictReader((tmp_path / "t.csv").read_text().splitlines())
    assert float(row["mean"]) == worlds[0].agents["a"].final.mean()
    assert "mean_low" not in row  # two trials are too few
    assert "trouble" not in row  # nobody has a value there


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "-"),
        (float("nan"), "-"),
        (0.0, "0"),
        (1.23456, "1.23"),
        (-1.23456, "-1.23"),
        (123.456, "123"),
        (0.0123456, "0.0123"),
        (2.34567e-6, "2.35e-06"),
        (20, "20"),
        ("≥ 35 hours", "≥ 35 hours"),
        (Interval(1.23456, 1.0, 2.0), "1.23"),
    ],
)
def test_numbers_are_shown_to_three_digits(value: Value, shown: str):
    assert tables.text(value) == shown


def test_the_terminal_shows_labels_as_they_are(capsys: pytest.CaptureFixture[str]):
    worlds = worlds_of({("[red]", "[bold]a[/bold]"): [1.0, 2.0]})
    tables.show(tables.regret(worlds), "title")
    out = capsys.readouterr().out
    assert "[red]" in out
    assert "[bold]a[/bold]" in out
    assert "1.50" in out


# Figures and page


@pytest.mark.parametrize("values", [[3.0, 0.0, 7.0], [0.0, 0.0], [1e-7], [2.0, None]], ids=str)
def test_every_agent_can_be_seen(tmp_path: Path, values: list[float | None]):
    names = [f"agent {n}" for n in range(3)]
    losses: Losses = {
        ("w", name): [v if v is None else v * (1.0 + n) for v in values] for n, name in enumerate(names)
    }
    looks = styles.assign(names)
    chart = charts.regret(worlds_of(losses), "test")
    assert chart is not None
    figures.write(chart, tmp_path, looks)
    pixels = image.imread(tmp_path / f"{chart.stem}.png")[..., :3]
    assert (tmp_path / f"{chart.stem}.pdf").stat().st_size > 1000
    for look in looks.values():
        near = np.abs(pixels - colors.to_rgb(look.color)).max(axis=-1) < 0.02
        assert near.sum() > 50, f"{look.color} is not in the picture"


def test_axes_are_labelled_with_units():
    worlds = worlds_of({("net", "a"): [1.0, 2.0], ("net", "b"): [1.0, 3.0]})
    looks = styles.assign(["a", "b"])
    curves, dots = charts.regret(worlds, "x"), charts.trials(worlds, "x")
    assert curves is not None
    assert dots is not None
    figure = figures.draw(curves, looks)
    (axes,) = figure.axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("step $t$", "regret (units of reward)")
    assert axes.get_title() == "net"
    assert [text.get_text() for text in axes.texts] == ["a", "b"]
    assert "$t$ = 6" in figures.draw(dots, looks).axes[0].get_xlabel()
    assert curves.note == "net: S = 3, A = 2, d = 5, 2 trials of 6 steps."


def test_figures_and_tables_are_there_for_a_paper(tmp_path: Path):
    """Each as PDF, PNG, CSV and LaTeX; the caption of a figure stands alone, and the CSV holds what is drawn."""
    losses: Losses = {("w_1", "a & b"): [1.0, 2.0, 0.5] * 2, ("w_1", "c"): [1.0, 3.0, 2.0] * 2}
    write(saved(tmp_path, made_up(losses)))
    starts = {"pdf": b"%PDF", "png": b"\x89PNG", "csv": b"", "tex": b"\\begin"}
    for folder, stems in {
        "figures": {"made-up-regret", "made-up-trials", "who-wins"},
        "tables": {"made-up-regret", "made-up-pairs"},
    }.items():
        names = {path.name for path in (tmp_path / folder).iterdir()}
        assert names == {f"{stem}.{ending}" for stem in stems for ending in starts}
        for stem in stems:
            for ending, start in starts.items():
                assert (tmp_path / folder / f"{stem}.{ending}").read_bytes().startswith(start)
    table = (tmp_path / "tables" / "made-up-regret.tex").read_text()
    assert "w\\_1 & a \\& b & 6 & 1.17 & " in table
    assert table.count("\\begin") == table.count("\\end")
    caption = (tmp_path / "figures" / "made-up-regret.tex").read_text()
    assert "95\\% bootstrap bands" in caption
    assert "w\\_1: $S$ = 3, $A$ = 2, $d$ = 5, 6 trials of 6 steps" in caption
    drawn = list(csv.DictReader((tmp_path / "figures" / "made-up-regret.csv").read_text().splitlines()))
    last = [row for row in drawn if row["name"] == "c"][-1]
    assert (float(last["x"]), float(last["y"]), last["world"]) == (6.0, 2.0, "w_1")


def test_without_pictures_the_page_links_to_none(tmp_path: Path):
    page = write(saved(tmp_path, made_up({("w", "a"): [1.0, 2.0], ("w", "b"): [1.5, 2.0]})), pictures=False)
    assert ".png" not in without_scripts(page.read_text())
    assert not list(tmp_path.glob("*/*.png"))
    assert (tmp_path / "tables" / "made-up-regret.tex").is_file()


def test_long_tables_have_pages(tmp_path: Path):
    table_pictures.write([Mean(f"w{n}", "$a^b", float(n)) for n in range(70)], tmp_path / "t")
    assert (tmp_path / "t.pdf").read_bytes().count(b"/Type /Page ") == 2


class Links(HTMLParser):
    """Collects what a page fetches and links to, and checks that elements are closed in order."""

    void = ("meta", "img", "input", "link")

    def __init__(self) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.linked: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for key, value in attrs:
            if key == "src" or (key == "href" and tag == "link"):
                self.fetched.append(value or "")
            elif key == "href":
                self.linked.append(value or "")
        if tag not in self.void:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def without_scripts(page: str) -> str:
    return re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)


def test_the_page_is_whole_and_its_links_lead_somewhere(tmp_path: Path):
    losses: Losses = {("<w> & co", "a"): [1.0, 2.0, 0.0], ("<w> & co", "</script>"): [1.0, 3.0, None]}
    page = write(saved(tmp_path, made_up(losses))).read_text()
    parser = Links()
    parser.feed(page)
    assert parser.open == []
    assert parser.fetched[0] == "data:,"  # no icon
    assert len(parser.fetched) > 1
    assert all(name.startswith("figures/") for name in parser.fetched[1:])  # where there is no script
    for link in [*parser.fetched[1:], *parser.linked]:
        if link.startswith("#"):
            assert f'id="{link[1:]}"' in page, link
        else:
            assert (tmp_path / unquote(link)).is_file(), link
    assert "records.sqlite" in parser.linked
    body = without_scripts(page)
    assert "url(" not in body
    assert "&lt;w&gt; &amp; co" in body
    assert "<w>" not in page.replace("window.", "")
    assert page.count("</script>") == 3  # data, plotly, ours: no label has ended one early


def test_seeds_and_versions_are_at_the_end(tmp_path: Path):
    results = made_up({("w", "a"): [1.0, 2.0], ("w", "b"): [1.0, 2.0]})
    page = write(saved(tmp_path, results), pictures=False).read_text()
    end = page[page.index('id="run"') :]
    for record in results.records:
        assert str(record.trial.chance) in end
    assert f"numpy {np.__version__}" in end
    assert "closed_loop_trap()" in end


def test_a_report_without_any_record_says_so(tmp_path: Path):
    page = write(saved(tmp_path, made_up({("w", "a"): [None, None]})), pictures=False).read_text()
    assert "No trial is complete yet." in page


def test_a_large_page_stays_small_by_drawing_fewer_points(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = saved(tmp_path, made_up({("w", "a"): [1.0, 2.0], ("w", "b"): [1.5, 2.0]}, horizon=400))
    full = write(folder, pictures=False).stat().st_size
    monkeypatch.setattr(page_module, "LARGEST", full - 1000)
    assert write(folder, pictures=False).stat().st_size < full - 1000


def test_the_page_has_the_title_of_the_spec(tmp_path: Path):
    results = made_up({("w", "a"): [1.0, 2.0], ("w", "b"): [1.5, 2.0]})
    titled = msgspec.structs.replace(results.experiment, title="Two agents & one <world>")
    page = write(saved(tmp_path, dataclasses.replace(results, experiment=titled)), pictures=False).read_text()
    assert "<h1>Two agents &amp; one &lt;world&gt;</h1>" in page
    assert "<title>Two agents &amp; one &lt;world&gt;</title>" in page
    assert (
        page_module.title([sections.build([runs.arranged(results)], Text("made up"), "made up")]) == "made up"
    )
