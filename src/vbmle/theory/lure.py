"""What awaits an optimist, and an agent that trusts the most likely model, in a world of which nothing has been seen.

For a state s let theta_s be the feasible theta with the largest V*(s), and pi_s its best policy: what an optimist
begins with. What that costs, and how fast it is found out, are

    loss(s)         = V*(s; theta*) - V^{pi_s}(s; theta*)
    information(s)  = sum_x w(x) H^2(P_theta*(.|x, pi_s(x)), P_theta_s(.|x, pi_s(x)))

with w the discounted share of time that pi_s spends in x when it starts in s, and H^2 the squared Hellinger distance,
0 for equal distributions and 1 for those that exclude each other. Where it is 0, nothing that happens is evidence. The
same for the policy of the most likely theta without data, the one of least norm. All are means over the initial states.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vbmle.common.validation import Floats, Ints
from vbmle.estimation.counts import TransitionCounts
from vbmle.estimation.likelihood import Estimate, value_biased
from vbmle.model.world import World
from vbmle.planning import planner
from vbmle.planning.planner import Plan
from vbmle.theory.hardness import TIED_GAP

BIAS = 1.0
"""Without data and ridge any bias has the same maximiser."""

STATES = 5
"""From how many states it is measured: each takes a search over all of the feasible set."""


@dataclass(frozen=True)
class Lure:
    """What the first belief costs per step, and how much a step tells against it."""

    optimistic_loss: float
    optimistic_share: float
    """The share of states where the optimist's policy is not the best one."""
    optimistic_information: float
    likely_loss: float
    likely_share: float
    likely_information: float


def lure(world: World, states: int = STATES) -> Lure:
    """The measures above, in the user's units of value; from at most so many of the initial states."""
    mdp, counts = world.mdp, TransitionCounts(world.mdp)
    starts = np.flatnonzero(mdp.initial > 0.0)[:states]
    share = mdp.initial[starts] / mdp.initial[starts].sum()
    likely = value_biased(mdp, counts, int(starts[0]), 0.0, ridge=1.0)  # without a bias no state is special
    hopes = [value_biased(mdp, counts, int(start), BIAS, ridge=0.0) for start in starts]
    best = planner.plan(mdp, world.theta)
    mine = share @ np.array(
        [_first_belief(world, best, hope, start) for hope, start in zip(hopes, starts, strict=True)]
    )
    theirs = share @ np.array([_first_belief(world, best, likely, start) for start in starts])
    return Lure(*(float(mean) for mean in (*mine, *theirs)))


def _first_belief(world: World, best: Plan, found: Estimate, start: int) -> tuple[float, float, float]:
    """The regret of an estimate's policy from a state, where it is wrong, and what a step tells about it."""
    mdp, policy = world.mdp, np.asarray(found.policy)
    value = planner.evaluate(mdp, world.theta, best.policy) - planner.evaluate(mdp, world.theta, policy)
    worse = best.V - best.Q[np.arange(mdp.num_states), policy] > TIED_GAP / (1.0 - mdp.discount)
    cost = mdp.reward_scale * max(float(value[start]), 0.0)
    return cost, float(worse.mean()), _told(world, found.theta, policy, start)


def _told(world: World, theta: Floats, policy: Ints, start: int) -> float:
    """information(s) above."""
    mdp, everyone = world.mdp, np.arange(world.mdp.num_states)
    truth, belief = (
        np.maximum(mdp.transitions.dense(mdp.transitions.probabilities(t))[everyone, policy], 0.0)
        for t in (world.theta, theta)
    )
    apart = 0.5 * ((np.sqrt(truth) - np.sqrt(belief)) ** 2).sum(axis=1)
    stay = np.eye(mdp.num_states) - mdp.discount * truth.T
    share = (1.0 - mdp.discount) * np.linalg.solve(stay, np.eye(mdp.num_states)[start])
    return float(share @ apart)
