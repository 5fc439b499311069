"""Records that this process wrote are not read again, unless their file was changed."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sweeps import fake, same, small

from vbmle.experiments import recent
from vbmle.experiments.recent import Recent
from vbmle.experiments.records import load
from vbmle.experiments.store import DamagedError, Store


def written(folder: Path, kept: Recent) -> Store:
    store = Store(folder, small(), recent=kept)
    store.begin()
    for trial in small().all_trials():
        store.write(fake(trial))
    return store


def test_what_is_remembered_is_what_is_in_the_file(tmp_path: Path):
    kept = Recent()
    written(tmp_path, kept)
    (remembered,), (read,) = load(tmp_path, kept), load(tmp_path)
    assert len(remembered.records) == len(read.records) == 2
    for one, two in zip(remembered.records, read.records, strict=True):
        same(one, two)
        assert {name: column.dtype for name, column in one.columns.items()} == {
            name: column.dtype for name, column in two.columns.items()
        }


def test_a_file_that_was_changed_or_removed_is_not_remembered(tmp_path: Path):
    store = written(tmp_path, Recent())
    hurt, gone = small().all_trials()
    store.path(hurt).write_text("not a record")
    store.path(gone).unlink()
    for trial in (hurt, gone):
        with pytest.raises(DamagedError):
            store.read(trial)


def test_other_code_or_another_trial_is_not_remembered(tmp_path: Path):
    kept = Recent()
    store, trial = written(tmp_path, kept), small().all_trials()[0]
    path = store.path(trial)
    assert kept.get(path, store.code, trial) is not None
    assert kept.get(path, "other code", trial) is None
    assert kept.get(path, store.code, small(horizon=5).all_trials()[0]) is None


def test_what_is_too_much_to_remember_is_read(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(recent, "MOST_BYTES", 0)
    kept = Recent()
    store, trial = written(tmp_path, kept), small().all_trials()[0]
    assert kept.get(store.path(trial), store.code, trial) is None
    np.testing.assert_array_equal(
        store.read(trial).columns["regret"], pl.read_parquet(store.path(trial))["regret"].to_numpy()
    )
