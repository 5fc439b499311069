"""Experiments: chance keyed by names, the same records however they are made, and runs that survive their trials."""

import io
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Self

import numpy as np
import pytest
from rich.console import Console
from sweeps import NETWORK, PLAIN, fake, found, go, same, small

import vbmle
from vbmle.experiments import InputError, catalogue, playing, progress, record_file
from vbmle.experiments.compute import Workers
from vbmle.experiments.playing import Played
from vbmle.experiments.progress import Bars, Lines
from vbmle.experiments.run import Done, Stopped, Summary, _keep, run_all
from vbmle.experiments.spec import Choice, Trial
from vbmle.experiments.store import Store, Task

# Chance


def test_agents_are_paired_and_nothing_else_is():
    experiment = small(
        worlds={"one": NETWORK, "two": NETWORK},
        agents={"a": Choice("VBMLE"), "b": Choice("VBMLE"), "c": PLAIN},
        trials=3,
    )
    seeds = {(t.world, t.agent, t.index): t.seeds() for t in experiment.all_trials()}
    for (world, agent, index), drawn in seeds.items():
        assert (drawn["world"], drawn["chance"]) == tuple(
            seeds[world, "a", index][k] for k in ("world", "chance")
        )
        assert ("agent" in drawn) == (agent != "c"), "only agents that ask for a seed get one"
    distinct = {value for drawn in seeds.values() for value in drawn.values()}
    assert len(distinct) == 2 * 2 * 3 + 2 * 2 * 3  # world and chance by (world, trial); agent by all three
    assert all(0 <= value < 2**63 for value in distinct)


def test_seeds_do_not_depend_on_the_process():
    code = "from vbmle.experiments.spec import seed; print(seed('chance', 'small', 'net', 3))"
    env = {**os.environ, "PYTHONHASHSEED": "7"}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=900)
    trial = Trial("small", "net", "plain", 3, NETWORK, PLAIN, 4)
    assert int(done.stdout) == trial.chance


def test_a_seed_in_the_settings_is_left_alone():
    fixed = Choice("random_network", {**NETWORK.settings, "seed": 5})
    first, second = small(worlds={"net": fixed}, trials=2).all_trials()
    assert "world" not in first.seeds()
    assert playing.make_world(first).mdp.fingerprint() == playing.make_world(second).mdp.fingerprint()


def test_workers_agents_and_trials_do_not_change_the_others(tmp_path: Path):
    """One worker or two, alone or among others, at once or resumed: the same records, timings aside."""
    more = small(agents={"plain": PLAIN, "ridge": Choice("MaximumLikelihood", {"ridge": 0.1})}, trials=2)
    resumed, fresh = tmp_path / "resumed", tmp_path / "fresh"
    first, _ = go(small(), resumed)
    assert (first.kept, first.made, first.failures) == (0, 2, [])
    second, _ = go(more, resumed, jobs=2)
    assert (second.kept, second.made, second.failures) == (2, 6, [])
    go(more, fresh, jobs=1)
    one, two = found(resumed, more), found(fresh, more)
    assert len(one) == len(two) == 8
    for name, record in one.items():
        same(record, two[name])
    again, _ = go(more, resumed)
    assert (again.kept, again.made) == (8, 0)


def test_many_experiments_share_their_workers(tmp_path: Path):
    """In sequence, one pool for all: workers that have prepared once need not start again."""
    opened: list[int] = []

    class Counted(Workers):
        def __enter__(self) -> Self:
            opened.append(1)
            return super().__enter__()

    said = io.StringIO()
    several = [small(name="one"), small(name="two", horizon=6), small(name="three", trials=2)]
    summaries = run_all(several, tmp_path, Counted(1), Lines(said))
    assert [summary.made for summary in summaries] == [2, 2, 4]
    assert len(opened) == 1
    told = said.getvalue()
    assert (
        told.index("one: running 2 of 2") < told.index("two: running 2 of 2") < told.index("three: running 4")
    )
    go(several[1], tmp_path / "alone")
    alone = found(tmp_path / "alone", several[1])
    for name, record in found(tmp_path, several[1]).items():
        same(record, alone.pop(name))
    assert not alone


def test_the_truth_is_told_to_those_who_need_it_and_the_recipe_says_so(monkeypatch: pytest.MonkeyPatch):
    class Oracle(vbmle.MaximumLikelihood):
        """Knows the truth."""

        needs_truth = True

        def __init__(self, mdp: vbmle.LinearMixtureMDP, theta: list[float], ridge: float = 1.0) -> None:
            super().__init__(mdp, ridge)
            self.told = theta

    monkeypatch.setattr(catalogue, "agents", lambda: {"Oracle": Oracle})
    trial = small(agents={"o": Choice("Oracle", {"ridge": 2.0})}).all_trials()[0]
    world = playing.make_world(trial)
    agent = playing.make_agent(trial, world)
    assert isinstance(agent, Oracle)
    assert agent.told == world.theta.tolist()
    assert "vbmle.Oracle(w.mdp, theta=w.theta, ridge=2.0)" in trial.recipe()
    assert [row[0] for row in catalogue.described(Oracle)] == ["ridge"]
    with pytest.raises(InputError, match="unknown setting 'theta'"):
        small(agents={"o": Choice("Oracle", {"theta": [1.0, 0.0]})})


# Trouble


def test_a_trial_that_raises_is_named_and_the_others_are_kept(tmp_path: Path):
    bad = Choice("VBMLE", {"bias_scale": -1.0})
    experiment = small(worlds={"net": NETWORK}, agents={"bad": bad, "plain": PLAIN}, trials=2)
    summary, _ = go(experiment, tmp_path, jobs=2)
    assert summary.made == 2
    assert {failure.trial.agent for failure in summary.failures} == {"bad"}
    text = str(summary.failures[0])
    assert "bias_scale is -1.0" in text
    assert str(summary.failures[0].trial.seeds()["world"]) in text
    with pytest.raises(ValueError, match="bias_scale is -1"):
        exec(text.partition("to see it again: ")[2])
    resumed, _ = go(experiment, tmp_path)
    assert (resumed.kept, len(resumed.failures)) == (2, 2)


def test_the_recipe_repeats_the_trial(tmp_path: Path):
    experiment = small(worlds={"net": NETWORK})
    go(experiment, tmp_path)
    (trial,) = experiment.all_trials()
    recipe = trial.recipe().replace("vbmle.simulate", "history = vbmle.simulate")
    made: dict[str, vbmle.History] = {}
    exec(recipe, made)
    expected = found(tmp_path, experiment)[trial.name].columns["regret"]
    np.testing.assert_array_equal(made["history"].regret, expected)


def test_a_full_disk_stops_the_run_and_keeps_what_is_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """SQLite says that the disk is full where the file has as many pages as it may have."""
    experiment, opened = small(trials=40), record_file._opened

    def cramped(path: Path, mode: str) -> sqlite3.Connection:
        connection = opened(path, mode)
        connection.execute("PRAGMA max_page_count = 30")
        return connection

    monkeypatch.setattr(record_file, "_opened", cramped)
    with pytest.raises(Stopped, match="disk is full") as caught:
        go(experiment, tmp_path)
    assert str(tmp_path / record_file.NAME) in str(caught.value)
    monkeypatch.undo()
    kept = len(found(tmp_path, experiment))
    assert 0 < kept < 80
    summary, _ = go(experiment, tmp_path)
    assert (summary.kept, summary.made) == (kept, 80 - kept)


def test_a_folder_that_is_a_file_is_refused(tmp_path: Path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(InputError, match="taken"):
        go(small(), tmp_path / "taken")


def test_a_worker_with_other_code_is_told_and_nothing_is_kept_of_it(tmp_path: Path):
    summary, trial = Summary(), small().all_trials()[0]
    done = Done(Played(fake(trial).columns, {}, 0, None), "0.0.1+abc", {})
    with record_file.writing(tmp_path) as file:
        assert _keep(Store(file, small()), Task(trial), done, summary) is None
    assert found(tmp_path, small()) == {}
    (failure,) = summary.failures
    assert "another version of vbmle (0.0.1+abc, not " in failure.message


# Progress


def test_on_a_terminal_every_agent_has_a_bar_with_its_rate():
    screen = io.StringIO()
    with Bars(Console(file=screen, force_terminal=True, width=100)) as bars:
        bars.begin("one", {"plain": 2, "biased": 2}, {"plain": 0, "biased": 1})
        for agent in ("plain", "biased", "plain"):
            bars.finished(agent)
        bars.begin("two", {"other": 3}, {"other": 3})
    last = screen.getvalue()
    for word in ("one", "plain", "biased", "2/2", "trials/s", "two", "other", "3/3"):
        assert word in last


def test_elsewhere_a_long_run_says_a_line_now_and_then(monkeypatch: pytest.MonkeyPatch):
    """A trial a second for a hundred seconds: the first line, and one every twenty seconds."""
    now, said = [0.0], io.StringIO()
    monkeypatch.setattr(progress, "monotonic", lambda: now[0])
    lines = Lines(said)
    lines.begin("long", {"plain": 100}, {"plain": 0})
    for _ in range(100):
        now[0] += 1.0
        lines.finished("plain")
    expected = [
        "long: running 100 of 100 trials",
        *(f"long: {n} of 100 trials done" for n in range(20, 101, 20)),
    ]
    assert said.getvalue().splitlines() == expected
