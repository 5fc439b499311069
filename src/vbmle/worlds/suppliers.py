"""A shop with two suppliers, one more reliable now and the other later: a mix that changes, by jumps or slowly.

The state is the stock, 0 .. capacity. A step sells one piece with probability 8/10, if there is one in stock, and one
piece is ordered, from the first supplier (action 0) or from the second (action 1). Under the base model *first* the
first delivers with probability 9/10 and the second with 3/10, under *second* the other way round; what has no room is
lost. A step with stock earns 1, one without earns nothing. The supplier that delivers more often is best in every state
with room for more, so that the best policy changes when the mix crosses one half.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from vbmle.common import validation
from vbmle.common.stated import suggesting
from vbmle.common.validation import Among
from vbmle.model.mdp import LinearMixtureMDP
from vbmle.model.world import CHANGES, DriftingWorld

DEMAND = 0.8
GOOD, POOR = 0.9, 0.3
AT_FIRST, LATER = [0.9, 0.1], [0.1, 0.9]


@suggesting
def suppliers(
    capacity: int = 3,
    change: Annotated[str, Among(CHANGES)] = "jump",
    every: int = 500,
    turns: int = 1,
    discount: float = 0.9,
) -> DriftingWorld:
    """A shop with two suppliers whose reliability changes every so many steps: the hidden mix jumps, or moves slowly.

    It begins with nine parts of the base model in which the first supplier is the better one, turns `turns` times to
    the opposite and back, and then stays.

    Parameters
    ----------
    capacity : int, default 3
        The most pieces in stock; states are stocks, so there is one more.
    change : {"jump", "slow"}, default "jump"
        Whether the mix changes at once, or moves in a straight line.
    every : int, default 500
        Steps between two changes.
    turns : int, default 1
        How often the mix changes.
    discount : float, default 0.9
        gamma, from 0 up to but below 1.

    Raises
    ------
    ValueError
        If a setting is out of range.

    Examples
    --------
    >>> import vbmle
    >>> world = vbmle.worlds.suppliers(every=100)
    >>> world.at(0).theta.tolist(), world.at(100).theta.tolist()
    ([0.9, 0.1], [0.1, 0.9])
    """
    capacity = validation.positive_integer("capacity", capacity)
    every = validation.positive_integer("every", every)
    turns = validation.index("turns", turns, 1000)
    models = {
        name: _model(capacity, odds) for name, odds in (("first", (GOOD, POOR)), ("second", (POOR, GOOD)))
    }
    reward = np.ones((capacity + 1, 2))
    reward[0] = 0.0
    mdp = LinearMixtureMDP.from_models(models, reward, discount, action_names=["first", "second"])
    path = [(turn * every, LATER if turn % 2 else AT_FIRST) for turn in range(turns + 1)]
    return DriftingWorld(mdp, path, change)


def _model(capacity: int, odds: tuple[float, float]) -> np.ndarray:
    """(S, 2, S): one piece goes by demand, and one comes with the odds of the supplier."""
    p = np.zeros((capacity + 1, 2, capacity + 1))
    for stock in range(capacity + 1):
        for action, chance in enumerate(odds):
            for sold, q in ((1, DEMAND), (0, 1.0 - DEMAND)):
                left = max(stock - sold, 0)
                p[stock, action, min(left + 1, capacity)] += q * chance
                p[stock, action, left] += q * (1.0 - chance)
    return p
