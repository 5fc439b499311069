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

from vbmle.common import keeper
from vbmle.common.files import Snapshot
from vbmle.common.validation import Floats, Ints
from vbmle.core import optimism as core
from vbmle.core.library import status_text
from vbmle.model.mdp import LinearMixtureMDP
from vbmle.planning.planner import uses_factors

MOST_IMPROVEMENTS = 1000  # of the plan over best successors: a handful is usual
BACKUP_ROUNDING = 4.0 * float(np.finfo(np.float64).eps)  # of one backup, relative to the largest value
SETTLED = 16.0 * BACKUP_ROUNDING  # what policies are not improved for: the rounding of an evaluation


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

    grows = ("warm.s", "warm.num_active", "warm.active", "warm.y")

    @property
    def converged(self) -> bool:
        """Whether the last plan did what it was asked for."""
        return self._core.last.status == 0

    def snapshot(self) -> Snapshot:
        """What `restore` continues from."""
        return self._core.snapshot()

    def restore(self, snapshot: Snapshot) -> None:
        """Continue from a snapshot."""
        keeper.require_like("", snapshot, self.snapshot(), self.grows)
        self._check(snapshot, keeper.require_layers(snapshot, self.grows))
        self._core.restore(snapshot)

    def _check(self, snapshot: Snapshot, layers: int) -> None:
        mdp, flat = self._mdp, self._mdp.flat_set
        block = mdp.block_of_pair
        free, facets = np.diff(flat.free_begin)[block], np.diff(flat.facet_begin)[block]
        count = snapshot["warm.num_active"]
        keeper.require_within("warm.num_active", count, 0, free)
        used = np.arange(snapshot["warm.active"].shape[2]) < count[..., None]
        active = np.where(used, snapshot["warm.active"], 0)
        keeper.require_within("warm.active", active, 0, np.maximum(facets - 1, 0)[:, None])
        keeper.require_within("warm.s", snapshot["warm.s"], 0.0, np.inf)
        keeper.require_within("tight", snapshot["tight"], 0, layers - 1)
        keeper.require_within("policy", snapshot["policy"], 0, mdp.num_actions - 1)
        for name in ("warm.y", "chosen", "theta"):
            keeper.require_finite(name, snapshot[name])
        worst = 2.0 / (1.0 - mdp.discount)
        keeper.require_within("V", snapshot["V"], -worst, worst)
        mdp.require_feasible(snapshot["theta"], 1e-6)
        bounds = snapshot["ended"][[core.ENDED.index(name) for name in ("error_bound", "gap")]]
        keeper.require_within("ended", bounds, 0.0, np.inf)
        whole = snapshot["ended"][[core.ENDED.index(name) for name in ("rounds", "status", "inner", "empty")]]
        if not (np.isfinite(whole).all() and (whole == np.floor(whole)).all()):
            raise ValueError("ended holds fractions; rounds and statuses are whole numbers")
        keeper.require_within("ended", whole, 0, [2.0**53, core.LAST_STATUS, core.LAST_STATUS, 1])


class BestSuccessors:
    """The plan of a controller who also picks the best successor of every pair: worth at least V* for any theta.

    Policy iteration over one transition per state. The process is deterministic, so a policy is evaluated by doubling
    its horizon: the cost grows with log(1/(1-gamma)) only. Whatever V it ends with, V + max(T V - V, 0)/(1-gamma)
    bounds the fixed point of T, which bounds V* for any theta; the distance is kept in `error_bound`.

    worth: of each transition, reward by transition + gamma V(s'); V: (S,); error_bound: what V may lack;
    improvements: how many policies it took.
    """

    def __init__(self, mdp: LinearMixtureMDP) -> None:
        self._mdp = mdp
        transitions = mdp.transitions
        by_transition = mdp.transition_reward if len(mdp.transition_reward) else np.zeros(transitions.count)
        self._by_transition = by_transition
        self._reward = by_transition + np.repeat(mdp.pair_reward, np.diff(transitions.indptr))
        self._first = transitions.indptr[
            : -1 : mdp.num_actions
        ]  # of each state's transitions, which lie side by side
        self.V = np.zeros(mdp.num_states)
        self.improvements = 0
        while self.improvements < MOST_IMPROVEMENTS:
            choice, lacking = self._improve()
            better = np.maximum(self.V, self._evaluate(choice))
            if lacking <= SETTLED * max(1.0, float(np.abs(self.V).max())) or np.array_equal(better, self.V):
                break
            self.V = better
            self.improvements += 1
        lacking = self._improve()[1]
        lacking += BACKUP_ROUNDING * max(1.0, float(np.abs(self.V).max()))
        self.error_bound = lacking / (1.0 - mdp.discount)

    @property
    def worth(self) -> Floats:
        return self._by_transition + self._mdp.discount * self.V[self._mdp.transitions.successor]

    def _improve(self) -> tuple[Ints, float]:
        """The best transition of every state, and by how much it beats V at most."""
        Q = self._reward + self._mdp.discount * self.V[self._mdp.transitions.successor]
        best = np.maximum.reduceat(Q, self._first)
        state_of = self._mdp.transitions.pair_of // self._mdp.num_actions
        hits = np.flatnonzero(best[state_of] == Q)
        _, at = np.unique(state_of[hits], return_index=True)
        return hits[at], max(0.0, float((best - self.V).max()))

    def _evaluate(self, choice: Ints) -> Floats:
        """The value of one transition per state: V over n steps gives V over 2 n steps."""
        value, to = self._reward[choice], self._mdp.transitions.successor[choice]
        factor = self._mdp.discount
        while factor > 0.0 and factor / (1.0 - self._mdp.discount) > BACKUP_ROUNDING:
            value = value + factor * value[to]
            to, factor = to[to], factor * factor
        return value
