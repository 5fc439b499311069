"""Linear programs over {normals @ y + offsets >= 0}, against HiGHS."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from vbmle.core.linear_program import furthest, needed_facets, widths

REFUSED = r"core|out of range"
seeds = st.integers(0, 2**20)
KINDS = ["random normals", "cross-polytope", "normals many times over"]


def unit(normals: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(normals / np.linalg.norm(normals, axis=1, keepdims=True))


def polyhedron(kind: str, rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Normals and offsets; y = 0 is inside or on the boundary."""
    if kind == "cross-polytope":
        signs = 2.0 * (np.arange(2**n)[:, None] >> np.arange(n) & 1) - 1.0
        return unit(signs), np.full(2**n, 0.1 / np.sqrt(n))
    normals, offsets = unit(rng.normal(size=(4 * n, n))), rng.uniform(0.0, 1.0, 4 * n)
    if kind == "random normals":
        return normals, offsets
    return np.vstack([normals] * 3), np.concatenate([offsets, offsets, offsets + 0.1])


def bounded(kind: str, seed: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """A bounded set around y = 0: random facets and a box, or a cross-polytope; some facets are redundant."""
    normals, offsets = polyhedron(kind, np.random.default_rng([seed, n]), n)
    box = np.vstack([np.eye(n), -np.eye(n)])
    return np.vstack([normals, box]), np.concatenate([offsets + 0.01, np.full(2 * n, 0.5)])


@pytest.mark.parametrize("kind", KINDS)
@given(seed=seeds, n=st.integers(1, 5))
def test_linear_programs_reach_the_maximum(kind: str, seed: int, n: int):
    normals, offsets = bounded(kind, seed, n)
    directions = np.random.default_rng(seed).normal(size=(2, n))
    for c, y in zip(directions, furthest(normals, offsets, directions), strict=True):
        reference = linprog(-c, A_ub=-normals, b_ub=offsets, bounds=(None, None))
        # HiGHS is right to 1e-7 of a row, and less in effect.
        assert c @ y == pytest.approx(-reference.fun, abs=1e-8)
        assert (normals @ y + offsets).min() >= -1e-11


@pytest.mark.parametrize("kind", KINDS)
@given(seed=seeds, n=st.integers(1, 5))
def test_facets_that_are_left_out_were_not_needed(kind: str, seed: int, n: int):
    normals, offsets = bounded(kind, seed, n)
    keep = needed_facets(normals, offsets)
    for i in np.nonzero(~keep)[0]:
        least = linprog(normals[i], A_ub=-normals[keep], b_ub=offsets[keep], bounds=(None, None))
        assert least.status == 0
        assert least.fun + offsets[i] >= -1e-9


def test_facets_that_cut_nothing_off_are_left_out():
    """A unit box, and facets beyond its corners."""
    box = np.vstack([np.eye(2), -np.eye(2)])
    far = unit(np.array([[1.0, 1.0], [1.0, -1.0], [2.0, 1.0]]))
    normals, offsets = np.vstack([far, box]), np.concatenate([[1.5, 1.6, 1.7], np.ones(4)])
    np.testing.assert_array_equal(needed_facets(normals, offsets), [False] * 3 + [True] * 4)


@given(seed=seeds, n=st.integers(1, 5))
def test_widths_are_those_of_linear_programs(seed: int, n: int):
    normals, offsets = bounded("random normals", seed, n)
    ends = [
        linprog(sign * e, A_ub=-normals, b_ub=offsets, bounds=(None, None)).fun
        for e in np.eye(n)
        for sign in (1.0, -1.0)
    ]
    expected = -np.array(ends).reshape(n, 2).sum(1)
    np.testing.assert_allclose(widths(normals, offsets), expected, rtol=0.0, atol=1e-8)


def test_what_does_not_fit_is_refused():
    box = np.vstack([np.eye(2), -np.eye(2)])
    with pytest.raises(ValueError, match=REFUSED):
        needed_facets(box, np.ones(3))
    with pytest.raises(ValueError, match=REFUSED):
        widths(box[:, :0], np.ones(4))
    with pytest.raises(ValueError, match=REFUSED):
        furthest(box, np.ones(4), np.ones((1, 3)))
