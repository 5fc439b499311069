"""Value-targeted regression: theta from the values of next states, E[V(s')] = <phi_V(s,a), theta>.

    Sigma = ridge I + sum w phi_V phi_V',   b = sum w phi_V V(s'),   estimate = Sigma^{-1} b

V changes from sample to sample; the weights w are 1 in UCLK, and inverse variances in UCLK+.
"""

from __future__ import annotations

import math

import numpy as np

from vbmle.common import keeper
from vbmle.common.files import Snapshot
from vbmle.core import regression as core
from vbmle.model.mdp import LinearMixtureMDP

MOST_SAMPLES = 2.0**53
"""No more can be counted one by one."""


class Regression:
    """Sigma, its inverse and b, by rank-one updates; `log_det` is log det Sigma - log det (ridge I)."""

    def __init__(self, mdp: LinearMixtureMDP, ridge: float) -> None:
        self._most = MOST_SAMPLES**0.5 * mdp.dimension**0.5 / (1.0 - mdp.discount) ** 2
        self._ridge, self._sizes = ridge, np.diff(mdp.flat_set.coordinate_begin)
        self._core = core.Regression(mdp.core, ridge)
        self.sigma, self.inverse, self.b = self._core.sigma, self._core.inverse, self._core.b
        self.add, self.predict, self.estimate = self._core.add, self._core.predict, self._core.estimate

    @property
    def log_det(self) -> float:
        """log det Sigma - log det (ridge I)."""
        return self._core.log_det

    def snapshot(self) -> Snapshot:
        """What `restore` continues from."""
        return self._core.snapshot()

    def restore(self, snapshot: Snapshot) -> None:
        """Continue from a snapshot."""
        keeper.require_like("", snapshot, self.snapshot())
        keeper.require_finite("b", snapshot["b"])
        first, begin, log_det = 0, 0, 0.0
        for size in self._sizes.tolist():
            sigma, inverse = (
                snapshot[name][begin : begin + size * size].reshape(size, size)
                for name in ("sigma", "inverse")
            )
            log_det += keeper.require_inverse("sigma", sigma, inverse) - size * math.log(self._ridge)
            # By Cauchy and Schwarz, with targets up to V^2 and weights up to d: |b_i|^2 <= Sigma_ii sum w V^4.
            most = self._most * np.sqrt(np.diag(sigma))
            keeper.require_within("b", snapshot["b"][first : first + size], -most, most)
            first, begin = first + size, begin + size * size
        if not abs(float(snapshot["log_det"]) - log_det) <= 1e-6 * (1.0 + abs(log_det)):
            raise ValueError(f"log_det is {float(snapshot['log_det'])!r}; sigma has {log_det!r}")
        self._core.restore(snapshot)
