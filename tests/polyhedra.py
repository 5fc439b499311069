"""Polyhedra {normals @ d + slack >= 0} of every kind that a solver may meet, and curved objectives on them."""

import numpy as np

KINDS = [
    "random rows",
    "box",
    "cross-polytope",
    "at a vertex of the cross-polytope",
    "rows many times over",
    "no room at all",
]


def unit(rows: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def curved(rng: np.random.Generator, n: int, condition: float = 100.0) -> np.ndarray:
    """A positive definite matrix with eigenvalues from 1 to its condition."""
    turn = np.linalg.qr(rng.normal(size=(n, n)))[0]
    return np.asarray(turn @ np.diag(np.geomspace(1.0, condition, n)) @ turn.T)


def polyhedron(kind: str, rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Normals and slack at the point where a step starts: inside, or exactly on a vertex."""
    if kind == "random rows":
        return unit(rng.normal(size=(4 * n, n))), rng.uniform(0.0, 1.0, 4 * n)
    if kind == "box":
        return np.vstack([np.eye(n), -np.eye(n)]), rng.uniform(0.0, 0.5, 2 * n)
    if kind == "cross-polytope":
        signs = 2.0 * (np.arange(2**n)[:, None] >> np.arange(n) & 1) - 1.0
        return unit(signs), np.full(2**n, 0.1 / np.sqrt(n))
    if kind == "at a vertex of the cross-polytope":
        normals, slack = polyhedron("cross-polytope", rng, n)
        corner = np.zeros(n)
        corner[int(rng.integers(n))] = 0.1
        return normals, np.maximum(slack + normals @ corner, 0.0)
    if kind == "rows many times over":
        normals, slack = polyhedron("random rows", rng, n)
        return np.vstack([normals] * 3), np.concatenate([slack, slack, slack + 0.1])
    normals, slack = polyhedron("random rows", rng, n)  # "no room at all": a single feasible point, d = 0
    return np.vstack([normals, -normals]), np.zeros(2 * len(slack))
