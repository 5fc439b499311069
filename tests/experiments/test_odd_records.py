"""Records whose metadata or columns are odd are damaged records: said, set aside, redone; and two runs on a folder."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from sweeps import fake, go, small

from vbmle.common.files import alone_in
from vbmle.experiments import InputError
from vbmle.experiments.records import load
from vbmle.experiments.spec import Choice, Experiment
from vbmle.experiments.store import Store


def rewrite(path: Path, text: str | None, **columns: pl.Series) -> None:
    frame, meta = pl.read_parquet(path), pl.read_parquet_metadata(path)["vbmle"]
    content = frame.with_columns(**columns)
    content.write_parquet(path, metadata={"vbmle": meta if text is None else text})


def edited(path: Path, **changes: object) -> str:
    return json.dumps(json.loads(pl.read_parquet_metadata(path)["vbmle"]) | changes)


@pytest.mark.parametrize(
    "text",
    ["[]", "5", "null", "[" * 100_000, '{"format": []}', "facts: null", "facts: {}", "facts: text", "column"],
)
def test_odd_records_are_set_aside_and_run_again(text: str, tmp_path: Path) -> None:
    experiment = small()
    store = Store(tmp_path, experiment)
    store.begin()
    for trial in experiment.all_trials():
        store.write(fake(trial))
    path = store.path(experiment.all_trials()[0])
    facts = {"facts: null": None, "facts: {}": {}, "facts: text": {"states": "many"}}
    if text == "column":
        rows = len(pl.read_parquet(path))
        rewrite(path, None, regret=pl.Series(["?"] * rows))
    else:
        rewrite(path, edited(path, facts=facts[text]) if text in facts else text)
    (results,) = load(tmp_path)
    assert len(results.records) == len(experiment.all_trials()) - 1
    assert any("damaged" in line for line in results.left_out)
    trials, lines = store.missing()
    assert trials == experiment.all_trials()[:1]
    assert any("set aside and run again" in line for line in lines)
    assert len(list((tmp_path / "set-aside").rglob("*.parquet"))) == 1


@pytest.mark.parametrize("text", ["[]", "5", "null", "[" * 100_000, '{"experiment": 3}'])
def test_odd_notes_are_bad_input_in_one_line(text: str, tmp_path: Path) -> None:
    experiment = small()
    Store(tmp_path, experiment).begin()
    (Store(tmp_path, experiment).home / "experiment.json").write_text(text)
    with pytest.raises(InputError, match="does not describe an experiment") as refusal:
        load(tmp_path)
    assert "\n" not in str(refusal.value)


def test_a_second_run_on_a_folder_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("fcntl")
    with (
        alone_in(tmp_path / "records"),
        pytest.raises(InputError, match="another run is writing there"),
    ):
        go(small(), tmp_path)
    assert go(small(), tmp_path)[0].made > 0


def test_labels_that_make_names_too_long_are_refused() -> None:
    kept: dict[str, Any] = {"agents": {"a": Choice("Random")}, "trials": 1, "horizon": 2}
    for name, label in (("x" * 300, "w"), ("x", "w" * 300)):
        with pytest.raises(InputError, match="300 characters; 100 is the most"):
            Experiment(name=name, worlds={label: Choice("riverswim")}, **kept)
