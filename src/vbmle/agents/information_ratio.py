"""What a policy is expected to lose, and what it would teach, by draws from the posterior.

With draws theta_1 .. theta_M and the model of their mean, which is their mean model since P is linear in theta,

    I(s,a)  = mean_m KL(P_m(.|s,a) || P_mean(.|s,a))                the information of a pair, in nats
    D(pi)   = mean_m [ V*_m(s) - V^pi_m(s) ]                        expected regret, from the current state s
    G(pi)   = sum_x w^pi(x) I(x, pi(x))                             discounted information under the mean model

where the mean of D may be tilted towards draws that promise much, by weights proportional to exp(tilt V*_m(s)): the
expected regret under the posterior of feel-good Thompson sampling (Zhang 2022; `vbmle.agents.feel_good`). The
information ratio is D^2 / G (Russo and Van Roy 2014), or D^3 / G (the generalised ratio of Lattimore and Gyorgy 2021,
with the exponent of games in which good play may teach nothing). Neither changes its order when rewards are
multiplied by a constant. V* of a draw is found once, when it is drawn, and V^pi once for each policy and draw.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from vbmle.agents.posterior import MOST_DRAWS, Sampler, sampler_for
from vbmle.agents.triggers import EveryStep, InformationGrown, Trigger
from vbmle.common import keeper
from vbmle.common.files import Snapshot
from vbmle.common.keeper import Keeper, Part, Saved, a_value, anything
from vbmle.common.stated import AT_LEAST_1, up_to
from vbmle.common.validation import Among, Floats, Ints
from vbmle.estimation.counts import TransitionCounts
from vbmle.model.mdp import LinearMixtureMDP
from vbmle.planning.planner import expected_reward, make_planner, uses_factors

POLICIES_KEPT = 64
"""Policies whose values are kept from step to step."""

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
    "doubled; in between the policy in force is played.",
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
    """What a policy is expected to lose and what it teaches; the better of two is the smaller by `order`."""

    regret: float
    information: float

    def ratio(self, exponent: float = 2.0) -> float:
        """D^exponent / G; 0 where nothing is lost, and infinite where something is lost and nothing learnt."""
        if self.regret == 0.0:
            return 0.0
        return self.regret**exponent / self.information if self.information > 0.0 else math.inf

    def order(self, exponent: float = 2.0) -> tuple[float, float]:
        """By the ratio; among equals by the regret."""
        return self.ratio(exponent), self.regret


def _actions(draws: Any, name: str, policies: Ints) -> None:
    keeper.require_within(name, policies, 0, draws.mdp.num_actions - 1)


class PosteriorDraws(Keeper):
    """A ring of draws given the counts, `fresh` of them replaced for every observation; scores policies by them."""

    saved: ClassVar[Saved] = {
        "_thetas": anything,  # these two are looked at together, in `restore`
        "_ring": anything,
        "_best": a_value,
        "_policies": _actions,
    }

    def __init__(self, counts: TransitionCounts, draws: int, fresh: int, thinning: int, seed: int) -> None:
        mdp = counts.mdp
        self._sampler: Sampler = sampler_for(mdp, thinning)
        self._counts, self.mdp, self._fresh, self._seed = counts, mdp, fresh, seed
        self._planners = [make_planner(mdp) for _ in range(draws)]
        self._mean = make_planner(mdp)
        self._factors = uses_factors(mdp)
        states = mdp.num_states
        self._thetas = np.zeros((draws, mdp.dimension))
        self._best = np.zeros((draws, states))  # V*_m
        self._policies = np.zeros((draws, states), np.int64)
        self._entropy = np.zeros((draws, mdp.transitions.count))  # p_m log p_m
        self._version = np.zeros(draws, np.int64)  # how often each was drawn anew
        self._known: dict[bytes, tuple[Floats, Ints]] = {}
        self._ring = np.array(
            [-1, 0]
        )  # the observations at the last draw, -1 before the first, and whose turn it is
        self._information = np.zeros(states * mdp.num_actions)
        self._first_pair = np.arange(states) * mdp.num_actions

    @property
    def information(self) -> Floats:
        """I(s, a) by pair, (S*A,)."""
        return self._information

    def refresh(self) -> None:
        """Replace the oldest draws: so many for each observation since the last time, at first all of them."""
        size, total = len(self._planners), self._counts.total
        seen, turn = self._ring.tolist()
        count = size if seen < 0 else min(size, self._fresh * (total - seen))
        if count == 0:
            return
        rng = np.random.default_rng([self._seed, total])
        drawn = (turn + np.arange(count)) % size
        for m in drawn.tolist():
            self._draw(m, rng)
        self._weigh(drawn)
        self._ring[...] = total, (turn + count) % size
        self._average()

    def _draw(self, m: int, rng: np.random.Generator) -> None:
        planner = self._planners[m]
        self._thetas[m] = self._sampler.draw(self._counts, rng)
        planner.put(theta=self._thetas[m], policy=self._policies[m], V=self._best[m])
        planner.assemble()
        planner.optimal()
        self._best[m], self._policies[m] = planner.V, planner.policy

    def _weigh(self, drawn: Ints) -> None:
        """What is computed of new draws all at once."""
        p = np.array([self._planners[m].p for m in drawn.tolist()])
        self._entropy[drawn] = p * np.log(np.maximum(p, 1e-300))
        self._version[drawn] += 1

    def _average(self) -> None:
        """The mean model, and what each pair tells apart."""
        mean = self._mean
        mean.put(theta=self._thetas.mean(axis=0))
        mean.assemble()
        apart = self._entropy.mean(axis=0) - mean.p * np.log(np.maximum(mean.p, 1e-300))
        self._information = np.maximum(np.add.reduceat(apart, self.mdp.transitions.indptr[:-1]), 0.0)

    def score(self, policy: Ints, state: int, tilt: float = 0.0) -> Score:
        """D and G of a policy, from a state; D by weights proportional to exp(tilt V*)."""
        best = self._best[:, state]
        weights = np.exp(tilt * (best - best.max()))
        regret = float(weights @ (best - self._values(policy)[:, state]) / weights.sum())
        if regret <= NEGLIGIBLE_REGRET * float(np.abs(best).max()):
            regret = 0.0
        return Score(regret, self._taught(policy, state))

    def _taught(self, policy: Ints, state: int) -> float:
        mean = self._mean
        mean.put(policy=policy)
        if self._factors:
            mean.evaluate()  # factors for the visits
        return float(mean.visit_from(state) @ self._information[self._first_pair + policy])

    def _values(self, policy: Ints) -> Floats:
        """V^pi_m, (M, S)."""
        key = policy.tobytes()
        if key not in self._known:
            if len(self._known) == POLICIES_KEPT:
                self._known.clear()
            self._known[key] = (np.empty_like(self._best), np.full(len(self._planners), -1))
        values, made = self._known[key]
        for m in np.nonzero(made != self._version)[0].tolist():
            planner = self._planners[m]
            planner.put(policy=policy)
            if not self._factors:
                planner.put(V=self._best[m])
            planner.evaluate()
            values[m] = planner.V
        made[...] = self._version
        return values

    def best_for(self, price: float, start: Ints) -> Ints:
        """A policy that is optimal for r + price * I on the mean model: policy iteration from `start`."""
        mdp, mean, transitions = self.mdp, self._mean, self.mdp.transitions
        gain = expected_reward(mdp, mean.p) + price * self._information
        policy = np.array(start)
        gain[~mdp.allowed.ravel()] = -np.inf
        slack = (
            NEGLIGIBLE_REGRET
            * max(float(np.abs(gain[mdp.allowed.ravel()]).max()), 1e-300)
            / (1.0 - mdp.discount)
        )
        for _ in range(MOST_IMPROVEMENTS):
            mean.put(policy=policy)
            if self._factors:
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

    def _parts(self) -> dict[str, Part]:
        return {"sampler": self._sampler}

    def restore(self, snapshot: Snapshot) -> None:
        """Continue from a snapshot; ValueError names the field that does not fit."""
        super().restore(snapshot)
        seen, turn = self._ring.tolist()
        if not (-1 <= seen <= self._counts.total and 0 <= turn < len(self._planners)):
            raise ValueError(
                f"ring is {seen}, {turn}; it needs at most {self._counts.total} observations and a place in the ring"
            )
        for theta in self._thetas if seen >= 0 else ():
            self.mdp.require_feasible(theta, 1e-6)
        if seen < 0 and self._thetas.any():
            raise ValueError("thetas is not 0, though nothing was drawn")
        self._known.clear()
        for m, planner in enumerate(self._planners):
            planner.put(theta=self._thetas[m])
            planner.assemble()
        self._weigh(np.arange(len(self._planners)))
        if seen >= 0:
            self._average()
