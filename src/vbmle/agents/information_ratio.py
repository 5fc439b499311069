"""What a policy is expected to cost, and what it would teach, by draws from the posterior.

With draws theta_1 .. theta_M and the model of their mean, which is their mean model since P is linear in theta,

    I(s,a)  = mean_m KL(P_m(.|s,a) || P_mean(.|s,a))                the information of a pair, in nats
    D(pi)   = mean_m [ V*_m(s) - V^pi_m(s) ]                        expected regret, from the current state s
    G(pi)   = sum_x w^pi(x) I(x, pi(x))                             discounted information under the mean model

where the mean of D may be tilted towards draws that promise much, by weights proportional to exp(tilt V*_m(s)): the
expected regret under the posterior of feel-good Thompson sampling (Zhang 2022; `vbmle.agents.feel_good`). The
information ratio is D^2 / G (Russo and Van Roy 2014), or D^3 / G (the generalised ratio of Lattimore and Gyorgy 2021,
with the exponent of games in which good play may teach nothing). Neither changes its order when rewards are
multiplied by a constant. The core finds all of it (core/src/judging).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Annotated, ClassVar, NamedTuple

import numpy as np

from vbmle.agents.posterior import MOST_DRAWS, Sampler, sampler_for
from vbmle.agents.triggers import EveryStep, InformationGrown, Trigger
from vbmle.common import keeper
from vbmle.common.files import Snapshot
from vbmle.common.keeper import Keeper, Part, Saved, anything
from vbmle.common.stated import AT_LEAST_1, up_to
from vbmle.common.validation import Among, Floats, Ints
from vbmle.core import judging as core
from vbmle.core.planning import Planner
from vbmle.estimation.counts import TransitionCounts
from vbmle.model.mdp import LinearMixtureMDP
from vbmle.planning.planner import expected_reward, make_planner, uses_factors

NEGLIGIBLE_REGRET = 1e-11
"""An expected regret below this part of the largest value is rounding, and counts as none."""

MOST_IMPROVEMENTS = 50
"""Most improvements of a policy in one plan; a handful is usual."""

INFORMED_UPDATES = ("every-step", "tenth", "doubling")
"""When to decide again: each time, or when information has grown by a tenth, or doubled."""

InformedUpdate = Annotated[
    str,
    Among(INFORMED_UPDATES),
    "When to decide again: at every step, or when the information about what was observed has grown by a tenth, or has "
    "doubled; in between the policy in force stays.",
]
Draws = Annotated[
    int, up_to(MOST_DRAWS), "Draws from the posterior to judge policies by. With few, chance decides."
]
Fresh = Annotated[
    int,
    AT_LEAST_1,
    "How many of them are replaced for each observation, as far as there was anything to judge.",
]

TENTH = 1.1


def informed_trigger(mdp: LinearMixtureMDP, update: str) -> Trigger:
    """The trigger of that name, one of INFORMED_UPDATES."""
    if update == "every-step":
        return EveryStep()
    return InformationGrown(mdp, ridge=1.0, factor=TENTH if update == "tenth" else 2.0)


class Score(NamedTuple):
    """The expected regret of a policy and what it teaches; the better of two is the smaller by `order`."""

    regret: float
    information: float

    def ratio(self, exponent: float = 2.0) -> float:
        """D^exponent / G; 0 where there is no regret, and infinite where there is some and nothing is learnt."""
        if self.regret == 0.0:
            return 0.0
        return self.regret**exponent / self.information if self.information > 0.0 else math.inf

    def order(self, exponent: float = 2.0) -> tuple[float, float]:
        """By the ratio; among equals by the regret."""
        return self.ratio(exponent), self.regret


class PosteriorDraws(Keeper):
    """A ring of draws given the counts, `fresh` of them replaced for every observation; scores policies by them."""

    saved: ClassVar[Saved] = {"_ring": anything}  # looked at with the draws, in `restore`

    def __init__(self, counts: TransitionCounts, draws: int, fresh: int, thinning: int, seed: int) -> None:
        self._sampler: Sampler = sampler_for(counts.mdp, thinning)
        self._counts, self.mdp, self._fresh, self._seed = counts, counts.mdp, fresh, seed
        self._draws = core.Draws(self.mdp.core, draws)
        self._first_pair = np.arange(self.mdp.num_states) * self.mdp.num_actions
        self._ring = np.array(
            [-1, 0]
        )  # the observations at the last draw, -1 before the first, and whose turn it is

    @property
    def information(self) -> Floats:
        """I(s, a) by pair, (S*A,)."""
        return self._draws.information

    @property
    def thetas(self) -> Floats:
        """The draws, (M, d)."""
        return self._draws.theta

    @property
    def best(self) -> Floats:
        """V* of each, (M, S)."""
        return self._draws.best

    def refresh(self) -> None:
        """Replace the oldest draws: so many for each observation since the last time, at first all of them."""
        size, total = self._draws.count, self._counts.total
        seen, turn = self._ring.tolist()
        count = size if seen < 0 else min(size, self._fresh * (total - seen))
        if count == 0:
            return
        rng = np.random.default_rng([self._seed, total])
        drawn = (turn + np.arange(count)) % size
        for m in drawn.tolist():
            self._draws.put(m, self._sampler.draw(self._counts, rng))
        self._draws.plan(drawn)
        self._ring[...] = total, (turn + count) % size

    def score(self, policies: Sequence[Ints], state: int, tilt: float = 0.0) -> list[Score]:
        """D and G of policies, from a state; D by weights proportional to exp(tilt V*)."""
        best = self._draws.best[:, state]
        weights = np.exp(tilt * (best - best.max()))
        losses, taught = self._draws.judge(np.array(policies), state)
        regrets = losses @ weights / weights.sum()
        nothing = max(NEGLIGIBLE_REGRET * float(np.abs(best).max()), self._draws.precision)
        return [
            Score(float(regret) if regret > nothing else 0.0, float(information))
            for regret, information in zip(regrets, taught, strict=True)
        ]

    def best_for(self, price: float, start: Ints) -> Ints:
        """A policy that is optimal for r + price * I on the mean model: policy iteration from `start`."""
        mdp, mean, transitions, factors = self.mdp, self._mean, self.mdp.transitions, uses_factors(self.mdp)
        mean.put(theta=self.thetas.mean(axis=0))
        mean.assemble()
        gain = expected_reward(mdp, mean.p) + price * self.information
        policy = np.array(start)
        gain[~mdp.allowed.ravel()] = -np.inf
        slack = (
            NEGLIGIBLE_REGRET
            * max(float(np.abs(gain[mdp.allowed.ravel()]).max()), 1e-300)
            / (1.0 - mdp.discount)
        )
        for _ in range(MOST_IMPROVEMENTS):
            mean.put(policy=policy)
            if factors:
                mean.evaluate()
            V = np.ascontiguousarray(gain[self._first_pair + policy])[:, None]
            mean.solve(V, 0.1 * NEGLIGIBLE_REGRET)
            ahead = np.add.reduceat(mean.p * V[transitions.successor, 0], transitions.indptr[:-1])
            Q = (gain + mdp.discount * ahead).reshape(mdp.num_states, mdp.num_actions)
            gains = Q.max(axis=1) - Q[np.arange(mdp.num_states), policy] > slack
            if not gains.any():
                break
            policy[gains] = Q.argmax(axis=1)[gains]
        return policy

    @cached_property
    def _mean(self) -> Planner:
        """Of the mean model."""
        return make_planner(self.mdp)

    def _parts(self) -> dict[str, Part]:
        return {"sampler": self._sampler, "draws": self._draws}

    def restore(self, snapshot: Snapshot) -> None:
        """Continue from a snapshot; ValueError names the field that does not fit."""
        keeper.require_like("", snapshot, self.snapshot())
        keeper.require_within("draws.policy", snapshot["draws.policy"], 0, self.mdp.num_actions - 1)
        keeper.a_value(self, "draws.best", snapshot["draws.best"])
        super().restore(snapshot)
        seen, turn = self._ring.tolist()
        if not (-1 <= seen <= self._counts.total and 0 <= turn < self._draws.count):
            raise ValueError(
                f"ring is {seen}, {turn}; it needs at most {self._counts.total} observations and a place in the ring"
            )
        for theta in self.thetas if seen >= 0 else ():
            self.mdp.require_feasible(theta, 1e-6)
        if seen < 0 and self.thetas.any():
            raise ValueError("draws.theta is not 0, though nothing was drawn")
