"""What models refuse, and how they say it; files, whole, damaged and foreign."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused
from scipy import sparse
from small_worlds import EXAMPLES

from vbmle.model.mdp import LinearMixtureMDP
from vbmle.model.world import World

MODELS = np.random.default_rng(1).dirichlet(np.ones(4), (3, 4, 2))  # three, of four states and two actions
FEATURES = np.moveaxis(MODELS, 0, -1)
REWARD = np.random.default_rng(2).random((4, 2))
REWARD_NEXT = np.random.default_rng(3).random((4, 2, 4))


def spoiled(array: np.ndarray, value: float) -> np.ndarray:
    """A copy with one bad entry in the last place."""
    copy = array.copy()
    copy[(-1,) * array.ndim] = value
    return copy


def sums_to_one_for_no_theta() -> np.ndarray:
    features = FEATURES.copy()
    features[3, 1] *= 2.0
    return features


ROWS = [m.reshape(8, 4) for m in MODELS]
FULL = np.ones((4, 2, 4), dtype=bool)
PSI, MU = np.eye(8).reshape(4, 2, 8), np.eye(4)

Mdp = LinearMixtureMDP
BAD: dict[str, tuple[Any, tuple[str, ...]]] = {
    "features with three axes": (lambda: Mdp(FEATURES[..., 0], REWARD, 0.9), ("features", "3", "4")),
    "features not square": (lambda: Mdp(FEATURES[:3], REWARD, 0.9), ("features", "(3, 2, 4, 3)")),
    "features without coordinates": (lambda: Mdp(FEATURES[..., :0], REWARD, 0.9), ("features",)),
    "features NaN": (
        lambda: Mdp(spoiled(FEATURES, np.nan), REWARD, 0.9),
        ("features", "nan", "(3, 1, 3, 2)"),
    ),
    "features infinite": (lambda: Mdp(spoiled(FEATURES, np.inf), REWARD, 0.9), ("features", "inf")),
    "reward of the wrong shape": (
        lambda: Mdp(FEATURES, REWARD.T, 0.9),
        ("reward", "(2, 4)", "(4, 2)"),
    ),
    "reward with one axis": (lambda: Mdp(FEATURES, REWARD[0], 0.9), ("reward", "1", "2", "3")),
    "reward by transition of the wrong shape": (
        lambda: Mdp(FEATURES, REWARD_NEXT[:, :, :2], 0.9),
        ("reward", "(4, 2, 2)"),
    ),
    "reward NaN": (lambda: Mdp(FEATURES, spoiled(REWARD, np.nan), 0.9), ("reward", "nan", "(3, 1)")),
    "reward above 1": (
        lambda: Mdp(FEATURES, spoiled(REWARD, 1.5), 0.9),
        ("reward", "1.5", "(s=3, a=1)", "[0, 1]", "normalise_reward"),
    ),
    "reward below 0": (lambda: Mdp(FEATURES, spoiled(REWARD, -0.5), 0.9), ("reward", "-0.5", "(s=3, a=1)")),
    "reward by transition above 1": (
        lambda: Mdp(FEATURES, spoiled(REWARD_NEXT, 2.0), 0.9),
        ("reward", "2", "(s=3, a=1, s'=3)"),
    ),
    "sparse reward of the wrong shape": (
        lambda: Mdp.from_models([sparse.csr_array(m) for m in ROWS], sparse.csr_array(REWARD), 0.9),
        ("reward", "(4, 2)", "(8, 4)"),
    ),
    "discount 1": (lambda: Mdp(FEATURES, REWARD, 1.0), ("discount", "1.0", "0", "1")),
    "discount 0": (lambda: Mdp(FEATURES, REWARD, 0.0), ("discount", "0.0")),
    "discount NaN": (lambda: Mdp(FEATURES, REWARD, np.nan), ("discount", "nan")),
    "p_min negative": (lambda: Mdp(FEATURES, REWARD, 0.9, p_min=-0.1), ("p_min", "-0.1")),
    "p_min above 1": (lambda: Mdp(FEATURES, REWARD, 0.9, p_min=1.5), ("p_min", "1.5", "1")),
    "p_min infinite": (lambda: Mdp(FEATURES, REWARD, 0.9, p_min=np.inf), ("p_min", "inf")),
    "p_min too large for a row": (
        lambda: Mdp.tabular(FULL, REWARD, 0.9, p_min=0.3),
        ("empty", "p_min", "0.3", "4", "(s=0, a=0)", "0.25"),
    ),
    "initial of the wrong length": (
        lambda: Mdp(FEATURES, REWARD, 0.9, initial=[0.5, 0.5]),
        ("initial", "(2,)", "(4,)"),
    ),
    "initial that sums to 2": (
        lambda: Mdp(FEATURES, REWARD, 0.9, initial=[1, 1, 0, 0]),
        ("initial", "2.0", "1"),
    ),
    "initial negative": (
        lambda: Mdp(FEATURES, REWARD, 0.9, initial=[2, -1, 0, 0]),
        ("initial", "-1.0", "1"),
    ),
    "initial NaN": (lambda: Mdp(FEATURES, REWARD, 0.9, initial=[np.nan, 1, 0, 0]), ("initial", "nan")),
    "unknown domain": (
        lambda: Mdp(FEATURES, REWARD, 0.9, domain="cube"),
        ("domain", "'cube'", "'polytope'", "'simplex'"),
    ),
    "impossible of the wrong shape": (
        lambda: Mdp(FEATURES, REWARD, 0.9, impossible=np.zeros((3, 2, 3), dtype=bool)),
        ("impossible", "(3, 2, 3)"),
    ),
    "impossible not boolean": (
        lambda: Mdp(FEATURES, REWARD, 0.9, impossible=MODELS[0]),
        ("impossible", "True", "False"),
    ),
    "everything impossible": (
        lambda: Mdp(FEATURES, REWARD, 0.9, impossible=FULL),
        ("(s=0, a=0)",),
    ),
    "rows that sum to 1 for no theta": (
        lambda: Mdp(sums_to_one_for_no_theta(), REWARD, 0.9),
        ("empty", "1"),
    ),
    "no models": (lambda: Mdp.from_models([], REWARD, 0.9), ("models", "empty")),
    "models of two shapes": (
        lambda: Mdp.from_models([MODELS[0], MODELS[1][:, :1]], REWARD, 0.9),
        ("models[1]", "(4, 1, 4)"),
    ),
    "a model that is not a distribution": (
        lambda: Mdp.from_models([MODELS[0], spoiled(MODELS[1], 0.99)], REWARD, 0.9),
        ("models[1]", "(s=3, a=1)"),
    ),
    "a negative model": (
        lambda: Mdp.from_models([spoiled(MODELS[0], -0.1)], REWARD, 0.9),
        ("models[0]", "-0.1", "(s, a, s')", "(3, 1, 3)"),
    ),
    "a NaN model": (
        lambda: Mdp.from_models([spoiled(MODELS[0], np.nan)], REWARD, 0.9),
        ("models[0]", "nan"),
    ),
    "a sparse model that is not a distribution": (
        lambda: Mdp.from_models([sparse.csr_array(spoiled(ROWS[0], 0.99))], REWARD, 0.9),
        ("models[0]", "(s=3, a=1)"),
    ),
    "a negative sparse model that sums to 1": (
        lambda: Mdp.from_models([sparse.csr_array(np.tile([-0.5, 0.5, 0.5, 0.5], (8, 1)))], REWARD, 0.9),
        ("models[0]", "(s=0, a=0)"),
    ),
    "a NaN sparse model": (
        lambda: Mdp.from_models([sparse.csr_array(spoiled(ROWS[0], np.nan))], REWARD, 0.9),
        ("models[0]", "nan"),
    ),
    "a sparse model of the wrong shape": (
        lambda: Mdp.from_models([sparse.csr_array(ROWS[0][:7])], REWARD, 0.9),
        ("models[0]", "(7, 4)"),
    ),
    "sparse and dense models": (
        lambda: Mdp.from_models([MODELS[0], sparse.csr_array(ROWS[0])], REWARD, 0.9),
        ("models", "sparse", "dense"),
    ),
    "a support without successors": (
        lambda: Mdp.tabular(np.eye(4, dtype=bool)[:, None, :] & np.array([[True], [False]]), REWARD, 0.9),
        ("(s=0, a=1)",),
    ),
    "a support of the wrong shape": (
        lambda: Mdp.tabular(FULL[:3], REWARD, 0.9),
        ("support", "(3, 2, 4)"),
    ),
    "a sparse support of the wrong shape": (
        lambda: Mdp.tabular(sparse.csr_array(np.ones((7, 4))), REWARD, 0.9),
        ("support", "(7, 4)"),
    ),
    "psi with two axes": (lambda: Mdp.bilinear(PSI[0], MU, REWARD, 0.9), ("psi", "2")),
    "mu with other states": (lambda: Mdp.bilinear(PSI, MU[:3], REWARD, 0.9), ("mu", "(3, 4)")),
    "mu NaN": (lambda: Mdp.bilinear(PSI, spoiled(MU, np.nan), REWARD, 0.9), ("mu", "nan", "(3, 3)")),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused_by_name(case: str):
    build, facts = BAD[case]
    with refused(*facts):
        build()


@pytest.mark.parametrize(
    ("theta", "facts"),
    [
        ([0.5, 0.5], ("theta", "(2,)", "(3,)")),
        ([[0.2, 0.3, 0.5]], ("theta", "2")),
        ([0.2, 0.3, np.nan], ("theta", "nan", "(2,)")),
        ([0.5, 0.6, -0.1], ("0.1", "theta[2]", "-0.1")),
        ([0.2, 0.3, 0.6], ("0.1", "theta", "1.1", "1")),
    ],
)
def test_a_world_refuses_a_theta_outside_and_says_where(theta: Any, facts: tuple[str, ...]):
    mdp = LinearMixtureMDP.from_models(list(MODELS), REWARD, 0.9)
    with refused(*facts):
        World(mdp, theta)


def test_a_world_names_the_negative_probability():
    mdp = LinearMixtureMDP.tabular(FULL, REWARD, 0.9)
    theta = np.full(32, 0.25)
    theta[28:] = [0.5, 0.4, 0.3, -0.2]  # the last pair, (3, 1)
    with refused("(s=3, a=1, s'=3)", "-0.2"):
        World(mdp, theta)


def test_a_world_names_what_should_be_impossible():
    world = EXAMPLES["impossible transitions"]
    with refused("(s=0, a=0, s'=0)", "impossible"):
        World(world.mdp, [0.1, 0.0, 0.0, 0.9])


# ---- files


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_saved_model_comes_back_whole(name: str, tmp_path: Path):
    mdp = EXAMPLES[name].mdp
    mdp.save(tmp_path / "model.npz")
    back = LinearMixtureMDP.load(tmp_path / "model.npz")
    assert back.fingerprint() == mdp.fingerprint()
    assert (back.is_sparse, back.domain, back.p_min) == (mdp.is_sparse, mdp.domain, mdp.p_min)
    theta = EXAMPLES[name].theta
    np.testing.assert_array_equal(back.transitions.probabilities(theta), mdp.transitions.probabilities(theta))
    np.testing.assert_array_equal(back.polytope.interior, mdp.polytope.interior)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.npz"]


def test_reward_units_survive_a_file(tmp_path: Path):
    mdp = LinearMixtureMDP(FEATURES, 10 * REWARD_NEXT - 3, 0.9, normalise_reward=True)
    mdp.save(tmp_path / "model.npz")
    back = LinearMixtureMDP.load(tmp_path / "model.npz")
    assert (back.reward_offset, back.reward_scale) == (mdp.reward_offset, mdp.reward_scale)
    np.testing.assert_array_equal(back.transition_reward, mdp.transition_reward)


def test_fingerprints_tell_models_apart():
    base = LinearMixtureMDP(FEATURES, REWARD, 0.9)
    others = [
        LinearMixtureMDP(FEATURES, REWARD, 0.95),
        LinearMixtureMDP(FEATURES, 0.5 * REWARD, 0.9),
        LinearMixtureMDP(FEATURES, REWARD, 0.9, p_min=1e-3),
        LinearMixtureMDP(FEATURES, REWARD, 0.9, domain="simplex"),
        LinearMixtureMDP(FEATURES, REWARD, 0.9, initial=[1, 0, 0, 0]),
    ]
    assert len({mdp.fingerprint() for mdp in [base, *others]}) == 6
    assert LinearMixtureMDP(FEATURES, REWARD, 0.9).fingerprint() == base.fingerprint()


def test_a_foreign_file_is_refused_by_name(tmp_path: Path):
    foreign = tmp_path / "foreign.npz"
    for content in (b"", b"not an archive", b"PK\x03\x04 nor is this"):
        foreign.write_bytes(content)
        with refused("foreign.npz"):
            LinearMixtureMDP.load(foreign)
    np.savez(foreign, anything=np.arange(3))
    with refused("foreign.npz"):
        LinearMixtureMDP.load(foreign)
    np.savez(foreign, meta=np.array([{"format": "pickled"}], dtype=object))
    with refused("foreign.npz"):
        LinearMixtureMDP.load(foreign)
    np.savez(foreign, meta=np.frombuffer(b'{"format": "something-else-7"}', dtype=np.uint8))
    with refused("something-else-7"):
        LinearMixtureMDP.load(foreign)
    np.save(tmp_path / "array.npy", np.arange(3))
    with refused("array.npy"):
        LinearMixtureMDP.load(tmp_path / "array.npy")


@given(st.data())
def test_a_damaged_file_is_refused_or_still_right(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
):
    """Bytes flipped or cut off anywhere: a ValueError that names the file, or the very same model."""
    folder = tmp_path_factory.mktemp("damaged")
    mdp = EXAMPLES["reward of the next state"].mdp
    mdp.save(folder / "whole.npz")
    content = bytearray((folder / "whole.npz").read_bytes())
    place = data.draw(st.integers(0, len(content) - 1))
    if data.draw(st.booleans()):
        content = content[:place]
    else:
        content[place] ^= data.draw(st.integers(1, 255))
    (folder / "hurt.npz").write_bytes(content)
    message = ""
    try:
        found = LinearMixtureMDP.load(folder / "hurt.npz").fingerprint()
    except ValueError as error:
        found, message = "", str(error)
    assert found == mdp.fingerprint() or "hurt.npz" in message


def test_a_missing_part_is_named(tmp_path: Path):
    mdp = EXAMPLES["simplex mixture"].mdp
    mdp.save(tmp_path / "whole.npz")
    with np.load(tmp_path / "whole.npz") as file:
        parts = {name: file[name] for name in file.files if name != "successor"}
    np.savez(tmp_path / "hurt.npz", **parts)
    with refused("hurt.npz", "successor"):
        LinearMixtureMDP.load(tmp_path / "hurt.npz")


def test_a_file_that_is_not_there_is_said_to_be_so(tmp_path: Path):
    with pytest.raises(FileNotFoundError):
        LinearMixtureMDP.load(tmp_path / "nowhere.npz")
