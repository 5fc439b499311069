"""A shop with lost sales: how much to order when the mix of demand days is unknown.

Each morning there are x units on the shelf. The day's demand D is that of a quiet, a usual or a busy day, Poisson
with mean 3, 8 or 16, with unknown odds theta: P_theta(D) = sum_k theta_k Poisson(D; mean_k). What the shelf does
not hold is lost. An order placed in the morning arrives the next morning (lead time 1):

    x' = x - min(x, D) + q,      q = min(a * lot, capacity - x).

Sales min(x, D) = x + q - x' can be read off the shelf, lost sales cannot: **demand is censored**. A shop that
stocks for quiet days sells out early on busy ones and learns little about how busy they were; stocking more teaches.

Money, in euros: price 8 per unit sold, order 4 + 2 per unit, holding 1 per unit left in the evening. (Puterman
1994, "Markov Decision Processes", section 3.2.2: K = 4, c(u) = 2u, h(u) = u, f(u) = 8u; there demand is known
and orders arrive at once. Means and mix of days are ours: a corner shop's bread, by the case.) The reward of
a day is 8 min(x,D) - 1{q > 0} 4 - 2q - 1 (x - min(x,D)).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse, special

from vbmle.common import validation
from vbmle.common.stated import suggesting
from vbmle.common.validation import Floats
from vbmle.model.mdp import LinearMixtureMDP
from vbmle.worlds.labels import LabelledWorld, Labels, Mix, weights

PRICE, FIXED, UNIT, HOLDING = 8.0, 4.0, 2.0, 1.0
MEANS = (3.0, 8.0, 16.0)
"""Mean demand of a quiet, a usual and a busy day."""

BUSY_MIX = (0.1, 0.2, 0.7)
ORDERS = 5
"""Orders of 0, 1, .., 4 lots."""

NEGLIGIBLE_DEMAND = 1e-12
"""Demands less likely than this are left out."""


@suggesting
def inventory(
    capacity: int = 40,
    lot: int | None = None,
    mix: ArrayLike | Mix = BUSY_MIX,
    seed: int = 0,
    discount: float = 0.95,
) -> LabelledWorld:
    """A shop with lost sales and lead time 1, whose mix of quiet, usual and busy days is hidden; in euros.

    Parameters
    ----------
    capacity : int, default 40
        The most the shelf holds, so there are capacity + 1 states.
    lot : int, optional
        Units per case; action a orders a cases. By default an eighth of the capacity, but at most 5.
    mix : (3,) array or "random", default (0.1, 0.2, 0.7)
        The hidden odds of the three kinds of days; "random" draws them by `seed`.
    seed : int, default 0
        Seeds the draw of "random"; it has no other effect.
    discount : float, default 0.95
        gamma, strictly between 0 and 1.

    Raises
    ------
    ValueError
        If a setting is out of range; the message names it and what it needs.

    Examples
    --------
    >>> import vbmle
    >>> world = vbmle.worlds.inventory(capacity=16)
    >>> world.mdp.num_states, world.labels.actions
    (17, ('order 0', 'order 2', 'order 4', 'order 6', 'order 8'))
    """
    capacity = validation.positive_integer("capacity", capacity)
    lot = validation.positive_integer("lot", max(1, min(5, capacity // 8)) if lot is None else lot)
    theta = weights("mix", mix, len(MEANS), seed)
    stock, choice = np.divmod(np.arange((capacity + 1) * ORDERS), ORDERS)
    order = np.minimum(choice * lot, capacity - stock)
    models = [_moves(stock, order, demand_law(mean)) for mean in MEANS]
    reward = sum((model > 0.0).astype(np.float64) for model in models).tocoo()
    sold = stock[reward.row] + order[reward.row] - reward.col
    spent = FIXED * (order > 0) + UNIT * order
    money = PRICE * sold - HOLDING * (stock[reward.row] - sold) - spent[reward.row]
    paid = sparse.csr_array((money, (reward.row, reward.col)), shape=reward.shape)
    start = np.eye(1, capacity + 1)[0]
    mdp = LinearMixtureMDP.from_models(models, paid, discount, initial=start, normalise_reward=True)
    names = tuple(f"order {a * lot}" for a in range(ORDERS))
    panel = {"": np.arange(capacity + 1)[None, :]}
    return LabelledWorld(mdp, theta, Labels(panel, names, "euros", x="units on the shelf in the morning"))


def demand_law(mean: float) -> Floats:
    """P(D = 0, 1, ...) of a Poisson demand, cut where it is negligible; sums to 1."""
    demand = np.arange(int(mean + 10.0 * np.sqrt(mean)) + 20)
    law = np.exp(demand * np.log(mean) - mean - special.gammaln(demand + 1.0))
    law = law[: int(np.nonzero(law >= NEGLIGIBLE_DEMAND)[0][-1]) + 1]
    return np.asarray(law / law.sum(), dtype=np.float64)


def _moves(stock: validation.Ints, order: validation.Ints, law: Floats) -> sparse.csr_array:
    """The base model of one kind of day, (S*A, S): demand beyond the shelf empties it."""
    demand = np.arange(len(law))
    left = np.maximum(stock[:, None] - demand, 0)
    pairs = np.repeat(np.arange(len(stock)), len(law))
    to = (left + order[:, None]).ravel()
    states = len(stock) // ORDERS
    entries = sparse.coo_array((np.tile(law, len(stock)), (pairs, to)), shape=(len(stock), states))
    return sparse.csr_array(entries)
