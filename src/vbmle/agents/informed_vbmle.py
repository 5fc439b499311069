"""Informed VBMLE: VBMLE proposes, information disposes.

VBMLE (Hung, Hsieh, Mete and Kumar) leaves its user to choose how fast and how strong the bias grows, and the best
choice differs from world to world. Here several biases propose, the k-th by

    theta_k = argmax over P of  sum_{i<t} log p_theta(s_{i+1}|s_i,a_i) - ridge/2 |theta|^2
                                + c_k log(1 + t) V*(s_t; theta) / r

with c_k in 0, 0.1, 0.5, 2, 10 and r the range of the reward, so that nothing changes when rewards are multiplied by a
constant. Of the distinct policies pi*(theta_k) the one with the least information ratio D^3/G is played
(`vbmle.agents.information_ratio`): the cube of the regret that is expected of it, over what it would teach. Regret is
expected under the posterior biased by value, with the density

    p(theta | counts) exp(b V*(s_t; theta) / r),        b = 0.4,

so that the judge leans the same way as the proposers: while models that promise much are still likely, the policies
that suit them get the benefit of the doubt, and once the data have decided the bias is gone.

Only policies whose exploration can pay take part. With D_0 the least expected regret of all proposals, nothing that pi
teaches can save more than N D_0 in the next N steps. To learn one nat with pi takes 1/G horizons H = 1/(1 - gamma),
each of which costs H (D(pi) - D_0) more than the proposal of least regret. So pi takes part while

    max(1, 1/G(pi)) H (D(pi) - D_0) <= N D_0,        N = max(60 H, t).

Each bias has a solver that goes on from its last theta; they take turns in looking for other basins. In models with
few parameters and states the boldest begins with a search of all starts: where no likely policy shows anything, as on
the left bank of a river, whether anything is ever learnt hangs on that one answer. In larger ones it begins with a
survey of a few starts, and the others with what that has found.

This agent is ours: no paper has it, and no regret bound is known for it. The bias log(1 + t) is that of tabular RBMLE;
the ratio is that of Lattimore and Gyorgy (2021), over stationary policies as in Hao and Lattimore (2022), with
information about theta in place of information about the optimum; the biased posterior is that of feel-good Thompson
sampling (Zhang 2022). What it has by construction: where all biases propose one policy, that is played; a proposal
that all draws agree is optimal is never passed over for one with regret; learning a nat should cost no more than
the proposal of least regret would in as long again as the agent has run (in 60 horizons at first); and while D_0
stays away from 0, no proposal that teaches anything is left out for good.

By default it decides anew when the information about what was observed has grown by a tenth, or when time has doubled,
and keeps to its policy in between: an exploration that is begun is carried through, and a step costs little more than
one of VBMLE.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

import numpy as np

from vbmle.agents import decision
from vbmle.agents.decision import Decision
from vbmle.agents.information_ratio import (
    Draws,
    Fresh,
    InformedUpdate,
    PosteriorDraws,
    Score,
    informed_trigger,
)
from vbmle.agents.model_agent import ModelAgent
from vbmle.agents.posterior import MOST_DRAWS, Thinning
from vbmle.agents.triggers import OrTimeDoubled
from vbmle.common import keeper
from vbmle.common.keeper import Keeper, Part, Saved
from vbmle.common.stated import AT_LEAST_0, Check, Seed
from vbmle.common.validation import Floats, Ints, at_most, non_negative
from vbmle.core.library import time_is_up
from vbmle.estimation.maximiser import make_objective, make_solver
from vbmle.model.mdp import LinearMixtureMDP
from vbmle.planning.planner import uses_factors

MULTIPLES = (0.0, 0.1, 0.5, 2.0, 10.0)
"""Of log(1 + t): the biases that propose."""

EXPONENT = 3.0
"""Of the expected regret in the information ratio; 2 explores more, and was worse in maintenance."""

PATIENCE = 60.0
"""Horizons 1/(1 - gamma) within which an exploration must be able to pay, until the agent has run for longer."""

MOST_SEARCHED = 16, 64
"""Parameters and states up to which the boldest proposer begins with a search of all starts; with 60, or with 500, that
takes a second. In models with more states the others begin where the boldest has ended its survey."""


class Proposers(Keeper):
    """One solver for each bias, each going on from its own last theta; they take turns in looking for other basins.

    They share working memory and starts.
    """

    def __init__(self, mdp: LinearMixtureMDP, count: int, seed: int) -> None:
        first = make_solver(mdp, seed=seed)
        first.plan()
        self.solvers = [first, *(first.beside() for _ in range(count - 1))]

    def _parts(self) -> dict[str, Part]:
        return {str(k): solver for k, solver in enumerate(self.solvers)}


def _one_of_them(agent: Any, name: str, chosen: Ints) -> None:
    keeper.require_within(name, chosen, 0, len(agent.multiples) - 1)


def _weights(name: str, values: Sequence[float]) -> list[float]:
    weights = [non_negative(f"{name}[{k}]", c) for k, c in enumerate(values)]
    if not weights:
        raise ValueError(f"{name} is empty; it needs at least one multiple of log(1 + t), as in (0, 1)")
    at_most(f"the number of {name}", len(weights), MOST_DRAWS)
    return weights


class InformedVBMLE(ModelAgent):
    """VBMLE without a knob: several biases propose policies, and the least information ratio decides.

    Examples
    --------
    >>> import vbmle
    >>> world = vbmle.worlds.riverswim(features="mixture")
    >>> agent = vbmle.InformedVBMLE(world.mdp)
    >>> history = vbmle.simulate(agent, world, horizon=20)
    >>> agent.multiple in (0.0, 0.1, 0.5, 2.0, 10.0), agent.last.converged
    (True, True)
    """

    label = "informed VBMLE"
    saved: ClassVar[Saved] = {"_chosen": _one_of_them}

    multiples: Annotated[
        Sequence[float],
        Check("each at least 0", _weights),
        "The biases that propose, as multiples of log(1 + t) per range of the reward; 0 is maximum likelihood.",
    ] = MULTIPLES
    feel_good: Annotated[
        float,
        AT_LEAST_0,
        "The weight of the value of the current state in the posterior that regret is expected under, in nats per "
        "range of the reward. 0 is the posterior alone.",
    ] = 0.4
    update: Annotated[
        InformedUpdate,
        "When to decide again: at every step, or when the information about what was observed has grown by a tenth, or "
        "has doubled, or else when time has doubled; in between the policy in force stays.",
    ] = "tenth"
    draws: Draws = 32
    fresh: Fresh = 4
    thinning: Thinning = 3
    seed: Seed = 0

    def _start(self) -> None:
        mdp, multiples = self.mdp, self.multiples
        self._proposers = Proposers(mdp, len(multiples), self.seed)
        self._draws = PosteriorDraws(self.counts, self.draws, self.fresh, self.thinning, self.seed)
        self._objective = make_objective(self.counts, ridge=1.0)
        self._range = reward_range(mdp)
        self._boldest, self._searches = int(np.argmax(multiples)), is_small(mdp)
        self._joins = mdp.num_states > MOST_SEARCHED[1]
        self._chosen = 0
        self._trigger = OrTimeDoubled(informed_trigger(mdp, self.update), self.counts)

    @property
    def policy(self) -> Ints:
        return self._proposers.solvers[self._chosen].policy

    @property
    def theta(self) -> Floats:
        """The parameter whose policy is played."""
        return self._proposers.solvers[self._chosen].theta

    @property
    def multiple(self) -> float:
        """The multiple of log(1 + t) whose policy is played."""
        return float(self.multiples[self._chosen])

    def _decide(self, state: int) -> None:
        solvers, objective = self._proposers.solvers, self._objective
        weight = math.log1p(self.counts.total + 1) / self._range
        for k in self._order():
            objective.aim(state, self.multiples[k] * weight)
            self._solve(k)
            if objective.bias == 0.0:  # no value entered the objective, so none was planned for
                solvers[k].plan()
        proposed: dict[bytes, int] = {}
        for k, solver in enumerate(solvers):
            proposed.setdefault(solver.policy.tobytes(), k)
        distinct = list(proposed.values())
        if len(distinct) > 1 and self.deadline is not None and time_is_up():
            self._chosen = proposed[
                solvers[self._chosen].policy.tobytes()
            ]  # the judge has no time: the bias in force
        elif len(distinct) > 1:
            self._draws.refresh()
            tilt = self.feel_good / self._range
            scores = self._draws.score([solvers[k].policy for k in distinct], state, tilt)
            self._chosen = distinct[choose(scores, self.counts.total * (1.0 - self.mdp.discount))]
        else:
            self._chosen = distinct[0]

    def _order(self) -> list[int]:
        """In which order the biases propose: the boldest first where the others begin with what it finds."""
        every = list(range(len(self.multiples)))
        joined = self.decisions == 0 and self._joins
        return sorted(every, key=lambda k: k != self._boldest) if joined else every

    def _solve(self, k: int) -> None:
        """What the k-th bias proposes, from several starts at first and in its turn, else from its last theta."""
        solver, objective, first = self._proposers.solvers[k], self._objective, self.decisions == 0
        boldest = k == self._boldest
        if first and self._searches and boldest:
            solver.search(objective)
        elif first and self._joins and not boldest:
            solver.join(objective, self._proposers.solvers[self._boldest])
        elif first or self.decisions % len(self._proposers.solvers) == k:
            solver.follow(objective)
        else:
            solver.climb(objective)

    def _outcome(self) -> Decision:
        solver = self._proposers.solvers[self._chosen]
        return decision.of_solver(solver, self.counts, "the likelihood biased by value, for several biases")


def choose(scores: Sequence[Score], horizons: float) -> int:
    """Which has the least information ratio of those that can pay, after so many horizons of 1/(1 - gamma) steps."""
    least = min(score.regret for score in scores)
    saved = least * max(PATIENCE, horizons)
    paying = [i for i, score in enumerate(scores) if _price(score, least) <= saved]
    return min(paying, key=lambda i: scores[i].order(EXPONENT))


def _price(score: Score, least: float) -> float:
    """What it costs to learn a nat with a policy, or to follow it for a horizon if that teaches more, per horizon."""
    if score.regret == least:
        return 0.0
    taught = min(1.0, score.information)
    return (score.regret - least) / taught if taught > 0.0 else math.inf


def is_small(mdp: LinearMixtureMDP) -> bool:
    """Whether a search of all starts costs no more than a few dozen steps."""
    parameters, states = MOST_SEARCHED
    return mdp.dimension <= parameters and mdp.num_states <= states and uses_factors(mdp)


def reward_range(mdp: LinearMixtureMDP) -> float:
    """The largest reward of allowed actions minus the smallest; 1 where all are equal."""
    may_happen = np.repeat(mdp.allowed.ravel(), np.diff(mdp.transitions.indptr))
    values = (
        mdp.transition_reward[may_happen]
        if len(mdp.transition_reward)
        else mdp.pair_reward[mdp.allowed.ravel()]
    )
    return float(np.ptp(values)) or 1.0


def recommended(mdp: LinearMixtureMDP, seed: int = 0) -> InformedVBMLE:
    """The agent to use when nothing is known about the world: see "Which agent?" in the documentation.

    Today that is `InformedVBMLE` with its default settings. Its actions do not change when rewards are multiplied by a
    constant.

    Parameters
    ----------
    mdp : LinearMixtureMDP
        What is known.
    seed : int, default 0
        Seeds everything that the agent draws for itself. The world's luck has its own seed.

    Raises
    ------
    ValueError
        If mdp is not a model, or seed is not a whole number that is at least 0.

    Examples
    --------
    >>> import vbmle
    >>> world = vbmle.worlds.riverswim(length=6)
    >>> agent = vbmle.recommended(world.mdp)
    >>> agent.act(0)
    1
    """
    return InformedVBMLE(mdp, seed=seed)
