"""VBMLE: value-biased maximum likelihood (Hung, Hsieh, Mete and Kumar, Algorithm 1).

    theta_t = argmax over P of  sum_{i<t} log <phi(s_{i+1}|s_i,a_i), theta> - ridge/2 |theta|^2
                                + alpha(t) V*(s_t; theta),          a_t = argmax_a Q*(s_t, a; theta_t)

with alpha(t) = bias_scale * sqrt(t) in the paper. Departures: the ridge is subtracted (the paper prints plus,
its proofs need minus), and P is the whole feasible set, not the simplex.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np

from vbmle.agents.base import require_convex
from vbmle.agents.bias import BIAS_SCALE, BiasScale, BiasSchedule, Schedule
from vbmle.agents.model_agent import ModelAgent
from vbmle.agents.triggers import InformationGrown, SolveAgain
from vbmle.common.files import Snapshot
from vbmle.common.keeper import Saved
from vbmle.common.stated import Seed
from vbmle.common.validation import Among, Floats, Ints
from vbmle.estimation.maximiser import POOL, Ridge, Solver, make_objective, make_solver

if TYPE_CHECKING:
    from vbmle.agents.decision import Decision

AGENT_SEARCHES = ("global", "certified", "few", "local")


def _bound(agent: Any, name: str, bound: Floats) -> None:
    if bound == -math.inf:
        raise ValueError(f"{name} is -inf; an upper bound is a number, inf, or NaN where there is none")


class VBMLE(ModelAgent):
    """Exact VBMLE: each step maximises likelihood plus alpha(t) times the optimal value of the state.

    Examples
    --------
    >>> import vbmle
    >>> world = vbmle.worlds.riverswim(length=6)
    >>> agent = vbmle.VBMLE(world.mdp, bias="log")
    >>> history = vbmle.simulate(agent, world, horizon=50)
    >>> agent.policy.tolist(), agent.last.converged
    ([1, 1, 1, 1, 1, 1], True)
    """

    label = "VBMLE"
    tuning = BIAS_SCALE
    saved: ClassVar[Saved] = {"_bound": _bound}

    bias: Schedule = "sqrt"
    bias_scale: BiasScale = 1.0
    ridge: Ridge = 1.0
    search: Annotated[
        str,
        Among(AGENT_SEARCHES),
        'Where the maximum is looked for. "global" follows all local maxima it knows and keeps looking for others; '
        '"certified" also proves each answer by branch and bound, which takes milliseconds while the feasible set has '
        'few vertices (`last` has the bound); "few" climbs from the last theta, the most likely theta and the interior '
        'point; "local" from the last theta alone, which can stay in the wrong basin indefinitely.',
    ] = "global"
    update: SolveAgain = "every-step"
    seed: Seed = 0

    def _start(self) -> None:
        if self.update == "doubling":
            self._trigger = InformationGrown(self.mdp, self.ridge)
        solver = self._solver = make_solver(
            self.mdp, places=1 if self.search == "local" else POOL, seed=self.seed
        )
        solver.plan()
        self._schedule = BiasSchedule(self.bias, self.bias_scale)
        self._objective = make_objective(self.counts, self.ridge)
        self._climb = {"local": solver.climb, "few": solver.climb_from_few}.get(self.search, solver.follow)
        self._certifies = self.search == "certified"
        self._bound = math.nan

    @property
    def policy(self) -> Ints:
        return self._solver.policy

    @property
    def theta(self) -> Floats:
        """The parameter in force."""
        return self._solver.theta

    def alpha(self) -> float:
        """The weight of the bias now, at t = observations + 1 (their weights, where some are forgotten)."""
        return self._schedule.at(self.counts.remembered + 1)

    def _decide(self, state: int) -> None:
        objective = self._objective
        bias = self._schedule.at(self.counts.remembered + 1)
        objective.aim(state, bias)
        self._climb(objective)
        if self._certifies:
            from vbmle.estimation.likelihood import prove

            self._bound = prove(self._solver, objective, self.counts)
        if bias == 0.0:  # no value entered the objective, so none was planned for
            self._solver.plan()

    def _outcome(self) -> Decision:
        from vbmle.agents import decision

        bound = self._bound if self._certifies else None
        return decision.of_solver(self._solver, self.counts, "the likelihood biased by value", bound)


class ApproximateVBMLE(ModelAgent):
    """VBMLE with the value of the last step held fixed inside the bias (the paper's appendix).

    The bias is `alpha(t) <phi_V(s_t, a), theta>` with `V = V*(.; theta_{t-1})`, so each problem is concave. a_t is
    known only afterwards: the problem is solved for every action and the best kept.

    Examples
    --------
    >>> import vbmle
    >>> world = vbmle.worlds.riverswim(length=6)
    >>> agent = vbmle.ApproximateVBMLE(world.mdp)
    >>> agent.act(0) in (0, 1)
    True
    """

    label = "approximated VBMLE"
    tuning = BIAS_SCALE

    bias: Schedule = "sqrt"
    bias_scale: BiasScale = 1.0
    ridge: Ridge = 1.0

    def _start(self) -> None:
        require_convex(type(self).__name__, self.mdp)
        self._schedule = BiasSchedule(self.bias, self.bias_scale)
        self._solver = Solver(self.mdp)
        self._solver.plan()
        self._linear = np.empty(self.mdp.dimension)
        self._objective = make_objective(self.counts, self.ridge, linear=self._linear)

    @property
    def policy(self) -> Ints:
        return self._solver.policy

    @property
    def theta(self) -> Floats:
        """The parameter in force."""
        return self._solver.theta

    def alpha(self) -> float:
        """The weight of the bias now, at t = observations + 1 (their weights, where some are forgotten)."""
        return self._schedule.at(self.counts.remembered + 1)

    def _decide(self, state: int) -> None:
        solver, alpha = self._solver, self.alpha()
        last, best = solver.theta.copy(), -math.inf
        chosen: Snapshot = {}
        for action in range(self.mdp.num_actions):
            pair = state * self.mdp.num_actions + action
            self.mdp.core.value_feature(pair, solver.V, self._linear, alpha)
            solver.start(last)
            solver.climb(self._objective)
            if solver.objective > best:
                best = solver.objective
                chosen = solver.snapshot()
        solver.resume(chosen)
        solver.plan()

    def _outcome(self) -> Decision:
        from vbmle.agents import decision

        return decision.of_solver(
            self._solver, self.counts, "the likelihood biased by the value of the last step"
        )
