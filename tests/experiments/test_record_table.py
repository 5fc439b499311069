"""All records as one table: a frame, Parquet and CSV, with the settings of worlds and agents as columns."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from sweeps import NETWORK, PLAIN, filled, found, small

import vbmle
from vbmle.experiments.record_table import write
from vbmle.experiments.spec import Choice, Recording

WORLDS = {"net": NETWORK, "=river": Choice("riverswim", {"length": 4, "features": "mixture"})}
AGENTS = {
    "plain": PLAIN,
    "ridge": Choice("MaximumLikelihood", {"ridge": 2.0}),
    "vbmle": Choice("VBMLE", {"bias": "log"}),
}
MANY = small(worlds=WORLDS, agents=AGENTS, trials=2)
OTHER = small(name="other", horizon=50, record=Recording("log"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    filled(tmp_path, MANY)
    return filled(tmp_path, OTHER)


def test_every_row_of_every_record_is_there(folder: Path):
    table = vbmle.read_records(folder)
    assert table.columns[:5] == ["experiment", "world", "agent", "trial", "step"]
    for experiment in (
        small(worlds=WORLDS, agents=AGENTS, trials=2),
        small(name="other", horizon=50, record=Recording("log")),
    ):
        for record in found(folder, experiment).values():
            trial = record.trial
            labels = {
                "experiment": trial.experiment,
                "world": trial.world,
                "agent": trial.agent,
                "trial": trial.index,
            }
            rows = table.filter(**labels)
            assert rows["step"].to_list() == record.steps.tolist()
            for name, column in record.columns.items():
                assert rows[name].to_list() == column.tolist()
            assert rows["states"].unique().to_list() == [3]


def test_settings_are_columns_with_defaults_where_they_were_left_out(folder: Path):
    table = vbmle.read_records(folder).filter(experiment="small", step=4, trial=0)

    def of(world: str, agent: str) -> dict[str, Any]:
        (row,) = table.filter(world=world, agent=agent).to_dicts()
        return row

    assert of("net", "plain")["agent_name"] == of("net", "ridge")["agent_name"] == "MaximumLikelihood"
    assert [of("net", agent)["agent_ridge"] for agent in AGENTS] == [1.0, 2.0, 1.0]
    assert [of("net", agent)["agent_bias"] for agent in AGENTS] == [None, None, "log"]
    assert (of("net", "plain")["world_name"], of("=river", "plain")["world_name"]) == (
        "random_network",
        "riverswim",
    )
    assert (of("net", "plain")["world_length"], of("=river", "plain")["world_length"]) == (None, 4)
    assert (of("net", "plain")["world_states"], of("=river", "plain")["world_states"]) == (3, None)
    assert table["world_length"].dtype == pl.Int64
    assert table["agent_ridge"].dtype == pl.Float64


def test_parquet_and_csv_hold_the_table(folder: Path, tmp_path: Path):
    table = vbmle.read_records(folder)
    paths = write(folder, tmp_path / "out" / "deep")
    assert [path.name for path in paths] == ["records.parquet", "records.csv"]
    assert pl.read_parquet(paths[0]).equals(table)
    read = pl.read_csv(paths[1], infer_schema_length=None)
    assert read.columns == table.columns
    assert read["regret"].to_list() == table["regret"].to_list()
    assert set(read["world"]) == {"net", "'=river", "trap"}, "a spreadsheet would run what begins with ="


def test_lists_are_text(tmp_path: Path):
    mixed = {"a": Choice("closed_loop_trap"), "b": Choice("random_network", {**NETWORK.settings, "seed": 3})}
    filled(tmp_path, small(worlds=mixed))
    table = vbmle.read_records(tmp_path)
    assert set(table["world_seed"]) == {None, 3}


def test_a_folder_without_records_is_refused_in_one_line(tmp_path: Path):
    with pytest.raises(ValueError, match="there are no records") as refusal:
        vbmle.read_records(tmp_path)
    assert "\n" not in str(refusal.value)
