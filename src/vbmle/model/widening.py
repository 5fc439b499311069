"""Pairs (s, a) in which anything may happen with a small probability, after something that no theta allows.

    P'_theta(.|s,a) = (1 - chance) P_theta(.|s,a) + chance * uniform over all states

It is a linear mixture again, with the same theta and the same feasible set: where P_theta sums to 1, the uniform law is
<sum_s' phi(s'|s,a), theta> / S, so that phi'(s') = (1 - chance) phi(s') + chance / S * sum_s'' phi(s'').
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from vbmle.common.validation import Floats, Ints
from vbmle.model.transitions import Transitions, compact

if TYPE_CHECKING:
    from vbmle.model.mdp import LinearMixtureMDP

WIDE_CHANCE = 0.01
"""The probability of something else in a widened pair."""


def widened(mdp: LinearMixtureMDP, pairs: Iterable[int], chance: float = WIDE_CHANCE) -> LinearMixtureMDP:
    """The model with those pairs s * A + a widened.

    A transition that was impossible earns the least that its pair can earn, where rewards depend on the next state.
    """
    transitions, chosen = mdp.transitions, np.unique(np.array(sorted(pairs), dtype=np.int64))
    indptr, successor, source = _pattern(transitions, chosen)
    new = copy(mdp)
    phi = sparse.csr_array(transitions.phi)[np.maximum(source, 0)]
    pair_of = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    wide = np.isin(pair_of, chosen)
    own = np.where(source < 0, 0.0, np.where(wide, 1.0 - chance, 1.0))
    uniform = sparse.csr_array(mdp.constraints.sums)[pair_of]
    scaled = sparse.diags_array(own) @ phi
    scaled = scaled + sparse.diags_array(np.where(wide, chance / transitions.num_states, 0.0)) @ uniform
    features = scaled.toarray() if isinstance(transitions.phi, np.ndarray) else sparse.csr_array(scaled)
    if isinstance(features, np.ndarray):
        features = compact(features)
    new.transitions = Transitions(
        transitions.num_states, transitions.num_actions, indptr, successor, features
    )
    if len(mdp.transition_reward):
        new.transition_reward = _rewards(mdp, pair_of, source)
        new.transition_reward.flags.writeable = False
    return new


def _pattern(transitions: Transitions, chosen: Ints) -> tuple[Ints, Ints, Ints]:
    """indptr and successors with all states after the chosen pairs, and the old transition of each new one or -1."""
    successors, sources, sizes = [], [], []
    everything = np.arange(transitions.num_states)
    wide = np.zeros(len(transitions.indptr) - 1, dtype=bool)
    wide[chosen] = True
    for pair, (start, stop) in enumerate(zip(transitions.indptr, transitions.indptr[1:], strict=False)):
        mine = np.arange(start, stop)
        if wide[pair]:
            old = np.full(transitions.num_states, -1)
            old[transitions.successor[start:stop]] = mine
            successors.append(everything)
            sources.append(old)
        else:
            successors.append(transitions.successor[start:stop])
            sources.append(mine)
        sizes.append(len(sources[-1]))
    indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return indptr, np.concatenate(successors).astype(np.int64), np.concatenate(sources).astype(np.int64)


def _rewards(mdp: LinearMixtureMDP, pair_of: Ints, source: Ints) -> Floats:
    least = np.minimum.reduceat(mdp.transition_reward, mdp.transitions.indptr[:-1])
    return np.where(source >= 0, mdp.transition_reward[np.maximum(source, 0)], least[pair_of])
