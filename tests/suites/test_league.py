"""The league: its worlds are many and of many kinds, and it ends in a page that can be made again from records."""

import csv
from collections import Counter
from pathlib import Path

import pytest

import vbmle
from vbmle.cli import app
from vbmle.experiments.spec import Choice
from vbmle.suites import league


def test_the_worlds_are_those_that_were_promised():
    assert len(league.WORLDS) >= 20
    families = Counter(entry.family for entry in league.WORLDS.values())
    assert set(families) == {
        *("paper", "rivers", "hypercubes", "grids", "money", "any mix", "traps", "mixtures", "slow"),
    }
    assert families["money"] == 8
    assert families["any mix"] == 4
    steps = [entry.steps for entry in league.WORLDS.values()]
    assert (min(steps), max(steps)) == (300, 20_000)


def test_the_recommended_agent_takes_part_as_it_comes():
    agent = vbmle.recommended(vbmle.worlds.riverswim().mdp)
    assert league.AGENTS[league.RECOMMENDED] == Choice(type(agent).__name__)


def test_one_looks_after_16_trials_and_whenever_they_have_doubled():
    assert [league.looks(trials) for trials in (2, 16, 17, 64)] == [(2,), (16,), (16, 17), (16, 32, 64)]
    (stop,) = {experiment.stop for experiment in league.experiments(league.Size(1, 1))}
    assert stop is None, "one trial has no interval"
    for experiment in league.experiments(league.FULL):
        assert experiment.stop is not None
        assert {experiment.stop.reference, *experiment.stop.rivals, league.RANDOM} == set(league.AGENTS)
        (world,) = experiment.worlds
        assert experiment.budget(world, league.RANDOM) == league.FIRST_LOOK


def test_it_ends_in_a_page_and_resumes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    names = ("(3,2)", "River, 3 par.")
    monkeypatch.setattr(league, "WORLDS", {name: league.WORLDS[name] for name in names})
    monkeypatch.setattr(league, "QUICK", league.Size(2, 25))
    pages = []
    for _ in range(2):
        with pytest.raises(SystemExit) as end:
            app(["league", "--quick", "--out", str(tmp_path), "--jobs", "1"], prog_name="vbmle")
        assert end.value.code == 0
        pages.append(capsys.readouterr().out)
    assert pages[0] == pages[1]
    assert "2 worlds, 2 trials of every agent in each" in pages[0]
    picture = (tmp_path / "figures" / "who-wins.csv").read_text().splitlines()
    assert {row["world"] for row in csv.DictReader(picture)} == set(names)
    assert "The league: which agent to recommend" in (tmp_path / "report.html").read_text()
    with (tmp_path / "tables" / "league.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["agent"] for row in rows} == set(league.AGENTS) - {league.RANDOM}
    assert all(float(row["geometric_mean"]) >= 1.0 for row in rows)
    with (tmp_path / "tables" / "league-worlds.csv").open() as file:
        assert {row["world"] for row in csv.DictReader(file)} == set(names)
