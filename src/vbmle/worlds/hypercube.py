"""The hypercube: the instance behind the lower bounds for linear mixture MDPs (Zhou, He, Gu 2021).

Two states, x0 without reward and x1 with reward 1, and an action a for each corner of {-1, 1}^(d-1):

    P(x1|x0,a) = delta + <a, theta>,   P(x0|x1,a) = delta,

with the features phi(x1|x0,a) = (a, delta), phi(x0|x0,a) = (-a, 1-delta), phi(x1|x1,a) = (0, 1-delta) and
phi(x0|x1,a) = (0, delta). The last coordinate of theta is 1, the others are +-gap * delta/(d-1) with random
signs. The feasible set is a cross-polytope: the sum of their sizes is at most min(delta, 1-delta).
"""

from __future__ import annotations

import numpy as np

from vbmle.common import validation
from vbmle.common.stated import suggesting
from vbmle.model.mdp import LinearMixtureMDP
from vbmle.model.world import World

LARGEST_DIMENSION = 13
"""Dimensions above have more than 2^12 actions."""


@suggesting
def hypercube(
    dimension: int, delta: float = 0.1, gap: float = 0.5, seed: int = 0, discount: float = 0.9
) -> World:
    """The lower-bound instance: 2^(dimension-1) actions of which one, the signs of theta, is best.

    Bit j of an action's number says whether its j-th coordinate is 1 or -1. Starts in x0 (state 0).

    Parameters
    ----------
    dimension : int
        d, from 2 to 13.
    delta : float, default 0.1
        The probability of leaving x1, and of leaving x0 by a blind guess; above 0 and at most 1/(1+gap).
    gap : float, default 0.5
        How much the best action adds to the chance of x1, as a share of delta; above 0 and at most 1.
    seed : int, default 0
        Draws the signs of theta.
    discount : float, default 0.9
        gamma, strictly between 0 and 1.

    Raises
    ------
    ValueError
        If a setting is out of range; the message names it and what it needs.

    Examples
    --------
    >>> import vbmle
    >>> world = vbmle.worlds.hypercube(dimension=4)
    >>> world.mdp.num_actions, abs(world.theta).round(6).tolist()
    (8, [0.016667, 0.016667, 0.016667, 1.0])
    """
    dimension = validation.positive_integer("dimension", dimension)
    if not 2 <= dimension <= LARGEST_DIMENSION:
        raise ValueError(
            f"dimension is {dimension}; it needs a whole number from 2 to {LARGEST_DIMENSION} "
            f"(there are 2^(dimension-1) actions)"
        )
    if not 0.0 < gap <= 1.0:
        raise ValueError(f"gap is {gap}; it needs a number above 0 and at most 1")
    if not 0.0 < delta * (1.0 + gap) <= 1.0:
        raise ValueError(
            f"delta is {delta}; it needs a number above 0 and at most 1/(1+gap) = {1 / (1 + gap):g}"
        )
    width = dimension - 1
    actions = 2.0 * (np.arange(2**width)[:, None] >> np.arange(width) & 1) - 1.0
    features = np.zeros((2, len(actions), 2, dimension))
    features[0, :, 1, :-1], features[0, :, 0, :-1] = actions, -actions
    features[0, :, 1, -1], features[0, :, 0, -1] = delta, 1.0 - delta
    features[1, :, 0, -1], features[1, :, 1, -1] = delta, 1.0 - delta
    reward = np.zeros((2, len(actions)))
    reward[1] = 1.0
    mdp = LinearMixtureMDP(features, reward, discount, initial=[1.0, 0.0])
    rng = np.random.default_rng(np.random.SeedSequence(validation.index("seed", seed, 2**63)))
    signs = rng.choice([-1.0, 1.0], width)
    return World(mdp, np.append(signs * gap * delta / width, 1.0))
