"""Extended value iteration: the best policy in the best model of a confidence set (optimism).

    V(s) = max_a max_theta  R_theta(s,a) + gamma <phi_V(s,a), theta>,   theta in P, |theta - estimate|_Sigma <= radius,

a model of its own for every (s, a). The inner maximum is exact up to a gap that is proved (`vbmle.kernels.support`).
Two ways to the fixed point: policy iteration over actions and models together, which promises an error, or the
published number of sweeps from 1/(1-gamma). Several ellipsoids mean their intersection. Where no theta of P lies
within a radius the set is empty: then the theta of P nearest to that estimate is planned for, and the plan says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vbmle.common.files import Snapshot
from vbmle.common.validation import Floats, Ints
from vbmle.model.mdp import LinearMixtureMDP
from vbmle.planning.planner import room_for_factors


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
        self._mdp = mdp
        self._allocate(1)
        self._p = np.zeros(mdp.transitions.count)
        self._lu = room_for_factors(mdp)
        self.V = np.full(mdp.num_states, 1.0 / (1.0 - mdp.discount))
        self.policy: Ints = np.zeros(mdp.num_states, np.int64)
        self.theta = mdp.polytope.interior.copy()
        self.error_bound, self.empty = np.inf, False

    def _allocate(self, ellipsoids: int) -> None:
        """Arrays for that many ellipsoids; what the first ones end with is kept."""
        from vbmle.kernels.optimism import Ball, Warm

        domain, rows = self._mdp.flat_domain, len(self._mdp.block_of_row)
        free = np.diff(domain.free_ptr)
        squares = np.concatenate([[0], np.cumsum(free**2)]).astype(np.int64)
        widest, total = int(free.max(initial=0)), int(domain.free_ptr[-1])
        sizes = {"H": squares[-1], "root": squares[-1], "middle": total, "slack": len(domain.offsets)}
        sizes |= {"near": total, "room": len(free)}
        self._ball = Ball(squares, **{name: np.zeros((ellipsoids, size)) for name, size in sizes.items()})
        before = getattr(self, "_warm", None)
        self._warm = Warm(
            s=np.ones((ellipsoids, rows)),
            active=np.zeros((ellipsoids, rows, widest), np.int64),
            num_active=np.zeros((ellipsoids, rows), np.int64),
            y=np.zeros((ellipsoids, rows, widest)),
            tight=np.zeros(rows, np.int64),
            chosen=np.zeros((rows, widest)),
        )
        if before is not None:
            for new, old in zip(self._warm, before, strict=True):
                new[: len(old)] = old

    def plan(self, sets: Sequence[Ellipsoid], tolerance: float, sweeps: int | None = None) -> None:
        """Plan for the theta that all sets share; by `sweeps` sweeps where they are given, else to the tolerance."""
        from vbmle.kernels import optimism, value
        from vbmle.kernels.objective import assemble

        flat, domain = self._mdp.flat, self._mdp.flat_domain
        if len(sets) > len(self._ball.room):
            self._allocate(len(sets))
        ball, worst = self._ball, -np.inf
        for k, one in enumerate(sets):
            distance = optimism.place(domain, one.sigma, one.estimate, ball, k)
            missed = distance - one.radius**2
            if missed > worst:
                worst = missed
                assemble(domain, ball.near[k], self.theta)
            ball.room[k] -= missed
        self.empty = bool(worst > 0.0)
        if self.empty:
            value.probabilities(flat, self.theta, self._p)
            self.error_bound = _solve(flat, self._p, self.policy, self._lu, self.V, tolerance)
            return
        known = (flat, domain, ball, self._mdp.block_of_row, self._warm, self._p, self.policy, self.V)
        if sweeps is None:
            self.error_bound = optimism.optimistic_iteration(*known, self._lu, tolerance)
        else:
            self.error_bound = optimism.optimistic_sweeps(*known, sweeps)

    def thetas(self) -> Floats:
        """The theta chosen for every (s, a), (S, A, d)."""
        mdp = self._mdp
        out = np.empty((len(mdp.block_of_row), mdp.dimension))
        for row, block in enumerate(mdp.block_of_row):
            out[row] = self.theta
            if not self.empty:
                part = mdp.polytope.blocks[block]
                out[row, part.coordinates] = (
                    part.center + part.basis @ self._warm.chosen[row, : part.dimension]
                )
        return out.reshape(mdp.num_states, mdp.num_actions, mdp.dimension)

    def snapshot(self) -> Snapshot:
        """What `restore` continues from."""
        kept = {f"warm.{name}": array for name, array in self._warm._asdict().items()}
        kept |= {"V": self.V, "policy": self.policy, "theta": self.theta}
        kept |= {"error_bound": np.array(self.error_bound), "empty": np.array(self.empty)}
        return {f"optimist.{name}": array for name, array in kept.items()}

    def restore(self, snapshot: Snapshot) -> None:
        """Continue from a `state`."""
        self._allocate(len(snapshot["optimist.warm.s"]))
        for name, array in self._warm._asdict().items():
            array[...] = snapshot[f"optimist.warm.{name}"]
        self.V[...], self.policy[...] = snapshot["optimist.V"], snapshot["optimist.policy"]
        self.theta[...] = snapshot["optimist.theta"]
        self.error_bound, self.empty = (
            float(snapshot["optimist.error_bound"]),
            bool(snapshot["optimist.empty"]),
        )


def best_successors(mdp: LinearMixtureMDP, V: Floats) -> tuple[Floats, Floats]:
    """One sweep of a controller who also picks, in every row, the best successor: at least T V for any theta.

    Returns what each transition is worth, reward by transition + gamma V(s'), and the new V.
    """
    rows = mdp.transitions
    extra = mdp.transition_reward if len(mdp.transition_reward) else 0.0
    worth = extra + mdp.discount * V[rows.successor]
    Q = mdp.row_reward + np.maximum.reduceat(worth, rows.indptr[:-1])
    return worth, Q.reshape(mdp.num_states, mdp.num_actions).max(axis=1)


def _solve(flat: Any, p: Floats, policy: Ints, lu: Floats, V: Floats, tolerance: float) -> float:
    """The optimal policy and value for fixed probabilities; returns the error of V."""
    from vbmle.kernels import value

    if len(lu):
        return float(value.policy_iteration(flat, p, policy, lu, V) / (1.0 - flat.discount))
    return float(
        value.modified_policy_iteration(flat, p, policy, V, np.empty_like(V), tolerance, 20, 10_000_000)
    )
