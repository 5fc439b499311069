"""A machine that ages: when to replace it, while its mix of failure causes is unknown.

A machine of age x (weeks) earns while it runs. Each week it is run or replaced. Run, it fails with the probability
h_theta(x) = sum_k theta_k h_k(x), a mix of competing causes with unknown shares theta,

    h_k(x) = 1 - exp(-[((x+1)/scale_k)^shape_k - (x/scale_k)^shape_k])          (Weibull, in weeks)

    early failures   shape  .5, scale 60    the new machine fails most: replacing it makes things worse
    random failures  shape 1,   scale 20    age does not matter: preventive replacement is waste
    wear-out         shape 4,   scale 12    the old machine fails most: replace in time

(the three parts of the bathtub curve; shapes as in Abernethy, "The New Weibull Handbook"; scales and costs are
ours). A failed machine is replaced the week after, for much more than a planned one, and **a replaced machine says
nothing about old age**: if you replace early, you never learn whether that was needed. The oldest age, ages - 1, stays.

Money, in euros: 100 a week while running, 300 for a planned replacement, 2000 after a failure. Planning is age
replacement (Barlow and Hunter 1960): the best policy runs the machine to an age and replaces it there.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from vbmle.common import validation
from vbmle.common.stated import suggesting
from vbmle.common.validation import Floats
from vbmle.model.mdp import LinearMixtureMDP
from vbmle.worlds.labels import LabelledWorld, Labels, Mix, weights

INCOME, PLANNED, FAILURE = 100.0, 300.0, 2000.0
CAUSES = ((0.5, 60.0), (1.0, 20.0), (4.0, 12.0))
"""Weibull shape and scale (weeks) of early failures, random failures and wear-out."""

WEAR_MIX = (0.1, 0.1, 0.8)
RUN, REPLACE = 0, 1


@suggesting
def maintenance(
    ages: int = 40, mix: ArrayLike | Mix = WEAR_MIX, seed: int = 0, discount: float = 0.97
) -> LabelledWorld:
    """A machine to run or to replace, whose mix of early, random and wear-out failures is hidden; in euros.

    Parameters
    ----------
    ages : int, default 40
        How many weeks of age are distinguished, at least 2, so there are ages + 1 states; state `ages` is a failed
        machine.
    mix : (3,) array or "random", default (0.1, 0.1, 0.8)
        The hidden shares of the three causes; "random" draws them by `seed`.
    seed : int, default 0
        Seeds the draw of "random"; it has no other effect.
    discount : float, default 0.97
        gamma, strictly between 0 and 1.

    Raises
    ------
    ValueError
        If a setting is out of range; the message names it and what it needs.

    Examples
    --------
    >>> import vbmle
    >>> world = vbmle.worlds.maintenance(ages=20, mix="random", seed=1)
    >>> world.mdp.num_states, world.labels.actions
    (21, ('run', 'replace'))
    """
    ages = validation.positive_integer("ages", ages)
    if ages < 2:
        raise ValueError(f"ages is {ages}; it needs a whole number that is at least 2")
    theta = weights("mix", mix, len(CAUSES), seed)
    models = [_moves(hazard(shape, scale, ages)) for shape, scale in CAUSES]
    reward = np.tile([INCOME, INCOME - PLANNED], (ages + 1, 1))
    reward[ages] = -FAILURE  # a failed machine stands still, and is replaced whatever is done
    start = np.eye(1, ages + 1)[0]
    mdp = LinearMixtureMDP.from_models(models, reward, discount, initial=start, normalise_reward=True)
    panel = {"": np.arange(ages)[None, :]}
    names = ("run", "replace")
    return LabelledWorld(mdp, theta, Labels(panel, names, "euros", x="age of the machine (weeks)"))


def hazard(shape: float, scale: float, ages: int) -> Floats:
    """The probability to fail within the week at age 0, 1, ..., ages - 1."""
    edges = (np.arange(ages + 1) / scale) ** shape
    return np.asarray(-np.expm1(-np.diff(edges)), dtype=np.float64)


def _moves(fails: Floats) -> sparse.csr_array:
    """The base model of one cause, (S*A, S): a new machine replaces a replaced or failed one and runs its week."""
    ages = len(fails)
    moves = sparse.lil_array((2 * (ages + 1), ages + 1))
    for age in range(ages):
        older = min(age + 1, ages - 1)
        moves[2 * age + RUN, older], moves[2 * age + RUN, ages] = 1.0 - fails[age], fails[age]
        moves[2 * age + REPLACE, 1], moves[2 * age + REPLACE, ages] = 1.0 - fails[0], fails[0]
    moves[2 * ages : 2 * ages + 2, 0] = 1.0
    return sparse.csr_array(moves)
