"""A world in which maximum likelihood locks on to a wrong model for ever.

Home (state 0) offers a safe action, which stays at home for a reward c whatever theta is, and a risky one,
which earns 1/2 and leads to luck (state 1, reward 1) with probability theta_1 and to misfortune (state 2,
reward 0) with probability theta_2; both lead back home. There are two base models, always luck and always
misfortune: theta = (theta_1, theta_2) lies on the simplex, and the truth is (.9, .1).

At home, always playing risky is worth risky(theta_1) = (1/2 + gamma theta_1)/(1 - gamma^2), always playing
safe c/(1 - gamma). With c = (1/2 + .7 gamma)/(1 + gamma) the latter is risky(.7): safe is better where
theta_1 < .7, risky where theta_1 > .7, and so under the truth.

**Why maximum likelihood locks**, on every path and with every ridge lambda > 0. Claim: at each step the
agent is at home, has seen nothing but (home, safe, home), and plays safe. At the first step nothing was
seen. Where the claim holds, all that was seen has probability theta_1 + theta_2 = 1 under every theta, so
the log-likelihood is 0 on the whole simplex: what safe yields cannot tell the models apart (the closed-loop
identification problem). What is left to maximise is -lambda/2 |theta|^2, whose only maximiser is (1/2, 1/2).
Since 1/2 < .7 the agent plays safe, stays at home, and the claim holds at the next step. Each step loses the
same, risky(.9) - risky(.7), so regret is linear.

**Why the value bias does not lock**, if alpha(t) grows without bound. Let risky have been tried n times.
Against any theta_1 <= .7, where the value is risky(.7), theta_1 = .8 gains .1 alpha(t) gamma/(1 - gamma^2) in
value, and loses at most n log 5 in likelihood and .09 lambda in ridge. So no n is final: risky is tried again
and again, its frequency of luck tends to .9, and with it the maximum likelihood estimate. Once that exceeds
.7, every theta_1 <= .7 is worse in likelihood and ridge, which are concave, and in value: from there on the
agent plays risky for ever. With nothing tried yet, (1, 0) gains .3 alpha(t) gamma/(1 - gamma^2) and
loses lambda/4: at gamma = .9 and lambda = 1 any alpha(1) > .18 plays risky in the first step.
"""

from __future__ import annotations

import numpy as np

from vbmle import validation
from vbmle.model import LinearMixtureMDP, World

HOME, LUCK, MISFORTUNE = 0, 1, 2
SAFE, RISKY = 0, 1
TRUTH = (0.9, 0.1)
BREAK_EVEN = 0.7
"""Risky pays exactly when luck is more likely than this: half way between the guess 1/2 and the truth."""


def closed_loop_trap(discount: float = 0.9) -> World:
    """Maximum likelihood plays safe for ever here, and never learns that risky is better.

    At home (state 0, where it starts) action 0, safe, stays for a sure reward: the same under both base
    models. Action 1, risky, leads to luck or misfortune, which the base models tell apart; the truth makes it
    better, but a learner without data splits theta evenly, which makes safe look better, and safe brings no
    data: on every path, for every ridge above 0. `vbmle.worlds.trap` has the proof in full.
    """
    discount = validation.discount_factor(discount)
    models = np.zeros((2, 3, 2, 3))
    models[:, HOME, SAFE, HOME] = 1.0
    models[0, HOME, RISKY, LUCK] = 1.0
    models[1, HOME, RISKY, MISFORTUNE] = 1.0
    models[:, [LUCK, MISFORTUNE], :, HOME] = 1.0
    reward = np.zeros((3, 2))
    reward[HOME, SAFE] = (0.5 + BREAK_EVEN * discount) / (1.0 + discount)
    reward[HOME, RISKY] = 0.5
    reward[LUCK] = 1.0
    return World(LinearMixtureMDP.from_models(list(models), reward, discount, initial=np.eye(3)[HOME]), TRUTH)
