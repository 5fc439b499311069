"""Base models from files, read and refused; and agents that begin with what a log says."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest
from refusals import refused
from small_worlds import EXAMPLES

import vbmle
from vbmle import (
    LinearMixtureMDP,
    TransitionCounts,
    World,
    models_from_logs,
    models_from_npz,
    models_from_table,
    read_log,
    simulate,
)
from vbmle.worlds import queue, riverswim


def base_models(count: int = 2, states: int = 3, actions: int = 2) -> np.ndarray:
    rng = np.random.default_rng(0)
    models = rng.dirichlet(np.ones(states), (count, states, actions))
    models[:, 0, 0] = np.eye(states)[1]  # a sure transition: zeros are left out of tables
    return models


def table_of(models: np.ndarray) -> polars.DataFrame:
    rows = [
        {"s": int(s), "a": int(a), "s_next": int(to), "p": float(models[k, s, a, to]), "model": f"m{k}"}
        for k, s, a, to in np.argwhere(models > 0)
    ]
    return polars.DataFrame(rows)


def write(frame: polars.DataFrame, path: Path) -> Path:
    if path.suffix == ".csv":
        frame.write_csv(path)
    else:
        frame.write_parquet(path)
    return path


def cubes(models: Any, states: int = 3) -> np.ndarray:
    return np.stack([model.toarray().reshape(states, -1, states) for model in models])


# ---- .npz


def test_npz_models_are_read_in_the_order_of_the_file(tmp_path: Path):
    models = base_models()
    np.savez(tmp_path / "models.npz", calm=models[0], busy=models[1])
    np.testing.assert_array_equal(cubes(models_from_npz(tmp_path / "models.npz")), models)


@pytest.mark.parametrize(
    ("arrays", "facts"),
    [
        ({}, ("array",)),
        ({"calm": np.ones((2, 3))}, ("'calm'", "(2, 3)", "(S, A, S)")),
        ({"calm": np.ones((2, 1, 3))}, ("'calm'", "(2, 1, 3)")),
        ({"calm": np.array([[["a"]]])}, ("'calm'", "<U1", "numbers")),
        ({"calm": np.full((1, 1, 1), np.nan)}, ("'calm'", "nan", "(0, 0, 0)")),
        ({"calm": np.full((2, 1, 2), 0.4)}, ("'calm'", "0.8", "(s=0, a=0)")),
        ({"calm": np.ones((1, 1, 1)), "busy": np.ones((1, 2, 1))}, ("'busy'", "(1, 2, 1)")),
    ],
)
def test_npz_files_that_hold_no_models_are_refused(tmp_path: Path, arrays: Any, facts: tuple[str, ...]):
    path = tmp_path / "bad.npz"
    np.savez(path, **arrays)
    with refused(str(path), *facts):
        models_from_npz(path)


def test_files_that_are_no_npz_are_refused(tmp_path: Path):
    path = tmp_path / "text.npz"
    path.write_text("hello")
    with refused("text.npz", ".npz"):
        models_from_npz(path)
    with pytest.raises(FileNotFoundError):
        models_from_npz(tmp_path / "none.npz")


# ---- tables


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_tables_are_the_models_they_were_written_from(tmp_path: Path, ending: str):
    """In any order of rows; text keeps 17 digits, and rows are divided by their sums."""
    models = base_models()
    shuffled = table_of(models).sample(fraction=1.0, shuffle=True, seed=1)
    path = write(shuffled, tmp_path / f"models.{ending}")
    names = list(dict.fromkeys(shuffled["model"]))
    expected = models[[int(name[1:]) for name in names]]
    np.testing.assert_allclose(cubes(models_from_table(path)), expected, rtol=0.0, atol=1e-15)
    mdp = LinearMixtureMDP.from_models(models_from_table(path), np.zeros((3, 2)), 0.9)
    assert (mdp.dimension, mdp.num_states, mdp.num_actions) == (2, 3, 2)


def test_a_table_without_names_is_one_model(tmp_path: Path):
    models = base_models(1)
    path = write(table_of(models).drop("model"), tmp_path / "one.csv")
    np.testing.assert_allclose(cubes(models_from_table(path)), models, rtol=0.0, atol=1e-15)


GOOD = "s,a,s_next,p,model\n0,0,1,1.0,x\n1,0,0,0.5,x\n1,0,1,0.5,x\n"


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        (
            GOOD.replace("s_next,", "next,"),
            ("'s_next'", "s, a, s_next, p", "s, a, next, p"),
        ),
        ("s,a,s_next,p\n", ("rows",)),
        (
            GOOD.replace("1,0,0,0.5", "one,0,0,0.5"),
            ("2", "s", "'one'", "0", "whole number"),
        ),
        (GOOD.replace("1,0,0,0.5", "1,0.5,0,0.5"), ("2", "a", "'0.5'", "whole number")),
        (GOOD.replace("1,0,0,0.5", "1,0,-1,0.5"), ("2", "s_next", "'-1'", "whole number")),
        (GOOD.replace("1,0,0,0.5", "1,0,,0.5"), ("2", "s_next", "None", "whole number")),
        (GOOD.replace("1,0,0,0.5", "1,0,0,1.5"), ("2", "p", "'1.5'", "0", "1")),
        (GOOD.replace("1,0,0,0.5", "1,0,0,nan"), ("2", "p", "'nan'", "0", "1")),
        (GOOD.replace("1,0,0,0.5", "1,0,0,half"), ("2", "p", "'half'", "0", "1")),
        (GOOD.replace("1,0,0,0.5", "1,0,1,0.5"), ("row 3", "row 2")),
        (
            GOOD.replace("1,0,0,0.5", "1,0,0,0.4"),
            ("2", "p", "0.9", "(s=1, a=0)", "'x'", "1"),
        ),
        (GOOD + "0,1,0,1.0,x\n", ("(s=1, a=1)", "'x'")),
        (GOOD + "50000000,0,0,1.0,x\n", ("(s=2, a=0)", "'x'")),
        (GOOD.replace("1,0,0,0.5,x", "1,0,0,0.5,"), ("row 2", "model", "None")),
        (GOOD + "0,0,0,1.0,y\n", ("(s=1, a=0)", "'y'")),
    ],
)
def test_what_is_wrong_with_a_table_is_named_by_file_and_row(
    tmp_path: Path, text: str, facts: tuple[str, ...]
):
    path = tmp_path / "table.csv"
    path.write_text(text)
    with refused(str(path), *facts):
        models_from_table(path)


def test_sizes_may_be_told(tmp_path: Path):
    path = tmp_path / "table.csv"
    path.write_text(GOOD)
    with refused("table.csv", "2", "s", "'1'", "0", "whole number"):
        models_from_table(path, states=1)
    with refused("(s=2, a=0)"):
        models_from_table(path, states=3)
    with refused("states", "0"):
        models_from_table(path, states=0)


@pytest.mark.parametrize(
    ("name", "content", "facts"),
    [
        ("table.txt", b"", ("'.txt'", ".csv", ".parquet")),
        ("table.parquet", b"hello", ("parquet",)),
        ("table.csv", b"", ("csv",)),
        ("table.csv", b"s,a,s_next\n1,2,3,4,5\n", ("csv",)),
    ],
)
def test_files_of_another_kind_are_refused(tmp_path: Path, name: str, content: bytes, facts: tuple[str, ...]):
    path = tmp_path / name
    path.write_bytes(content)
    with refused(*facts):
        read_log(path)


def test_a_file_must_be_there(tmp_path: Path):
    with refused("none.csv", by=FileNotFoundError):
        read_log(tmp_path / "none.csv")


def test_parquet_columns_are_checked_too(tmp_path: Path):
    frame = polars.DataFrame({"s": [0, 1], "a": [0.0, 0.5], "s_next": [1, 0]})
    path = write(frame, tmp_path / "log.parquet")
    with refused("log.parquet", "2", "a", "0.5", "whole number"):
        read_log(path)


# ---- logs


def log_file(path: Path, steps: Any) -> Path:
    s, a, to = np.transpose(steps)
    return write(polars.DataFrame({"s": s, "a": a, "s_next": to}), path)


CALM = [(0, 0, 0), (0, 0, 0), (0, 0, 1), (1, 0, 0)]
BUSY = [(0, 0, 1), (1, 0, 1), (1, 0, 1)]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_models_of_logs_are_smoothed_frequencies(tmp_path: Path, ending: str):
    """By hand, with 1/2 added to each of the two successors that some log saw."""
    paths = [log_file(tmp_path / f"{n}.{ending}", log) for n, log in (("calm", CALM), ("busy", BUSY))]
    calm, busy = cubes(models_from_logs(paths, smoothing=0.5), 2)
    np.testing.assert_allclose(calm[:, 0], [[2.5 / 4, 1.5 / 4], [1.5 / 2, 0.5 / 2]])
    np.testing.assert_allclose(busy[:, 0], [[0.5 / 2, 1.5 / 2], [0.5 / 3, 2.5 / 3]])
    calm, busy = cubes(models_from_logs(paths, smoothing=0.0), 2)
    np.testing.assert_allclose(calm[:, 0], [[2 / 3, 1 / 3], [1.0, 0.0]])
    np.testing.assert_allclose(busy[:, 0], [[0.0, 1.0], [0.0, 1.0]])


def test_a_pair_that_one_log_lacks_is_uniform_on_what_others_saw(tmp_path: Path):
    paths = [log_file(tmp_path / "a.csv", CALM), log_file(tmp_path / "b.csv", BUSY[:1])]
    for smoothing in (0.0, 2.0):
        np.testing.assert_allclose(cubes(models_from_logs(paths, smoothing), 2)[1, 1, 0], [1.0, 0.0])


def test_pairs_that_no_log_has(tmp_path: Path):
    path = log_file(tmp_path / "a.csv", CALM)
    with refused("a.csv", "(s=0, a=1)", "2"):
        models_from_logs([path], actions=2)
    (stay,) = cubes(models_from_logs([path], actions=2, unseen="stay"), 2)
    np.testing.assert_array_equal(stay[:, 1], np.eye(2))
    (uniform,) = cubes(models_from_logs([path], actions=2, unseen="uniform"), 2)
    np.testing.assert_array_equal(uniform[:, 1], 0.5)


@pytest.mark.parametrize(
    ("call", "facts"),
    [
        (lambda path: models_from_logs([]), ("paths",)),
        (lambda path: models_from_logs(str(path)), ("paths",)),
        (lambda path: models_from_logs([path], smoothing=-1.0), ("smoothing", "-1.0")),
        (
            lambda path: models_from_logs([path], unseen="guess"),
            ("unseen", "'guess'", "'refuse'"),
        ),
        (lambda path: models_from_logs([path], states=1), ("a.csv", "4", "s", "'1'", "0")),
    ],
)
def test_bad_settings_of_logs_are_refused(tmp_path: Path, call: Any, facts: tuple[str, ...]):
    path = log_file(tmp_path / "a.csv", CALM)
    with refused(*facts):
        call(path)


def test_long_logs_find_the_models_they_came_from(tmp_path: Path):
    """Frequencies of a uniform player within 5 standard errors."""
    world = queue(4, [0.0, 0.0, 1.0])
    history = simulate(vbmle.Random(world.mdp), world, 20_000, seed=2)
    steps = np.column_stack([history.states, history.actions, history.next_states])
    (found,) = cubes(models_from_logs([log_file(tmp_path / "log.parquet", steps)], 0.0), 5)
    truth: Any = world.mdp.transition(world.theta)
    p = truth.toarray().reshape(5, 4, 5)
    visits = np.zeros((5, 4, 1))
    np.add.at(visits[:, :, 0], (history.states, history.actions), 1.0)
    assert (np.abs(found - p) <= 5 * np.sqrt(p * (1 - p) / visits) + 1e-9).all()


# ---- warm starts


def agents_of(mdp: LinearMixtureMDP) -> list[Any]:
    return [
        vbmle.MaximumLikelihood(mdp),
        vbmle.VBMLE(mdp, search="local"),
        vbmle.VBMLE(mdp, search="local", update="doubling"),
        vbmle.PSRL(mdp),
        vbmle.PSRL(mdp, update="every-step"),
        vbmle.RBMLE(mdp),
        vbmle.UCRL2(mdp),
        vbmle.QLearning(mdp),
    ]


def logged(world: World, steps: int = 120) -> tuple[Any, Any, Any]:
    history = simulate(vbmle.Random(world.mdp), world, steps, seed=3)
    return history.states, history.actions, history.next_states


@pytest.mark.parametrize("number", range(8))
def test_observing_many_is_observing_one_by_one(number: int):
    """All that can be saved is the same, and so is what is done next."""
    world = riverswim(5)
    path = logged(world)
    one, many = agents_of(world.mdp)[number], agents_of(world.mdp)[number]
    for s, a, to in zip(*path, strict=True):
        one.observe(int(s), int(a), int(to))
    many.observe_many(*(part[:50] for part in path))
    many.observe_many(*(part[50:] for part in path))
    first, second = one.snapshot(), many.snapshot()
    assert first.keys() == second.keys()
    for name in first:
        np.testing.assert_array_equal(first[name], second[name], err_msg=name)
    assert [one.act(s) for s in range(5)] == [many.act(s) for s in range(5)]


class Rememberer(vbmle.MaximumLikelihood):
    """A user's own agent, which learns more than counts and says so in observe only."""

    def __init__(self, mdp: LinearMixtureMDP) -> None:
        super().__init__(mdp)
        self.seen: list[int] = []

    def observe(self, state: int, action: int, next_state: int) -> None:
        super().observe(state, action, next_state)
        self.seen.append(state)


def test_agents_that_know_only_observe_are_asked_one_by_one():
    world = riverswim(4)
    states, actions, following = logged(world, 20)
    agent = Rememberer(world.mdp)
    agent.observe_many(states, actions, following)
    assert agent.seen == states.tolist()
    assert agent.counts.total == 20


def test_a_log_teaches_in_one_go():
    """Cold, certainty equivalence never opens the door; a log of somebody who did is all it takes."""
    world = queue(10)
    agent = vbmle.MaximumLikelihood(world.mdp)
    agent.observe_many(*logged(world, 5000))
    warm = simulate(agent, world, 200).regret[-1]
    cold = simulate(vbmle.MaximumLikelihood(world.mdp), world, 200).regret[-1]
    assert agent.counts.total == 5200
    assert warm < 0.05 * cold


@pytest.mark.parametrize("name", list(EXAMPLES))
def test_counts_added_at_once_are_counts_added_one_by_one(name: str):
    world = EXAMPLES[name]
    path = logged(world, 60)
    one, many = TransitionCounts(world.mdp), TransitionCounts(world.mdp)
    indices = [one.add(int(s), int(a), int(to)) for s, a, to in zip(*path, strict=True)]
    many.add_many(*(part[:7] for part in path))
    assert many.add_many(*(part[7:] for part in path)).tolist() == indices[7:]
    np.testing.assert_array_equal(one.values, many.values)
    np.testing.assert_array_equal(one.observed, many.observed)
    assert (one.total, one.num_observed) == (many.total, many.num_observed)


@pytest.mark.parametrize(
    ("path", "facts"),
    [
        (([0, 5], [0, 0], [0, 0]), ("states", "5", "1", "0", "3", "whole number")),
        (([0], [2], [0]), ("actions", "2", "0")),
        (([0], [0], [-1]), ("next_states", "-1", "0")),
        (([0], [0, 1], [0]), ("actions", "2", "states", "1")),
        (([0.5], [0], [0]), ("states", "(1,)", "float64")),
        (([[0]], [0], [0]), ("states", "(1, 1)")),
        (([0, 0], [0, 0], [0, 3]), ("(s=0, a=0, s'=3)", "1", "0")),
    ],
)
def test_bad_logs_are_refused_as_a_whole(path: Any, facts: tuple[str, ...]):
    agent = vbmle.MaximumLikelihood(riverswim(4).mdp)
    with refused(*facts):
        agent.observe_many(*path)
    assert agent.counts.total == 0
    assert agent.counts.num_observed == 0


def test_an_empty_log_changes_nothing():
    agent = vbmle.MaximumLikelihood(riverswim(4).mdp)
    agent.observe_many([], [], [])
    assert agent.counts.total == 0


def test_many_steps_are_fast():
    """A million logged steps in a moment, where one by one they would take near a minute: no loop over steps."""
    from time import perf_counter

    world = riverswim(6)
    path = [np.tile(part, 1000) for part in logged(world, 1000)]
    agent = vbmle.MaximumLikelihood(world.mdp)
    start = perf_counter()
    agent.observe_many(*path)
    at_once = perf_counter() - start
    other = vbmle.MaximumLikelihood(world.mdp)
    start = perf_counter()
    for s, a, to in zip(*(part[:20_000] for part in path), strict=True):
        other.observe(int(s), int(a), int(to))
    assert at_once / 1_000_000 < 0.3 * (perf_counter() - start) / 20_000
    assert agent.counts.total == 1_000_000
    assert math.isclose(agent.counts.values.sum(), 1_000_000)


def test_uniform_guesses_that_would_fill_the_memory_are_refused(tmp_path: Path):
    """30,000 states and 2 actions, of which next to nothing was seen."""
    path = tmp_path / "log.csv"
    path.write_text("s,a,s_next\n29999,1,0\n")
    with refused("59,999 pairs", "unseen='uniform'", "30,000 next states", "unseen='stay'"):
        models_from_logs([path], unseen="uniform")
