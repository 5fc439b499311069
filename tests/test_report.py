"""The report on synthetic records whose truth is known."""

import csv
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib import colors, image
from scipy import stats

from vbmle.experiments.spec import Choice, Experiment
from vbmle.experiments.store import Record, Results, Store
from vbmle.report import data, figures, statistics, summary, tables, write
from vbmle.report.data import WorldRuns

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
    return data.by_world(made_up(losses, **settings))


# Statistics


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60))
def test_iqm_is_the_trimmed_mean(values: list[float]):
    scale = max(1.0, max(abs(value) for value in values))
    assert abs(statistics.iqm(np.array(values)) - stats.trim_mean(values, 0.25)) <= 1e-10 * scale


@pytest.mark.parametrize("count", [8, 20])
def test_intervals_cover_normal_means_at_their_rate(count: int):
    """4000 samples: the rate lies within 4 standard errors of .95, plus .01 for an interval that is not exact."""
    rng = np.random.default_rng(1)
    samples = rng.normal(3.0, 2.0, (count, 4000))
    low, high = statistics.mean_band(samples)
    covered = np.mean((low <= 3.0) & (high >= 3.0))
    assert abs(covered - 0.95) <= 0.01 + 4.0 * np.sqrt(0.95 * 0.05 / 4000)


def test_plain_percentile_intervals_would_be_too_narrow():
    """Why the quantiles are expanded: for n = 5 SciPy's percentile interval covers much less than 95%."""
    rng = np.random.default_rng(1)
    samples = rng.normal(size=(400, 5))
    plain = stats.bootstrap((samples,), np.mean, axis=1, n_resamples=500, method="percentile", rng=1)
    ours = statistics.mean_band(samples.T)
    low, high = plain.confidence_interval
    assert np.mean((low <= 0.0) & (high >= 0.0)) < 0.9
    assert np.all(ours[1] - ours[0] > high - low)


def test_for_many_trials_the_interval_is_the_plain_bootstrap():
    values = np.random.default_rng(2).exponential(size=400)
    plain = stats.bootstrap((values,), np.mean, n_resamples=10_000, method="percentile", rng=3)
    ours = statistics.mean_interval(values)
    error = values.std(ddof=1) / np.sqrt(len(values))
    # Two resamplings of 10,000 differ by about 2% of a standard error; expansion at n = 400 adds less than that.
    assert abs(ours.low - plain.confidence_interval.low) < 0.1 * error
    assert abs(ours.high - plain.confidence_interval.high) < 0.1 * error


def test_intervals_move_and_stretch_with_the_data():
    values = np.random.default_rng(4).normal(size=12)
    one, two = statistics.mean_interval(values), statistics.mean_interval(5.0 + 2.0 * values)
    np.testing.assert_allclose([5.0 + 2.0 * one.low, 5.0 + 2.0 * one.high], [two.low, two.high], atol=1e-10)


def test_one_trial_has_a_mean_and_no_interval():
    only = statistics.mean_interval(np.array([2.0]))
    assert only.mean == 2.0
    assert np.isnan([only.low, only.high, statistics.std(np.array([2.0]))]).all()


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
    assert "Ours and base cannot be told apart in tie" in text
    assert re.search(
        r"in win ours lost less, by 10 on average \(95% interval [\d.]+ to [\d.]+; less in 4 of 4", text
    )
    assert "in loss base lost less, by 10 on average" in text


def test_the_summary_warns_of_missing_trials_and_of_tails():
    text = told({("w", "a"): [*([0.0] * 9), 50.0], ("w", "b"): [*([1.0] * 9), None]})
    assert "Trials are missing: b in w (9 of 10)" in text
    assert "lost nothing in 9 of 10 trials, and 1 made 90% of its loss" in text
    assert "2 ms in w" in text


def test_the_summary_of_nothing_says_so():
    assert told({("w", "a"): [None]}) == "No trial is complete yet."


# Figures and page


@pytest.mark.parametrize("values", [[3.0, 0.0, 7.0], [0.0, 0.0], [1e-7], [2.0, None]], ids=str)
def test_every_agent_can_be_seen(tmp_path: Path, values: list[float | None]):
    losses: Losses = {
        ("w", f"agent {n}"): [v if v is None else v * (1.0 + n) for v in values] for n in range(3)
    }
    (picture,) = figures.write(worlds_of(losses), tmp_path, "made up")
    pixels = image.imread(picture.png)[..., :3]
    assert picture.png.with_suffix(".pdf").stat().st_size > 1000
    for color, _, _ in figures.STYLES[:3]:
        near = np.abs(pixels - colors.to_rgb(color)).max(axis=-1) < 0.02
        assert near.sum() > 50, f"{color} is not in the picture"


def test_axes_are_labelled_with_units():
    (world,) = worlds_of({("net", "a"): [1.0, 2.0], ("net", "b"): [1.0, 3.0]})
    figure = figures.draw(world)
    left, right = figure.axes
    assert (left.get_xlabel(), left.get_ylabel()) == ("step t", "cumulative regret (units of reward)")
    assert "t = 6" in right.get_ylabel()
    assert figure.get_suptitle() == "net: S = 3, A = 2, d = 5, 2 trials"
    assert [text.get_text() for text in figure.legends[0].get_texts()][:2] == ["a", "b"]


class Links(HTMLParser):
    """Collects what a page would fetch, and checks that elements are closed in order."""

    void = ("meta", "img")

    def __init__(self) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.fetched += [value or "" for key, value in attrs if key in ("src", "href")]
        if tag not in self.void:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_whole_and_fetches_nothing(tmp_path: Path):
    losses: Losses = {("<w> & co", "a"): [1.0, 2.0, 0.0], ("<w> & co", "b"): [1.0, 3.0, 0.5]}
    page = write(saved(tmp_path, made_up(losses))).read_text()
    parser = Links()
    parser.feed(page)
    assert parser.open == []
    assert len(parser.fetched) == 1
    assert parser.fetched[0].startswith("data:image/png;base64,")
    assert "url(" not in page
    assert "&lt;w&gt; &amp; co" in page
    assert "<w>" not in page


def test_a_report_without_any_record_says_so(tmp_path: Path):
    page = write(saved(tmp_path, made_up({("w", "a"): [None, None]}))).read_text()
    assert "No trial is complete yet." in page
