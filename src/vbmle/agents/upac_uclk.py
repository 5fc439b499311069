"""UPAC-UCLK: UCLK with levels of accuracy, after Chen, He and Gu 2022, details ours.

Level l = 1, 2, ... has its own Sigma_l = ridge I + sum phi_V phi_V' and b_l. A sample joins the first level where its
feature is still new, |phi_V| in Sigma_l^{-1} > 2^{-l}; a level that none of the lower ones keeps a sample from is
opened when first needed. So level l holds no more than

    n_l = the fixed point of  n = 2 d 4^l log(1 + n H^2 / ridge),     H = 1/(1-gamma)      (elliptical potential)

samples however long the run, and its radius depends on the level alone, not on t:

    beta_l = UCLK's published radius at t = n_l and delta_l = delta / (l (l + 1)),

so that all sets hold at all times together with probability 1 - delta. Plans are optimistic over their intersection
with P, and made again when the determinant of some Sigma_l has doubled. Ours: n_l, beta_l, the moment of a new plan;
and in models whose feasible set is a product, the levels share a common point in the block of (s, a), while in the
other blocks each level takes the point nearest to it (a larger set, so still optimistic).
`radius_scale` other than 1 leaves the theory behind; the other departures are UCLK's.
"""

from __future__ import annotations

import math

import numpy as np

from vbmle.agents.uclk import OptimisticAgent, paper_radius
from vbmle.common import keeper
from vbmle.common.files import Snapshot
from vbmle.common.validation import Floats
from vbmle.estimation.value_regression import Regression
from vbmle.model.mdp import LinearMixtureMDP
from vbmle.planning.optimistic_planner import Ellipsoid


def most_samples(level: int, dimension: int, discount: float, ridge: float) -> int:
    """n_l, more than which a level can never hold."""
    factor = 2.0 * dimension * 4.0**level
    n = factor
    while True:
        following = factor * math.log1p(n / (ridge * (1.0 - discount) ** 2))
        if following <= n * (1.0 + 1e-12):
            return math.ceil(n)
        n = following


class Levels:
    """The regressions, level by level: there is one at first, and others are opened when they are needed."""

    def __init__(self, mdp: LinearMixtureMDP, ridge: float) -> None:
        self._mdp, self._ridge = mdp, ridge
        self.regressions = [Regression(mdp, ridge)]

    grows = ("sigma", "inverse", "b", "log_det")

    def add(self, pair: int, V: Floats, target: float) -> None:
        """Take in a sample at the first level where its feature is still new."""
        for number, level in enumerate(self.regressions, start=1):
            if level.predict(pair, V)[1] > 2.0**-number:
                break
        else:
            level = self._open()
        level.add(pair, V, target)

    def _open(self) -> Regression:
        self.regressions.append(Regression(self._mdp, self._ridge))
        return self.regressions[-1]

    def snapshot(self) -> Snapshot:
        """What `restore` continues from: every array stacked, level by level."""
        kept = [level.snapshot() for level in self.regressions]
        return {name: np.stack([one[name] for one in kept]) for name in kept[0]}

    def restore(self, snapshot: Snapshot) -> None:
        """Continue from a snapshot."""
        keeper.require_like("", snapshot, self.snapshot(), self.grows)
        layers = keeper.require_layers(snapshot, self.grows)
        while len(self.regressions) < layers:
            self._open()
        for number, level in enumerate(self.regressions):
            level.restore({name: array[number] for name, array in snapshot.items()})


class UPACUCLK(OptimisticAgent):
    """Optimism over the intersection of UCLK's ellipsoids at several levels, with radii that do not grow with t.

    Examples
    --------
    >>> import vbmle
    >>> world = vbmle.worlds.riverswim(length=6)
    >>> vbmle.UPACUCLK(world.mdp).act(0)
    1
    """

    label = "UPAC-UCLK"

    def _begin(self) -> None:
        self._levels = Levels(self.mdp, self.ridge)

    def radius(self, level: int) -> float:
        """beta_l, levels counted from 1."""
        mdp, ridge = self.mdp, self.ridge
        most = most_samples(level, mdp.dimension, mdp.discount, ridge)
        share = self.delta / (level * (level + 1))
        return self.radius_scale * paper_radius(most, mdp.dimension, mdp.discount, ridge, share)

    def _log_dets(self) -> list[float]:
        return [level.log_det for level in self._levels.regressions]

    def _sets(self) -> list[Ellipsoid]:
        return [
            Ellipsoid(level.sigma, level.estimate(), self.radius(number))
            for number, level in enumerate(self._levels.regressions, start=1)
        ]

    def _learn(self, pair: int, next_state: int) -> None:
        V = self._optimist.V
        self._levels.add(pair, V, float(V[next_state]))
