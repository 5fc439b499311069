"""What is believed about theta before any data: one number for each entry of theta.

    one of d candidates    the probability of each                                       (domain "vertices")
    a mix of d models      a Dirichlet distribution over the simplex                     (domain "simplex")
    tabular                independent Dirichlet distributions, one for each pair (s, a)

Parameters of Dirichlet distributions are above 0; with all of them 1 a prior is uniform.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from vbmle.common import validation
from vbmle.common.validation import Floats

if TYPE_CHECKING:
    from vbmle.model.mdp import LinearMixtureMDP


def is_tabular(mdp: LinearMixtureMDP) -> bool:
    """Whether theta is the probabilities of the transitions, one by one."""
    phi, count = mdp.transitions.phi, mdp.transitions.count
    if mdp.domain != "polytope" or mdp.dimension != count or isinstance(phi, np.ndarray):
        return False
    one_each = (np.diff(phi.indptr) == 1).all() and (phi.indices == np.arange(count)).all()
    return bool(one_each and (phi.data == 1.0).all())


def checked(mdp: LinearMixtureMDP, prior: ArrayLike) -> Floats:
    """A prior for this model, as probabilities or as parameters; ValueError where it is none."""
    if mdp.domain == "vertices":
        found = validation.mixture("prior", prior)
        validation.require_shape("prior", found, (mdp.dimension,), "(candidates,)")
        return found
    if mdp.domain != "simplex" and not is_tabular(mdp):
        raise ValueError(
            "prior is given, and theta is neither a mix of models, nor one of them, nor tabular; it needs to be"
        )
    found = validation.finite_array("prior", prior, 1)
    validation.require_shape("prior", found, (mdp.dimension,), "(d,)")
    if found.min() <= 0.0:
        raise ValueError(
            f"prior is {found.min():g} at index {int(found.argmin())}; Dirichlet parameters are above 0"
        )
    return found


def weights(mdp: LinearMixtureMDP, prior: ArrayLike | None = None) -> Floats:
    """The probabilities of candidates, (d,): those given, else the model's, else all alike."""
    given = mdp.prior if prior is None else checked(mdp, prior)
    return np.full(mdp.dimension, 1.0 / mdp.dimension) if given is None else given
