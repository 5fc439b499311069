"""Cassandra's format: tables given by entry, by row or whole, and candidates as copies of the states."""

from pathlib import Path

import numpy as np
import pytest
from refusals import refused

import vbmle

ONE = """# a machine
discount: 0.9
values: cost
states: good bad
actions: run mend
start: good

T: run : good : good 0.8   # and the rest
T: run : good : bad 0.2
T: run : bad
0.0 1.0
T: mend
1.0 0.0
0.9 0.1
R: run : bad : * 4
R: mend : * : * 3
R: mend : good : bad 2
"""

TWO = """discount: 0.5
values: reward
states: 4
actions: 2
observations: low high
start: 0.25 0 0.75 0
T: 0
identity
T: 1 : 0
0.5 0.5 0 0
T: 1 : 1
uniform
T: 1 : 1
1 0 0 0
T: 1 : 2
0 0 0.1 0.9
T: 1 : 3 : 3 1.0
O: * : 0 : low 1
O: * : 1 : high 1
O: * : 2 : low 1
O: * : 3 : high 1
R: * : 1 : * : low 1
R: * : 1 : * : high 2
R: * : 3 : *
1 2
R: 1 : 0
0 0 7 7 0 0 0 0
R: 1 : 2 : 3 : * 7
"""


def write(folder: Path, text: str, name: str = "model.POMDP") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_a_mdp_with_costs(tmp_path: Path):
    mdp = vbmle.read(write(tmp_path, ONE, "one.MDP"))
    assert mdp.names.states == ("good", "bad")
    assert mdp.names.actions == ("run", "mend")
    np.testing.assert_array_equal(mdp.initial, [1.0, 0.0])
    np.testing.assert_allclose(mdp.transition([1.0])[0], [[0.8, 0.2], [1.0, 0.0]])
    np.testing.assert_allclose(mdp.transition([1.0])[1], [[0.0, 1.0], [0.9, 0.1]])
    # by hand: mending in good never leads to bad, so that its cost is 3; V(good) = .9 (.8 V(good) + .2 V(bad)),
    # V(bad) = -3 + .9 (.9 V(good) + .1 V(bad)); running on in bad costs 40
    matrix = np.array([[1 - 0.72, -0.18], [-0.81, 1 - 0.09]])
    np.testing.assert_allclose(
        mdp.in_units(vbmle.plan(mdp, [1.0]).V), np.linalg.solve(matrix, [0.0, -3.0]), rtol=1e-9
    )


def test_candidates_are_the_states_with_one_observation(tmp_path: Path):
    mdp = vbmle.read(write(tmp_path, TWO))
    assert mdp.names.states == ("low", "high")
    assert mdp.dimension == 2
    np.testing.assert_array_equal(mdp.prior, [0.25, 0.75])
    np.testing.assert_array_equal(mdp.initial, [1.0, 0.0])
    np.testing.assert_array_equal(mdp.transition([1, 0])[:, 1], [[0.5, 0.5], [1.0, 0.0]])
    np.testing.assert_array_equal(mdp.transition([0, 1])[:, 1], [[0.1, 0.9], [0.0, 1.0]])
    np.testing.assert_allclose(mdp.reward[0, 1], [0.0, 7.0], atol=1e-12)
    np.testing.assert_allclose(mdp.reward[1, 0], [0.0, 2.0], atol=1e-12)  # `low` is not reached from there


@pytest.mark.parametrize(
    ("old", "new", "facts"),
    [
        ("T: 1 : 2\n0 0 0.1 0.9", "T: 1 : 2\n0.1 0 0 0.9", ("candidate may change", "0.1")),
        ("O: * : 3 : high 1", "O: * : 3 : high 0.5", ("model.POMDP", "uncertain")),
        ("O: * : 3 : high 1", "O: * : 3 : low 1", ("more states than others",)),
        ("start: 0.25 0 0.75 0", "start: 0.25 0.5 0.25 0", ("start", "prior")),
        ("start: 0.25 0 0.75 0", "start: 0.25 0 0.75", ("line", "3 numbers", "4 states")),
        ("T: 1 : 3 : 3 1.0", "T: 1 : 9 : 3 1.0", ("states", "'9'", "3")),
        ("T: 1 : 3 : 3 1.0", "T: 1 : 3 : 3 x", ("'x'",)),
        ("T: 1 : 3 : 3 1.0", "T: 1 : 3 : 3 0.5", ("0.5", "sum to 1")),
        ("values: reward", "values: praise", ("line 2", "'praise'")),
        ("discount: 0.5", "discount: 2", ("discount", "2.0")),
        ("observations: low high", "observations: low low", ("observations", "different")),
        ("R: * : 1 : * : high 2", "R: * : 1 : * : high 2 3", ("line 23", "'3'", "T, O, or R")),
        ("T: 0\nidentity", "Q: 0\nidentity", ("line 8", "start", "8 numbers")),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path: Path, old: str, new: str, facts: tuple[str, ...]):
    assert old in TWO
    with refused(*facts):
        vbmle.read(write(tmp_path, TWO.replace(old, new)))


@pytest.mark.parametrize(
    ("start", "wanted"),
    [
        ("start: uniform", [0.5, 0.5]),
        ("start include: bad", [0.0, 1.0]),
        ("start exclude: 1", [1.0, 0.0]),
        ("start: 1", [0.0, 1.0]),
    ],
)
def test_ways_to_say_where_it_starts(tmp_path: Path, start: str, wanted: list[float]):
    np.testing.assert_array_equal(
        vbmle.read(write(tmp_path, ONE.replace("start: good", start))).initial, wanted
    )
