"""Lines of s, a, s', r, p; and BBRL's Dirichlet priors."""

from pathlib import Path

import numpy as np
import pytest
from refusals import refused
from small_files import CHAIN, LINES

import vbmle


def test_lines(tmp_path: Path):
    path = tmp_path / "small.mdp"
    path.write_text(LINES)
    mdp = vbmle.read(path, discount=0.9)
    np.testing.assert_array_equal(mdp.allowed, [[True, True], [False, True]])
    np.testing.assert_array_equal(mdp.initial, [0.0, 1.0])
    np.testing.assert_allclose(mdp.transition([1.0])[0, 0], [0.7, 0.3])
    assert mdp.in_units(vbmle.plan(mdp, [1.0]).V).tolist() == pytest.approx([50.0, 43.0])


@pytest.mark.parametrize(
    ("old", "new", "facts"),
    [
        ("0, 0, 0, 0.0, 0.7", "0, 0, 0, 0.0", ("small.mdp", "line 4", "4 values")),
        ("0, 0, 0, 0.0, 0.7", "0, 0, 1, 0.0, 0.7", ("line 4", "twice")),
        ("0, 0, 0, 0.0, 0.7", "0, 0, 0, 0.0, 0.6", ("(s=0, a=0)", "0.9")),
        ("start, 1, 1.0", "start, 7, 1.0", ("state 7", "0 to 1")),
        ("start, 1, 1.0", "start, 1, 0.5", ("small.mdp", "initial")),
    ],
)
def test_lines_that_are_wrong(tmp_path: Path, old: str, new: str, facts: tuple[str, ...]):
    path = tmp_path / "small.mdp"
    path.write_text(LINES.replace(old, new))
    with refused(*facts):
        vbmle.read(path, discount=0.9)


def test_a_dirichlet_prior_is_a_tabular_model_and_its_prior(tmp_path: Path):
    path = tmp_path / "chain.dat"
    path.write_text(CHAIN)
    mdp = vbmle.read(path, discount=0.95)
    assert (mdp.num_states, mdp.num_actions, mdp.dimension, mdp.domain) == (2, 2, 6, "polytope")
    np.testing.assert_array_equal(mdp.initial, [0.0, 1.0])
    # rows of the file go by action, then state; theta by state, then action
    np.testing.assert_array_equal(mdp.prior, [1.0, 1.0, 1.0, 3.0, 1.0, 2.0])
    np.testing.assert_array_equal(mdp.transitions.successor, [0, 1, 0, 1, 0, 1])
    mean = np.array([1 / 2, 1 / 2, 1 / 4, 3 / 4, 1.0, 1.0])
    np.testing.assert_allclose(mdp.transition(mean)[0], [[0.5, 0.5], [0.25, 0.75]])
    assert mdp.in_units(vbmle.plan(mdp, mean).V)[1] == pytest.approx(200.0)


@pytest.mark.parametrize(
    ("old", "new", "facts"),
    [
        ("\n21\n", "\n22\n", ("chain.dat", "22", "21")),
        ("1\t3", "1\t-3", ("chain.dat", "-3")),
        ("1\t3", "1\tx", ("'x'",)),
        ("DirMultiDistribution", "OtherDistribution", ("chain.dat", "DirMultiDistribution")),
        ("\n21\n2\n2\n", "\n21\n3\n2\n", ("S = 3", "41")),
        ("2\t10\n1\n", "2\t10\n2\n", ("first state", "'2'")),
    ],
)
def test_distributions_that_are_wrong(tmp_path: Path, old: str, new: str, facts: tuple[str, ...]):
    path = tmp_path / "chain.dat"
    assert old in CHAIN
    path.write_text(CHAIN.replace(old, new))
    with refused(*facts):
        vbmle.read(path, discount=0.95)
