"""Value-targeted regression: theta from the values of next states, E[V(s')] = <phi_V(s,a), theta>.

    Sigma = ridge I + sum w phi_V phi_V',   b = sum w phi_V V(s'),   estimate = Sigma^{-1} b

V changes from sample to sample; the weights w are 1 in UCLK, and inverse variances in UCLK+.
"""

from __future__ import annotations

import numpy as np

from vbmle.common.files import Snapshot
from vbmle.common.validation import Floats
from vbmle.model.mdp import LinearMixtureMDP


class Regression:
    """Sigma, its inverse and b, by rank-one updates; `log_det` is log det Sigma - log det (ridge I)."""

    def __init__(self, mdp: LinearMixtureMDP, ridge: float) -> None:
        self._mdp, self._domain = mdp, mdp.flat_domain
        sizes = np.diff(self._domain.coord_ptr)
        self.sigma: Floats = np.concatenate([ridge * np.eye(int(size)).ravel() for size in sizes])
        self.inverse: Floats = np.concatenate([np.eye(int(size)).ravel() / ridge for size in sizes])
        self.b = np.zeros(mdp.dimension)
        self.log_det = 0.0
        self._x = np.empty(int(sizes.max()))

    def norm(self, row: int, V: Floats) -> float:
        """|phi_V(s, a)| in Sigma^{-1}, for the row s * A + a."""
        from vbmle.kernels.regression import square_norm

        block = self._feature(row, V)
        return float(np.sqrt(max(square_norm(self._domain, self.inverse, block, self._x), 0.0)))

    def predict(self, row: int, V: Floats) -> float:
        """<phi_V(s, a), estimate>."""
        from vbmle.kernels.regression import prediction

        block = self._feature(row, V)
        return float(prediction(self._domain, self.inverse, self.b, block, self._x))

    def add(self, row: int, V: Floats, target: float, weight: float = 1.0) -> None:
        """Take in that V was `target` after the row s * A + a."""
        from vbmle.kernels.regression import add_sample

        block = self._feature(row, V)
        parts = (self.sigma, self.inverse, self.b)
        self.log_det += add_sample(self._domain, parts, block, self._x, target, weight)

    def estimate(self) -> Floats:
        """Sigma^{-1} b, which need not be feasible."""
        from vbmle.kernels.regression import solve

        theta = np.empty(self._mdp.dimension)
        solve(self._domain, self.inverse, self.b, theta)
        return theta

    def _feature(self, row: int, V: Floats) -> int:
        """Put phi_V(s, a) into `_x`; returns its block."""
        from vbmle.kernels.regression import expected_feature

        block = int(self._mdp.block_of_row[row])
        expected_feature(self._mdp.flat, self._domain, block, row, V, self._x)
        return block

    def snapshot(self, name: str = "regression") -> Snapshot:
        """What `restore` continues from."""
        parts = {"sigma": self.sigma, "inverse": self.inverse, "b": self.b, "log_det": np.array(self.log_det)}
        return {f"{name}.{key}": value for key, value in parts.items()}

    def restore(self, snapshot: Snapshot, name: str = "regression") -> None:
        """Continue from a `state`."""
        for key in ("sigma", "inverse", "b"):
            getattr(self, key)[...] = snapshot[f"{name}.{key}"]
        self.log_det = float(snapshot[f"{name}.log_det"])
