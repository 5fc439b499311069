"""Models with one parameter per transition."""

from __future__ import annotations

from vbmle.common.validation import Ints
from vbmle.model.mdp import LinearMixtureMDP
from vbmle.model.transitions import one_hot


def tabular_coordinates(mdp: LinearMixtureMDP) -> Ints | None:
    """The coordinate of each transition where P is one whole simplex per (s, a); else None."""
    return one_hot(mdp.transitions) if mdp.domain == "polytope" and mdp.p_min == 0.0 else None
