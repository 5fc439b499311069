"""RBMLE, tabular (Mete, Singh, Liu and Kumar 2021; Kumar and Becker 1982), with discounted value.

    p_t = argmax  sum n(s,a,y) log p(y|s,a) + alpha(t) V*(s_t; p),       alpha(t) = bias_scale * log(1 + t),

over all p with the known support, one distribution for each (s, a). It is VBMLE with tabular features, no
ridge and the slower schedule. Given the policy, its value V and the discounted visits w from s_t on, row (s, pi(s))
is known up to one number (core/src/tabular/reward_biased_rows.hpp):

    p(y) = n(y) / (nu - alpha w(s) g(y)),     g(y) = gamma V(y) (+ r(s,a,y)),     sum_y p(y) = 1,

and rows off the policy are at their frequencies. The rows are moved to this until policy, V, w and p agree.

Departures. The paper maximises average reward; here it is the discounted value of the current state, whose
weight enters through w. The paper assumes the maximum over all policies and models; this is a local method
from the last model on: a fixed point is a KKT point, improved by switching single actions for as long as the
objective rises, and `converged` says whether it was reached. New models are computed at the episodes of UCRL2
(`update="doubling"`), or in each step.

It is a tabular method: of a model with features it uses only which transitions are possible. Where the model is
tabular without p_min, `theta` is the parameter in force; elsewhere there is none, only `p`.
"""

from __future__ import annotations

import numpy as np

from vbmle.agents.bias import Bias, BiasSchedule
from vbmle.agents.decision import Decision
from vbmle.agents.model_agent import ModelAgent, OnImpossible
from vbmle.agents.tabular_models import tabular_coordinates
from vbmle.agents.triggers import UPDATES, Update, VisitsDoubled
from vbmle.agents.tuning import BIAS_SCALE
from vbmle.common import saved_checks
from vbmle.common.files import Snapshot
from vbmle.common.validation import Floats, Ints, one_of
from vbmle.core.tabular import RewardBiasedRows
from vbmle.estimation.change_point import Restart
from vbmle.estimation.forgetting import Forget
from vbmle.model.mdp import LinearMixtureMDP
from vbmle.planning.planner import uses_factors

GAP_TOLERANCE = 1e-12
"""The linearised gap, relative to 1 + |objective|, at which rows count as a fixed point."""

ITERATIONS = 1000


class RBMLE(ModelAgent):
    """Reward-biased maximum likelihood with one distribution per (s, a); ignores the features.

    `p` holds the probability of each possible transition in the model in force, `objective` its value, `converged`
    whether it is a fixed point.

    Parameters
    ----------
    mdp : LinearMixtureMDP
        What is known. The agent never sees the hidden theta.
    bias : {"sqrt", "log", "constant"} or function, default "log"
        The schedule alpha(t), t = 1, 2, ...: sqrt(t), log(1 + t) as published, 1 at all times, or any
        function of t that returns a finite number of at least 0.
    bias_scale : float, default 1.0
        Multiplies the schedule: log-likelihood (nats) per unit of value. 0 turns exploration off; larger explores more.
    update : {"every-step", "doubling"}, default "doubling"
        When to solve again: at every step, or only when the visits of a pair (s, a) have doubled; in between
        the policy in force is played.
    on_impossible : {"raise", "skip", "widen"}, default "raise"
        What to do with an observed transition that the model calls impossible: refuse it, note it without learning
        from it, or from then on give every next state of its pair (s, a) a small probability.
    forget : float or {"window": int}, optional
        How old observations fade: a half-life in steps, or a window of the last ones. By default none is forgotten.
    restart : {"on-alarm"}, optional
        Start over, with the observations since the change, when a test finds that the mix has changed.

    Raises
    ------
    ValueError
        If a setting is out of range; the message names it and what it needs.

    Examples
    --------
    >>> import vbmle
    >>> world = vbmle.worlds.riverswim(length=6)
    >>> vbmle.RBMLE(world.mdp).act(0)
    1
    """

    tuning = BIAS_SCALE
    saved = ("p", "_policy", "objective", "gap", "converged")

    def __init__(
        self,
        mdp: LinearMixtureMDP,
        bias: Bias = "log",
        bias_scale: float = 1.0,
        update: Update = "doubling",
        on_impossible: OnImpossible = "raise",
        forget: Forget = None,
        restart: Restart = None,
    ) -> None:
        one_of("update", update, UPDATES)
        self._schedule = BiasSchedule(bias, bias_scale)
        super().__init__(
            mdp,
            bias=bias,
            bias_scale=self._schedule.scale,
            update=update,
            on_impossible=on_impossible,
            forget=forget,
            restart=restart,
        )
        self._rows = RewardBiasedRows(mdp.core, uses_factors(mdp), GAP_TOLERANCE, ITERATIONS)
        self.p: Floats = self._rows.p.copy()
        self._policy: Ints = self._rows.policy.copy()
        self.objective, self.gap, self.converged = 0.0, np.inf, False
        self._coordinate = tabular_coordinates(mdp)
        if update == "doubling":
            self._trigger = VisitsDoubled(self.counts, self._policy)

    @property
    def policy(self) -> Ints:
        return self._policy

    @property
    def theta(self) -> Floats:
        """The parameter in force, where the model is tabular."""
        if self._coordinate is None:
            raise AttributeError("RBMLE has a theta only where the model is tabular without p_min; see p")
        theta = np.empty_like(self.p)
        theta[self._coordinate] = self.p
        return theta

    def _check(self, snapshot: Snapshot) -> None:
        super()._check(snapshot)
        saved_checks.require_within("p", snapshot["p"], 0.0, 1.0 + 1e-9)
        sums = np.add.reduceat(snapshot["p"], self.mdp.transitions.indptr[:-1])
        saved_checks.require_within("p, summed by (s, a),", sums, 1.0 - 1e-6, 1.0 + 1e-6)
        saved_checks.require_finite("objective", snapshot["objective"])
        saved_checks.require_within("gap", snapshot["gap"], -1.0, np.inf)

    def alpha(self) -> float:
        """The weight of the bias now, at t = observations + 1 (their weights, where some are forgotten)."""
        return self._schedule.at(self.counts.remembered + 1)

    def _decide(self, state: int) -> None:
        counts, rows = self.counts, self._rows
        rows.put(self.p, self._policy)
        self.objective, self.gap = rows.solve(counts.values, counts.visits(), self.alpha(), state)
        self.p[...], self._policy[...] = rows.p, rows.policy
        self.converged = bool(self.gap <= 1e3 * GAP_TOLERANCE * (1.0 + abs(self.objective)))

    def _outcome(self) -> Decision:
        status = "converged" if self.converged else "out of iterations"
        solved = "the likelihood of a table biased by value"
        return Decision(solved, status, self.converged, objective=self.objective, gap=self.gap)
