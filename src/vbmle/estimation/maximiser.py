"""The maximiser of likelihood plus value bias: local climbs, and a search over all basins.

    f(theta) = sum n log p - ridge/2 |theta|^2 + <linear, theta> + bias * V*(state; theta)     over P

A climb (see `vbmle.kernels.ascent`) ends at a KKT point. f has many of them, because V* is not concave, so a
search keeps a pool of distinct local maxima and feeds it with starts

    - near every vertex of P where they are few; else near the base models, or near the ends of P along the axes;
    - at the interior point, the maximum-likelihood theta and points drawn at random from P;
    - for product sets, between the incumbent and the model that is best for the controller everywhere;
    - from the incumbent with another action in one state: climb for that policy, then freely.

`search` tries all of them. `follow` is for problems that change a little from call to call, as an agent's do:
it climbs again from the whole pool, from one more start and from one more policy, in rotation. Both are
deterministic given the seed, which orders and draws the starts. Among maxima that tie (1e-9 relative) the
incumbent stays; at first that is the one found first in the seed's order.
"""

from __future__ import annotations

import numpy as np

from vbmle.common.files import Snapshot
from vbmle.common.validation import Floats, Ints
from vbmle.estimation.counts import TransitionCounts
from vbmle.estimation.starts import Starts
from vbmle.kernels.layout import Objective, Pool
from vbmle.model.mdp import LinearMixtureMDP
from vbmle.planning.planner import room_for_factors

NOTHING = np.zeros(0)
POOL = 8
"""How many local maxima a global search keeps."""


def goal(
    counts: TransitionCounts, ridge: float, bias: float = 0.0, state: int = 0, linear: Floats = NOTHING
) -> Objective:
    """The objective as the kernels see it."""
    return Objective(counts.values, counts.observed, counts.num_observed, linear, ridge, bias, state, False)


class Solver:
    """Keeps its points, policies and active rows from one solve to the next.

    With `places=1` it is a local solver; more places hold the local maxima of a search. The incumbent's
    theta, policy, V, objective, residual and gap are the solver's result.
    """

    def __init__(self, mdp: LinearMixtureMDP, places: int = 1, seed: int = 0) -> None:
        self.mdp, self._domain = mdp, mdp.flat_domain
        states, free, blocks = mdp.num_states, int(self._domain.free_ptr[-1]), len(self._domain.diameter)
        rows = places + 1  # one for scratch
        self._pool = Pool(
            np.zeros((rows, free)),
            np.tile(mdp.polytope.interior, (rows, 1)),
            np.zeros((rows, states), np.int64),
            np.zeros((rows, states)),
            np.zeros((rows, free), np.int64),
            np.zeros((rows, blocks), np.int64),
            np.zeros((rows, 3)),
        )
        self._size = 1
        self._p, self._lu = np.empty(mdp.transitions.count), room_for_factors(mdp)
        self._seed = seed
        self._starts: Starts | None = None
        self._turn = 0
        self.theta: Floats = self._pool.theta[0]
        self.policy: Ints = self._pool.policy[0]
        self.V: Floats = self._pool.V[0]

    @property
    def objective(self) -> float:
        return float(self._pool.result[0, 0])

    @property
    def residual(self) -> float:
        return float(self._pool.result[0, 1])

    @property
    def gap(self) -> float:
        return float(self._pool.result[0, 2])

    @property
    def starts(self) -> Starts:
        """The starts of a search, made on first use."""
        if self._starts is None:
            self._starts = Starts(self.mdp, self._seed)
        return self._starts

    def start(self, theta: Floats) -> None:
        """Stand at theta alone, moved inside the feasible set where it is outside."""
        from vbmle.kernels.ascent import place

        place(self._domain, theta, self._pool.y[0])
        self._pool.counts[0] = 0
        self._size = 1

    def climb(self, objective: Objective) -> None:
        """Go up to KKT points from where it stands."""
        from vbmle.kernels.search import track

        self._size = track(self.mdp.flat, self._domain, objective, self._pool, self._size, self._p, self._lu)

    def plan(self) -> None:
        """Set policy and V to the optimal ones at theta, starting from the policy at hand."""
        from vbmle.kernels.objective import plan_at

        plan_at(self.mdp.flat, self.theta, self._p, self.policy, self._lu, self.V)

    def search(self, objective: Objective) -> None:
        """Climb from everywhere."""
        self.climb(objective)
        self._try(objective, self.starts.all(self.theta, self._likely(objective)))
        for _ in range(2):  # the neighbours of a new incumbent have not been tried
            self._switch(objective, *self.starts.switches(objective.state))

    def follow(self, objective: Objective) -> None:
        """Climb from the pool and from one start and one policy more; from several the first time."""
        self.climb(objective)
        if self._turn == 0:
            self._try(objective, self.starts.some(self.theta, self._likely(objective)))
            self._switch(objective, *self.starts.actions(objective.state))
        else:
            self._try(objective, self.starts.one(self._turn, self.theta))
            self._switch(objective, *self.starts.one_switch(self._turn, objective.state))
        self._turn += 1

    def climb_from_few(self, objective: Objective) -> None:
        """Climb from where it stands, from the most likely theta and from the interior point."""
        self._size = 1
        self.climb(objective)
        likely = self.starts.place(self._likely(objective))
        self._try(objective, np.vstack([likely, np.zeros_like(likely)]))

    def add(self, objective: Objective, theta: Floats) -> None:
        """Climb from theta too."""
        self._try(objective, self.starts.place(theta)[None, :])

    def _likely(self, objective: Objective) -> Floats:
        """The maximiser of the part without value."""
        solver = Solver(self.mdp)
        solver.climb(objective._replace(bias=0.0))
        return solver.theta

    def _try(self, objective: Objective, starts: Floats) -> None:
        from vbmle.kernels.search import try_starts

        arguments = (self.mdp.flat, self._domain, objective, self._pool, self._size)
        self._size = try_starts(*arguments, starts, self._p, self._lu)

    def _switch(self, objective: Objective, states: Ints, actions: Ints) -> None:
        from vbmle.kernels.search import try_switches

        arguments = (self.mdp.flat, self._domain, objective, self._pool, self._size)
        self._size = try_switches(*arguments, states, actions, self._p, self._lu)

    def snapshot(self) -> Snapshot:
        """What the next solve depends on, to be continued exactly by `restore`."""
        arrays = {f"solver.{name}": array for name, array in self._pool._asdict().items()}
        return arrays | {"solver.place": np.array([self._size, self._turn])}

    def restore(self, snapshot: Snapshot) -> None:
        """Continue from a `state`."""
        for name, array in self._pool._asdict().items():
            array[...] = snapshot[f"solver.{name}"]
        self._size, self._turn = (int(i) for i in snapshot["solver.place"])
