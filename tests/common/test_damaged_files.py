"""Files from elsewhere: a slice of the mutants of `fuzz_files`, and each rule once with its message."""

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
from fuzz_files import every_kind, fuzz
from fuzz_mutations import Kind

import vbmle
from vbmle.common import archive
from vbmle.common.files import save_npz
from vbmle.testing import example_models

SLICE = 12


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> list[Kind]:
    return every_kind(tmp_path_factory.mktemp("whole"))


def test_mutants_of_every_kind_are_refused_or_sound(everything: list[Kind], tmp_path: Path) -> None:
    for kind in everything:
        tally = fuzz(kind, everything, range(SLICE), tmp_path, seed=1)
        assert tally.broken == []
        assert tally.refused + tally.accepted == tally.mutants == SLICE
        assert tally.refused > 0


def doctored(path: Path, **changes: np.ndarray) -> Path:
    save_npz(path, archive.read_arrays(path) | changes)
    return path


def with_meta(path: Path, **changes: object) -> Path:
    meta = json.loads(archive.read_arrays(path)["meta"].tobytes())
    return doctored(path, meta=np.frombuffer(json.dumps(meta | changes).encode(), np.uint8))


@pytest.fixture
def model_file(tmp_path: Path) -> Path:
    example_models()["tabular, a product of simplices"].mdp.save(tmp_path / "model.npz")
    return tmp_path / "model.npz"


@pytest.mark.parametrize(
    ("field", "value", "rule"),
    [
        ("p_min", -1, "p_min is -1"),
        ("domain", "evil", "domain is 'evil'"),
        ("shape", [10**15, 1, 1], "shape is"),
        ("discount", 1.0, "discount is 1.0"),
        ("reward_scale", 0.0, "scale above 0"),
        ("is_sparse", 1, "is_sparse is '1'"),
        ("zero_names", ["x"], "zero_names has 1 entries"),
    ],
)
def test_metadata_out_of_range_is_refused(model_file: Path, field: str, value: object, rule: str) -> None:
    with pytest.raises(ValueError, match=rule) as refusal:
        vbmle.LinearMixtureMDP.load(with_meta(model_file, **{field: value}))
    assert str(model_file) in str(refusal.value)


@pytest.mark.parametrize(
    "field", ["indptr", "successor", "phi.indices", "sums.indices", "phi.data", "initial"]
)
def test_arrays_out_of_range_are_refused(model_file: Path, field: str) -> None:
    array = archive.read_arrays(model_file)[field].copy()
    for odd in (10**6, -1):
        array[1] = odd
        with pytest.raises(ValueError, match=r"model\.npz"):
            vbmle.LinearMixtureMDP.load(doctored(model_file, **{field: array}))


def test_features_that_do_not_belong_to_their_sums_are_refused(model_file: Path) -> None:
    phi = archive.read_arrays(model_file)["phi.data"]
    with pytest.raises(ValueError, match="sums is off by 1 from"):
        vbmle.LinearMixtureMDP.load(doctored(model_file, **{"phi.data": 2.0 * phi}))


def test_an_archive_that_swells_is_refused_before_it_is_read(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "bomb.npz", "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("meta.npy", bytes(archive.ALWAYS + 1))
    with pytest.raises(ValueError, match="would swell"):
        vbmle.LinearMixtureMDP.load(tmp_path / "bomb.npz")
    with pytest.raises(ValueError, match="would swell"):
        vbmle.models_from_npz(tmp_path / "bomb.npz")


@pytest.mark.parametrize(
    ("field", "value", "rule"),
    [
        ("counts.values", -1.0, "counts: values is -1.0"),
        ("counts.values", 0.5, "counts: values are not counts"),
        ("counts.observed", 10**6, "counts: observed is 1000000"),
        ("solver.policy", 99, "solver: policy is 99"),
        ("solver.y", np.nan, "solver: y is nan|solver: y holds NaN"),
        ("solver.place", 10**9, "solver: place is 1000000000"),
        ("solver.active", -1, "solver: active is -1"),
        ("decided", 99, "decided is 99"),
    ],
)
def test_agents_out_of_range_are_refused(tmp_path: Path, field: str, value: float, rule: str) -> None:
    world = example_models()["tabular, a product of simplices"]
    agent = vbmle.VBMLE(world.mdp)
    vbmle.simulate(agent, world, 20)
    agent.save(tmp_path / "agent.npz")
    array = archive.read_arrays(tmp_path / "agent.npz")[field].copy()
    array.reshape(-1)[0] = value
    doctored(tmp_path / "agent.npz", **{field: array})
    with pytest.raises(ValueError, match=rule) as refusal:
        vbmle.VBMLE.load(tmp_path / "agent.npz", world.mdp)
    assert "agent.npz" in str(refusal.value)
