"""Records: whole or absent, told when damaged or foreign, and never overwritten."""

import json
import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sweeps import NETWORK, fake, filled, go, small

from vbmle.experiments import InputError, measures, spec
from vbmle.experiments.records import load
from vbmle.experiments.spec import Choice, Recording, Trial
from vbmle.experiments.store import DamagedError, ForeignError, OldError, Store


def test_a_record_says_all_about_itself(tmp_path: Path):
    trial = small().all_trials()[0]
    store = filled(tmp_path, small())
    frame, meta = pl.read_parquet(store.path(trial)), pl.read_parquet_metadata(store.path(trial))
    assert frame["step"].to_list() == [1, 2, 3, 4]
    np.testing.assert_array_equal(frame["regret"].to_numpy(), fake(trial).columns["regret"])
    told = json.loads(meta["vbmle"])
    assert told["seeds"] == trial.seeds()
    assert told["trial"]["world_choice"] == {"name": "random_network", "settings": NETWORK.settings}
    assert told["about"]["numpy"] == np.__version__
    assert told["spec"] == small().digest() != small(trials=2).digest()
    assert told["code"] == store.code
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
    hurt, whole = small().all_trials()
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
    store, trial = filled(tmp_path, small()), small().all_trials()[0]
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
        {"record": Recording(distance=True)},
        {"agents": {"plain": Choice("MaximumLikelihood", {"ridge": 2.0})}},
        {"worlds": {"net": Choice("random_network", {**NETWORK.settings, "hidden": 8})}},
    ],
)
def test_records_of_other_settings_are_set_aside(tmp_path: Path, changes: dict[str, object]):
    filled(tmp_path, small(worlds={"net": NETWORK}))
    changed = small(**({"worlds": {"net": NETWORK}} | changes))
    with pytest.raises(ForeignError):
        Store(tmp_path, changed).read(changed.all_trials()[0])
    trials, lines = Store(tmp_path, changed).missing()
    assert trials == changed.all_trials()
    assert len(lines) == 1
    assert len(list((tmp_path / "set-aside").rglob("*.parquet"))) == 1


def test_records_of_other_code_and_other_trials_are_foreign(tmp_path: Path):
    experiment = small(trials=2)
    store = filled(tmp_path, experiment)
    first, _, third, _ = experiment.all_trials()
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
    hurt, whole = experiment.all_trials()
    before, stamp = store.read(hurt), store.path(whole).stat().st_mtime_ns
    truncate(store.path(hurt))
    summary, said = go(experiment, tmp_path)
    assert (summary.kept, summary.made) == (1, 1)
    assert f"{store.path(hurt)} is damaged" in said
    np.testing.assert_array_equal(store.read(hurt).columns["regret"], before.columns["regret"])
    assert store.path(whole).stat().st_mtime_ns == stamp


def test_rows_of_other_steps_are_foreign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The spacing of recorded steps is part of what a record is, though no setting tells it."""
    experiment = small(horizon=100, record=Recording(steps="log"))
    store, trial = filled(tmp_path, experiment), experiment.all_trials()[0]
    assert len(store.read(trial).columns["regret"]) == len(trial.steps) < 100
    monkeypatch.setattr(measures, "PER_DECADE", 10)
    with pytest.raises(ForeignError):
        store.read(trial)


def test_other_seeds_make_another_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    store, trial = filled(tmp_path, small()), small().all_trials()[0]
    store.read(trial)
    monkeypatch.setattr(spec, "seed", lambda *key: 7)
    with pytest.raises(ForeignError):
        store.read(trial)


def test_load_leaves_out_what_is_not_of_the_experiment(tmp_path: Path):
    filled(tmp_path, small(horizon=9, trials=3))
    store = Store(tmp_path, small())
    store.missing()
    store = filled(tmp_path, small())
    truncate(store.path(small().all_trials()[0]))
    (results,) = load(tmp_path)
    assert [record.trial for record in results.records] == small().all_trials()[1:]
    damaged, foreign = results.left_out
    assert "damaged" in damaged
    assert foreign.endswith(": 4")  # two worlds, trials 1 and 2


def older(store: Store, trial: Trial) -> None:
    """The record of a trial as an earlier version wrote it."""
    path = store.path(trial)
    meta = json.loads(pl.read_parquet_metadata(path)["vbmle"]) | {"format": "vbmle-record-1"}
    pl.read_parquet(path).write_parquet(path, metadata={"vbmle": json.dumps(meta)})


def test_records_of_an_older_format_are_told_by_name(tmp_path: Path):
    store = filled(tmp_path, small())
    first, second = small().all_trials()
    older(store, first)
    with pytest.raises(OldError, match=r"an earlier version of vbmle \(vbmle-record-1, not vbmle-record-3\)"):
        store.read(first)
    (results,) = load(tmp_path)
    assert [record.trial for record in results.records] == [second]
    told = "records in the format of an earlier version of vbmle: 1"
    assert results.left_out == [f"{told}; run again to make them anew"]
    trials, lines = store.missing()
    assert trials == [first]
    assert lines == [f"{told}, set aside in {tmp_path / 'set-aside'} and run again"]


def test_load_refuses_what_is_no_experiment(tmp_path: Path):
    with pytest.raises(InputError, match="no records"):
        load(tmp_path)
    store = filled(tmp_path, small())
    (store.home / "experiment.json").write_text('{"format": 1}')
    with pytest.raises(InputError, match=r"experiment\.json"):
        load(tmp_path)
