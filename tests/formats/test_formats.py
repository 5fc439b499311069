"""Models in the formats of others: what a file says is what is read, and what we write is read back."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused

import vbmle
from vbmle.formats.files import WRITERS
from vbmle.model.priors import weights


def candidates(seed: int, reward_of_next: bool = False) -> vbmle.LinearMixtureMDP:
    """Up to four candidates with names, rewards of any range, a prior and a first state."""
    rng = np.random.default_rng(seed)
    states, actions, count = (int(n) for n in rng.integers((1, 1, 1), (5, 4, 5)))
    models = rng.dirichlet(np.full(states, 0.5), (count, states, actions)).round(6)
    models[..., 0] += 1.0 - models.sum(axis=-1)
    shape = (states, actions, states) if reward_of_next else (states, actions)
    return vbmle.LinearMixtureMDP.from_models(
        {f"expert {k}": model for k, model in enumerate(models)},
        rng.normal(0.0, 10.0, shape).round(3),
        0.875,
        domain="vertices",
        normalise_reward=True,
        initial=rng.dirichlet(np.ones(states)),
        prior=rng.dirichlet(np.ones(count)),
    )


def assert_same(one: vbmle.LinearMixtureMDP, other: vbmle.LinearMixtureMDP, tolerance: float = 1e-12) -> None:
    """Transitions and optimal values, in the units of the file, agree for every candidate."""
    assert (one.num_states, one.num_actions, one.dimension) == (
        other.num_states,
        other.num_actions,
        other.dimension,
    )
    assert one.discount == other.discount
    for vertex in np.eye(one.dimension):
        np.testing.assert_allclose(one.transition(vertex), other.transition(vertex), atol=tolerance)
        values = [mdp.in_units(vbmle.plan(mdp, vertex).V) for mdp in (one, other)]
        np.testing.assert_allclose(values[0], values[1], rtol=1e-9, atol=1e-7)


@pytest.mark.parametrize("ending", [*WRITERS, ".npz"])
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**20), reward_of_next=st.booleans())
def test_what_is_written_is_read_back(
    ending: str, seed: int, reward_of_next: bool, tmp_path_factory: pytest.TempPathFactory
):
    mdp = candidates(seed, reward_of_next)
    path = tmp_path_factory.mktemp("written") / f"model{ending}"
    if ending == ".mdp" and mdp.dimension > 1:
        with refused(str(path), str(mdp.dimension), ".POMDP"):
            vbmle.write(mdp, path)
        return
    vbmle.write(mdp, path)
    found = vbmle.read(path, discount=mdp.discount)
    assert_same(mdp, found)
    if ending != ".csv":  # which has no place for them
        np.testing.assert_allclose(weights(found), weights(mdp), atol=1e-12)
        np.testing.assert_allclose(found.initial, mdp.initial, atol=1e-12)


def test_actions_that_are_not_allowed_are_kept_by_craam_and_refused_by_the_others(tmp_path: Path):
    models = np.array([[[[1.0, 0.0], [0.5, 0.5]], [[0.0, 1.0], [0.3, 0.7]]]])
    allowed = [[True, True], [True, False]]
    mdp = vbmle.LinearMixtureMDP.from_models(
        list(models), [[0.0, 1.0], [0.5, 0.0]], 0.9, domain="vertices", allowed=allowed
    )
    vbmle.write(mdp, tmp_path / "model.csv")
    found = vbmle.read(tmp_path / "model.csv", discount=0.9)
    np.testing.assert_array_equal(found.allowed, allowed)
    assert_same(mdp, found)
    with refused("model.pomdpx", ".csv", ".npz"):
        vbmle.write(mdp, tmp_path / "model.pomdpx")


def test_a_model_without_candidates_cannot_be_written_as_some(tmp_path: Path):
    with refused("theta = e_0", "from_models"):
        vbmle.write(vbmle.worlds.riverswim(3).mdp, tmp_path / "river.csv")
    with refused("river.xml", ".csv", ".npz"):
        vbmle.write(vbmle.worlds.riverswim(3).mdp, tmp_path / "river.xml")


def test_a_file_of_no_kind_is_refused_with_the_kinds_there_are(tmp_path: Path):
    (tmp_path / "notes.txt").write_text("this is a letter\n")
    with refused("notes.txt", "CRAAM's", "POMDPX", "BBRL", ".npz"):
        vbmle.read(tmp_path / "notes.txt")
    with pytest.raises(FileNotFoundError):
        vbmle.read(tmp_path / "nowhere.csv")


def test_a_file_without_a_discount_needs_one(tmp_path: Path):
    path = tmp_path / "river.mdp"
    path.write_text("s, a, s', r, p\n0, 0, 0, 1, 1\n")
    with refused("river.mdp", "discount=0.95"):
        vbmle.read(path)
    assert vbmle.read(path, discount=0.5).discount == 0.5


def test_our_own_file_keeps_its_discount(tmp_path: Path):
    candidates(0).save(tmp_path / "model.npz")
    assert vbmle.read(tmp_path / "model.npz") == candidates(0)
    with refused("0.875", "0.5"):
        vbmle.read(tmp_path / "model.npz", discount=0.5)
