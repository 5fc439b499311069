"""RiverSwim: small reward nearby, large reward far against the current.

States 0 .. n-1 lie along a river; swimming left (action 0) always works, swimming right (action 1) is

    inner states   forward .35, stay .6, back .05
    left end       forward .6,  stay .4
    right end      stay .6,     back .4

Reward 5/1000 for swimming left at the left end, 1 for swimming right at the right end, 0 elsewhere. An
episode-free chain that starts at the left end: an agent that does not persist never sees the large reward.
(Strehl and Littman 2008, with the numbers of Osband, Russo and Van Roy 2013.)
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from vbmle.common import validation
from vbmle.common.stated import suggesting
from vbmle.common.validation import Among, Floats
from vbmle.model.mdp import LinearMixtureMDP
from vbmle.model.world import World

FORWARD, STAY, BACK = 0.35, 0.6, 0.05
LEFT, RIGHT = 0, 1
FEATURES = ("tabular", "mixture")
Features = Annotated[str, Among(FEATURES)]


@suggesting
def riverswim(length: int = 6, features: Features = "tabular", discount: float = 0.9) -> World:
    """RiverSwim with `length` states: which transitions can happen is known, their probabilities are not.

    Parameters
    ----------
    length : int, default 6
        The number of states, at least 3.
    features : {"tabular", "mixture"}, default "tabular"
        "tabular" has one parameter per possible transition. "mixture" has three, theta = (forward, stay, back) of the
        inner states, and knows the ends and the moves to the left: a known probability p is the feature (p, p, p),
        since theta sums to 1.
    discount : float, default 0.9
        gamma, strictly between 0 and 1.

    Raises
    ------
    ValueError
        If a setting is out of range; the message names it and what it needs.

    Examples
    --------
    >>> import vbmle
    >>> vbmle.worlds.riverswim(features="mixture").theta.tolist()
    [0.35, 0.6, 0.05]
    """
    length = validation.positive_integer("length", length)
    if length < 3:
        raise ValueError(f"length is {length}; a river needs at least 3 states, two ends and one between")
    validation.one_of("features", features, FEATURES)
    reward = np.zeros((length, 2))
    reward[0, LEFT], reward[-1, RIGHT] = 5 / 1000, 1.0
    start = np.eye(length)[0]
    phi, theta = _mixture(length), np.array([FORWARD, STAY, BACK])
    if features == "mixture":
        return World(LinearMixtureMDP(phi, reward, discount, initial=start), theta)
    truth = phi @ theta
    mdp = LinearMixtureMDP.tabular(truth > 0.0, reward, discount, initial=start)
    return World(mdp, truth[truth > 0.0])


def _mixture(length: int) -> Floats:
    """Features (S, 2, S, 3) of (forward, stay, back)."""
    phi = np.zeros((length, 2, length, 3))
    for s in range(length):
        phi[s, LEFT, max(s - 1, 0)] = 1.0
    for s in range(1, length - 1):
        for k, to in enumerate((s + 1, s, s - 1)):
            phi[s, RIGHT, to, k] = 1.0
    last = length - 1
    phi[0, RIGHT, 1], phi[0, RIGHT, 0] = 0.6, 0.4
    phi[last, RIGHT, last], phi[last, RIGHT, last - 1] = 0.6, 0.4
    return phi
