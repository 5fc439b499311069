"""A world in which maximum likelihood locks on to a wrong model and never lets go.

Home (state 0) offers a safe action, which stays at home for a reward c whatever theta is, and a risky one,
which earns 1/2 and leads to luck (state 1, reward 1) with probability q and to misfortune (state 2, reward
0) with probability 1 - q; both lead back home. theta = (q, 1), with a last coordinate that is always 1 and
carries what is known: P = {(q, 1): 0 <= q <= 1}. The truth is q = .9.

At home, always playing risky is worth risky(q) = (1/2 + gamma q)/(1 - gamma^2), always playing safe
c/(1 - gamma). With c = (1/2 + .3 gamma)/(1 + gamma) the latter is risky(.3): safe is better where q < .3,
risky where q > .3, and so under the truth.

**Why maximum likelihood locks**, on every path and with every ridge lambda > 0. Claim: at each step the
agent is at home, has seen nothing but (home, safe, home), and plays safe. At the first step nothing was
seen. Where the claim holds, all that was seen has probability 1 under every theta, so the log-likelihood is
0 on the whole of P: what safe yields cannot tell the models apart (the closed-loop identification problem).
What is left to maximise is -lambda/2 |theta|^2, whose only maximiser in P is (0, 1). Since 0 < .3 the agent
plays safe, stays at home, and the claim holds at the next step. Each step loses the same,
risky(.9) - risky(.3), so regret is linear.

**Why the value bias does not lock**, if alpha(t) grows without bound. Let risky have been tried n times.
Against any q <= .3, where the value is risky(.3), q = .5 gains .2 alpha(t) gamma/(1 - gamma^2) in value, and
loses at most n log 2 in likelihood and lambda/8 in ridge. So no n is final: risky is tried again and again,
its frequency of luck tends to .9, and with it the maximum likelihood estimate. Once that exceeds .3 it is
better than every q <= .3, in likelihood and ridge (of which it is the maximiser) and in value: from then on
the agent plays risky. With nothing tried yet, q = 1 gains .7 alpha(t) gamma/(1 - gamma^2) and loses
lambda/2: at gamma = .9 and lambda = 1 any alpha(1) > .16 plays risky in the first step.
"""

from __future__ import annotations

import numpy as np

from vbmle.common import validation
from vbmle.common.stated import suggesting
from vbmle.model.mdp import LinearMixtureMDP
from vbmle.model.world import World

HOME, LUCK, MISFORTUNE = 0, 1, 2
SAFE, RISKY = 0, 1
CHANCE = 0.9
"""The true probability of luck."""

BREAK_EVEN = 0.3
"""Risky pays exactly when luck is more likely than this."""


@suggesting
def closed_loop_trap(discount: float = 0.9) -> World:
    """Maximum likelihood plays safe at all times here, and never learns that risky is better.

    At home (state 0, where it starts) action 0, safe, stays for a sure reward: the same under every theta.
    Action 1, risky, leads to luck with probability theta[0]. The truth, .9, makes it better; but without data
    the ridge holds theta[0] at 0, which makes safe look better, and safe brings no data: on every path, for
    every ridge above 0. `vbmle.worlds.closed_loop_trap` has the proof in full.

    Parameters
    ----------
    discount : float, default 0.9
        gamma, strictly between 0 and 1.

    Raises
    ------
    ValueError
        If a setting is out of range; the message names it and what it needs.

    Examples
    --------
    >>> import vbmle
    >>> world = vbmle.worlds.closed_loop_trap()
    >>> vbmle.plan(world.mdp, world.theta).policy[0].item(), vbmle.MaximumLikelihood(world.mdp).act(0)
    (1, 0)
    """
    discount = validation.fraction("discount", discount)
    features = np.zeros((3, 2, 3, 2))
    features[HOME, SAFE, HOME] = [0.0, 1.0]
    features[HOME, RISKY, LUCK] = [1.0, 0.0]
    features[HOME, RISKY, MISFORTUNE] = [-1.0, 1.0]
    features[[LUCK, MISFORTUNE], :, HOME] = [0.0, 1.0]
    reward = np.zeros((3, 2))
    reward[HOME, SAFE] = (0.5 + BREAK_EVEN * discount) / (1.0 + discount)
    reward[HOME, RISKY] = 0.5
    reward[LUCK] = 1.0
    mdp = LinearMixtureMDP(features, reward, discount, initial=np.eye(3)[HOME])
    return World(mdp, [CHANCE, 1.0])
