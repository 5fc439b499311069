"""Sweeps from Python: the same experiments, bits, resume and refusals as those from files."""

import functools
import importlib
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from polars.testing import assert_frame_equal

import vbmle
from vbmle.experiments import spec_file, toml
from vbmle.experiments.spec import Recording

METRICS = """
def reward(step):
    return step.reward


def place(step):
    return step.next_state
"""


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "my_metrics.py").write_text(METRICS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield
    sys.modules.pop("my_metrics", None)


RIVER = functools.partial(vbmle.worlds.riverswim, length=4)


def partial_of(maker: Any, **settings: Any) -> Any:
    """A partial that no type checker looks into."""
    return functools.partial(maker, **settings)


def small(**changes: Any) -> vbmle.Sweep:
    given: dict[str, Any] = {
        "name": "small",
        "worlds": {"river": RIVER},
        "agents": [vbmle.MaximumLikelihood, "Random"],
        "trials": 6,
        "horizon": 20,
    }
    return vbmle.Sweep(**given | changes)


TOML = """
name = "small"
trials = 6
horizon = 20

[record]
steps = "log"
trajectories = true
metrics = { "what it earned" = "my_metrics:reward" }

[worlds.river]
world = "riverswim"
length = { sweep = [4, 5] }

[agents.greedy]
agent = "MaximumLikelihood"
ridge = 0.5
role = "greedy"

[stop]
reference = "greedy"
rivals = ["Random"]
looks = { "river length=4" = [3, 6], "river length=5" = [4, 6] }

[agents.Random]
"""


def test_a_file_and_python_describe_the_same_sweep(tmp_path: Path):
    (tmp_path / "small.toml").write_text(TOML)
    read = vbmle.Sweep.read("small.toml")
    made = small(
        worlds={"river": {"world": vbmle.worlds.riverswim, "length": {"sweep": [4, 5]}}},
        agents={
            "greedy": {"agent": "MaximumLikelihood", "ridge": 0.5, "role": "greedy"},
            "Random": vbmle.Random,
        },
        record={"steps": "log", "trajectories": True},
        metrics={"what it earned": "my_metrics:reward"},
        stop={
            "reference": "greedy",
            "rivals": ["Random"],
            "looks": {"river length=4": [3, 6], "river length=5": [4, 6]},
        },
    )
    assert made.experiment == read.experiment == spec_file.read(tmp_path / "small.toml")
    assert vbmle.Sweep.read(made.write("again.toml")).experiment == made.experiment


def test_what_is_written_as_toml_is_read_back():
    content = {
        "name": 'a "b" \\ \x7f é\n',
        "on": True,
        "few": [1, 2.5, -1e-12, "x"],
        "record": {"a b": {"c": 1}},
    }
    assert toml.written(content).count("\n") == 6
    assert tomllib.loads(toml.written(content)) == content
    with pytest.raises(ValueError, match="TOML"):
        toml.written({"what": object()})


def test_records_are_those_of_runs_one_by_one_and_a_longer_run_goes_on(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
):
    my_metrics = importlib.import_module("my_metrics")
    given = {
        "record": {"trajectories": True},
        "metrics": {"earned": my_metrics.reward, "place": "my_metrics:place"},
    }
    small(**given, horizon=15).run("short", jobs=1)
    longer = small(**given, horizon=40).run("short", jobs=1)
    assert "continued" in capfd.readouterr().err
    table = longer.records
    assert table.shape[0] == 2 * 6 * 40
    for trial in longer.experiment.all_trials()[:4]:
        world = vbmle.worlds.riverswim(length=4)
        seed = {"seed": trial.seeds()["agent"]} if "agent" in trial.seeds() else {}
        agent = getattr(vbmle, trial.agent)(world.mdp, **seed)
        one = vbmle.simulate(agent, world, 40, seed=trial.chance, metrics={"earned": my_metrics.reward})
        rows = table.filter(agent=trial.agent, trial=trial.index)
        for name, wanted in {
            "regret": one.regret,
            "earned": vbmle.earned(world, one),
            "place": one.next_states,
            "state": one.states,
            "action": one.actions,
        }.items():
            np.testing.assert_array_equal(rows[name], wanted, err_msg=name)
    assert_frame_equal(vbmle.Sweep.open("short").records, table)
    before = (tmp_path / "short" / "records.sqlite").read_bytes()
    assert longer.run("short") is longer  # nothing to do
    assert (tmp_path / "short" / "records.sqlite").read_bytes() == before


def test_metrics_are_averages_between_rows_that_are_far_apart():
    every = small(metrics={"earned": "my_metrics:reward"}).run(jobs=1).records
    few = small(metrics={"earned": "my_metrics:reward"}, record={"steps": "log"}).run(jobs=1).records
    steps = Recording(steps="log").at(20)
    cell = {"agent": "Random", "trial": 3}
    earned = every.filter(**cell)["earned"].to_numpy()
    wanted = [part.mean() for part in np.split(earned, steps)[:-1]]
    np.testing.assert_allclose(few.filter(**cell)["earned"], wanted, rtol=1e-12)


def test_two_agents_are_compared_in_every_world():
    world = vbmle.worlds.riverswim(length=5)
    sweep = small(worlds={"river": RIVER, "mine": world}).run(jobs=1)
    found = sweep.compare("MaximumLikelihood", "Random")
    final = sweep.records.filter(step=20)
    for row in found.to_frame().iter_rows(named=True):
        one, two = (
            final.filter(world=row["world"], agent=name)["regret"] for name in ("MaximumLikelihood", "Random")
        )
        assert row["difference"] == pytest.approx((one - two).mean(), rel=1e-12)
        assert row["low"] <= row["difference"] <= row["high"]
    assert found.to_latex().count(r"\\") == 3
    assert "outcome" in found._repr_html_()
    with pytest.raises(ValueError, match="did you mean 'Random'"):
        sweep.compare("MaximumLikelihood", "Randon")


def test_a_world_of_ones_own_is_the_same_world():
    world = vbmle.worlds.riverswim(length=4)
    one = small(worlds={"river": world}).run(jobs=1).records
    other = small().run(jobs=1).records
    np.testing.assert_array_equal(one["regret"], other["regret"])


def test_a_temporary_folder_goes_with_the_sweep():
    sweep = small(trials=1).run(jobs=1)
    folder = sweep.folder
    assert folder is not None
    assert folder.exists()
    del sweep
    assert not folder.exists()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"worlds": ["rivrswim"]}, "riverswim"),
        ({"worlds": {"river": partial_of(vbmle.worlds.riverswim, lenght=4)}}, "did you mean 'length'"),
        ({"worlds": {"river": functools.partial(vbmle.worlds.riverswim, 4)}}, "by name"),
        ({"worlds": "riverswim"}, "list"),
        ({"agents": [vbmle.PSRL, vbmle.PSRL]}, "dict by label"),
        ({"agents": {"mine": lambda mdp: None}}, "put it into a module"),
        ({"agents": {"mine": 3}}, "name"),
        ({"metrics": {"earned": "my_metrics:rewrad"}}, "did you mean 'reward'"),
        ({"metrics": {"earned": 3}}, "name"),
        ({"metrics": {"regret": "my_metrics:reward"}}, "regret"),
        ({"stop": {"rivals": ["Random"]}}, "reference"),
        ({"record": {"trajectory": True}}, "did you mean 'trajectories'"),
        ({"trials": 0}, "trials"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(changes: dict, words: str):
    with pytest.raises(ValueError, match=words) as caught:
        small(**changes)
    assert "\n" not in str(caught.value)


def test_what_was_not_run_and_what_cannot_be_run_so_are_refused():
    with pytest.raises(ValueError, match="run"):
        _ = small().records
    with pytest.raises(ValueError, match="jobs"):
        small().run(jobs=0)
    with pytest.raises(ValueError, match="dask"):
        small().run(jobs=1, dask="tcp://nowhere:1")


def test_trials_that_fail_are_told_and_the_others_kept(tmp_path: Path):
    (tmp_path / "my_failing.py").write_text(
        "def odd(step):\n    if type(step.agent).__name__ == 'Random':\n        raise OSError('odd')\n    return 0.0\n"
    )
    sweep = small(metrics={"odd": "my_failing:odd"}, trials=2)
    with pytest.warns(RuntimeWarning, match="2 trials failed"):
        sweep.run("odd", jobs=1)
    assert len(sweep.failures) == 2
    assert "my_failing" in str(sweep.failures[0])
    assert set(sweep.records["agent"]) == {"MaximumLikelihood"}


SCRIPT = """
import vbmle
sweep = vbmle.Sweep(worlds=["riverswim"], agents=["Random"], trials=2, horizon=5).run(jobs=2)
print(len(sweep.records))
"""


def test_a_script_needs_no_guard(tmp_path: Path):
    (tmp_path / "script.py").write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, "script.py"], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert done.stdout == "10\n", done.stderr
    assert "Traceback" not in done.stderr
