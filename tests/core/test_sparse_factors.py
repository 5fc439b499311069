"""Sparse factors of I - gamma P: against dense LU and SciPy's SuperLU, on patterns of every kind, and in plans."""

from collections.abc import Callable

import numpy as np
import pytest
from known_models import Known
from parts.planning import sparse_solve
from scipy import sparse
from scipy.sparse import linalg

EPS = float(np.finfo(float).eps)


def stochastic(pattern: np.ndarray, seed: int) -> sparse.csr_array:
    """Random probabilities wherever the pattern is true; a row without any stays where it is."""
    rng = np.random.default_rng([seed, len(pattern)])
    p = np.where(pattern, rng.random(pattern.shape) + 0.01, 0.0)
    p[~pattern.any(1), ~pattern.any(1)] = 1.0
    return sparse.csr_array(p / p.sum(1, keepdims=True))


def chain(n: int) -> np.ndarray:
    return np.abs(np.subtract.outer(np.arange(n), np.arange(n))) <= 1


def band(n: int) -> np.ndarray:
    """Up by one, down by up to five."""
    ahead = np.subtract.outer(np.arange(n), np.arange(n)).T
    return (ahead <= 1) & (ahead >= -5)


def grid(n: int) -> np.ndarray:
    side = int(np.sqrt(n))
    x, y = np.divmod(np.arange(side * side), side)
    return np.abs(np.subtract.outer(x, x)) + np.abs(np.subtract.outer(y, y)) <= 1


def shuffled_grid(n: int) -> np.ndarray:
    pattern = grid(n)
    order = np.random.default_rng(n).permutation(len(pattern))
    return pattern[np.ix_(order, order)]


def hubs(n: int) -> np.ndarray:
    """Ages, each of which may be followed by the next one, by a new machine, or by the workshop."""
    pattern = np.eye(n, k=1, dtype=bool)
    pattern[:, 0] = pattern[:, n // 2] = True
    return pattern


def ring(n: int) -> np.ndarray:
    return np.roll(np.eye(n, dtype=bool), 1, axis=1)


def apart(n: int) -> np.ndarray:
    """Parts that do not meet, and states that are never left."""
    pattern = chain(n)
    pattern[n // 3, :] = pattern[:, n // 3] = pattern[-1, :] = False
    return pattern


def scattered(n: int) -> np.ndarray:
    return np.random.default_rng(n).random((n, n)) < 2.0 / n


def full(n: int) -> np.ndarray:
    return np.ones((n, n), dtype=bool)


def one_way(n: int) -> np.ndarray:
    """No way back: a triangle of entries, some of them far away."""
    return np.triu(np.random.default_rng(n).random((n, n)) < 4.0 / n, 1)


PATTERNS: dict[str, Callable[[int], np.ndarray]] = {
    make.__name__: make
    for make in (chain, band, grid, shuffled_grid, hubs, ring, apart, scattered, full, one_way)
}


@pytest.mark.parametrize("discount", [0.5, 0.99, 0.9999])
@pytest.mark.parametrize("n", [1, 2, 9, 64, 200])
@pytest.mark.parametrize("name", PATTERNS)
def test_sparse_factors_solve_as_dense_ones_do(name: str, n: int, discount: float):
    """I - gamma P is conditioned like 2/(1-gamma); every order, and the transpose."""
    P = discount * stochastic(PATTERNS[name](n), seed=3)
    n = P.shape[0]
    right = np.random.default_rng(n).normal(size=n)
    dense = np.eye(n) - P.toarray()
    bound = 64.0 * EPS / (1.0 - discount) * np.abs(right).max()
    for transposed, system in ((False, dense), (True, dense.T)):
        exact = np.linalg.solve(system, right)
        for least_degree in (False, True):
            found = sparse_solve(P, right, least_degree, transposed)
            assert sorted(found.order) == list(range(n))
            np.testing.assert_allclose(system @ found.x, right, rtol=0.0, atol=bound)
            np.testing.assert_allclose(found.x, exact, rtol=0.0, atol=2.0 * n * bound / (1.0 - discount))


@pytest.mark.parametrize("name", ["grid", "shuffled_grid", "hubs", "band"])
def test_sparse_factors_solve_as_superlu_does(name: str):
    P = 0.999 * stochastic(PATTERNS[name](2500), seed=4)
    right = np.random.default_rng(5).random(P.shape[0])
    system = (sparse.eye_array(P.shape[0]) - P).tocsc()
    theirs = linalg.splu(system)
    for transposed in (False, True):
        expected = theirs.solve(right, trans="T" if transposed else "N")
        found = sparse_solve(P, right, transposed=transposed)
        np.testing.assert_allclose(found.x, expected, rtol=1e-9, atol=1e-9)
    assert found.entries <= 1.5 * (theirs.L.nnz + theirs.U.nnz)


def fill_of(pattern: np.ndarray, order: np.ndarray) -> tuple[int, int]:
    """Entries of L and U, and products, by elimination one pivot after another in a table of true and false."""
    there = (pattern | pattern.T | np.eye(len(pattern), dtype=bool))[np.ix_(order, order)]
    entries, products = len(pattern), 0
    for k in range(len(pattern)):
        below = np.flatnonzero(there[k + 1 :, k]) + k + 1
        there[np.ix_(below, below)] = True
        entries += 2 * len(below)
        products += len(below) * (len(below) + 1)
    return entries, products


@pytest.mark.parametrize("least_degree", [False, True])
@pytest.mark.parametrize("name", PATTERNS)
def test_what_elimination_fills_is_known_before(name: str, least_degree: bool):
    pattern = PATTERNS[name](81)
    P = 0.9 * stochastic(pattern, seed=6)
    found = sparse_solve(P, np.ones(len(pattern)), least_degree)
    assert (found.entries, found.products) == fill_of(P.toarray() != 0.0, found.order)
    assert sparse_solve(P, np.ones(len(pattern)), least_degree, most=found.products).solved
    if found.products > 0:
        assert not sparse_solve(P, np.ones(len(pattern)), least_degree, most=found.products - 1).solved


def test_least_degree_fills_little():
    """Nothing in a tree or a chain, however numbered; next to hubs, only their rows; a grid like nested dissection."""
    shuffle = np.random.default_rng(7).permutation(300)
    for pattern, entries in ((chain(300), 3 * 300 - 2), (hubs(300), 7 * 300)):
        P = 0.9 * stochastic(pattern[np.ix_(shuffle, shuffle)], seed=8)
        assert sparse_solve(P, np.ones(300)).entries <= entries
    side = 50
    P = 0.9 * stochastic(shuffled_grid(side * side), seed=9)
    assert sparse_solve(P, np.ones(side * side)).entries <= 2 * 7.75 * side**2 * np.log2(side)


def by_steps(n: int, discount: float, seed: int) -> Known:
    """Two actions on a chain with a tendency up or down, some of whose probabilities are zero in some places."""
    rng = np.random.default_rng([seed, n])
    P, at = np.zeros((n, 2, n)), np.arange(n)
    for action, up in enumerate((0.4, 0.1)):
        rise = np.where(rng.random(n) < 0.1, 0.0, up)
        P[at, action, np.minimum(at + 1, n - 1)] += rise
        P[at, action, np.maximum(at - 1, 0)] += 0.3
        P[at, action, at] += 0.7 - rise
    return Known(P, np.stack([at / n, rng.random(n)], axis=1), discount)


@pytest.mark.parametrize("discount", [0.9, 0.99, 0.9999])
@pytest.mark.parametrize("kind", ["chain", "shuffled", "shuffled grid"])
def test_plans_by_sparse_factors_keep_their_promises(kind: str, discount: float):
    """V*, V of a policy, visits and columns, against NumPy: near neighbours, and those to be found."""
    case = by_steps(144, discount, 1)
    order = np.random.default_rng(2).permutation(144)
    if kind == "shuffled":
        case = Known(case.P[order][:, :, order], case.R[order], discount)
    if kind == "shuffled grid":
        P = np.stack([stochastic(shuffled_grid(144), seed).toarray() for seed in (0, 1)], axis=1)
        case = Known(P, case.R, discount)
    planner = case.planner(factors=False)
    error = planner.iterate(1e-9 / (1.0 - discount))
    assert error <= 1e-9 / (1.0 - discount)
    np.testing.assert_allclose(planner.V, case.optimal(), rtol=0.0, atol=error + case.rounding)
    policy = np.arange(144) % 2
    planner.put(policy=policy)
    error = planner.evaluate()
    np.testing.assert_allclose(planner.V, case.value_of(policy), rtol=0.0, atol=error + case.rounding)
    step = case.P[np.arange(144), policy]
    expected = np.linalg.solve(np.eye(144) - discount * step.T, np.eye(144)[5])
    assert np.abs(planner.visit_from(5) - expected).sum() <= max(1e-10, 100 * EPS / (1.0 - discount)) / (
        1.0 - discount
    )
    X = np.random.default_rng(3).normal(size=(144, 5))
    exact = np.linalg.solve(np.eye(144) - discount * step, X)
    bound = 1e-7 * np.abs(X).max(0) / (1.0 - discount)
    planner.solve(X, 1e-7)
    assert (np.abs(X - exact).max(0) <= bound).all()


def test_what_was_planned_before_changes_no_bit():
    """Factors are kept, but what is computed by them does not depend on that."""
    case = by_steps(144, 0.999, 4)
    used = case.planner(factors=False)
    for policy in (np.zeros(144, np.int64), np.ones(144, np.int64), np.arange(144) % 2):
        used.put(policy=policy, V=np.zeros(144))
        used.evaluate()
        fresh = case.planner(factors=False)
        fresh.put(policy=policy)
        fresh.evaluate()
        np.testing.assert_array_equal(used.V, fresh.V)
        np.testing.assert_array_equal(used.visit_from(7), fresh.visit_from(7))
