"""The report on synthetic records whose truth is known."""

import csv
import dataclasses
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pytest
from matplotlib import colors, image

from vbmle.experiments.spec import Choice, Experiment
from vbmle.experiments.store import Record, Results, Store
from vbmle.experiments.suites import paper
from vbmle.report import (
    charts,
    charts_across,
    figures,
    section,
    styles,
    summary,
    tables,
    texts,
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
    assert row["published_std"] == ""


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


def told(losses: Losses, **settings: object) -> str:
    worlds = worlds_of(losses, **settings)
    return " ".join(summary.sentences(worlds, tables.pairs(worlds)))


def test_the_summary_says_so_where_the_baseline_does_as_well():
    same: list[float | None] = [0.0, 0.5, 0.1, 3.0]
    worse: list[float | None] = [10.0, 11.0, 10.5, 12.0]
    losses: Losses = {("tie", "ours"): same, ("tie", "base"): same}
    losses |= {
        ("win", "ours"): [*same],
        ("win", "base"): worse,
        ("loss", "ours"): worse,
        ("loss", "base"): [*same],
    }
    text = told(losses)
    assert "they cannot be told apart in tie" in text
    assert re.search(
        r"ours against base: ours lost less in win, by 10 on average "
        r"\(95% interval [\d.]+ to [\d.]+; less in 4 of 4",
        text,
    )
    assert "base lost less in loss, by 10 on average" in text
    assert "ours in 2 and base in 2 of 3 worlds; alone at the top: ours in win and base in loss" in text


def test_the_summary_says_where_exploration_was_not_needed():
    same: list[float | None] = [0.0, 0.5, 0.1, 3.0]
    worse: list[float | None] = [10.0, 11.0, 10.5, 12.0]
    losses: Losses = {("easy", "VBMLE"): same, ("easy", "maximum likelihood"): [*same]}
    losses |= {("trap", "VBMLE"): same, ("trap", "maximum likelihood"): worse}
    assert "which does not explore, is among the best in easy: nothing there shows a need" in told(losses)


def test_with_many_worlds_the_summary_counts_them():
    losses: Losses = {}
    for number in range(9):
        gap = float(number + 1)
        losses |= {
            (f"w{number}", "a"): [1.0, 2.0, 3.0],
            (f"w{number}", "b"): [1.0 + gap, 2.0 + gap, 3.5 + gap],
        }
    worlds = worlds_of(losses)
    text = " ".join(summary.sentences(worlds, tables.pairs(worlds)))
    assert "a lost less in 9 of 9 worlds, by 1.2 in w0 to 9.2 in w8 on average" in text
    assert "; less in" not in text
    assert "took from 2 ms in w0 to 2 ms in w8" in text


def test_measures_do_not_win():
    """Oracle is the best by design: it must not take the place of an agent that learns."""
    spec_losses: Losses = {("w", "a"): [1.0, 2.0], ("w", "the best"): [0.0, 0.0]}
    (world,) = worlds_of(spec_losses)
    rows = tables.pairs([world])
    assert summary.among_the_best(world, rows) == ["the best"]
    marked = dataclasses.replace(world, references=frozenset({"the best"}))
    assert summary.among_the_best(marked, rows) == ["a"]


def test_the_summary_warns_of_missing_trials_and_of_tails():
    text = told({("w", "a"): [*([0.0] * 9), 50.0], ("w", "b"): [*([1.0] * 9), None]})
    assert "Trials are missing: b in w (9 of 10)" in text
    assert "lost nothing in 9 of 10 trials, and 1 made 90% of its loss" in text
    assert "2 ms in w" in text


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
    made = section.build(troubled(losses, b=3))
    told = [line for line in made.sentences if "in trouble" in line]
    assert told == [
        "Some decisions were in trouble (the solver did not converge, its certificate was not closed, or the "
        "confidence set was empty): b in one (6 in 12 steps)."
    ]
    assert [row["trouble"] for row in made.tables[0].rows] == [0, 6]
    assert made.tables[0].headings["trouble"] == "decisions in trouble"
    page = write(saved(tmp_path, troubled(losses, b=3))).read_text()
    assert "decisions in trouble" in page
    assert "b in one (6 in 12 steps)" in page


def test_without_trouble_there_is_neither(capsys: pytest.CaptureFixture[str]):
    for results in (troubled({("one", "a"): [1.0]}), made_up({("one", "a"): [1.0]})):
        made = section.build(results)
        assert not any("trouble" in line for line in made.sentences)
        assert "trouble" not in made.tables[0].headings
        assert "trouble" not in made.tables[0].rows[0]
        tables.show(made.tables[0].rows, tables.REGRET, "title")
        assert "trouble" not in capsys.readouterr().out


def test_the_summary_of_nothing_says_so():
    assert told({("w", "a"): [None]}) == "No trial is complete yet."


# Figures and page


@pytest.mark.parametrize("values", [[3.0, 0.0, 7.0], [0.0, 0.0], [1e-7], [2.0, None]], ids=str)
def test_every_agent_can_be_seen(tmp_path: Path, values: list[float | None]):
    names = [f"agent {n}" for n in range(3)]
    losses: Losses = {
        ("w", name): [v if v is None else v * (1.0 + n) for v in values] for n, name in enumerate(names)
    }
    looks = styles.assign(names)
    (chart,) = [charts.regret(world) for world in worlds_of(losses)]
    figures.write([chart], tmp_path, looks)
    pixels = image.imread(tmp_path / f"{chart.stem}.png")[..., :3]
    assert (tmp_path / f"{chart.stem}.pdf").stat().st_size > 1000
    for look in looks.values():
        near = np.abs(pixels - colors.to_rgb(look.color)).max(axis=-1) < 0.02
        assert near.sum() > 50, f"{look.color} is not in the picture"


def test_axes_are_labelled_with_units():
    (world,) = worlds_of({("net", "a"): [1.0, 2.0], ("net", "b"): [1.0, 3.0]})
    figure = figures.draw(charts.regret(world), styles.assign(["a", "b"]))
    left, right = figure.axes
    assert (left.get_xlabel(), left.get_ylabel()) == ("step t", "cumulative regret (units of reward)")
    assert "t = 6" in right.get_xlabel()
    assert figure.get_suptitle() == "net: S = 3, A = 2, d = 5"
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["a", "b"]


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
    assert all(name.startswith("figures/") for name in parser.fetched[1:])  # where there is no script
    for link in [*parser.fetched[1:], *parser.linked]:
        if link.startswith("#"):
            assert f'id="{link[1:]}"' in page
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
    page = write(saved(tmp_path, results)).read_text()
    end = page[page.index('id="run"') :]
    for record in results.records:
        assert str(record.trial.chance) in end
    assert f"numpy {np.__version__}" in end
    assert "closed_loop_trap()" in end


def test_a_report_without_any_record_says_so(tmp_path: Path):
    page = write(saved(tmp_path, made_up({("w", "a"): [None, None]}))).read_text()
    assert "No trial is complete yet." in page


def test_a_large_page_stays_small_by_drawing_fewer_points(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = saved(tmp_path, made_up({("w", "a"): [1.0, 2.0], ("w", "b"): [1.5, 2.0]}, horizon=400))
    full = write(folder).stat().st_size
    monkeypatch.setattr(page_module, "LARGEST", full - 1000)
    assert write(folder).stat().st_size < full - 1000


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
    assert texts.kinds(texts.Text("t"), [world]) == ["regret"]


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
    chart = charts.distance(with_columns())
    assert chart is not None
    names = [line.name for line in chart.panels[0].series]
    assert names == ["one", "many, least over (s,a)", "many, mean over (s,a)"]
    np.testing.assert_allclose(chart.panels[0].series[2].y, 3.0 * chart.panels[0].series[1].y, rtol=1e-12)


def test_the_bound_is_drawn_where_there_is_one_and_said_to_be_infinite_where_not():
    """beta_t by hand for d = 5, p_min = 0.1, lambda = 1, L^2 = d: 37 * 25 / 0.01 * log(1 + t) * log 10."""
    chart = charts.mle_error(with_columns(p_min_true=0.1))
    assert chart is not None
    limit = chart.panels[0].series[-1]
    assert limit.y[-1] == pytest.approx(92_500.0 * np.log(51.0) * np.log(10.0), rel=1e-12)
    assert f"is {float(limit.y[-1]) / 2.0:.2g} times as large" in chart.caption
    other = charts.mle_error(with_columns())
    assert other is not None
    assert len(other.panels[0].series) == 2
    assert "it is infinite" in other.caption


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
    line = charts_across.along(found[0]).panels[0].series[0]
    np.testing.assert_allclose(line.y, 2.0 * line.x**2, rtol=1e-12)  # trials lose 1, 2, 3 times the square
    (row, *_) = tables.trends(worlds, "gap")
    assert row["exponent"] == pytest.approx(2.0, abs=1e-10)


def test_an_experiment_gets_the_figures_its_records_are_good_for():
    worlds = world_runs.by_world(swept())
    assert texts.kinds(texts.Text("t"), worlds) == ["regret", "parameter", "profile", "improvement"]
    assert texts.kinds(texts.Text("t", kinds=("cost", "regret")), worlds) == ["regret", "cost"]
    made = charts_across.build(worlds, texts.KINDS, texts.Text("t"))
    assert len({chart.stem for chart in made}) == len(made)  # no file is written twice
    assert {chart.kind for chart in made} == set(texts.KINDS) - {"distance", "mle_error"}


def test_cost_is_drawn_against_what_was_varied_alone():
    """In the hypercube actions and dimension grow together, so neither alone: against the size of the features."""
    chart = charts_across.cost(world_runs.by_world(swept()))
    assert chart is not None
    (panel,) = chart.panels
    line = panel.series[0]
    assert set(line.x) == {4.0 * 2 * 2, 4.0 * 8 * 4}
    assert line.y.min() == pytest.approx(2e-3, rel=1e-9)
    assert line.y.max() == pytest.approx(4e-3, rel=1e-9)


def test_a_family_of_experiments_shares_its_text():
    assert texts.of("study-river").title == f"{texts.TEXTS['study'].title}: river"
    assert texts.of("mine").title == "mine"
    order = sorted(["zebra", "study-river", "paper", "ant"], key=texts.place)
    assert order == ["paper", "study-river", "ant", "zebra"]


def test_a_section_about_cost_speaks_of_cost_alone():
    """Every world takes 2 ms a step; nothing is said of who lost less."""
    losses: Losses = {(world, agent): [1.0, 2.0] for world in ("S = 5", "S = 9") for agent in ("a", "b")}
    about_cost, other = (section.build(made_up(losses, name=name)) for name in ("cost-states", "made up"))
    assert about_cost.headline == about_cost.sentences
    assert about_cost.headline == [
        f"A step of {x} took from 2 ms in S = 5 to 2 ms in S = 9." for x in ("a", "b")
    ]
    assert other.headline[0].startswith("Among the best")


def test_every_experiment_of_the_paper_has_its_text():
    for planned in paper.experiments():
        assert texts.of(planned.name).lead, planned.name
