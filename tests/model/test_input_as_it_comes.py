"""Rounded rows, models by name, axes in another order, and arguments that are mixed up."""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refusals import refused, warned
from scipy import sparse

import vbmle

RNG = np.random.default_rng(6)
MODELS = list(RNG.dirichlet(np.ones(4), (2, 4, 3)))
REWARD = RNG.random((4, 3))
MDP = vbmle.LinearMixtureMDP.from_models(MODELS, REWARD, 0.9)
WORLD = vbmle.World(MDP, [0.5, 0.5])
untyped: Any = vbmle  # for arguments of the wrong kind
from_models = vbmle.LinearMixtureMDP.from_models


@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize(
    "cut", [lambda p: p.astype(np.float32), lambda p: p.round(5)], ids=["float32", "digits"]
)
def test_rows_that_were_rounded_are_mended(cut: Callable[[Any], Any], form: str):
    given = [cut(model).astype(np.float64) for model in MODELS]
    off = max(np.abs(model.sum(axis=2) - 1.0).max() for model in given)
    assert 1e-9 < off < 1e-4
    models = given if form == "dense" else [sparse.csr_array(m.reshape(12, 4)) for m in given]
    with warned("models", f"{off:.2g}"):
        mdp = from_models(models, REWARD, 0.9)
    mix = mdp.transition([0.3, 0.7])
    table = np.asarray(mix if isinstance(mix, np.ndarray) else mix.toarray()).reshape(4, 3, 4)
    np.testing.assert_allclose(table.sum(axis=2), 1.0, atol=1e-12)
    exact = (
        0.3 * given[0] / given[0].sum(axis=2)[..., None] + 0.7 * given[1] / given[1].sum(axis=2)[..., None]
    )
    np.testing.assert_allclose(table, exact, atol=1e-12)
    with refused("models"):
        from_models(models, REWARD, 0.9, renormalise="error")


def test_rows_that_are_wrong_stay_wrong_unless_you_say_so():
    rough = [model.round(1) for model in MODELS]
    with refused("models"):
        from_models(rough, REWARD, 0.9)
    with warned("models", "sums"):
        assert from_models(rough, REWARD, 0.9, renormalise="any").num_states == 4
    with refused("renormalise", "'always'"):
        from_models(MODELS, REWARD, 0.9, renormalise="always")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (
            from_models(MODELS, REWARD, 0.9).fingerprint() == MDP.fingerprint()
        )  # nothing to mend, nothing said


def test_models_by_name(tmp_path: Path):
    mdp = from_models({"calm": MODELS[0], "busy": MODELS[1]}, REWARD, 0.9)
    assert mdp.names.models == ("calm", "busy")
    assert mdp.fingerprint() == MDP.fingerprint()
    mdp.save(tmp_path / "model.npz")
    assert vbmle.LinearMixtureMDP.load(tmp_path / "model.npz").names == mdp.names


@pytest.mark.parametrize(
    ("mixed_up", "facts"),
    [
        (
            lambda: from_models([np.swapaxes(m, 0, 1) for m in MODELS], REWARD, 0.9),
            ("(A, S, S)", "(S, A, S)", "np.swapaxes(model, 0, 1)"),
        ),
        (lambda: from_models([], REWARD, 0.9), ("models", "empty")),
        (lambda: untyped.VBMLE(MDP).act(-1), ("state", "-1", "0", "3", "whole number")),
        (lambda: WORLD.next_state(-1, 0, 0.5), ("state", "-1", "0", "3", "whole number")),
        (lambda: WORLD.next_state(0, 3, 0.5), ("action", "3", "0", "2", "whole number")),
        (
            lambda: untyped.VBMLE(WORLD),
            ("VBMLE", "LinearMixtureMDP", "world.mdp"),
        ),
        (lambda: untyped.World(WORLD, [0.5, 0.5]), ("mdp", "World(mdp, theta)")),
        (lambda: untyped.simulate(WORLD, untyped.VBMLE(MDP), 5), ("agent", "World")),
        (lambda: untyped.simulate(untyped.VBMLE, WORLD, 5), ("agent", "VBMLE")),
        (
            lambda: untyped.simulate(untyped.VBMLE(MDP), MDP, 5),
            ("vbmle.World(mdp, theta)",),
        ),
        (lambda: untyped.VBMLE.load(MDP, "agent.npz"), ("VBMLE.load(path, mdp)",)),
        (lambda: untyped.VBMLE.load("agent.npz", WORLD), ("VBMLE.load", "LinearMixtureMDP")),
        (
            lambda: untyped.VBMLE(MDP).observe(0, 1, 0.5, 2),
            ("observe(0, 1, 0.5, 2)", "VBMLE", "(state, action, next_state)", "reward"),
        ),
        (lambda: untyped.UCLK(MDP).observe(0, 1, 0.5, 2), ("UCLK", "4")),
        (
            lambda: untyped.QLearning(MDP).observe(0, 1, 2, reward=0.5),
            ("reward=0.5", "QLearning", "4"),
        ),
        (lambda: untyped.Random(MDP).observe(0, 1, 0.5, 2), ("Random", "4")),
        (lambda: untyped.Oracle(MDP, [0.5, 0.5]).observe(0, 1, 0.5, 2), ("Oracle", "4")),
    ],
)
def test_mix_ups_are_said_in_one_line(mixed_up: Callable[[], Any], facts: tuple[str, ...]):
    with refused(*facts):
        mixed_up()
