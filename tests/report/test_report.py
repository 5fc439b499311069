"""The report on synthetic records whose truth is known."""

import csv
import dataclasses
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import msgspec
import numpy as np
import pytest
from matplotlib import colors, image

from vbmle.experiments.spec import Choice, Experiment
from vbmle.experiments.store import Record, Results, Store
from vbmle.experiments.suites import paper
from vbmle.report import (
    answers,
    charts,
    charts_across,
    exploring,
    figures,
    leaders,
    section,
    styles,
    summary,
    table_pictures,
    tables,
    texts,
    who_wins,
    words,
    world_runs,
    write,
)
from vbmle.report import page as page_module
from vbmle.report.world_runs import WorldRuns

Losses = dict[tuple[str, str], list[float | None]]


def experiment(losses: Losses, name: str = "made up", horizon: int = 6) -> Experiment:
    """An experiment with the worlds and agents of `losses`."""
    worlds = {world: Choice("closed_loop_trap") for world, _ in losses}
    agents = {agent: Choice("MaximumLikelihood") for _, agent in losses}
    trials = max(len(values) for values in losses.values())
    return Experiment(name=name, worlds=worlds, agents=agents, trials=trials, horizon=horizon)


def made_up(losses: Losses, **settings: object) -> Results:
    """Records whose final regret is given by (world, agent), None for a trial that is missing."""
    spec = experiment(losses, **settings)  # type: ignore[arg-type]
    records = []
    for trial in spec.plan():
        loss = losses[trial.world, trial.agent][trial.index]
        if loss is not None:
            regret = loss * np.arange(1, trial.horizon + 1) / trial.horizon
            columns = {"regret": regret, "seconds": np.full(trial.horizon, 0.002)}
            records.append(Record(trial, columns, {"states": 3, "actions": 2, "dimension": 5}))
    return Results(spec, records, {"vbmle": "0"}, [])


def saved(folder: Path, results: Results) -> Path:
    """The same records on disk."""
    store = Store(folder, results.experiment)
    store.begin()
    for record in results.records:
        store.write(record)
    return folder


def worlds_of(losses: Losses, **settings: object) -> list[WorldRuns]:
    return world_runs.by_world(made_up(losses, **settings))


# Tables


def test_the_table_says_what_was_lost():
    (row, other) = tables.regret(
        worlds_of({("w", "a"): [0.0, 1.0, 2.0, 9.0], ("w", "b"): [1.0, 1.0, 1.0, None]})
    )
    assert (row["mean"], row["median"], row["iqm"], row["trials"]) == (3.0, 1.5, 1.5, 4)
    assert row["std"] == pytest.approx(np.std([0.0, 1.0, 2.0, 9.0], ddof=1), abs=1e-12)
    assert row["seconds_per_step"] == pytest.approx(0.002, abs=1e-15)
    assert other["trials"] == 3
    assert row["published_std"] is None


def test_published_figures_stand_beside_the_papers_worlds_only():
    losses: Losses = {("(3,2)", "VBMLE"): [1.0, 2.0], ("(3,2)", "maximum likelihood"): [1.0, 2.0]}
    rows = {row["agent"]: row for row in tables.regret(worlds_of(losses, name="paper"))}
    assert (rows["VBMLE"]["published_std"], rows["VBMLE"]["published_seconds_per_step"]) == ("1.874", "0.793")
    assert tables.cell(rows["maximum likelihood"], "published_std") == "-"
    assert (tables.cell(rows["UCLK"], "mean"), tables.cell(rows["UCLK"], "published_std")) == ("-", "79.289")
    assert {row["published_std"] for row in tables.regret(worlds_of(losses, name="other"))} == {None}


def test_pairs_compare_the_same_trials():
    """Where b is missing a lost 100: that must not enter."""
    losses: Losses = {("w", "a"): [1.0, 2.0, 100.0, 4.0], ("w", "b"): [2.0, 2.0, None, 5.0]}
    (row,) = tables.pairs(worlds_of(losses))
    assert row["difference"] == pytest.approx(-2.0 / 3.0, abs=1e-12)
    assert (row["trials"], row["less"], row["same"], row["more"]) == (3, 2, 1, 0)


def test_csv_keeps_numbers_in_full(tmp_path: Path):
    worlds = worlds_of({("w", "a"): [1.0 / 3.0, 2.0 / 3.0]})
    tables.write(tables.regret(worlds), tmp_path / "t.csv")
    (row,) = csv.DictReader((tmp_path / "t.csv").read_text().splitlines())
    assert float(row["mean"]) == worlds[0].agents["a"].final.mean()
    assert "published_std" not in row  # nobody has a value there


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
        (">= 35 hours", ">= 35 hours"),
    ],
)
def test_numbers_are_shown_to_three_digits(value: tables.Value, shown: str):
    assert tables.text(value) == shown


def test_the_terminal_shows_labels_as_they_are(capsys: pytest.CaptureFixture[str]):
    worlds = worlds_of({("[red]", "[bold]a[/bold]"): [1.0, 2.0]})
    tables.show(tables.regret(worlds), tables.REGRET, "title")
    out = capsys.readouterr().out
    assert "[red]" in out
    assert "[bold]a[/bold]" in out
    assert "1.50" in out


# Words


SAME: list[float | None] = [0.0, 0.5, 0.1, 3.0]
WORSE: list[float | None] = [10.0, 11.0, 10.5, 12.0]


def test_the_first_screen_says_who_is_among_the_best():
    losses: Losses = {("tie", "ours"): SAME, ("tie", "base"): SAME}
    losses |= {("win", "ours"): SAME, ("win", "base"): WORSE, ("loss", "ours"): WORSE, ("loss", "base"): SAME}
    worlds = worlds_of(losses)
    assert [leaders.among_the_best(world) for world in worlds] == [["ours", "base"], ["ours"], ["base"]]
    best, against, size = summary.top(worlds)
    assert best == "Ours is among the best in 2 of 3 worlds and base in 2 of 3."
    assert re.fullmatch(
        r"Ours loses less than base in 50% \[\d+%, \d+%\] of paired runs, ties counted half.", against
    )
    assert size == "Every agent ran 4 trials of 6 steps in each of 3 worlds."
    told = answers.regret(worlds)
    assert re.fullmatch(
        r"Against base, ours loses the same in tie; 10 \[[\d.]+, \d+\] less in win; 10 \[[\d.]+, \d+\] more in "
        r"loss\.",
        told,
    )


def test_one_world_is_told_with_its_interval():
    (world,) = worlds_of({("w", "a"): SAME, ("w", "b"): WORSE})
    assert summary.top([world])[0].startswith("In w a loses least, 0.9 [")
    assert summary.top([world])[0].endswith("; every other agent surely loses more.")


def test_exploration_is_said_to_be_needless_only_where_a_gain_worth_having_is_excluded():
    """A tie of equals excludes every gain; differences of 1 to 2 of 10 pay; wide intervals say nothing."""
    plain, first = exploring.PLAIN, "VBMLE"
    wide: list[float | None] = [0.0, 6.0, 0.0, 6.0]
    losses: Losses = {("easy", first): SAME, ("easy", plain): SAME}
    losses |= {("trap", first): SAME, ("trap", plain): WORSE}
    losses |= {("open", first): wide, ("open", plain): wide[::-1]}
    found = {gain.world: gain for gain in exploring.gains(worlds_of(losses))}
    assert [world for world, gain in found.items() if gain.pays] == ["trap"]
    assert [world for world, gain in found.items() if gain.needless] == ["easy"]
    assert found["open"].found.high > exploring.WORTH
    assert found["trap"].found.value == pytest.approx((10.875 - 0.9) / 10.875, rel=1e-12)
    told = exploring.sentence(list(found.values()))
    assert "nothing shows a need for exploration in easy, where the intervals exclude a gain of 10%" in told
    assert "in open the trials are too few to tell" in told
    assert exploring.short(worlds_of(losses)) == (
        "Exploration surely pays in 1 of 3 worlds, surely gains less than 10% in 1 and is undecided in 1."
    )
    assert exploring.card(worlds_of({("w", "a"): SAME, ("w", "b"): SAME})) is None


def test_lists_of_names_with_commas_can_be_read():
    names = ["RiverSwim, tabular", "(3,2)", "hypercube"]
    assert words.listed(names) == "“RiverSwim, tabular”, (3,2) and hypercube"
    assert words.join(["a, which is good", "b"]) == "a, which is good; b"
    losses: Losses = {(f"w, {n}", agent): SAME for n in range(2) for agent in ("a, b", "c")}
    assert "“a, b” is among the best in 2 of 2" in summary.top(worlds_of(losses))[0]


def test_with_many_worlds_the_answer_counts_them():
    losses: Losses = {}
    for number in range(9):
        gap = float(number + 1)
        losses |= {
            (f"w{number}", "a"): [1.0, 2.0, 3.0],
            (f"w{number}", "b"): [1.0 + gap, 2.0 + gap, 3.5 + gap],
        }
    told = answers.regret(worlds_of(losses))
    assert told.startswith("Of 9 worlds, a surely loses less in 9, most in w8 (9.2 [")


def test_measures_do_not_win():
    """Oracle is the best by design: it must not take the place of an agent that learns."""
    spec_losses: Losses = {("w", "a"): [1.0, 2.0], ("w", "the best"): [0.0, 0.0]}
    (world,) = worlds_of(spec_losses)
    assert leaders.among_the_best(world) == ["the best"]
    marked = dataclasses.replace(world, references=frozenset({"the best"}))
    assert leaders.among_the_best(marked) == ["a"]


def test_the_page_warns_of_missing_trials_and_tells_of_tails():
    worlds = worlds_of({("w", "a"): [*([0.0] * 9), 50.0], ("w", "b"): [*([1.0] * 9), None]})
    (warning,) = summary.warnings(worlds)
    assert "Trials are missing: b in w (9 of 10)" in warning
    assert answers.tails(worlds) == "a lost nothing in 9 of 10 trials, and 1 trial made 90% of its loss."


def troubled(losses: Losses, **counts: int) -> Results:
    """Records in which every trial of these agents had so many decisions in trouble, all since the first row."""
    results = made_up(losses)
    records = []
    for record in results.records:
        trouble = np.zeros(record.trial.horizon)
        trouble[-1] = counts.get(record.trial.agent, 0)
        records.append(dataclasses.replace(record, columns=record.columns | {"trouble": trouble}))
    return dataclasses.replace(results, records=records)


def test_decisions_in_trouble_have_a_sentence_and_a_column(tmp_path: Path):
    losses: Losses = {("one", "a"): [1.0, 2.0], ("one", "b"): [3.0, 4.0]}
    made = section.build([troubled(losses, b=3)])
    assert summary.warnings(made.worlds) == [
        "Some decisions were in trouble (the solver did not converge, its certificate was not closed, or the "
        "confidence set was empty): b in one (6 in 12 steps)."
    ]
    assert [row["trouble"] for row in made.tables[0].rows] == [None, 6]
    page = write(saved(tmp_path, troubled(losses, b=3)), pictures=False).read_text()
    assert "decisions in trouble</th>" in page
    assert "b in one (6 in 12 steps)" in page


def test_a_column_without_a_value_is_not_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    for results in (troubled({("one", "a"): [1.0]}), made_up({("one", "a"): [1.0]})):
        made = section.build([results])
        assert summary.warnings(made.worlds) == []
        shown = tables.present(tables.REGRET, made.tables[0].rows)
        assert "mean" in shown
        assert not {"trouble", "std", "published_std", "mean_interval"} & set(shown)
        tables.show(made.tables[0].rows, tables.REGRET, "title")
        assert "trouble" not in capsys.readouterr().out
        tables.write(made.tables[0].rows, tmp_path / "t.csv")
        assert "published" not in (tmp_path / "t.csv").read_text()


def test_the_summary_of_nothing_says_so():
    assert summary.top(worlds_of({("w", "a"): [None]})) == ["No trial is complete yet."]


# Who wins where


def test_the_picture_says_how_far_behind_the_best_each_agent_is():
    losses: Losses = {("w", "a"): [2.0, 2.0, 2.0], ("w", "b"): [6.0, 6.0, 6.0], ("w", "c"): [0.0, 6.0, 3.0]}
    picture = who_wins.build([section.build([made_up(losses)])])
    assert picture is not None
    cells = {line.agent: line.cells[0] for line in picture.lines}
    assert [line.agent for line in picture.lines] == ["a", "c", "b"]
    found = {agent: (cell.shown, cell.level, cell.sure, cell.leads) for agent, cell in cells.items() if cell}
    assert found == {
        "a": ("1.0", 0, False, True),
        "b": ("3.0", 2, True, False),
        "c": ("1.5", 1, False, False),
    }
    assert cells["b"] is not None
    assert cells["b"].told == "b in w loses 6 [6, 6], 3.0 times the best: 4 [4, 4] more than a, surely more"
    assert cells["b"].link == "made-up-1"


def test_regrets_too_small_to_count_are_as_good_as_the_best():
    """Below 0.2% of what the worst agent loses."""
    losses: Losses = {("w", "a"): [0.0, 0.0], ("w", "b"): [0.01, 0.01], ("w", "c"): [10.0, 10.0]}
    (world,) = worlds_of(losses)
    ratios = {agent: place.ratio for agent, place in leaders.places(world).items()}
    assert ratios == {"a": 1.0, "b": 1.0, "c": pytest.approx(500.0)}


def test_an_agent_that_ran_in_few_worlds_is_ordered_by_those_who_ran_with_it():
    """c is as bad as b where it ran, but in an easy world."""
    losses: Losses = {("hard", "a"): [1.0], ("hard", "b"): [100.0]}
    losses |= {("easy", "a"): [1.0], ("easy", "b"): [2.0], ("easy", "c"): [2.0]}
    hard, easy = worlds_of({k: v for k, v in losses.items() if k[0] == "hard"}), []
    easy = worlds_of({k: v for k, v in losses.items() if k[0] == "easy"})
    assert leaders.order([*hard, *easy]) == ["a", "c", "b"]


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
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("step t", "cumulative regret (units of reward)")
    assert axes.get_title() == "net"
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["a", "b"]
    assert "t = 6" in figures.draw(dots, looks).axes[0].get_xlabel()
    assert curves.note == "net: S = 3, A = 2, d = 5, 2 trials of 6 steps."


def test_figures_and_tables_are_there_for_a_paper(tmp_path: Path):
    """Each as PDF, PNG, CSV and LaTeX; the caption of a figure stands alone, and the CSV holds what is drawn."""
    losses: Losses = {("w_1", "a & b"): [1.0, 2.0, 0.5], ("w_1", "c"): [1.0, 3.0, 2.0]}
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
    assert "w\\_1 & a \\& b & 3 & 1.17 [" in table
    assert table.count("\\begin") == table.count("\\end") == 2
    caption = (tmp_path / "figures" / "made-up-regret.tex").read_text()
    assert "95\\% bootstrap bands" in caption
    assert "w\\_1: S = 3, A = 2, d = 5, 3 trials of 6 steps" in caption
    drawn = list(csv.DictReader((tmp_path / "figures" / "made-up-regret.csv").read_text().splitlines()))
    last = [row for row in drawn if row["name"] == "c"][-1]
    assert (float(last["x"]), float(last["y"]), last["world"]) == (6.0, 2.0, "w_1")


def test_without_pictures_the_page_links_to_none(tmp_path: Path):
    page = write(saved(tmp_path, made_up({("w", "a"): [1.0, 2.0], ("w", "b"): [1.5, 2.0]})), pictures=False)
    assert ".png" not in without_scripts(page.read_text())
    assert not list(tmp_path.glob("*/*.png"))
    assert (tmp_path / "tables" / "made-up-regret.tex").is_file()


def test_long_tables_have_pages(tmp_path: Path):
    rows: list[tables.Row] = [{"world": f"w{n}", "agent": "$a^b", "mean": float(n)} for n in range(70)]
    table_pictures.write(
        rows, {"world": "world", "agent": "agent", "mean": "mean"}, ("world",), tmp_path / "t"
    )
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
    records = [link for link in parser.linked if link.endswith(".parquet")]
    assert len(records) == len(set(records)) == 5
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
    assert page_module.title([section.build([results])]) == "made up"


# What is drawn


def test_a_label_looks_the_same_wherever_it_is():
    few, many = styles.assign(["UCLK", "x", "VBMLE"]), styles.assign(["VBMLE", "a", "b", "c", "UCLK"])
    assert few["VBMLE"] == many["VBMLE"]
    assert few["UCLK"] == many["UCLK"]


def test_twenty_agents_can_be_told_apart():
    looks = styles.assign([f"agent {n}" for n in range(20)])
    assert len(set(looks.values())) == 20
    lines = {(look.color, look.dash) for look in looks.values()}
    markers = {(look.color, look.marker) for look in looks.values()}
    assert len(lines) == len(markers) == 20


def test_steps_need_not_be_all_recorded():
    """Seconds are means since the recorded step before: 9 steps of 1 and one of 11 make 2 a step."""
    runs = world_runs.Runs(np.array([0]), np.array([9, 10]), {"seconds": np.array([[1.0, 11.0]])})
    assert runs.seconds_per_step[0] == pytest.approx(2.0, abs=1e-12)


def test_columns_that_some_trials_lack_are_left_out():
    results = made_up({("w", "a"): [1.0, 2.0]})
    results.records[0].columns["distance"] = np.ones(6)
    (world,) = world_runs.by_world(results)
    assert set(world.agents["a"].columns) == {"regret", "seconds"}
    assert texts.kinds(texts.Text("t"), [world]) == (["regret"], ["trials"])


def with_columns(name: str = "made up", **facts: float) -> WorldRuns:
    """Two agents: one with a single theta, one with a theta per (s,a); distances fall like 1/t."""
    results = made_up({("w", "one"): [1.0, 2.0], ("w", "many"): [1.0, 2.0]}, name=name, horizon=50)
    for place, record in enumerate(results.records):
        steps = np.arange(1, 51)
        record.columns["distance"] = 1.0 / steps
        record.columns["distance_mean"] = (3.0 if record.trial.agent == "many" else 1.0) / steps
        record.columns["mle_error"] = np.full(50, 2.0)
        results.records[place] = dataclasses.replace(record, facts={**record.facts, **facts})
    return world_runs.by_world(results)[0]


def test_an_agent_with_many_thetas_has_two_lines_of_distance():
    chart = charts.distance([with_columns()], "x")
    assert chart is not None
    names = [line.name for line in chart.panels[0].series]
    assert names == ["one", "many, least over (s,a)", "many, mean over (s,a)"]
    np.testing.assert_allclose(chart.panels[0].series[2].y, 3.0 * chart.panels[0].series[1].y, rtol=1e-12)


def test_the_bound_is_drawn_where_there_is_one_and_said_to_be_infinite_where_not():
    """beta_t by hand for d = 5, p_min = 0.1, lambda = 1, L^2 = d: 37 * 25 / 0.01 * log(1 + t) * log 10."""
    chart = charts.mle_error([with_columns(p_min_true=0.1)], "x")
    assert chart is not None
    limit = chart.panels[0].series[-1]
    assert limit.y[-1] == pytest.approx(92_500.0 * np.log(51.0) * np.log(10.0), rel=1e-12)
    assert f"is {float(limit.y[-1]) / 2.0:.2g} times as large" in chart.caption
    other = charts.mle_error([with_columns()], "x")
    assert other is not None
    assert len(other.panels[0].series) == 2
    assert "makes it infinite" in other.caption


def swept(agents: tuple[str, ...] = ("a", "b")) -> Results:
    """Regret that is proportional to the gap's square, over three gaps and two dimensions."""
    worlds = {
        f"d={d} gap={gap}": Choice("hypercube", {"dimension": d, "gap": gap})
        for d in (2, 4)
        for gap in (0.9, 0.1, 0.3)
    }
    spec = Experiment(
        name="swept",
        worlds=worlds,
        agents={a: Choice("MaximumLikelihood") for a in agents},
        trials=3,
        horizon=4,
    )
    records = []
    for trial in spec.plan():
        settings = trial.world_choice.settings
        loss = settings["gap"] ** 2 * (1.0 + trial.index)
        columns = {"regret": loss * np.arange(1, 5) / 4, "seconds": np.full(4, 1e-3 * settings["dimension"])}
        facts = {"states": 2, "actions": 2 ** (settings["dimension"] - 1), "dimension": settings["dimension"]}
        records.append(Record(trial, columns, facts))
    return Results(spec, records, {}, [])


def test_a_sweep_is_found_and_drawn_in_order():
    worlds = world_runs.by_world(swept())
    found = world_runs.sweeps(worlds, "gap")
    assert [(sweep.fixed, sweep.values.tolist()) for sweep in found] == [
        ({"dimension": 2}, [0.1, 0.3, 0.9]),
        ({"dimension": 4}, [0.1, 0.3, 0.9]),
    ]
    assert len(world_runs.sweeps(worlds)) == 2 + 3  # the dimension was varied at three gaps
    line = charts_across.along(found[0], "x").panels[0].series[0]
    np.testing.assert_allclose(line.y, 2.0 * line.x**2, rtol=1e-12)  # trials lose 1, 2, 3 times the square
    (row, *_) = tables.trends(worlds, "gap")
    assert row["exponent"] == pytest.approx(2.0, abs=1e-10)


def test_an_experiment_gets_the_figures_its_records_are_good_for():
    worlds = world_runs.by_world(swept())
    folded = ["regret", "trials", "profile"]
    assert texts.kinds(texts.Text("t"), worlds) == (["parameter", "improvement"], folded)
    assert texts.kinds(texts.Text("t", cards=("regret",)), worlds) == (["regret"], folded[1:])
    assert texts.kinds(texts.Text("t", cards=("cost",)), worlds) == (["cost"], [])
    made = charts_across.build(worlds, [*texts.QUESTIONS, *folded[1:]], "swept", None)
    assert len({chart.stem for chart in made}) == len(made)  # no file is written twice
    assert {chart.kind for chart in made} == {
        "parameter",
        "regret",
        "improvement",
        "cost",
        "trials",
        "profile",
    }


def test_cost_is_drawn_against_what_was_varied_alone():
    """In the hypercube actions and dimension grow together, so neither alone: against the size of the features."""
    chart = charts_across.cost(world_runs.by_world(swept()), "x")
    assert chart is not None
    (panel,) = chart.panels
    line = panel.series[0]
    assert set(line.x) == {4.0 * 2 * 2, 4.0 * 8 * 4}
    assert line.y.min() == pytest.approx(2e-3, rel=1e-9)
    assert line.y.max() == pytest.approx(4e-3, rel=1e-9)


def test_a_family_of_experiments_shares_its_place():
    assert texts.family("study-river") == texts.family("study-network") == "study"
    assert texts.family("league (3,2)") == "league"
    assert (texts.family("mine-own"), texts.of("mine-own").title) == ("mine-own", "mine-own")
    order = sorted(["zebra", "study-river", "paper", "ant"], key=texts.place)
    assert order == ["paper", "study-river", "ant", "zebra"]
    losses: Losses = {("S = 5", "a"): [1.0, 2.0]}
    both = section.build([made_up(losses, name="cost-states"), made_up(losses, name="cost-actions")])
    assert (both.key, len(both.worlds), len(both.results)) == ("cost", 2, 2)


def test_a_card_about_cost_speaks_of_cost():
    """Every world takes 2 ms a step."""
    losses: Losses = {(world, agent): [1.0, 2.0] for world in ("S = 5", "S = 9") for agent in ("a", "b")}
    told = answers.cost(worlds_of(losses))
    assert told == "A step of a takes from 2 [2, 2] ms in S = 5 to 2 [2, 2] ms in S = 9."


def test_every_experiment_of_the_paper_has_its_text():
    for planned in paper.experiments():
        assert texts.of(planned.name).lead, planned.name
