"""Value-targeted regression and information in the core: against sums and determinants from their definitions."""

import math

import numpy as np
import pytest
from small_worlds import EXAMPLES

from vbmle import LinearMixtureMDP
from vbmle.core.model import Model
from vbmle.core.regression import Information, Regression
from vbmle.worlds import riverswim

NAMES = ["paper, larger than the simplex", "separate blocks", "raw one-hot features, sparse"]


def handle(mdp: LinearMixtureMDP) -> Model:
    return mdp.core


def blocks(mdp: LinearMixtureMDP) -> list[tuple[np.ndarray, slice]]:
    """Coordinates of every block, and where its matrix lies."""
    sizes = [len(block.coordinates) for block in mdp.polytope.blocks]
    ends = np.cumsum([size**2 for size in sizes]).tolist()
    spans = [slice(end - size**2, end) for end, size in zip(ends, sizes, strict=True)]
    return [(block.coordinates, span) for block, span in zip(mdp.polytope.blocks, spans, strict=True)]


def whole(mdp: LinearMixtureMDP, flat: np.ndarray) -> np.ndarray:
    out = np.zeros((mdp.dimension, mdp.dimension))
    for at, span in blocks(mdp):
        out[np.ix_(at, at)] = flat[span].reshape(len(at), -1)
    return out


def feature(mdp: LinearMixtureMDP, pair: int, V: np.ndarray) -> np.ndarray:
    """phi_V(s, a) from the model."""
    phi, at = mdp.transitions.phi, slice(mdp.transitions.indptr[pair], mdp.transitions.indptr[pair + 1])
    return np.asarray(phi[at].T @ V[mdp.transitions.successor[at]])


@pytest.mark.parametrize("name", EXAMPLES)
def test_sums_are_those_of_the_definition(name: str):
    mdp, rng = EXAMPLES[name].mdp, np.random.default_rng(4)
    known = Regression(handle(mdp), 0.5)
    sigma, b = 0.5 * np.eye(mdp.dimension), np.zeros(mdp.dimension)
    for _ in range(150):
        V, weight = 10.0 * rng.random(mdp.num_states), float(rng.choice([0.0, 0.3, 1.0]))
        pair, target = int(rng.integers(len(mdp.block_of_pair))), float(rng.random())
        x = feature(mdp, pair, V)
        mean, norm = known.predict(pair, V)
        assert mean == pytest.approx(float(x @ np.linalg.solve(sigma, b)), rel=1e-8, abs=1e-8)
        assert norm == pytest.approx(math.sqrt(x @ np.linalg.solve(sigma, x)), rel=1e-8)
        known.add(pair, V, target, weight)
        sigma += weight * np.outer(x, x)
        b += weight * x * target
    np.testing.assert_allclose(whole(mdp, known.sigma), sigma, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(whole(mdp, known.inverse), np.linalg.inv(sigma), rtol=0.0, atol=1e-8)
    np.testing.assert_allclose(known.b, b, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(known.estimate(), np.linalg.solve(sigma, b), rtol=0.0, atol=1e-8)
    log_det = np.linalg.slogdet(sigma)[1] - mdp.dimension * math.log(0.5)
    assert known.log_det == pytest.approx(log_det, rel=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_a_regression_continues_bit_for_bit(name: str):
    mdp, rng = EXAMPLES[name].mdp, np.random.default_rng(0)
    V, pairs = rng.random((20, mdp.num_states)), rng.integers(len(mdp.block_of_pair), size=20)
    ours, other = Regression(handle(mdp), 1.0), Regression(handle(mdp), 2.0)
    for k in range(20):
        if k == 10:
            other.restore(ours.snapshot())
        for one in (ours, other):
            one.add(int(pairs[k]), V[k], float(V[k, 0]))
        if k >= 10:
            for key, value in ours.snapshot().items():
                np.testing.assert_array_equal(other.snapshot()[key], value, err_msg=key)


def test_values_written_in_place_are_seen():
    """Addresses are remembered, never what stands there."""
    mdp = riverswim(4).mdp
    known, V = Regression(handle(mdp), 1.0), np.ones(4)
    before = known.predict(1, V)[1]
    V *= 2.0
    assert known.predict(1, V)[1] == pytest.approx(2.0 * before, rel=1e-14)
    assert known.predict(1, np.ones(4))[1] == before


@pytest.mark.parametrize("name", NAMES)
def test_information_is_that_of_the_definition(name: str):
    mdp, rng = EXAMPLES[name].mdp, np.random.default_rng(5)
    phi = mdp.transitions.phi
    rows = np.asarray(phi.toarray() if hasattr(phi, "toarray") else phi)
    path = rng.integers(len(rows), size=60)
    known, followed = Information(handle(mdp), 2.0), Information(handle(mdp), 2.0)
    A, squares = 2.0 * np.eye(mdp.dimension), []
    for i in path:
        squares.append(float(rows[i] @ np.linalg.solve(A, rows[i])))
        A += np.outer(rows[i], rows[i])
        known.add(int(i))
    np.testing.assert_allclose(whole(mdp, known.inverse), np.linalg.inv(A), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(followed.follow(path), squares, rtol=1e-9)
    np.testing.assert_array_equal(followed.inverse, known.inverse)
    for number, (at, _) in enumerate(blocks(mdp)):
        growth = np.linalg.slogdet(A[np.ix_(at, at)])[1] - len(at) * math.log(2.0)
        assert known.growth[number] == pytest.approx(growth, rel=1e-9, abs=1e-12)


def test_a_decision_is_due_when_a_determinant_has_grown_enough():
    """One-hot features: the block of (s, a) grows by log((n + 2)/(n + 1)) with its n-th visit, enough is log 2."""
    mdp = riverswim(4).mdp
    known = Information(handle(mdp), 1.0)
    assert known.due
    known.decided()
    assert not known.due
    due = []
    for visits in range(1, 41):
        known.add(0)  # the only successor of its pair
        if known.due:
            due.append(visits)
            known.decided()
            assert known.growth[0] == 0.0
    # 1 + n doubles at n = 1, 3, 7, ...; exactly twice is not more, so a visit later at the latest
    for found, expected in zip(due, (1, 3, 7, 15, 31), strict=False):
        assert expected <= found <= 2 * expected


def test_information_continues_bit_for_bit():
    mdp = EXAMPLES["paper, larger than the simplex"].mdp
    ours, other = Information(handle(mdp), 1.0), Information(handle(mdp), 3.0)
    ours.follow(np.arange(10))
    ours.decided()
    ours.add(3)
    other.restore(ours.snapshot())
    for one in (ours, other):
        one.add(1)
    assert ours.due == other.due
    np.testing.assert_array_equal(ours.inverse, other.inverse)
    np.testing.assert_array_equal(ours.growth, other.growth)


def test_what_is_out_of_range_is_refused():
    mdp = riverswim(4).mdp
    model = handle(mdp)
    for ridge in (0.0, -1.0, np.inf, np.nan):
        with pytest.raises(ValueError, match=r"core|out of range"):
            Regression(model, ridge)
        with pytest.raises(ValueError, match=r"core|out of range"):
            Information(model, ridge)
    known, information, V = Regression(model, 1.0), Information(model, 1.0), np.ones(4)
    for pair, values, target, weight in (
        (-1, V, 1.0, 1.0),
        (8, V, 1.0, 1.0),
        (0, np.ones(3), 1.0, 1.0),
        (0, V, np.inf, 1.0),
        (0, V, 1.0, -1.0),
    ):
        with pytest.raises(ValueError, match=r"core|out of range"):
            known.add(pair, values, target, weight)
    for transition in (-1, mdp.transitions.count):
        with pytest.raises(ValueError, match=r"core|out of range"):
            information.add(transition)
        with pytest.raises(ValueError, match=r"core|out of range"):
            information.follow(np.array([0, transition]))
    np.testing.assert_array_equal(known.b, 0.0)
    assert not information.growth.any()
