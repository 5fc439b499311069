"""The core's search for the Bayes-optimal controller of a hidden-model MDP (core/include/vbmle/bayes.h)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from vbmle.core.generated import vb_bayes_bounds, vb_bayes_data, vb_bayes_task, vb_bayes_view
from vbmle.core.library import Floats, Handle, Ints, check, floats, ints, lib


class HiddenArrays(NamedTuple):
    """A hidden-model MDP in flat arrays."""

    pair_begin: Ints  # (S*A + 1,)
    successor: Ints  # (transitions,)
    p: Floats  # (transitions, K)
    reward: Floats  # (S*A, K), minus infinity where an action is not allowed
    known: Floats  # (places, K) what is earned at most where the candidate is known


class Vectors(NamedTuple):
    """Lower bounds that are linear in the belief: what going on in one way earns under each candidate."""

    values: Floats  # (n, K)
    place: Ints  # (n,)
    action: Ints  # (n,)


class BeliefSearch:
    """Bounds on what the best controller earns, from any place and belief that is asked for.

    steps: 0 for ever, else how many; a place is stage * S + s.
    """

    def __init__(
        self, arrays: HiddenArrays, num_states: int, discount: float, steps: int, nodes: int
    ) -> None:
        pairs, self.candidates = arrays.reward.shape
        self.places = num_states * max(steps, 1)
        self._arrays = arrays
        data = vb_bayes_data(
            num_states=num_states,
            num_actions=pairs // num_states,
            num_candidates=self.candidates,
            steps=steps,
            discount=discount,
            pair_begin=ints(arrays.pair_begin, pairs + 1),
            successor=ints(arrays.successor),
            p=floats(arrays.p, len(arrays.successor), self.candidates),
            reward=floats(arrays.reward),
            known=floats(arrays.known, self.places, self.candidates),
            most_nodes=nodes,
        )
        self._handle = Handle("bayes", self._arrays, data)
        self.num_vectors = self.num_nodes = self._added = 0

    def add(self, policy: Ints, values: Floats) -> None:
        """Take in a policy, (places,), and what it earns under each candidate, (places, K)."""
        given = ints(policy, self.places), floats(values, self.places, self.candidates)
        check(lib.vb_bayes_add(self._handle.address, *given))
        self._added += self.places
        self.num_vectors = self._added

    def improve(self, place: int, belief: Floats, tolerance: float, trials: int) -> tuple[float, float, int]:
        """Bring the bounds there together; the lower, the upper, and how many trials were made.

        Fewer trials than asked for, and bounds that are further apart than the tolerance: room has run out.
        """
        task = vb_bayes_task(place, floats(belief, self.candidates), tolerance, trials)
        found = vb_bayes_bounds()
        check(lib.vb_bayes_improve(self._handle.address, task, found))
        self.num_vectors, self.num_nodes = int(found.vectors), int(found.nodes)
        return float(found.low), float(found.high), int(found.trials)

    def vectors(self) -> Vectors:
        """The lower bounds that the best policy from what was asked for rests on, and those that were added."""
        count = self.num_vectors
        at = self._handle.arrays(
            self._handle.look(vb_bayes_view()),
            values=(count, self.candidates),
            place=(count,),
            action=(count,),
        )
        kept = np.zeros(count, dtype=np.uint8)
        check(lib.vb_bayes_keep(self._handle.address, kept.ctypes.data))
        chosen = kept.astype(bool)
        return Vectors(*(at[name][chosen].copy() for name in ("values", "place", "action")))
