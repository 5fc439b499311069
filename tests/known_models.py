"""Models in plain arrays, and what they are worth by plain NumPy: the oracles of planning."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from vbmle.core.model import Model
from vbmle.core.planning import Planner

EPS = float(np.finfo(float).eps)


def value_of(P: np.ndarray, R: np.ndarray, policy: np.ndarray, discount: float) -> np.ndarray:
    """V^pi by NumPy's solver, refined in extended precision until rounding does not matter."""
    rows = np.arange(len(R))
    wide = np.eye(len(R), dtype=np.longdouble) - discount * P[rows, policy].astype(np.longdouble)
    V = np.zeros(len(R), dtype=np.longdouble)
    for _ in range(4):
        rest = R[rows, policy] - wide @ V
        V += np.linalg.solve(wide.astype(float), rest.astype(float))
    return V.astype(float)


def optimal(P: np.ndarray, R: np.ndarray, discount: float) -> np.ndarray:
    """V*: Howard's policy iteration until the value stops rising."""
    policy = R.argmax(1)
    V = value_of(P, R, policy, discount)
    while True:
        policy = (R + discount * P @ V).argmax(1)
        better = value_of(P, R, policy, discount)
        if (better <= V + 1e-13 * (1.0 + np.abs(V))).all():
            return np.maximum(V, better)
        V = better


class Known(NamedTuple):
    """A model in plain arrays, P (S, A, S) and R (S, A), with minus infinity for actions that are not allowed."""

    P: np.ndarray
    R: np.ndarray
    discount: float

    @property
    def rounding(self) -> float:
        """A probability is known to eps, so rewards to eps/(1-gamma) and V to eps/(1-gamma)^2; times 8."""
        size = max(1.0, float(np.abs(self.R[np.isfinite(self.R)]).max()))
        return 8.0 * EPS / (1.0 - self.discount) ** 2 * size

    @property
    def flat(self) -> np.ndarray:
        return self.P.reshape(-1, self.P.shape[-1])

    @property
    def csr(self) -> sparse.csr_array:
        return sparse.csr_array(self.flat)

    def model(self) -> Model:
        """In the core, as a mixture of one model: theta is (1,), and nothing is free."""
        table = self.csr
        arrays: dict[str, Any] = {
            "pair_begin": table.indptr.astype(np.int64),
            "successor": table.indices.astype(np.int64),
            "reward": np.ascontiguousarray(self.R.ravel()),
            "phi": table.data.reshape(-1, 1).copy(),
            "center": np.ones(1),
            "coordinates": np.zeros(1, np.int64),
            "coordinate_begin": np.array([0, 1]),
            "basis": np.zeros(0),
            "free_begin": np.array([0, 0]),
            "normals": np.zeros(0),
            "offsets": np.zeros(0),
            "facet_begin": np.array([0, 0]),
            "diameter": np.zeros(1),
        }
        states, actions = self.R.shape
        sizes = {"num_states": states, "num_actions": actions, "num_transitions": table.nnz}
        return Model(sizes | {"dimension": 1, "num_blocks": 1}, self.discount, arrays)

    def planner(self, factors: bool) -> Planner:
        planner = Planner(self.model(), factors)
        planner.put(p=self.csr.data)
        return planner

    def value_of(self, policy: np.ndarray) -> np.ndarray:
        return value_of(self.P, self.R, policy, self.discount)

    def optimal(self) -> np.ndarray:
        return optimal(self.P, self.R, self.discount)


def known(
    seed: int, states: int, discount: float, actions: int = 3, is_sparse: bool = False, forbidden: float = 0.0
) -> Known:
    """At most four successors where sparse; a part of the actions may not be allowed, and then leads nowhere."""
    rng = np.random.default_rng([seed, states])
    P = rng.dirichlet(np.full(states, 0.3), (states, actions))
    if is_sparse:
        P[np.sort(P)[..., -min(4, states) :].min(-1, keepdims=True) > P] = 0.0
        P /= P.sum(-1, keepdims=True)
    R = rng.random((states, actions))
    closed = rng.random((states, actions)) < forbidden
    closed[np.arange(states), rng.integers(0, actions, states)] = False
    P[closed], R[closed] = 0.0, -np.inf
    return Known(P, R, discount)


def ring(states: int, discount: float) -> Known:
    """Walked or waited in: values spread one state a sweep. One state is worth a visit."""
    P = np.stack([np.roll(np.eye(states), 1, axis=1), np.eye(states)], axis=1)
    R = np.zeros((states, 2))
    R[0] = [1.0, -1.0]
    return Known(P, R, discount)
