"""The maximiser of likelihood plus value bias: local climbs, and a search over all basins.

    f(theta) = sum n log p - ridge/2 |theta|^2 + <linear, theta> + bias * V*(state; theta)     over P

A climb (core/src/climbing/climb.hpp) ends at a KKT point. f has many of them, because V* is not concave, so a
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

from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from vbmle.common import keeper
from vbmle.common.files import Snapshot
from vbmle.common.stated import AT_LEAST_0
from vbmle.common.validation import Floats, Ints
from vbmle.core import solver as core
from vbmle.core.solver import Objective
from vbmle.estimation.counts import TransitionCounts
from vbmle.model import feasible_set
from vbmle.model.mdp import LinearMixtureMDP
from vbmle.planning.planner import require_policy, uses_factors

if TYPE_CHECKING:
    from vbmle.estimation.candidates import CandidateSolver

Ridge = Annotated[
    float,
    AT_LEAST_0,
    "lambda of the penalty lambda/2 |theta|^2 that is subtracted from the log-likelihood. It matters while data are "
    "scarce.",
]

CONVERGED = 1e-7
"""The relative KKT residual up to which an estimate counts as converged."""

CERTIFIED = 1e-6
"""The relative gap at which the work on a certificate ends."""


POOL = 8
"""How many local maxima a global search keeps."""


def make_solver(mdp: LinearMixtureMDP, places: int = 1, seed: int = 0) -> Solver | CandidateSolver:
    """The maximiser that fits the model."""
    if mdp.domain != "vertices":
        return Solver(mdp, places, seed)
    from vbmle.estimation.candidates import CandidateSolver

    return CandidateSolver(mdp)


def make_objective(
    counts: TransitionCounts,
    ridge: float,
    bias: float = 0.0,
    state: int = 0,
    linear: Floats | None = None,
) -> Objective:
    """The objective as the core sees it."""
    return Objective(counts.core, ridge, bias, state, linear)


def rounding_of_likelihood(counts: TransitionCounts, theta: Floats) -> float:
    """What rounding may add to the log-likelihood where large weights cancel in probabilities."""
    if not feasible_set.cancels(theta):
        return 0.0
    possible, seen = counts.mdp.transitions, counts.observed
    each = feasible_set.rounding_of(possible.phi[seen], theta)
    p = possible.probabilities(theta)[seen]
    lost = np.where(p > each, each / np.maximum(p - each, 1e-300), np.inf)
    return float(counts.values[seen] @ lost)


class Solver:
    """Keeps its points, policies and active facets from one solve to the next.

    With `places=1` it is a local solver; more places hold the local maxima of a search. The incumbent's
    theta, policy, V, objective, residual, gap and status are the solver's result. `beside` makes another
    that shares what it can with this one.
    """

    def __init__(
        self, mdp: LinearMixtureMDP, places: int = 1, seed: int = 0, host: Solver | None = None
    ) -> None:
        self.mdp = mdp
        inside = None if host is None else host._core
        self._core: core.Solver = core.Solver(mdp.core, places, uses_factors(mdp), inside)
        self._seed, self._host = seed, host
        self._has_starts = False
        views = self._core.views
        self.theta: Floats = views["theta"][0]
        self.policy: Ints = views["policy"][0]
        self.V: Floats = views["V"][0]
        self._result: Floats = views["result"][0]
        self.climb = self._core.climb
        self.plan = self._core.plan

    @property
    def objective(self) -> float:
        """f at the incumbent."""
        return float(self._result[0])

    @property
    def residual(self) -> float:
        """The incumbent's KKT residual, relative to max(1, |grad f|)."""
        return float(self._result[1])

    @property
    def gap(self) -> float:
        """A bound on max <grad f, v - theta> over P: for a concave f, on what it lacks."""
        return float(self._result[2])

    @property
    def status(self) -> str:
        """How the incumbent's last climb ended."""
        return core.STATUSES[self._core.views["status"][0]]

    def beside(self) -> Solver:
        """Another with maxima of its own, in the same working memory and with the same starts; it stands where this one
        does.
        """
        return Solver(self.mdp, self._core.places, self._seed, self)

    def start(self, theta: Floats) -> None:
        """Stand at theta alone, moved inside the feasible set where it is outside."""
        self._core.stand_at(theta)

    def search(self, objective: Objective) -> None:
        """Climb from everywhere; once where there is no bias, because the objective is concave."""
        if not objective.is_biased:
            return self._core.climb(objective)
        self._prepare()
        self._core.search(objective)

    def follow(self, objective: Objective) -> None:
        """Climb from the pool and from one start and one policy more; from several the first time, and where it stands
        where there is no bias.
        """
        if not objective.is_biased:
            return self._core.climb(objective)
        if not self._has_starts:
            self._prepare()
        self._core.follow(objective)

    def climb_from_few(self, objective: Objective) -> None:
        """Climb from where it stands, from the most likely theta and from the interior point."""
        self._core.climb_from_few(objective)

    def join(self, objective: Objective, other: Any) -> None:
        """Climb from where another of its kind stands, whose first survey counts for this one, too."""
        self._core.join(objective, other._core)

    def add(self, objective: Objective, theta: Floats) -> None:
        """Climb from theta too."""
        self._core.add_start(objective, theta)

    def _prepare(self) -> None:
        """Make the starts of a search, once."""
        if self._host is not None:
            self._host._prepare()
        elif not self._has_starts:
            from vbmle.estimation.starts import Starts

            starts = Starts(self.mdp, self._seed)
            self._core.set_starts(starts.fixed, starts.best, starts.pairs)
            self._has_starts = True

    def snapshot(self) -> Snapshot:
        """What the next solve depends on, to be continued exactly by `restore`."""
        return self._core.snapshot()

    def restore(self, snapshot: Snapshot) -> None:
        """Continue from a snapshot."""
        keeper.require_like("", snapshot, self.snapshot())
        self._check(snapshot)
        try:
            self._core.restore(snapshot)
        except ValueError as error:
            raise ValueError("y, active or result do not fit the model's feasible set") from error

    def resume(self, snapshot: Snapshot) -> None:
        """Continue from a snapshot of its own: the core checks it, but not its kinds and shapes."""
        self._core.restore(snapshot)

    def _check(self, snapshot: Snapshot) -> None:
        """Refuse what is out of range; the core checks what only it can tell."""
        places, flat = len(snapshot["y"]) - 1, self.mdp.flat_set
        keeper.require_within("place", snapshot["place"], [1, 0], [places, 2**62])
        keeper.require_within("policy", snapshot["policy"], 0, self.mdp.num_actions - 1)
        keeper.require_within("num_active", snapshot["num_active"], 0, np.diff(flat.free_begin))
        most = max(1, int(np.diff(flat.facet_begin).max(initial=1)))
        keeper.require_within("active", snapshot["active"], 0, most - 1)
        keeper.require_within("status", snapshot["status"], 0, len(core.STATUSES) - 1)
        keeper.require_within("iterations", snapshot["iterations"], 0, 2**31 - 1)
        for name in ("evaluated", "factored"):
            keeper.require_within(name, snapshot[name], 0, 1)
        for name in ("y", "theta", "V", "factors"):
            keeper.require_finite(name, snapshot[name])
        size = int(snapshot["place"][0])
        for row in snapshot["policy"][:size]:
            require_policy(self.mdp, row)
        worst = 2.0 / (1.0 - self.mdp.discount)
        keeper.require_within("V", snapshot["V"][:size], -worst, worst)
