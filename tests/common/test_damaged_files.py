"""Files from elsewhere: a slice of the mutants of `fuzz_files`, and each rule once with its message."""

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
from fuzz_files import every_kind, fuzz
from fuzz_mutations import Kind
from refusals import refused
from small_worlds import EXAMPLES

import vbmle
from vbmle.common import files
from vbmle.common.files import save_npz

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
    save_npz(path, files.read_arrays(path) | changes)
    return path


def with_meta(path: Path, **changes: object) -> Path:
    meta = json.loads(files.read_arrays(path)["meta"].tobytes())
    return doctored(path, meta=np.frombuffer(json.dumps(meta | changes).encode(), np.uint8))


@pytest.fixture
def model_file(tmp_path: Path) -> Path:
    EXAMPLES["tabular, a product of simplices"].mdp.save(tmp_path / "model.npz")
    return tmp_path / "model.npz"


@pytest.mark.parametrize(
    ("field", "value", "facts"),
    [
        ("p_min", -1, ("p_min", "-1")),
        ("domain", "evil", ("domain", "'evil'")),
        ("shape", [10**15, 1, 1], ("shape",)),
        ("discount", 1.0, ("discount", "1.0")),
        ("reward_scale", 0.0, ("reward_scale",)),
        ("is_sparse", 1, ("is_sparse", "'1'")),
        ("zero_names", ["x"], ("zero_names", "1")),
    ],
)
def test_metadata_out_of_range_is_refused(
    model_file: Path, field: str, value: object, facts: tuple[str, ...]
) -> None:
    with refused(str(model_file), *facts):
        vbmle.LinearMixtureMDP.load(with_meta(model_file, **{field: value}))


@pytest.mark.parametrize(
    "field", ["indptr", "successor", "phi.indices", "sums.indices", "phi.data", "initial"]
)
def test_arrays_out_of_range_are_refused(model_file: Path, field: str) -> None:
    array = files.read_arrays(model_file)[field].copy()
    for odd in (10**6, -1):
        array[1] = odd
        with refused("model.npz"):
            vbmle.LinearMixtureMDP.load(doctored(model_file, **{field: array}))


def test_features_that_do_not_belong_to_their_sums_are_refused(model_file: Path) -> None:
    phi = files.read_arrays(model_file)["phi.data"]
    with refused("sums", "1"):
        vbmle.LinearMixtureMDP.load(doctored(model_file, **{"phi.data": 2.0 * phi}))


def test_an_archive_that_swells_is_refused_before_it_is_read(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "bomb.npz", "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("meta.npy", bytes(files.ALWAYS + 1))
    with refused("bomb.npz"):
        vbmle.LinearMixtureMDP.load(tmp_path / "bomb.npz")
    with refused("bomb.npz"):
        vbmle.models_from_npz(tmp_path / "bomb.npz")


@pytest.mark.parametrize(
    ("field", "value", "facts"),
    [
        ("counts.values", -1.0, ("counts", "values", "-1.0")),
        ("counts.values", 0.5, ("counts", "values")),
        ("counts.observed", 10**6, ("counts", "observed", "1000000")),
        ("solver.policy", 99, ("solver", "policy", "99")),
        ("solver.y", np.nan, ("solver", "y")),
        ("solver.place", 10**9, ("solver", "place", "1000000000")),
        ("solver.active", -1, ("solver", "active", "-1")),
        ("decided", 99, ("decided", "99")),
    ],
)
def test_agents_out_of_range_are_refused(
    tmp_path: Path, field: str, value: float, facts: tuple[str, ...]
) -> None:
    refuse(vbmle.VBMLE, tmp_path / "agent.npz", field, value, facts)


@pytest.mark.parametrize(
    ("kind", "field", "value", "facts"),
    [
        (vbmle.OMLE, "alpha", np.inf, ("alpha", "inf")),
        (vbmle.UCLK, "regression.b", -1e300, ("regression", "b", "-1e+300")),
        (vbmle.UPACUCLK, "levels.b", 1e300, ("levels", "b", "1e+300")),
        (
            vbmle.InformationDirected,
            "draws.ring",
            48,
            ("draws", "ring", "48", "20"),
        ),
    ],
)
def test_rivals_out_of_range_are_refused(
    tmp_path: Path, kind: type[vbmle.VBMLE], field: str, value: float, facts: tuple[str, ...]
) -> None:
    refuse(kind, tmp_path / "agent.npz", field, value, facts)


def refuse(kind: type[vbmle.VBMLE], path: Path, field: str, value: float, facts: tuple[str, ...]) -> None:
    """An agent whose file has one odd number is refused by the rule."""
    world = EXAMPLES["tabular, a product of simplices"]
    agent = kind(world.mdp)
    vbmle.simulate(agent, world, 20)
    agent.save(path)
    array = files.read_arrays(path)[field].copy()
    array.reshape(-1)[0] = value
    doctored(path, **{field: array})
    with refused("agent.npz", *facts):
        kind.load(path, world.mdp)


def test_a_file_cannot_ask_for_sweeps_without_end(tmp_path: Path) -> None:
    """Sweeps that change nothing are not made, so that this ends: gamma^n / (1 - gamma) is rounding by then."""
    world = EXAMPLES["sparse mixture"]
    vbmle.UCLK(world.mdp, sweeps=50).save(tmp_path / "agent.npz")
    agent = vbmle.UCLK.load(endless(tmp_path / "agent.npz"), world.mdp)
    exact = vbmle.UCLK(world.mdp, tolerance=1e-12)
    assert agent.act(0) == exact.act(0)
    np.testing.assert_allclose(agent.V, exact.V, atol=1e-9)


@pytest.mark.parametrize("kind", [vbmle.UCLK, vbmle.UCLKPlus, vbmle.UPACUCLK, vbmle.UCRL2, vbmle.OMLE])
def test_a_file_cannot_ask_for_a_radius_that_overflows(kind: type[vbmle.UCLK], tmp_path: Path) -> None:
    world = EXAMPLES["tabular, a product of simplices"]
    vbmle.simulate(kind(world.mdp, radius_scale=1e30), world, 20)  # the largest works
    kind(world.mdp).save(tmp_path / "agent.npz")
    settings = json.loads(files.read_arrays(tmp_path / "agent.npz")["meta"].tobytes())["settings"]
    path = with_meta(tmp_path / "agent.npz", settings=settings | {"radius_scale": 1e300})
    with refused("radius_scale", "1e+300", "1e+30"):
        kind.load(path, world.mdp)


def test_a_header_that_ends_in_the_middle_is_refused(model_file: Path) -> None:
    """NumPy reads it as Python does its source, and says so by an error of the tokenizer."""
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (3L"
    entry = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header
    with zipfile.ZipFile(model_file, "a") as whole:
        whole.writestr("other.npy", entry)
    with refused(str(model_file)):
        vbmle.LinearMixtureMDP.load(model_file)


def endless(path: Path) -> Path:
    settings = json.loads(files.read_arrays(path)["meta"].tobytes())["settings"]
    return with_meta(path, settings=settings | {"sweeps": 10**30})


def test_a_column_with_lines_in_its_name_is_refused_in_one(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text('s,"a\nb",s_next\n0,1,2\n')
    with refused("log.csv", "'a'", "s, a, s_next"):
        vbmle.read_log(tmp_path / "log.csv")
