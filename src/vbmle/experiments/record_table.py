"""All records of a run as one table: a frame, Parquet or CSV.

    experiment, world, agent, trial, step      which row it is
    regret, seconds, trouble, ...              what was recorded there (`vbmle.experiments.measures`)
    states, actions, dimension, ...            what is known of the world
    world_name, world_length, ...              what made the world, and its settings
    agent_name, agent_bias_scale, ...          what made the agent, and its settings

A setting that somebody gave has a column. It holds the default where the setting was left out, and nothing where there
is no such setting; where it is not a number or a truth value in every row, it is text, lists as JSON.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import polars as pl
from polars import selectors

from vbmle.common.files import harmless, whole_or_absent
from vbmle.common.settings import settings_of
from vbmle.common.stated import REQUIRED
from vbmle.experiments import InputError, catalogue, records
from vbmle.experiments.records import Record
from vbmle.experiments.spec import Choice

LABELS = ("experiment", "world", "agent", "trial", "step")


def read_records(folder: str | Path) -> pl.DataFrame:
    """All records of a run in one frame, a row for each recorded step of each trial, settings as columns.

    Parameters
    ----------
    folder : str or Path
        What `vbmle run` was given as --out; the run may still be going on.

    Returns
    -------
    polars.DataFrame
        Columns experiment, world, agent, trial, step, then what was recorded (regret, seconds, trouble, ...), what is
        known of the world (states, actions, ...), and the settings, `world_...` and `agent_...`.

    Raises
    ------
    ValueError
        If there are no records, or they cannot be read.

    Examples
    --------
    >>> import vbmle
    >>> table = vbmle.read_records("rivers")  # doctest: +SKIP
    >>> table.group_by("world_length", "agent", "step").agg(polars.col("regret").mean())  # doctest: +SKIP
    """
    found = [record for results in records.load(Path(folder)) for record in results.records]
    table = _steps(found).join(_trials(found), on="record", how="left", maintain_order="left")
    return table.select(*LABELS, pl.exclude("record", *LABELS))


def write(folder: Path, home: Path) -> list[Path]:
    """The table of a folder as Parquet and as CSV; returns where they are."""
    table = read_records(folder)
    text = selectors.string()
    safe = table.with_columns(text.map_elements(harmless, return_dtype=pl.String, skip_nulls=True))
    made: dict[str, Callable[[io.BytesIO], Any]] = {
        "records.parquet": table.write_parquet,
        "records.csv": safe.write_csv,
    }
    try:
        home.mkdir(parents=True, exist_ok=True)
        for name, writer in made.items():
            content = io.BytesIO()
            writer(content)
            with whole_or_absent(home / name) as aside:
                aside.write_bytes(content.getvalue())
    except OSError as error:
        raise InputError(f"cannot write in {home} ({error.strerror or error})") from None
    return [home / name for name in made]


def _steps(found: Sequence[Record]) -> pl.DataFrame:
    """A row for each recorded step: the number of its record, the step, and what was recorded."""
    names = dict.fromkeys(name for record in found for name in record.columns)
    parts = [
        pl.DataFrame({"step": record.steps, **record.columns}).with_columns(record=pl.lit(number))
        for number, record in enumerate(found)
    ]
    schema = {"step": pl.Int64, **dict.fromkeys(names, pl.Float64), "record": pl.Int32}
    return pl.concat([pl.DataFrame(schema=schema), *parts], how="diagonal")


def _trials(found: Sequence[Record]) -> pl.DataFrame:
    """A row for each record: its number, labels, facts and settings."""
    choices = {
        (kind, record.trial.experiment, label): choice
        for record in found
        for kind, label, choice in _made_by(record)
    }
    settings = {key: _settings(key[0], choice, choices.values()) for key, choice in choices.items()}
    rows: list[dict[str, Any]] = []
    for number, record in enumerate(found):
        trial = record.trial
        row = {"record": number, "experiment": trial.experiment, "world": trial.world, "agent": trial.agent}
        row |= {"trial": trial.index, **record.facts}
        for kind, label, _ in _made_by(record):
            row |= settings[kind, trial.experiment, label]
        rows.append(row)
    names = dict.fromkeys(name for row in rows for name in row)
    columns = [_column(name, [row.get(name) for row in rows]) for name in names]
    return pl.DataFrame(columns).with_columns(pl.col("record").cast(pl.Int32))


def _made_by(record: Record) -> list[tuple[str, str, Choice]]:
    trial = record.trial
    return [("world", trial.world, trial.world_choice), ("agent", trial.agent, trial.agent_choice)]


def _settings(kind: str, choice: Choice, others: Iterable[Choice]) -> dict[str, Any]:
    """The columns of a choice: its name, and each setting that it or another one was given."""
    # of parts of your own, which need not be here, only what was given is known
    defaults = {} if choice.own else settings_of(catalogue.maker(kind, choice.name))
    found: dict[str, Any] = {f"{kind}_name": choice.name}
    for name in dict.fromkeys(name for other in others for name in other.settings):
        value = choice.settings.get(name, defaults.get(name))
        if name in choice.settings or name in defaults:
            found[f"{kind}_{name}"] = None if value is REQUIRED else value
    return found


def _column(name: str, values: Sequence[Any]) -> pl.Series:
    """Numbers or truth values as they are; where anything else is among them, text."""
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {bool} or kinds <= {int} or kinds <= {int, float}:
        return pl.Series(name, [float(v) if v is not None and float in kinds else v for v in values])
    texts = [v if v is None or isinstance(v, str) else json.dumps(v, default=str) for v in values]
    return pl.Series(name, texts, dtype=pl.String)
