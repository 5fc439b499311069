"""Cholesky factors of the core and their inverses."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from parts.climbing import cholesky
from polyhedra import curved

EXACT = 1e-10


@given(seed=st.integers(0, 2**20), n=st.integers(1, 12))
def test_cholesky_factors(seed: int, n: int):
    matrix = curved(np.random.default_rng(seed), n)
    found = cholesky(matrix)
    assert found is not None
    lower, inverse = found
    np.testing.assert_allclose(lower @ lower.T, matrix, rtol=0.0, atol=EXACT)
    np.testing.assert_allclose(inverse @ lower, np.eye(n), rtol=0.0, atol=EXACT)
    np.testing.assert_array_equal(np.triu(inverse, 1), 0.0)


@pytest.mark.parametrize(
    "matrix",
    [
        np.diag([1.0, -1.0]),
        np.ones((2, 2)),
        np.zeros((3, 3)),
        np.diag([1.0, np.nan]),
        np.full((2, 2), np.inf),
    ],
    ids=["a saddle", "flat", "zero", "not a number", "infinite"],
)
def test_what_is_not_safely_positive_definite_has_none(matrix: np.ndarray):
    assert cholesky(matrix) is None
