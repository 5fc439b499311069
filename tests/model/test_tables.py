"""Tables as frames of polars and pandas, with names in them, numbered from 1; one fingerprint for one model; twins."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import polars
import pytest
from refusals import refused, warned
from scipy import sparse

import vbmle

RNG = np.random.default_rng(11)
MODELS = RNG.dirichlet(np.ones(3), (2, 3, 2))
MODELS[:, 0, 0] = [0.0, 0.25, 0.75]
REWARD = RNG.random((3, 2))
STATES, ACTIONS = ["idle", "busy", "down"], ["wait", "serve"]
untyped: Any = vbmle  # for arguments of the wrong kind
from_models = vbmle.LinearMixtureMDP.from_models


def rows(models: np.ndarray = MODELS, shift: int = 0) -> dict[str, list[Any]]:
    found = np.argwhere(models > 0)
    return {
        "s": [int(s) + shift for _, s, _, _ in found],
        "a": [int(a) + shift for _, _, a, _ in found],
        "s_next": [int(to) + shift for *_, to in found],
        "p": [float(models[tuple(place)]) for place in found],
        "model": [("calm", "storm")[k] for k, *_ in found],
    }


def named(table: dict[str, list[Any]]) -> dict[str, list[Any]]:
    names: dict[str, list[str]] = {"s": STATES, "a": ACTIONS, "s_next": STATES}
    return table | {key: [names[key][i] for i in table[key]] for key in names}


FRAMES: dict[str, Callable[[Any], Any]] = {
    "polars": polars.DataFrame,
    "polars, lazy": polars.LazyFrame,
    "pandas": pandas.DataFrame,
    "pandas, categories": lambda table: pandas.DataFrame(table).astype({"model": "category"}),
}


@pytest.mark.parametrize("frame", FRAMES)
def test_frames_are_read_as_files_are(frame: str, tmp_path: Path):
    polars.DataFrame(rows()).write_csv(tmp_path / "table.csv")
    from_file = vbmle.models_from_table(tmp_path / "table.csv")
    found = vbmle.models_from_table(FRAMES[frame](rows()))
    assert found.names == from_file.names
    assert found.names.models == ("calm", "storm")
    for model, wanted, array in zip(found, from_file, MODELS, strict=True):
        np.testing.assert_array_equal(model.toarray(), wanted.toarray())
        np.testing.assert_array_equal(model.toarray().reshape(3, 2, 3), array)


@pytest.mark.parametrize("frame", FRAMES)
def test_names_in_a_table_become_the_names_of_the_model(frame: str):
    table = FRAMES[frame](named(rows()))
    mdp = from_models(vbmle.models_from_table(table), REWARD, 0.9)
    assert (mdp.names.states, mdp.names.actions) == (tuple(STATES), tuple(ACTIONS))
    assert mdp.names.models == ("calm", "storm")
    turned = vbmle.models_from_table(table, states=STATES[::-1], actions=ACTIONS)
    for model, array in zip(turned, MODELS, strict=True):
        np.testing.assert_array_equal(model.toarray().reshape(3, 2, 3), array[::-1, :, ::-1])
    assert turned.names.states == tuple(STATES[::-1])
    assert from_models(turned, REWARD, 0.9, state_names=["x", "y", "z"]).names.states == ("x", "y", "z")


def test_logs_by_name_teach_a_model_by_name(tmp_path: Path):
    log = {"s": ["idle", "busy", "idle"], "a": ["serve", "wait", "wait"], "s_next": ["busy", "idle", "busy"]}
    polars.DataFrame(log).write_csv(tmp_path / "log.csv")
    mdp = from_models(vbmle.models_from_table(polars.DataFrame(named(rows()))), REWARD, 0.9)
    one, other = vbmle.MaximumLikelihood(mdp), vbmle.MaximumLikelihood(mdp)
    one.observe_many(*vbmle.read_log(tmp_path / "log.csv"))
    numbers = vbmle.read_log(pandas.DataFrame(log), states=STATES, actions=ACTIONS)
    assert [column.tolist() for column in numbers] == [[0, 1, 0], [1, 0, 0], [1, 0, 1]]
    other.observe_many(*numbers)
    np.testing.assert_array_equal(one.counts.values, other.counts.values)


def test_models_of_logs_by_name():
    calm = {"s": ["a", "b"], "a": ["go", "go"], "s_next": ["b", "a"]}
    busy = {"s": ["b", "c", "a"], "a": ["go", "go", "go"], "s_next": ["c", "a", "a"]}
    found = vbmle.models_from_logs([polars.DataFrame(calm), pandas.DataFrame(busy)], smoothing=0.0)
    assert (found.names.states, found.names.actions) == (("a", "b", "c"), ("go",))
    np.testing.assert_array_equal(found[1].toarray(), [[1, 0, 0], [0, 0, 1], [1, 0, 0]])
    with refused("(s=c, a=go)"):
        vbmle.models_from_logs([polars.DataFrame(calm)], states=["a", "b", "c"])


def changed(**columns: Any) -> polars.DataFrame:
    return polars.DataFrame(rows() | columns)


@pytest.mark.parametrize(
    ("call", "facts"),
    [
        (
            lambda: vbmle.models_from_table(polars.DataFrame(rows(shift=1))),
            ("frame", "1", "3", "0", "s_next"),
        ),
        (
            lambda: vbmle.models_from_table(changed(a=[a + 1 for a in rows()["a"]])),
            ("frame", "1", "2", "0"),
        ),
        (
            lambda: vbmle.models_from_table(polars.DataFrame(rows(shift=1)), states=3),
            ("s", "3", "0", "2", "1", "whole number"),
        ),
        (
            lambda: vbmle.models_from_logs([polars.DataFrame({"s": [1], "a": [0], "s_next": [1]})]),
            ("frame", "1"),
        ),
        (
            lambda: vbmle.models_from_table(changed(s=named(rows())["s"])),
            ("1", "s", "'idle'", "0", "whole number"),
        ),
        (
            lambda: vbmle.models_from_table(polars.DataFrame(named(rows())), states=STATES[:2]),
            ("row 12", "s", "'down'", "idle", "busy"),
        ),
        (
            lambda: vbmle.models_from_table(polars.DataFrame(rows()), states=STATES),
            ("s", "numbers", "names"),
        ),
        (
            lambda: vbmle.models_from_table([1, 2]),
            ("list", ".csv", ".parquet", "polars", "pandas"),
        ),
        (lambda: vbmle.read_log(polars.DataFrame(rows()), states=["x", "x"]), ("states",)),
        (lambda: vbmle.read_log(polars.DataFrame(rows()), states="idle"), ("states", "'idle'")),
        (lambda: untyped.models_from_logs(polars.DataFrame(rows())), ("paths",)),
    ],
)
def test_what_is_wrong_is_said_in_one_line(call: Callable[[], Any], facts: tuple[str, ...]):
    with refused(*facts):
        call()


@pytest.mark.parametrize("digits", [None, 5])
@pytest.mark.parametrize("domain", ["simplex", "vertices", "polytope"])
@pytest.mark.filterwarnings("ignore:rows of models sum to 1 up to")
def test_one_model_has_one_fingerprint(digits: int | None, domain: str, tmp_path: Path):
    """Dense, sparse, from a frame and from text; rounded rows are divided alike in each."""
    models = MODELS if digits is None else MODELS.round(digits)
    shuffled = polars.DataFrame(rows(models)).sample(fraction=1.0, shuffle=True, seed=2)
    shuffled = shuffled.sort("model", maintain_order=True)
    shuffled.write_csv(tmp_path / "table.csv")
    forms = [
        list(models),
        [sparse.csr_array(model.reshape(6, 3)) for model in models],
        [sparse.coo_array(model.reshape(6, 3)) for model in models],
        vbmle.models_from_table(shuffled),
        vbmle.models_from_table(tmp_path / "table.csv"),
    ]
    made = [from_models(form, REWARD * 5.0, 0.9, domain=domain, normalise_reward=True) for form in forms]
    assert len({mdp.fingerprint() for mdp in made}) == 1
    made[1].save(tmp_path / "model.npz")
    assert vbmle.LinearMixtureMDP.load(tmp_path / "model.npz").fingerprint() == made[0].fingerprint()
    agent = vbmle.VBMLE(made[0])
    agent.observe_many([0, 1, 2], [0, 1, 0], [1, 0, 2])
    agent.save(tmp_path / "agent.npz")
    again = vbmle.VBMLE.load(tmp_path / "agent.npz", made[4])
    assert [again.act(s) for s in range(3)] == [agent.act(s) for s in range(3)]
    nudged = models + 1e-6 * (np.eye(3)[0] - np.eye(3)[2])
    assert from_models(
        list(nudged), REWARD * 5.0, 0.9, domain=domain, normalise_reward=True
    ).fingerprint() != (made[0].fingerprint())


@pytest.mark.parametrize("form", [list, lambda models: [sparse.csr_array(m.reshape(-1, 3)) for m in models]])
def test_candidates_that_are_nearly_equal_are_warned_about(form: Callable[[Any], Any]):
    nudge = 0.9e-3 * (np.eye(3)[1] - np.eye(3)[2])
    with warned("models[0]", "models[2]"):
        from_models(form([MODELS[0], MODELS[1], MODELS[0]]), REWARD, 0.9)
    near = MODELS[1].copy()
    near[2, 1] += nudge if near[2, 1].min() > 0.001 else -nudge
    with warned("models[1]", "models[2]", "0.0009"):
        from_models(form([MODELS[0], MODELS[1], near]), REWARD, 0.9)
    two = {"calm": MODELS[0], "again": MODELS[0]}
    with warned("'calm'", "'again'"):
        from_models(two, REWARD, 0.9)


def test_models_that_differ_in_one_place_of_many_are_not_twins():
    """More transitions than are compared at first, and the difference at a place that is not among them."""
    one = np.full((40, 2, 40), 1.0 / 40)
    other = one.copy()
    other[20, 1, 1:3] += [0.01, -0.01]
    assert from_models([one, other], np.zeros((40, 2)), 0.9).dimension == 2
    with warned("models[0]", "models[1]"):
        from_models([one, one], np.zeros((40, 2)), 0.9)


def test_beliefs_and_misfits_speak_by_name():
    for domain in ("simplex", "vertices"):
        mdp = from_models(
            vbmle.models_from_table(polars.DataFrame(named(rows()))), REWARD, 0.9, domain=domain
        )
        agent: Any = vbmle.MaximumLikelihood(mdp, on_impossible="skip")
        agent.observe("idle", "wait", "idle")  # which no model allows
        assert agent.belief().names == ("calm", "storm")
        assert agent.misfit().where[0].name == "(s=idle, a=wait)"
