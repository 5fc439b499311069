"""Seats that expire: what to charge on each day of a season, while the mix of customers is unknown.

A season has `days` days and `seats` seats (a room, a flight); what is not sold by the end is worth nothing, and a new
season begins. Each day one customer comes: a student, a tourist or a manager, with unknown odds theta. Each sees
the price of the day, and buys with a known probability that falls with it,

    P_theta(sale | price) = sum_k theta_k b_k(price),    b_k(price) = 1/(1 + exp((price - w_k)/spread_k)).

States are (day, seats left), the night after the last day included; a day with a sale earns its price. **A price
answers only for itself**: at 40 euros all customers look alike, and if you keep asking what is best for the average
customer, you learn little about the managers. Prices are 40, 80, 120, 160 and 200 euros; w = 60, 110, 210
and spread = 10, 15, 15 euros.

(The model is Gallego and van Ryzin 1994, "Optimal dynamic pricing of inventories with stochastic demand over
finite horizons", in discrete time with at most one sale a day; prices that stop teaching are the theme of
Keskin and Zeevi 2014, "Dynamic pricing with an unknown demand model". The logit of willingness to pay is the usual one
(Talluri and van Ryzin 2004); the numbers are ours.)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from vbmle.common import validation
from vbmle.common.stated import suggesting
from vbmle.common.validation import Floats, Ints
from vbmle.model.mdp import LinearMixtureMDP
from vbmle.worlds.labels import LabelledWorld, Labels, Mix, weights

PRICES = (40.0, 80.0, 120.0, 160.0, 200.0)
CUSTOMERS = ((60.0, 10.0), (110.0, 15.0), (210.0, 15.0))
"""Middle and spread, in euros, of what a student, a tourist and a manager would pay."""

MANAGERS_MIX = (0.3, 0.1, 0.6)


@suggesting
def pricing(
    days: int = 10,
    seats: int = 4,
    mix: ArrayLike | Mix = MANAGERS_MIX,
    seed: int = 0,
    discount: float = 0.98,
) -> LabelledWorld:
    """Seats to sell within a season, whose mix of students, tourists and managers is hidden; in euros.

    State day * (seats + 1) + seats left, so there are (days + 1)(seats + 1) states. Action a asks 40 + 40 a euros.

    Parameters
    ----------
    days : int, default 10
        The length of the season, at least 1.
    seats : int, default 4
        How many there are to sell, at least 1.
    mix : (3,) array or "random", default (0.3, 0.1, 0.6)
        The hidden odds of the three kinds of customers; "random" draws them by `seed`.
    seed : int, default 0
        Seeds the draw of "random"; it has no other effect.
    discount : float, default 0.98
        gamma, strictly between 0 and 1.

    Raises
    ------
    ValueError
        If a setting is out of range; the message names it and what it needs.

    Examples
    --------
    >>> import vbmle
    >>> world = vbmle.worlds.pricing(days=5, seats=2)
    >>> world.mdp.num_states, world.labels.actions[0]
    (18, '40 euros')
    """
    days = validation.positive_integer("days", days)
    seats = validation.positive_integer("seats", seats)
    theta = weights("mix", mix, len(CUSTOMERS), seed)
    models = [_moves(days, seats, buys(*customer)) for customer in CUSTOMERS]
    size, actions = (days + 1) * (seats + 1), len(PRICES)
    day, left, price = _quantities(days, seats)
    sale = np.nonzero((left > 0) & (day < days))[0]
    to = (day[sale] + 1) * (seats + 1) + left[sale] - 1
    paid = sparse.csr_array((np.array(PRICES)[price[sale]], (sale, to)), shape=(size * actions, size))
    start = np.eye(1, size, seats)[0]
    mdp = LinearMixtureMDP.from_models(models, paid, discount, initial=start, normalise_reward=True)
    panel = {"": np.arange(days * (seats + 1)).reshape(days, seats + 1)[:, :0:-1].T}
    names = tuple(f"{price:.0f} euros" for price in PRICES)
    return LabelledWorld(mdp, theta, Labels(panel, names, "euros", x="day of the season", y="seats left"))


def buys(middle: float, spread: float) -> Floats:
    """The probability that a customer buys, by price."""
    return np.asarray(1.0 / (1.0 + np.exp((np.array(PRICES) - middle) / spread)), dtype=np.float64)


def _quantities(days: int, seats: int) -> tuple[Ints, Ints, Ints]:
    """Day, seats left and price of each pair (s, a)."""
    state, price = np.divmod(np.arange((days + 1) * (seats + 1) * len(PRICES)), len(PRICES))
    day, left = np.divmod(state, seats + 1)
    return day, left, price


def _moves(days: int, seats: int, chance: Floats) -> sparse.csr_array:
    """The base model of one kind of customer, (S*A, S): the night after the last day leads to a new season."""
    day, left, price = _quantities(days, seats)
    pairs = np.arange(len(day))
    sells = np.where((left > 0) & (day < days), chance[price], 0.0)
    stay = np.where(day < days, (day + 1) * (seats + 1) + left, seats)
    sold = np.where(sells > 0.0, stay - 1, stay)
    shape = (len(pairs), (days + 1) * (seats + 1))
    entries = (np.concatenate([1.0 - sells, sells]), (np.tile(pairs, 2), np.concatenate([stay, sold])))
    return sparse.csr_array(sparse.coo_array(entries, shape=shape))
