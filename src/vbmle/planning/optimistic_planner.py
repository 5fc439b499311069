"""Extended value iteration: the best policy in the best model of a confidence set (optimism).

    V(s) = max_a max_theta  R_theta(s,a) + gamma <phi_V(s,a), theta>,   theta in P, |theta - estimate|_Sigma <= radius,

a model of its own for every (s, a). The inner maximum is exact up to a gap that is proved
(core/src/optimism/ellipsoid.hpp).
Two ways to the fixed point: policy iteration over actions and models together, which promises an error, or the
published number of sweeps from 1/(1-gamma). Several ellipsoids mean their intersection. Where no theta of P lies
within a radius the set is empty: then the theta of P nearest to that estimate is planned for, and the plan says so.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vbmle.common.files import Snapshot
from vbmle.common.validation import Floats
from vbmle.core import optimism as core
from vbmle.core.library import status_text
from vbmle.model.mdp import LinearMixtureMDP
from vbmle.planning.planner import uses_factors


@dataclass(frozen=True, eq=False)
class Ellipsoid:
    """{theta: |theta - estimate| in the norm of Sigma <= radius}; Sigma block by block (see `Regression`)."""

    sigma: Floats
    estimate: Floats
    radius: float


class Optimist:
    """Plans optimistically again and again, each time from where the last plan ended.

    After `plan`: V, policy, error_bound (of V, where models were chosen), empty, theta (of P, nearest to the
    estimate) and `thetas()`.
    """

    def __init__(self, mdp: LinearMixtureMDP) -> None:
        self._core = core.Optimist(mdp.core, uses_factors(mdp))
        self.V, self.policy, self.theta = self._core.V, self._core.policy, self._core.theta
        self.plan, self.thetas = self._core.plan, self._core.thetas

    @property
    def error_bound(self) -> float:
        """How far V may be from the best value of the models in the set."""
        return self._core.error_bound

    @property
    def empty(self) -> bool:
        """Whether no theta of P lay within some radius."""
        return self._core.empty

    @property
    def gap(self) -> float:
        """What an inner maximum may lack at most, in units of V."""
        return self._core.last.gap

    @property
    def status(self) -> str:
        """How the last plan ended."""
        return status_text(self._core.last.status)

    @property
    def converged(self) -> bool:
        """Whether the last plan did what it was asked for."""
        return self._core.last.status == 0

    def snapshot(self) -> Snapshot:
        """What `restore` continues from."""
        return self._core.snapshot()

    def restore(self, snapshot: Snapshot) -> None:
        """Continue from a snapshot."""
        self._core.restore(snapshot)


def best_successors(mdp: LinearMixtureMDP, V: Floats) -> tuple[Floats, Floats]:
    """One sweep of a controller who also picks, in every row, the best successor: at least T V for any theta.

    Returns what each transition is worth, reward by transition + gamma V(s'), and the new V.
    """
    rows = mdp.transitions
    extra = mdp.transition_reward if len(mdp.transition_reward) else 0.0
    worth = extra + mdp.discount * V[rows.successor]
    Q = mdp.row_reward + np.maximum.reduceat(worth, rows.indptr[:-1])
    return worth, Q.reshape(mdp.num_states, mdp.num_actions).max(axis=1)
