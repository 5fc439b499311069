"""Experiments: chance keyed by names, records that are whole or absent, and runs that survive their trials."""

import errno
import io
import json
import os
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import vbmle
from vbmle.agents.base import Agent
from vbmle.experiments import InputError, catalogue, paper
from vbmle.experiments.compute import Lost, Workers
from vbmle.experiments.progress import Lines
from vbmle.experiments.run import Stopped, Summary, run
from vbmle.experiments.spec import Choice, Experiment, Trial
from vbmle.experiments.store import DamagedError, ForeignError, Record, Store, load

NETWORK = Choice("random_network", {"states": 3, "actions": 2, "dimension": 2})
PLAIN = Choice("MaximumLikelihood")


def small(**changes: object) -> Experiment:
    """A tiny experiment, with these fields changed."""
    fields: dict[str, object] = {
        "name": "small",
        "worlds": {"net": NETWORK, "trap": Choice("closed_loop_trap")},
        "agents": {"plain": PLAIN},
        "trials": 1,
        "horizon": 4,
    }
    return Experiment(**(fields | changes))  # type: ignore[arg-type]


def go(experiment: Experiment, folder: Path, jobs: int = 1) -> tuple[Summary, str]:
    """Run it; the summary, and what was said."""
    said = io.StringIO()
    return run(experiment, folder, jobs, Lines(said)), said.getvalue()


def fake(trial: Trial) -> Record:
    """A record without a run."""
    regret = np.cumsum(np.random.default_rng(trial.chance).random(trial.horizon))
    facts = {"states": 3, "actions": 2, "dimension": 2}
    return Record(trial, {"regret": regret, "seconds": np.full(trial.horizon, 1e-3)}, facts)


def filled(folder: Path, experiment: Experiment) -> Store:
    """A store with a record of every trial."""
    store = Store(folder, experiment)
    store.begin()
    for trial in experiment.plan():
        store.write(fake(trial))
    return store


# Chance


def test_agents_are_paired_and_nothing_else_is():
    experiment = small(
        worlds={"one": NETWORK, "two": NETWORK},
        agents={"a": Choice("VBMLE"), "b": Choice("VBMLE"), "c": PLAIN},
        trials=3,
    )
    seeds = {(t.world, t.agent, t.index): t.seeds() for t in experiment.plan()}
    for (world, agent, index), found in seeds.items():
        assert (found["world"], found["chance"]) == tuple(
            seeds[world, "a", index][k] for k in ("world", "chance")
        )
        assert ("agent" in found) == (agent != "c"), "only agents that ask for a seed get one"
    distinct = {value for found in seeds.values() for value in found.values()}
    assert len(distinct) == 2 * 2 * 3 + 2 * 2 * 3  # world and chance by (world, trial); agent by all three
    assert all(0 <= value < 2**63 for value in distinct)


def test_seeds_do_not_depend_on_the_process():
    code = "from vbmle.experiments.spec import seed; print(seed('chance', 'small', 'net', 3))"
    env = {**os.environ, "PYTHONHASHSEED": "7"}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=120)
    trial = Trial("small", "net", "plain", 3, NETWORK, PLAIN, 4)
    assert int(done.stdout) == trial.chance


def test_a_seed_in_the_settings_is_left_alone():
    fixed = Choice("random_network", {**NETWORK.settings, "seed": 5})
    first, second = small(worlds={"net": fixed}, trials=2).plan()
    assert "world" not in first.seeds()
    assert first.make_world().mdp.fingerprint() == second.make_world().mdp.fingerprint()


def test_workers_agents_and_trials_do_not_change_the_others(tmp_path: Path):
    """One worker or two, alone or among others, at once or resumed: the same records, timings aside."""
    more = small(agents={"plain": PLAIN, "ridge": Choice("MaximumLikelihood", {"ridge": 0.1})}, trials=2)
    resumed, fresh = tmp_path / "resumed", tmp_path / "fresh"
    first, _ = go(small(), resumed)
    assert (first.kept, first.made, first.failures) == (0, 2, [])
    second, _ = go(more, resumed, jobs=2)
    assert (second.kept, second.made, second.failures) == (2, 6, [])
    go(more, fresh, jobs=1)
    for trial in more.plan():
        one, two = Store(resumed, more).read(trial), Store(fresh, more).read(trial)
        np.testing.assert_array_equal(one.columns["regret"], two.columns["regret"])
        assert one.facts == two.facts
    again, _ = go(more, resumed)
    assert (again.kept, again.made) == (8, 0)


# Records


def test_a_record_says_all_about_itself(tmp_path: Path):
    trial = small().plan()[0]
    store = filled(tmp_path, small())
    frame, meta = pl.read_parquet(store.path(trial)), pl.read_parquet_metadata(store.path(trial))
    assert frame["step"].to_list() == [1, 2, 3, 4]
    np.testing.assert_array_equal(frame["regret"].to_numpy(), fake(trial).columns["regret"])
    told = json.loads(meta["vbmle"])
    assert told["seeds"] == trial.seeds()
    assert told["trial"]["world_choice"] == {"name": "random_network", "settings": NETWORK.settings}
    assert told["about"]["numpy"] == np.__version__
    assert not list(tmp_path.rglob("*.part"))


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def scribble(path: Path) -> None:
    path.write_text("not a record")


def other_numbers(path: Path) -> None:
    """The right labels on other numbers."""
    frame = pl.read_parquet(path).with_columns(pl.col("regret") + 1e-9)
    frame.write_parquet(path, metadata={"vbmle": pl.read_parquet_metadata(path)["vbmle"]})


def no_labels(path: Path) -> None:
    pl.read_parquet(path).write_parquet(path)


@pytest.mark.parametrize("damage", [truncate, empty, scribble, other_numbers, no_labels])
def test_damaged_records_are_told_and_set_aside(tmp_path: Path, damage):
    store = filled(tmp_path, small())
    hurt, whole = small().plan()
    damage(store.path(hurt))
    content = store.path(hurt).read_bytes()
    with pytest.raises(DamagedError):
        store.read(hurt)
    trials, lines = store.missing()
    assert trials == [hurt]
    assert len(lines) == 1
    assert str(store.path(hurt)) in lines[0]
    assert [path.read_bytes() for path in (tmp_path / "set-aside").rglob("*.parquet")] == [content]
    assert store.path(whole).exists()


def test_flipped_bytes_never_pass_for_a_record(tmp_path: Path):
    store, trial = filled(tmp_path, small()), small().plan()[0]
    path, content = store.path(trial), store.path(trial).read_bytes()
    truth = store.read(trial).columns["regret"]
    for position in range(4, len(content), 37):
        path.write_bytes(content[:position] + bytes([content[position] ^ 0xFF]) + content[position + 1 :])
        try:
            found = store.read(trial).columns["regret"]
        except (DamagedError, ForeignError):
            continue
        np.testing.assert_array_equal(found, truth)  # a byte that no number depends on


@pytest.mark.parametrize(
    "changes",
    [
        {"horizon": 5},
        {"agents": {"plain": Choice("MaximumLikelihood", {"ridge": 2.0})}},
        {"worlds": {"net": Choice("random_network", {**NETWORK.settings, "hidden": 8})}},
    ],
)
def test_records_of_other_settings_are_set_aside(tmp_path: Path, changes: dict[str, object]):
    filled(tmp_path, small(worlds={"net": NETWORK}))
    changed = small(**({"worlds": {"net": NETWORK}} | changes))
    with pytest.raises(ForeignError):
        Store(tmp_path, changed).read(changed.plan()[0])
    trials, lines = Store(tmp_path, changed).missing()
    assert trials == changed.plan()
    assert len(lines) == 1
    assert len(list((tmp_path / "set-aside").rglob("*.parquet"))) == 1


def test_records_of_other_code_and_other_trials_are_foreign(tmp_path: Path):
    experiment = small(trials=2)
    store = filled(tmp_path, experiment)
    first, _, third, _ = experiment.plan()
    with pytest.raises(ForeignError):
        Store(tmp_path, experiment, code="another").read(first)
    shutil.copy(store.path(third), store.path(first))
    with pytest.raises(ForeignError):
        store.read(first)


def test_setting_aside_overwrites_nothing(tmp_path: Path):
    for horizon in (4, 5, 6):
        experiment = small(worlds={"net": NETWORK}, horizon=horizon)
        Store(tmp_path, experiment).missing()
        filled(tmp_path, experiment)
    assert len(list((tmp_path / "set-aside").rglob("*.parquet"))) == 2


def test_only_what_is_damaged_is_run_again(tmp_path: Path):
    experiment = small()
    go(experiment, tmp_path)
    store = Store(tmp_path, experiment)
    hurt, whole = experiment.plan()
    before, stamp = store.read(hurt), store.path(whole).stat().st_mtime_ns
    truncate(store.path(hurt))
    summary, said = go(experiment, tmp_path)
    assert (summary.kept, summary.made) == (1, 1)
    assert f"{store.path(hurt)} is damaged" in said
    np.testing.assert_array_equal(store.read(hurt).columns["regret"], before.columns["regret"])
    assert store.path(whole).stat().st_mtime_ns == stamp


def test_load_leaves_out_what_is_not_of_the_experiment(tmp_path: Path):
    filled(tmp_path, small(horizon=9, trials=3))
    store = Store(tmp_path, small())
    store.missing()
    store = filled(tmp_path, small())
    truncate(store.path(small().plan()[0]))
    (results,) = load(tmp_path)
    assert [record.trial for record in results.records] == small().plan()[1:]
    damaged, foreign = results.left_out
    assert "damaged" in damaged
    assert foreign.endswith(": 4")  # two worlds, trials 1 and 2


def test_load_refuses_what_is_no_experiment(tmp_path: Path):
    with pytest.raises(InputError, match="no records"):
        load(tmp_path)
    store = filled(tmp_path, small())
    (store.home / "experiment.json").write_text('{"format": 1}')
    with pytest.raises(InputError, match=r"experiment\.json"):
        load(tmp_path)


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
    (trial,) = experiment.plan()
    recipe = trial.recipe().replace("vbmle.simulate", "history = vbmle.simulate")
    found: dict[str, vbmle.History] = {}
    exec(recipe, found)
    expected = Store(tmp_path, experiment).read(trial).columns["regret"]
    np.testing.assert_array_equal(found["history"].regret, expected)


def test_a_full_disk_stops_the_run_and_keeps_what_is_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    write = Store.write
    written: list[Trial] = []

    def fill_up(self: Store, record: Record) -> None:
        if written:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write(self, record)
        written.append(record.trial)

    monkeypatch.setattr(Store, "write", fill_up)
    with pytest.raises(Stopped, match="No space left"):
        go(small(), tmp_path)
    monkeypatch.undo()
    summary, _ = go(small(), tmp_path)
    assert (summary.kept, summary.made) == (1, 1)


def test_a_folder_that_is_a_file_is_refused(tmp_path: Path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(InputError, match="taken"):
        go(small(), tmp_path / "taken")


def test_a_killed_worker_loses_only_who_kills_it():
    tasks = [f"{n} * {n}" for n in range(12)]
    tasks.insert(3, "__import__('os').kill(__import__('os').getpid(), 9)")
    with Workers(2) as workers:
        found = dict(workers.results(eval, tasks))
    lost = [task for task, result in found.items() if isinstance(result, Lost)]
    assert lost == [tasks[3]]
    assert [found[f"{n} * {n}"] for n in range(12)] == [n * n for n in range(12)]


def test_a_worker_killed_once_costs_nothing(tmp_path: Path):
    mark = tmp_path / "killed"
    once = (
        f"(m := __import__('pathlib').Path({str(mark)!r})).exists() or (m.touch(), __import__('os')._exit(1))"
    )
    with Workers(1) as workers:
        assert dict(workers.results(eval, [once, "1 + 1"])) == {once: True, "1 + 1": 2}


def test_when_every_worker_dies_the_rest_is_given_up():
    tasks = [f"__import__('os')._exit({n + 1})" for n in range(40)]
    with Workers(1) as workers:
        found = list(workers.results(eval, tasks))
    assert sorted(task for task, _ in found) == sorted(tasks)
    assert all(isinstance(result, Lost) for _, result in found)


def test_an_interrupt_does_not_wait_for_what_is_in_flight():
    """Even if the system hands the signal to a thread that is not the main one."""
    code = """
import signal, threading, time
from vbmle.experiments.compute import Workers

def interrupt():
    time.sleep(1.0)
    signal.pthread_kill(threading.get_ident(), signal.SIGINT)

with Workers(1) as workers:
    for _ in workers.results(time.sleep, [0, 600]):
        threading.Thread(target=interrupt).start()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == -signal.SIGINT
    assert done.stderr.rstrip().endswith("KeyboardInterrupt")


def test_workers_have_one_thread_and_leave_the_environment_alone(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    with Workers(1) as workers:
        ((_, found),) = workers.results(os.getenv, ["OMP_NUM_THREADS"])
    assert found == "1"
    assert os.environ["OMP_NUM_THREADS"] == "3"


def test_any_executor_will_do():
    with Workers(2, open_pool=lambda: ThreadPoolExecutor(2)) as workers:
        assert dict(workers.results(abs, [-1, -2, 3])) == {-1: 1, -2: 2, 3: 3}


# Specs


def test_the_catalogue_has_every_public_agent_and_world():
    public = [getattr(vbmle, name) for name in vbmle.__all__]
    agents = {
        item for item in public if isinstance(item, type) and issubclass(item, Agent) and item is not Agent
    }
    assert set(catalogue.agents().values()) == agents
    assert set(catalogue.worlds()) == set(vbmle.worlds.__all__)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"trials": 0}, ["trials is 0"]),
        ({"horizon": -3}, ["horizon is -3"]),
        ({"agents": {}}, ["no agents"]),
        ({"agents": {"x": Choice("VBLME")}}, ["'x'", "VBLME", "did you mean 'VBMLE'?"]),
        ({"worlds": {"x": Choice("river")}}, ["'x'", "no world 'river'", "riverswim"]),
        (
            {"worlds": {"x": Choice("riverswim", {"lenght": 3})}},
            ["'lenght'", "did you mean 'length'?", "features"],
        ),
        ({"worlds": {"x": Choice("hypercube")}}, ["needs a value for 'dimension'"]),
        ({"agents": {"a b": PLAIN, "a-b": PLAIN}}, ["'a b'", "'a-b'", "less alike"]),
    ],
)
def test_specs_that_cannot_be_run_are_refused_in_one_line(changes: dict[str, object], words: list[str]):
    with pytest.raises(InputError) as caught:
        small(**changes)
    for word in ["small: ", *words]:
        assert word in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_paper_experiment_is_the_papers():
    """gamma = .9, lambda = 1, T = 500, 20 trials; (S, A) = (3,2), (5,4), (15,4)."""
    full, quick = paper.experiment(), paper.experiment(quick=True)
    assert (full.trials, full.horizon) == (20, 500)
    sizes = [(c.settings["states"], c.settings["actions"]) for c in full.worlds.values()]
    assert sizes == [(3, 2), (5, 4), (15, 4)]
    assert {c.settings["discount"] for c in full.worlds.values()} == {0.9}
    assert {c.settings["ridge"] for c in full.agents.values()} == {1.0}
    assert quick.plan()[0].seeds() == full.plan()[0].seeds()
    assert (quick.worlds, quick.agents) == (full.worlds, full.agents)
