"""CRAAM's CSV: rows of all candidates, and what may lie beside them."""

from pathlib import Path

import numpy as np
import pytest
from refusals import refused

import vbmle

HEADER = "idstatefrom,idaction,idstateto,idoutcome,probability,reward\n"
TWO = (
    HEADER
    + "0,0,0,0,0.25,1\n0,0,1,0,0.75,3\n1,0,1,0,1,2\n1,1,0,0,1,2\n"
    + "0,0,0,1,1,1\n0,0,1,1,0,3\n1,0,1,1,1,2\n1,1,0,1,1,2\n"
)


@pytest.fixture
def two(tmp_path: Path) -> Path:
    path = tmp_path / "two.csv"
    path.write_text(TWO)
    return path


def test_candidates_actions_and_rewards(two: Path):
    mdp = vbmle.read(two, discount=0.5)
    assert (mdp.num_states, mdp.num_actions, mdp.dimension, mdp.domain) == (2, 2, 2, "vertices")
    np.testing.assert_array_equal(mdp.allowed, [[True, False], [True, True]])
    np.testing.assert_array_equal(mdp.transition([1, 0])[0, 0], [0.25, 0.75])
    np.testing.assert_array_equal(mdp.transition([0, 1])[0, 0], [1.0, 0.0])
    # by hand, under the first candidate V(1) = 2 + V(0)/2 and V(0) = (1 + V(0)/2)/4 + 3 (3 + V(1)/2)/4
    values = [mdp.in_units(vbmle.plan(mdp, vertex).V) for vertex in np.eye(2)]
    first = 3.25 / 0.6875
    np.testing.assert_allclose(values, [[first, 2.0 + first / 2.0], [2.0, 4.0]], rtol=1e-9)


def test_files_beside_it_say_the_first_state_and_the_discount(two: Path):
    two.with_name("initial.csv").write_text("idstate,probability\n1,1.0\n")
    two.with_name("parameters.csv").write_text("parameter,value\nhorizon,50\ndiscount,0.75\n")
    mdp = vbmle.read(two)
    assert mdp.discount == 0.75
    np.testing.assert_array_equal(mdp.initial, [0.0, 1.0])
    assert vbmle.read(two, discount=0.5).discount == 0.5


@pytest.mark.parametrize(
    ("line", "facts"),
    [
        ("0,0,0,0,0.5,1\n", ("two.csv", "line 10", "twice")),
        ("0,0,x,0,0.5,1\n", ("line 10", "idstateto", "'x'")),
        ("0,0,0,2,nan,1\n", ("line 10", "probability", "'nan'")),
        ("0,0,0\n", ("line 10", "3 columns", "6")),
        ("0,0,0,2,1,1\n", ("two.csv", "candidate 2", "(s=1, a=0)")),
        ("0,1,0,0,1,1\n", ("candidate 1", "(s=0, a=1)")),
        ("999999,0,0,0,1,1\n", ("probabilities", "50,000,000")),
    ],
)
def test_what_is_wrong_is_said_with_its_line(two: Path, line: str, facts: tuple[str, ...]):
    two.write_text(TWO + line)
    with refused(*facts):
        vbmle.read(two, discount=0.5)


def test_rows_have_to_sum_to_1_up_to_rounding(two: Path):
    two.write_text(TWO.replace("0.75,3", "0.7500000009,3"))
    np.testing.assert_allclose(
        vbmle.read(two, discount=0.5).transition([1, 0]).sum(axis=2)[0, 0], 1.0, rtol=1e-15
    )
    two.write_text(TWO.replace("0.75,3", "0.76,3"))
    with refused("two.csv", "(s=0, a=0)", "candidate 0", "1.01"):
        vbmle.read(two, discount=0.5)
