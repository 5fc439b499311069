"""Records: one file, a row for each trial; whole or absent, told when damaged, and nothing is thrown away."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import zlib
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from sweeps import NETWORK, count, damage, fake, filled, found, go, keep, missing, small

from vbmle.common.files import alone_in
from vbmle.experiments import InputError, measures, record_file, spec
from vbmle.experiments.playing import Played
from vbmle.experiments.records import load
from vbmle.experiments.resume_key import code_version
from vbmle.experiments.spec import Choice, Experiment, Recording
from vbmle.experiments.store import Store, Task


def database(folder: Path) -> "closing[sqlite3.Connection]":
    return closing(sqlite3.connect(folder / record_file.NAME, isolation_level=None))


def test_a_row_says_all_about_itself(tmp_path: Path):
    trial = small().all_trials()[0]
    filled(tmp_path, small())
    with record_file.reading(tmp_path) as file:
        row = next(row for row in file.rows("small") if row.place.world == "net")
    assert row.place[:4] == ("small", "net", "plain", 0)
    assert row.place.horizon == 4
    told, columns = row.content()
    assert columns["step"].tolist() == [1, 2, 3, 4]
    np.testing.assert_array_equal(columns["regret"], fake(trial).columns["regret"])
    assert told["seeds"] == trial.seeds()
    assert told["trial"]["world_choice"] == {"name": "random_network", "settings": NETWORK.settings}
    assert told["about"]["numpy"] == np.__version__
    assert told["code"] == code_version()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["records.sqlite"]


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("columns", b"not a record"),
        ("columns", b""),
        ("columns", 7),
        ("notes", "[]"),
        ("notes", "[" * 100_000),
        ("notes", b"\xff\xfe"),
        ("names", '["step"]'),
        ("names", "null"),
        ("checksum", b"another"),
    ],
)
def test_damaged_records_are_told_left_out_and_run_again(tmp_path: Path, column: str, value: object):
    experiment = small()
    go(experiment, tmp_path)
    hurt, whole = experiment.all_trials()
    before = found(tmp_path, experiment)
    damage(tmp_path, hurt, column, value)
    (results,) = load(tmp_path)
    assert [record.trial for record in results.records] == [whole]
    (line,) = results.left_out
    assert "small, world net, agent plain, trial 0 is damaged" in line
    trials, lines = missing(tmp_path, experiment)
    assert trials == [hurt]
    assert "is damaged" in lines[0]
    summary, said = go(experiment, tmp_path)
    assert (summary.kept, summary.made) == (1, 1)
    assert lines[0] in said
    after = found(tmp_path, experiment)
    np.testing.assert_array_equal(after[hurt.name].columns["regret"], before[hurt.name].columns["regret"])
    np.testing.assert_array_equal(after[whole.name].columns["seconds"], before[whole.name].columns["seconds"])
    assert count(tmp_path) == 2


def test_a_record_that_would_swell_is_damaged(tmp_path: Path):
    """Its checksum is right, as somebody who doctors a file can make it."""
    filled(tmp_path, small())
    swollen = zlib.compress(bytes(3 * 8 * 1_000_000), 1)
    with record_file.reading(tmp_path) as file:
        row = file.rows("small")[0]
    damage(tmp_path, small().all_trials()[0], "columns", swollen)
    check = record_file.checksum(*row.place, row.notes, row.names, packed=swollen)
    damage(tmp_path, small().all_trials()[0], "checksum", check)
    (results,) = load(tmp_path)
    assert len(results.records) == 1
    assert "is damaged" in results.left_out[0]


def test_flipped_bytes_never_pass_for_a_record(tmp_path: Path):
    filled(tmp_path, small())
    path, truth = tmp_path / record_file.NAME, found(tmp_path, small())
    content, refusals = path.read_bytes(), []
    for position in range(0, len(content), 101):
        path.write_bytes(content[:position] + bytes([content[position] ^ 0xFF]) + content[position + 1 :])
        try:
            (results,) = load(tmp_path)
        except InputError as error:
            refusals.append(str(error))
            continue
        for record in results.records:
            np.testing.assert_array_equal(
                record.columns["regret"], truth[record.trial.name].columns["regret"]
            )
    assert refusals
    for text in refusals:
        assert str(path) in text
        assert "\n" not in text


@pytest.mark.parametrize("content", [b"", b"not a database at all" * 100, None])
def test_what_is_no_file_of_records_is_refused_in_one_line(tmp_path: Path, content: bytes | None):
    filled(tmp_path, small())
    path = tmp_path / record_file.NAME
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2] if content is None else content)
    with pytest.raises(InputError, match=r"records\.sqlite") as refusal:
        load(tmp_path)
    assert "\n" not in str(refusal.value)
    if content != b"":  # which SQLite takes for a new one
        left = path.read_bytes()
        with pytest.raises(InputError, match=r"records\.sqlite is damaged .* move it away"):
            go(small(), tmp_path)
        assert path.read_bytes() == left


def test_a_file_of_another_format_is_refused_by_name(tmp_path: Path):
    filled(tmp_path, small())
    with database(tmp_path) as connection:
        connection.execute("PRAGMA user_version = 99")
    for use in (lambda: load(tmp_path), lambda: go(small(), tmp_path)):
        with pytest.raises(InputError, match="has format 99, but this version of vbmle reads format 1"):
            use()


@pytest.mark.parametrize(
    "changes",
    [
        {"record": Recording(distance=True)},
        {"agents": {"plain": Choice("MaximumLikelihood", {"ridge": 2.0})}},
        {"worlds": {"net": Choice("random_network", {**NETWORK.settings, "hidden": 8})}},
    ],
)
def test_records_of_other_settings_stay_and_are_found_again(tmp_path: Path, changes: dict[str, object]):
    first = small(worlds={"net": NETWORK})
    filled(tmp_path, first)
    changed = small(**({"worlds": {"net": NETWORK}} | changes))
    trials, (line,) = missing(tmp_path, changed)
    assert trials == changed.all_trials()
    assert "made by another version of the code: 1" in line
    filled(tmp_path, changed)
    assert (len(found(tmp_path, first)), len(found(tmp_path, changed)), count(tmp_path)) == (1, 1, 2)
    assert missing(tmp_path, first) == ([], [])
    (results,) = load(tmp_path)
    assert len(results.records) == 1
    assert results.left_out == ["records with other settings, or made by another version of the code: 1"]


def test_records_of_other_code_are_not_ours(tmp_path: Path):
    experiment = small(trials=2)
    keep(tmp_path, experiment, map(fake, experiment.all_trials()), code="another")
    assert found(tmp_path, experiment) == {}
    assert len(found(tmp_path, experiment, code="another")) == 4


def test_other_seeds_make_another_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    filled(tmp_path, small())
    assert len(found(tmp_path, small())) == 2
    monkeypatch.setattr(spec, "seed", lambda *key: 7)
    assert found(tmp_path, small()) == {}


def test_rows_of_other_steps_are_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The spacing of recorded steps is part of what a record is, though no setting tells it."""
    experiment = small(horizon=100, record=Recording(steps="log"))
    filled(tmp_path, experiment)
    trial = experiment.all_trials()[0]
    assert len(found(tmp_path, experiment)[trial.name].columns["regret"]) == len(trial.steps) < 100
    monkeypatch.setattr(measures, "PER_DECADE", 10)
    assert found(tmp_path, experiment) == {}


def test_load_leaves_out_what_is_not_of_the_experiment(tmp_path: Path):
    filled(tmp_path, small(trials=3))
    filled(tmp_path, small())
    (results,) = load(tmp_path)
    assert [record.trial for record in results.records] == small().all_trials()
    assert results.left_out[0].endswith(": 4")  # two worlds, trials 1 and 2


def test_load_refuses_what_is_no_experiment(tmp_path: Path):
    with pytest.raises(InputError, match="no records"):
        load(tmp_path)
    filled(tmp_path, small())
    with database(tmp_path) as connection:
        (text,) = connection.execute("SELECT spec FROM experiments").fetchone()
        connection.execute("UPDATE experiments SET spec = ?", (text.replace('"trials":1', '"trials":2'),))
    with pytest.raises(InputError, match=r"records\.sqlite is damaged \(the spec of 'small'\)"):
        load(tmp_path)
    with record_file.writing(tmp_path) as file:
        file.note(record_file.Noted("small", '{"trials": 3}', "code", "{}"))
    with pytest.raises(InputError, match="'small' is no experiment") as refusal:
        load(tmp_path)
    assert "\n" not in str(refusal.value)


def test_records_can_be_read_while_they_are_written(tmp_path: Path):
    experiment = small(trials=3)
    seen = []
    with record_file.writing(tmp_path) as file:
        store = Store(file, experiment)
        store.begin()
        for trial in experiment.all_trials():
            store.write(Task(trial), Played(fake(trial).columns, {"states": 3.0}, 0, None))
            seen.append(len(load(tmp_path)[0].records))
    assert seen == [1, 2, 3, 4, 5, 6]


KILLED = """
import os, sys
from pathlib import Path
from sweeps import fake, small
from vbmle.experiments import record_file
from vbmle.experiments.playing import Played
from vbmle.experiments.store import Store, Task
with record_file.writing(Path(sys.argv[1])) as file:
    store = Store(file, small(trials=5))
    store.begin()
    for trial in small(trials=5).all_trials()[:7]:
        store.write(Task(trial), Played(fake(trial).columns, {"states": 3.0}, 0, None))
    os.kill(os.getpid(), 9)
"""


def test_a_killed_process_loses_nothing_that_it_wrote(tmp_path: Path):
    path = os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", KILLED, tmp_path], env={**os.environ, "PYTHONPATH": path}, timeout=900
    )
    assert done.returncode == -9
    assert len(load(tmp_path)[0].records) == 7
    assert len(missing(tmp_path, small(trials=5))[0]) == 3
    filled(tmp_path, small(trials=5))
    assert [file.name for file in tmp_path.iterdir()] == ["records.sqlite"]


def test_a_folder_that_cannot_be_written_can_be_read(tmp_path: Path):
    """The file of a run that has ended is alone and needs nothing beside it."""
    filled(tmp_path / "out", small())
    (tmp_path / "copy").mkdir()
    shutil.copy(tmp_path / "out" / record_file.NAME, tmp_path / "copy")
    (tmp_path / "copy").chmod(0o500)
    (tmp_path / "copy" / record_file.NAME).chmod(0o400)
    assert len(load(tmp_path / "copy")[0].records) == 2
    assert len(list((tmp_path / "copy").iterdir())) == 1
    (tmp_path / "copy").chmod(0o700)


def test_many_experiments_share_the_file(tmp_path: Path):
    for name in ("b", "a"):
        filled(tmp_path, small(name=name))
    assert [results.experiment.name for results in load(tmp_path)] == ["a", "b"]
    assert [len(results.records) for results in load(tmp_path)] == [2, 2]


def test_what_is_noted_can_be_read_by_anybody(tmp_path: Path):
    """SQL and JSON, without this package."""
    filled(tmp_path, small())
    with database(tmp_path) as connection:
        rows = connection.execute("SELECT world, agent, trial, horizon, notes, names FROM records").fetchall()
        (spec_text,) = connection.execute("SELECT spec FROM experiments").fetchone()
    assert [row[:4] for row in rows] == [("net", "plain", 0, 4), ("trap", "plain", 0, 4)]
    assert json.loads(rows[0][5]) == ["step", "regret", "seconds"]
    assert json.loads(spec_text)["trials"] == 1


def test_labels_that_are_too_long_are_refused() -> None:
    agents = {"a": Choice("Random")}
    for name, label in (("x" * 300, "w"), ("x", "w" * 300)):
        with pytest.raises(InputError, match="300 characters; 100 is the most"):
            Experiment(name=name, worlds={label: Choice("riverswim")}, agents=agents, trials=1, horizon=2)


def test_a_second_run_on_a_folder_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("fcntl")
    with (
        alone_in(tmp_path),
        pytest.raises(InputError, match="another run is writing there"),
    ):
        go(small(), tmp_path)
    assert go(small(), tmp_path)[0].made > 0
