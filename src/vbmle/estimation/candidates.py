"""theta is one of the d base models (`domain="vertices"`): everything exact, by looking at each of them.

    l_k = sum n(s,a,s') log P_k(s'|s,a),      f_k = l_k + bias * V*_k(state)

The d plans are made once; from then on a decision costs one product of the counts with a table of log-probabilities.
This is the setting of Borkar and Varaiya (1979) and of Kumar and Becker (1982). The ridge is the same for every
candidate, and changes nothing.

What a candidate calls impossible counts as a probability of 1e-300, so that among candidates that are all refuted the
one with the fewest contradictions is taken, and of several such the most likely.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from vbmle.common import keeper
from vbmle.common.files import Snapshot
from vbmle.common.validation import Floats, Ints
from vbmle.core.solver import Objective
from vbmle.estimation.counts import TransitionCounts
from vbmle.model.mdp import LinearMixtureMDP
from vbmle.model.priors import weights
from vbmle.planning.planner import plan

TIED_OBJECTIVE = 1e-9
"""Relative: within this of the best, the candidate in force stays."""

LEAST_PROBABILITY = 1e-300
"""Stands for a probability of 0."""


class Candidates:
    """The base models, their log-probabilities and their optimal plans."""

    def __init__(self, mdp: LinearMixtureMDP) -> None:
        self.mdp = mdp
        phi = mdp.transitions.phi
        dense = phi if isinstance(phi, np.ndarray) else phi.toarray()
        self.log_p: Floats = np.log(np.maximum(dense, LEAST_PROBABILITY))

    @cached_property
    def plans(self) -> tuple[Floats, Ints]:
        """V* and the optimal policy of each candidate, (d, S)."""
        found = [plan(self.mdp, theta) for theta in np.eye(self.mdp.dimension)]
        return np.array([each.V for each in found]), np.array([each.policy for each in found])

    def log_likelihoods(self, values: Floats) -> Floats:
        """l_k of counts by transition, (d,)."""
        seen = np.nonzero(values)[0]
        return np.asarray(values[seen] @ self.log_p[seen])


class CandidateSolver:
    """What `Solver` is for mixtures: finds the best candidate, every time and exactly."""

    residual, gap, status = 0.0, 0.0, "converged"

    def __init__(self, mdp: LinearMixtureMDP) -> None:
        self.mdp, self.candidates = mdp, Candidates(mdp)
        self.theta: Floats = np.zeros(mdp.dimension)
        self.policy: Ints = np.zeros(mdp.num_states, np.int64)
        self.V: Floats = np.zeros(mdp.num_states)
        self.objective = -np.inf
        self._stand(0)
        self.search = self.follow = self.climb_from_few = self.climb

    def climb(self, objective: Objective) -> None:
        """Choose the candidate that is best for the objective; the one in force stays where it ties."""
        found = self.candidates.log_likelihoods(objective.counts.values) - 0.5 * objective.ridge
        if objective.linear is not None:
            found = found + objective.linear
        if objective.bias > 0.0:
            found = found + objective.bias * self.candidates.plans[0][:, objective.state]
        best = int(found.argmax())
        if found[best] > found[self.candidate] + TIED_OBJECTIVE * (1.0 + abs(found[best])):
            self._stand(best)
        self.objective = float(found[self.candidate])
        if objective.bias > 0.0:
            self.plan()

    def plan(self) -> None:
        """The optimal policy and value of the candidate in force."""
        values, policies = self.candidates.plans
        self.V[...], self.policy[...] = values[self.candidate], policies[self.candidate]

    def start(self, theta: Floats) -> None:
        """Stand at the candidate nearest to theta."""
        self._stand(int(np.argmax(theta)))

    def beside(self) -> CandidateSolver:
        """Another that shares the candidates' plans."""
        another = CandidateSolver(self.mdp)
        another.candidates = self.candidates
        return another

    def join(self, objective: Objective, other: Any) -> None:
        """Choose the best candidate: there is no other start to try."""
        self.climb(objective)

    def add(self, objective: Objective, theta: Floats) -> None:
        """There is no other start to try: all candidates are looked at."""

    def _stand(self, candidate: int) -> None:
        self.candidate = candidate
        self.theta[...] = 0.0
        self.theta[candidate] = 1.0

    def snapshot(self) -> Snapshot:
        """What the next choice depends on."""
        return {"place": np.array(self.candidate), "objective": np.array(self.objective)}

    def restore(self, snapshot: Snapshot) -> None:
        """Continue from a snapshot."""
        keeper.require_like("", snapshot, self.snapshot())
        keeper.require_within("place", snapshot["place"], 0, self.mdp.dimension - 1)
        self._stand(int(snapshot["place"]))
        self.objective = float(snapshot["objective"])
        self.plan()


def posterior(counts: TransitionCounts, prior: ArrayLike | None = None) -> Floats:
    """The probability of each candidate after what was counted; the prior is by default the model's, else uniform."""
    with np.errstate(divide="ignore"):
        before = np.log(weights(counts.mdp, prior))
    found = Candidates(counts.mdp).log_likelihoods(counts.values) + before
    weight = np.exp(found - found.max())
    return np.asarray(weight / weight.sum())
