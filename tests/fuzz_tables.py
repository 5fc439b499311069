"""Files of `fuzz_files` that are no .npz of ours: records of sweeps, tables and logs, and base models of others."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars
from fuzz_mutations import Kind, edit_words
from small_files import CHAIN, LINES
from sweeps import filled, same, small

import vbmle
from vbmle.experiments import record_file
from vbmle.experiments.records import Results, load


def kinds(folder: Path) -> list[Kind]:
    """One of each."""
    return [record(folder), *tables(folder), log(folder), *formats(folder)]


def record(folder: Path) -> Kind:
    """A trial of a sweep: what is accepted is what was written, to the bit."""
    (whole,) = load(filled(folder, small()))

    def check(found: list[Results]) -> None:
        for results in found:
            for record in results.records:
                (one,) = [one for one in whole.records if one.trial == record.trial]
                same(one, record)
                np.testing.assert_array_equal(one.columns["seconds"], record.columns["seconds"])

    path = folder / record_file.NAME
    return Kind("records of a sweep", path.read_bytes(), lambda mutant: load(mutant.parent), check, path.name)


def tables(folder: Path) -> list[Kind]:
    """Base models as a table, in CSV and Parquet, and as .npz arrays of somebody else's."""
    models = np.random.default_rng(0).dirichlet(np.ones(3), (2, 3, 2)).round(3)
    models[..., -1] = 1.0 - models[..., :-1].sum(axis=-1)
    rows = [
        {"s": int(s), "a": int(a), "s_next": int(to), "p": float(models[k, s, a, to]), "model": f"m{k}"}
        for k, s, a, to in np.argwhere(models > 0)
    ]
    frame = polars.DataFrame(rows)
    frame.write_csv(folder / "table.csv")
    frame.write_parquet(folder / "table.parquet")
    np.savez(folder / "theirs.npz", first=models[0], second=models[1])
    reads = {
        "table.csv": vbmle.models_from_table,
        "table.parquet": vbmle.models_from_table,
        "theirs.npz": vbmle.models_from_npz,
    }
    return [
        Kind(f"base models, {file}", (folder / file).read_bytes(), read, check_models, file)
        for file, read in reads.items()
    ]


def check_models(found: Any) -> None:
    for model in found:
        assert np.isfinite(model.data).all()
        assert (model.data >= 0.0).all()
        np.testing.assert_allclose(np.asarray(model.sum(axis=1)).ravel(), 1.0, atol=1e-4)


def formats(folder: Path) -> list[Kind]:
    """Models in the formats of others."""
    mdp = vbmle.LinearMixtureMDP.from_models(
        {"dry": [[[0.5, 0.5], [1.0, 0.0]]] * 2, "wet": [[[0.25, 0.75], [0.0, 1.0]]] * 2},
        [[-3.0, 5.0], [0.5, 2.0]],
        0.75,
        domain="vertices",
        normalise_reward=True,
    )
    texts = {"model.mdp": LINES, "model.dat": CHAIN}
    for file in ("model.csv", "model.pomdpx", "model.POMDP"):
        vbmle.write(mdp, folder / file)
        texts[file] = (folder / file).read_text()
    return [
        Kind(
            f"format, {file}",
            text.encode(),
            partial(vbmle.read, discount=0.75),
            check_model,
            file,
            edited=None if file.endswith(".csv") else edit_words,
        )
        for file, text in texts.items()
    ]


def check_model(mdp: Any) -> None:
    """Every candidate, or the middle of the feasible set, can be planned for."""
    theta = np.eye(mdp.dimension)[-1] if mdp.domain == "vertices" else mdp.polytope.interior
    plan = vbmle.plan(mdp, theta)
    assert np.isfinite(plan.V).all()
    np.testing.assert_allclose(np.asarray(mdp.transition(theta)).sum(axis=2), 1.0, atol=1e-6)


def log(folder: Path) -> Kind:
    """A log of transitions."""
    rng = np.random.default_rng(1)
    frame = polars.DataFrame({"s": rng.integers(4, size=20), "a": rng.integers(2, size=20)})
    frame = frame.with_columns(s_next=polars.Series(rng.integers(4, size=20)))
    frame.write_csv(folder / "log.csv")
    return Kind("log, log.csv", (folder / "log.csv").read_bytes(), vbmle.read_log, check_log, "log.csv")


def check_log(found: Any) -> None:
    columns = [np.asarray(column) for column in found]
    assert len({len(column) for column in columns}) == 1
    for column in columns:
        assert column.dtype.kind in "iu"
        assert (column >= 0).all()
