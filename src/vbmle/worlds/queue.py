"""A service desk: when to open the door and when to hire the fast server, while the mix of arrivals is unknown.

n people are in the shop, at most `capacity`. Each minute you open the door or keep it closed, and let the
slow or the fast server work. A minute of an open door lets in nobody, one or two people, as in a calm, a steady
or a rush hour, with unknown odds theta; the server finishes one person with probability mu:

    n' = min(n - served + arrived, capacity),
    served ~ Bernoulli(mu_speed) if n > 0,    arrived ~ sum_k theta_k law_k if the door is open, else 0.

**A closed door is blind**: nothing is learnt about arrivals behind it. An open door costs money, and for the
average of the three hours it does not pay; a planner for that average closes it and never finds out that this
is a rush hour.

Money, in euros: a person served pays 20, an open door costs 7 a minute (reception), the fast server 3 a minute
more than the slow one, waiting .2 per person and minute. mu = .4 slow, .8 fast. The reward R(n,a) is its mean
given (n, a), which does not depend on theta. (Thresholds of this kind: Naor 1969, "The regulation of queue size by
levying tolls"; Stidham 1985, "Optimal control of admission to a queueing system". The numbers are ours.)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from vbmle.common import validation
from vbmle.common.stated import suggesting
from vbmle.model.mdp import LinearMixtureMDP
from vbmle.worlds.labels import LabelledWorld, Labels, Mix, weights

FEE, DOOR, FAST, WAITING = 20.0, 7.0, 3.0, 0.2
SERVICE = (0.4, 0.8)
"""Probability that the slow and the fast server finish a person in a minute."""

ARRIVALS = ((0.95, 0.05, 0.0), (0.7, 0.3, 0.0), (0.4, 0.4, 0.2))
"""Odds of 0, 1 and 2 arrivals per minute in a calm, a steady and a rush hour."""

RUSH_MIX = (0.1, 0.1, 0.8)
ACTIONS = ("closed, slow", "open, slow", "closed, fast", "open, fast")


@suggesting
def queue(
    capacity: int = 30, mix: ArrayLike | Mix = RUSH_MIX, seed: int = 0, discount: float = 0.95
) -> LabelledWorld:
    """A service desk with a door and two speeds, whose mix of calm, steady and rush arrivals is hidden; in euros.

    Action 2 * fast + open.

    Parameters
    ----------
    capacity : int, default 30
        The most people inside, so there are capacity + 1 states.
    mix : (3,) array or "random", default (0.1, 0.1, 0.8)
        The hidden odds of the three kinds of hours; "random" draws them by `seed`.
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
    >>> world = vbmle.worlds.queue(capacity=10)
    >>> world.mdp.num_states, world.labels.actions[3]
    (11, 'open, fast')
    """
    capacity = validation.positive_integer("capacity", capacity)
    theta = weights("mix", mix, len(ARRIVALS), seed)
    people = np.arange(capacity + 1)
    models = [_moves(capacity, law) for law in ARRIVALS]
    reward = np.empty((capacity + 1, len(ACTIONS)))
    for action in range(len(ACTIONS)):
        fast, is_open = divmod(action, 2)
        fees = FEE * SERVICE[fast] * (people > 0)
        reward[:, action] = fees - WAITING * people - DOOR * is_open - FAST * fast
    start = np.eye(1, capacity + 1)[0]
    mdp = LinearMixtureMDP.from_models(models, reward, discount, initial=start, normalise_reward=True)
    panel = {"": people[None, :]}
    return LabelledWorld(mdp, theta, Labels(panel, ACTIONS, "euros", x="people inside"))


def _moves(capacity: int, law: tuple[float, ...]) -> sparse.csr_array:
    """The base model of one kind of hour, (S*A, S)."""
    size, actions = capacity + 1, len(ACTIONS)
    people = np.arange(size)
    model = sparse.csr_array((size * actions, size))
    for action in range(actions):
        fast, is_open = divmod(action, 2)
        for served, chance in ((1, SERVICE[fast]), (0, 1.0 - SERVICE[fast])):
            for arrived, odds in enumerate(law if is_open else (1.0,)):
                # Nobody can be served where nobody is: there both chances lead the same way.
                to = np.minimum(np.maximum(people - served, 0) + arrived, capacity)
                entries = (np.full(size, chance * odds), (people * actions + action, to))
                model = model + sparse.csr_array(entries, shape=model.shape)
    model.eliminate_zeros()
    return model
