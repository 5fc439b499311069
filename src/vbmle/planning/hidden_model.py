"""Bayes-optimal control of finitely many candidates: what the best controller earns that learns as it goes.

Theta is one of d candidates (`domain="vertices"`) and stays so: a hidden-model MDP. The state s is seen, the candidate
is not; a belief b gives each its probability. What is optimised is the expected discounted sum of rewards, over the
candidates and over what happens,

    V(s, b) = max_a  sum_k b_k R_k(s,a) + gamma sum_s' p(s') V(s', b'),   p(s') = sum_k b_k P_k(s'|s,a),
    b'_k    = b_k P_k(s'|s,a) / p(s'),

for ever or for a number of steps. V is convex in b. From below it is bounded by vectors: the values, under each
candidate, of one way of going on. From above it is bounded by the values with the candidate known, and where there are
few candidates by those on a regular grid of beliefs, between which a convex function can only be lower (Lovejoy 1991);
looking ahead lowers either. The search goes where the two bounds are furthest apart (core/src/bayes), in the manner of
HSVI (Smith and Simmons 2004) and SARSOP (Kurniawati, Hsu and Lee 2008). The beliefs it meets are exact.

Candidates that agree in all probabilities and rewards are one here, and those without prior probability are left out.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from vbmle.common.validation import Floats, Ints
from vbmle.core.bayes import BeliefSearch, HiddenArrays, Vectors
from vbmle.model.mdp import LinearMixtureMDP
from vbmle.planning.planner import expected_reward, make_planner, plan

TRIALS_AT_ONCE = 50
"""Between two looks at the clock, and from one first state to the next."""

ROUNDING = 1e-11
"""Of the largest value there can be: bounds are wider by this, for what rounding does."""


def require_candidates(name: str, mdp: LinearMixtureMDP) -> None:
    """Refuse a model whose theta is none of finitely many."""
    if mdp.domain != "vertices":
        raise ValueError(
            f"{name} needs finitely many candidates, and domain is {mdp.domain!r}; it needs domain='vertices'"
        )


class HiddenModel:
    """The candidates of a model under a prior, in flat arrays, and what each of them is worth when it is known.

    steps: None for ever, else how many. A place is stage * S + s; there is one stage where the steps have no end.
    """

    def __init__(self, mdp: LinearMixtureMDP, prior: Floats, steps: int | None = None) -> None:
        self.mdp, self.steps, self.prior = mdp, steps, prior
        phi = mdp.transitions.phi
        dense = phi if isinstance(phi, np.ndarray) else phi.toarray()
        every = np.maximum(dense, 0.0)
        reward = np.array([expected_reward(mdp, p) for p in every.T]).T
        self.candidates, self.group = _merged(every, reward, prior)
        """The first candidate of each group, (K,), and the group of each candidate, (d,), -1 where it has no prior."""
        self.belief = self.in_groups(prior)
        self.p: Floats = np.ascontiguousarray(every[:, self.candidates])
        self.reward: Floats = np.ascontiguousarray(reward[:, self.candidates])
        self.begin, self.successor = mdp.transitions.indptr, mdp.transitions.successor

    @property
    def stages(self) -> int:
        """How many stages places have."""
        return 1 if self.steps is None else self.steps

    def in_groups(self, probability: Floats) -> Floats:
        """Probabilities of the candidates as those of the groups, (K,)."""
        known = self.group >= 0
        counted = np.bincount(self.group[known], weights=probability[known], minlength=len(self.candidates))
        return np.asarray(counted, dtype=np.float64)

    def ahead(self, values: Floats) -> Floats:
        """Q (S*A, K) of the candidates, from values (S, K) one step on."""
        gained = np.add.reduceat(self.p * values[self.successor], self.begin[:-1], axis=0)
        return np.asarray(self.reward + self.mdp.discount * gained)

    def plans(self) -> tuple[Floats, Ints]:
        """V* of each candidate when it is known, (places, K), and its optimal policy, (places, K)."""
        mdp, K = self.mdp, len(self.candidates)
        if self.steps is None:
            found = [plan(mdp, np.eye(mdp.dimension)[k]) for k in self.candidates]
            values = np.stack([each.V + each.error_bound for each in found], axis=1)
            return values, np.stack([each.policy for each in found], axis=1)
        values = np.zeros((self.steps + 1, mdp.num_states, K))
        policies = np.zeros((self.steps, mdp.num_states, K), np.int64)
        for stage in range(self.steps - 1, -1, -1):
            Q = self.ahead(values[stage + 1]).reshape(mdp.num_states, mdp.num_actions, K)
            values[stage], policies[stage] = Q.max(axis=1), Q.argmax(axis=1)
        return values[:-1].reshape(-1, K), policies.reshape(-1, K)

    def evaluate(self, policy: Ints) -> Floats:
        """What a policy, (places,) actions, earns from each place under each candidate, (places, K)."""
        mdp, K = self.mdp, len(self.candidates)
        if self.steps is None:
            planner, values = make_planner(mdp), np.empty((mdp.num_states, K))
            for place, k in enumerate(self.candidates):
                planner.put(theta=np.eye(mdp.dimension)[k], policy=policy)
                planner.assemble()
                planner.evaluate()
                values[:, place] = planner.V
            return values
        chosen, rows = policy.reshape(self.steps, mdp.num_states), np.arange(mdp.num_states)
        staged = np.zeros((self.steps + 1, mdp.num_states, K))
        for stage in range(self.steps - 1, -1, -1):
            staged[stage] = self.ahead(staged[stage + 1])[rows * mdp.num_actions + chosen[stage]]
        return staged[:-1].reshape(-1, K)

    def largest(self) -> float:
        """The largest value there can be, of the reward in [0, 1] that is planned with."""
        mdp = self.mdp
        return (
            1.0 / (1.0 - mdp.discount)
            if self.steps is None
            else float(np.sum(mdp.discount ** np.arange(self.steps)))
        )

    def in_units(self, value: float) -> float:
        """A value in the units of your reward."""
        return value * self.mdp.reward_scale + self.mdp.reward_offset * self.largest()


def _merged(p: Floats, reward: Floats, prior: Floats) -> tuple[Ints, Ints]:
    """The first of each group of candidates that agree, and the group of every candidate."""
    first: dict[bytes, int] = {}
    group = np.full(len(prior), -1)
    for k in np.nonzero(prior > 0.0)[0]:
        group[k] = first.setdefault(p[:, k].tobytes() + reward[:, k].tobytes(), len(first))
    return np.array([int(np.argmax(group == g)) for g in range(len(first))]), group


@dataclass(frozen=True)
class Effort:
    """When a search ends: at the gap, or with so many pairs of a state and a belief, or after so many seconds.

    The gap is relative to the value, or to the range of one reward where that is larger.
    """

    gap: float = 0.01
    nodes: int = 200_000
    seconds: float | None = None


class BayesSolution:
    """Bounds on the value of the Bayes-optimal controller, and the vectors that its lower bound rests on."""

    def __init__(self, model: HiddenModel, effort: Effort) -> None:
        self.model, self.effort = model, effort
        known, policies = model.plans()
        self.known = known
        arrays = HiddenArrays(
            model.begin, model.successor, model.p, model.reward, np.ascontiguousarray(known)
        )
        mdp = model.mdp
        self._search = BeliefSearch(arrays, mdp.num_states, mdp.discount, model.steps or 0, effort.nodes)
        for policy in np.unique(policies, axis=1).T:
            chosen = np.ascontiguousarray(policy)
            self._search.add(chosen, model.evaluate(chosen))
        self._deadline = None if effort.seconds is None else time.monotonic() + effort.seconds

    def bounds(self, belief: Floats | None = None, initial: Floats | None = None) -> tuple[float, float]:
        """Lower and upper bound on what is earned from the first states on, in the units of your reward."""
        model = self.model
        start = model.mdp.initial if initial is None else initial
        at = model.belief if belief is None else model.in_groups(belief)
        states = np.nonzero(start > 0.0)[0]
        bounds = np.array([self._search.improve(int(s), at, 0.0, 0)[:2] for s in states])
        slack = ROUNDING * model.largest()
        while True:
            low, high = start[states] @ bounds - [slack, -slack]
            units = model.in_units(float(low)), model.in_units(float(high))
            if units[1] - units[0] <= self.tolerance(units):
                return units
            # Half of the gap at a time: a search for much less than there is looks far ahead where little is known.
            apart = bounds[:, 1] - bounds[:, 0]
            worst = int(np.argmax(start[states] * apart))
            wanted = max(0.5 * self.tolerance(units) / model.mdp.reward_scale, 0.5 * float(apart[worst]))
            *found, trials = self._search.improve(int(states[worst]), at, wanted, TRIALS_AT_ONCE)
            bounds[worst] = found
            ended = found[1] - found[0] > wanted and trials < TRIALS_AT_ONCE  # for want of room
            if ended or self._is_late():
                low, high = start[states] @ bounds - [slack, -slack]
                return model.in_units(float(low)), model.in_units(float(high))

    def tolerance(self, bounds: tuple[float, float]) -> float:
        """How far apart bounds may be, in the units of your reward."""
        return self.effort.gap * max(abs(bounds[0]), abs(bounds[1]), self.model.mdp.reward_scale)

    def vectors(self) -> Vectors:
        """The vectors of the best policy known."""
        return self._search.vectors()

    def _is_late(self) -> bool:
        return self._deadline is not None and time.monotonic() > self._deadline
