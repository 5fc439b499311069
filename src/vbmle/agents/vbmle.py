"""VBMLE: value-biased maximum likelihood (Hung, Hsieh, Mete and Kumar, Algorithm 1).

    theta_t = argmax over P of  sum_{i<t} log <phi(s_{i+1}|s_i,a_i), theta> - ridge/2 |theta|^2
                                + alpha(t) V*(s_t; theta),          a_t = argmax_a Q*(s_t, a; theta_t)

with alpha(t) = bias_scale * sqrt(t) in the paper. Departures: the ridge is subtracted (the paper prints plus,
its proofs need minus), and P is the whole feasible set, not the simplex.
"""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np

from vbmle.agents import decision
from vbmle.agents.base import require_convex
from vbmle.agents.bias import Bias, BiasSchedule
from vbmle.agents.decision import Decision
from vbmle.agents.model_agent import ModelAgent, OnImpossible
from vbmle.agents.triggers import UPDATES, InformationGrown, Update
from vbmle.agents.tuning import BIAS_SCALE
from vbmle.common.files import Snapshot
from vbmle.common.validation import Among, Floats, Ints, index, non_negative, one_of
from vbmle.estimation.candidates import make_solver
from vbmle.estimation.change_point import Restart
from vbmle.estimation.forgetting import Forget
from vbmle.estimation.likelihood import prove
from vbmle.estimation.maximiser import POOL, Solver, make_objective
from vbmle.model.mdp import LinearMixtureMDP

AGENT_SEARCHES = ("global", "certified", "few", "local")


class VBMLE(ModelAgent):
    """Exact VBMLE: each step maximises likelihood plus alpha(t) times the optimal value of the state.

    Parameters
    ----------
    mdp : LinearMixtureMDP
        What is known. The agent never sees the hidden theta.
    bias : {"sqrt", "log", "constant"} or function, default "sqrt"
        The schedule alpha(t), t = 1, 2, ...: sqrt(t) as in the paper, log(1 + t), which fades sooner, 1 at all
        times, as in MEX, or any function of t that returns a finite number of at least 0.
    bias_scale : float, default 1.0
        Multiplies the schedule: log-likelihood (nats) per unit of value. 0 turns exploration off; larger explores more.
    ridge : float, default 1.0
        lambda of the penalty lambda/2 |theta|^2 that is subtracted from the log-likelihood; at least 0. It matters
        while data are scarce.
    search : {"global", "certified", "few", "local"}, default "global"
        Where the maximum is looked for. "global" follows all local maxima it knows and keeps looking for others;
        "certified" also proves each answer by branch and bound, which takes milliseconds while the feasible set has
        few vertices (`last` has the bound); "few" climbs from the last theta, the most likely theta and the interior
        point; "local" from the last theta alone, which can stay in the wrong basin indefinitely.
    update : {"every-step", "doubling"}, default "every-step"
        When to solve again: at every step, or only when the information about what was just observed has
        doubled (see `vbmle.estimation.information`); in between the policy in force is played.
    seed : int, default 0
        Seeds everything that the agent draws for itself: the order of
        the starts of the search. The world's luck has its own seed.
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
    >>> agent = vbmle.VBMLE(world.mdp, bias="log")
    >>> history = vbmle.simulate(agent, world, horizon=50)
    >>> agent.policy.tolist(), agent.last.converged
    ([1, 1, 1, 1, 1, 1], True)
    """

    label = "VBMLE"
    tuning = BIAS_SCALE
    saved = ("_bound",)

    def __init__(
        self,
        mdp: LinearMixtureMDP,
        bias: Bias = "sqrt",
        bias_scale: float = 1.0,
        ridge: float = 1.0,
        search: Annotated[str, Among(AGENT_SEARCHES)] = "global",
        update: Update = "every-step",
        seed: int = 0,
        on_impossible: OnImpossible = "raise",
        forget: Forget = None,
        restart: Restart = None,
    ) -> None:
        one_of("search", search, AGENT_SEARCHES)
        one_of("update", update, UPDATES)
        self._schedule = BiasSchedule(bias, bias_scale)
        penalty = non_negative("ridge", ridge)
        super().__init__(
            mdp,
            bias=bias,
            bias_scale=self._schedule.scale,
            ridge=penalty,
            search=search,
            update=update,
            seed=index("seed", seed, 2**63),
            on_impossible=on_impossible,
            forget=forget,
            restart=restart,
        )
        if update == "doubling":
            self._trigger = InformationGrown(mdp, ridge)
        solver = self._solver = make_solver(
            mdp, places=1 if search == "local" else POOL, seed=self.settings["seed"]
        )
        solver.plan()
        self._objective = make_objective(self.counts, penalty)
        self._climb = {"local": solver.climb, "few": solver.climb_from_few}.get(search, solver.follow)
        self._certifies = search == "certified"
        self._bound = math.nan

    def _check(self, snapshot: Snapshot) -> None:
        super()._check(snapshot)
        if snapshot["bound"] == -math.inf:
            raise ValueError("bound is -inf; an upper bound is a number, inf, or NaN where there is none")

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
            self._bound = prove(self._solver, objective, self.counts)
        if bias == 0.0:  # no value entered the objective, so none was planned for
            self._solver.plan()

    def _outcome(self) -> Decision:
        bound = self._bound if self._certifies else None
        return decision.of_solver(self._solver, self.counts, "the likelihood biased by value", bound)


class ApproximateVBMLE(ModelAgent):
    """VBMLE with the value of the last step held fixed inside the bias (the paper's appendix).

    The bias is `alpha(t) <phi_V(s_t, a), theta>` with `V = V*(.; theta_{t-1})`, so each problem is concave. a_t is
    known only afterwards: the problem is solved for every action and the best kept.

    Parameters
    ----------
    mdp : LinearMixtureMDP
        What is known. The agent never sees the hidden theta.
    bias : {"sqrt", "log", "constant"} or function, default "sqrt"
        The schedule alpha(t), t = 1, 2, ...: sqrt(t) as in the paper, log(1 + t), which fades sooner, 1 at all
        times, as in MEX, or any function of t that returns a finite number of at least 0.
    bias_scale : float, default 1.0
        Multiplies the schedule: log-likelihood (nats) per unit of value. 0 turns exploration off; larger explores more.
    ridge : float, default 1.0
        lambda of the penalty lambda/2 |theta|^2 that is subtracted from the log-likelihood; at least 0. It matters
        while data are scarce.
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
    >>> agent = vbmle.ApproximateVBMLE(world.mdp)
    >>> agent.act(0) in (0, 1)
    True
    """

    label = "approximated VBMLE"
    tuning = BIAS_SCALE

    def __init__(
        self,
        mdp: LinearMixtureMDP,
        bias: Bias = "sqrt",
        bias_scale: float = 1.0,
        ridge: float = 1.0,
        on_impossible: OnImpossible = "raise",
        forget: Forget = None,
        restart: Restart = None,
    ) -> None:
        require_convex(type(self).__name__, mdp)
        self._schedule = BiasSchedule(bias, bias_scale)
        super().__init__(
            mdp,
            bias=bias,
            bias_scale=self._schedule.scale,
            ridge=non_negative("ridge", ridge),
            on_impossible=on_impossible,
            forget=forget,
            restart=restart,
        )
        self._solver = Solver(mdp)
        self._solver.plan()
        self._linear = np.empty(mdp.dimension)
        self._objective = make_objective(self.counts, self.settings["ridge"], linear=self._linear)

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
        return decision.of_solver(
            self._solver, self.counts, "the likelihood biased by the value of the last step"
        )
