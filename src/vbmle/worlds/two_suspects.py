"""Two candidate models, of which the wrong one makes itself look right (after Borkar and Varaiya 1979).

Home (state 0) offers a safe action, which stays at home for 1/2 under both candidates, and a risky one, which earns
1/2 and leads to luck (state 1, reward 1) with probability q and to misfortune (state 2, reward 0) with probability
1 - q; both lead back home. The first candidate says q = chance > 1/2 and is the truth, the second says 1 - chance.

At home, always playing risky is worth risky(q) = (1/2 + gamma q)/(1 - gamma^2), always playing safe 1/2/(1 - gamma) =
risky(1/2): risky is optimal for the first candidate, safe for the second. Safe tells you nothing, because both
candidates agree on it: the control that is optimal for the wrong one makes both look alike.

**Why maximum likelihood sticks with probability (1 - chance)/chance.** It begins with the first candidate and plays
risky. Each luck multiplies the likelihood ratio of the first to the second by chance/(1 - chance), and each misfortune
divides it by that, so the ratio is above, at or below 1 as X = lucks - misfortunes is. It plays risky while X >= 0 (at
a tie it keeps the candidate in force), and at X = -1, if that ever comes, it changes to the second candidate, plays
safe, learns nothing more, and stays there from then on. X is a walk that goes up with probability chance: from 0 it
ever reaches -1 with probability (1 - chance)/chance (the gambler's ruin).

**Why the value bias does not stick**, if alpha(t) grows without bound: at X = -m the second candidate is ahead by
m log(chance/(1 - chance)) in likelihood and behind by alpha(t) (risky(chance) - risky(1/2)) in value, so that from
some t on risky is tried again, whatever m is; and X tends to infinity as risky is tried again and again.
"""

from __future__ import annotations

import numpy as np

from vbmle.common import validation
from vbmle.common.stated import suggesting
from vbmle.model.mdp import LinearMixtureMDP
from vbmle.model.world import World

HOME, LUCK, MISFORTUNE = 0, 1, 2
SAFE, RISKY = 0, 1


@suggesting
def two_suspects(chance: float = 0.7, discount: float = 0.9) -> World:
    """Two candidate models (`domain="vertices"`): maximum likelihood sticks to the wrong one with a known probability.

    At home (state 0, where it starts) action 0, safe, stays under both candidates. Action 1, risky, leads to luck
    with probability `chance` under the first, which is the truth, and 1 - chance under the second. Maximum likelihood
    ends at the second, and plays safe from then on, with probability (1 - chance)/chance; VBMLE does not.
    `vbmle.worlds.two_suspects` has the proof.

    Parameters
    ----------
    chance : float, default 0.7
        The probability of luck under the true candidate, above 1/2 and below 1.
    discount : float, default 0.9
        gamma, strictly between 0 and 1.

    Raises
    ------
    ValueError
        If a setting is out of range; the message names it and what it needs.

    Examples
    --------
    >>> import vbmle
    >>> world = vbmle.worlds.two_suspects()
    >>> world.mdp.domain, world.theta.tolist()
    ('vertices', [1.0, 0.0])
    """
    discount = validation.fraction("discount", discount)
    if not 0.5 < chance < 1.0:
        raise ValueError(f"chance is {chance}; it needs a number above 1/2 and below 1")
    models = []
    for q in (chance, 1.0 - chance):
        p = np.zeros((3, 2, 3))
        p[HOME, SAFE, HOME] = 1.0
        p[HOME, RISKY, [LUCK, MISFORTUNE]] = [q, 1.0 - q]
        p[[LUCK, MISFORTUNE], :, HOME] = 1.0
        models.append(p)
    reward = np.array([[0.5, 0.5], [1.0, 1.0], [0.0, 0.0]])
    mdp = LinearMixtureMDP.from_models(models, reward, discount, initial=np.eye(3)[HOME], domain="vertices")
    return World(mdp, [1.0, 0.0])
