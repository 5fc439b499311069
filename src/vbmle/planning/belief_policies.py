"""Policies for beliefs about finitely many candidates, many beliefs at a time: what learning is compared with.

    mean      plans for the mean model of a belief, as if it were the truth: passive learning, where it is renewed
    fixed     the best single policy for a belief, if nothing is learnt from then on

Policies are actions by place (`vbmle.planning.hidden_model`): with a number of steps they know how many are left.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from vbmle.common.validation import Floats, Ints
from vbmle.planning.hidden_model import HiddenModel

MOST_POLICIES = 4096
"""Up to so many, the best fixed policy is found by looking at all of them."""

MOST_ROUNDS = 100


class MeanPlanner:
    """Optimal policies of mean models, (n, S) for n beliefs, from policies that may be near."""

    def __init__(self, model: HiddenModel) -> None:
        self.model, mdp = model, model.mdp
        self.shape = mdp.num_states, mdp.num_actions
        self._pair_of = mdp.transitions.pair_of

    def means(self, beliefs: Floats) -> tuple[Floats, Floats]:
        """Probabilities (n, transitions) and rewards (n, S, A) of the mean models."""
        allowed = np.where(np.isfinite(self.model.reward), self.model.reward, 0.0)
        reward = (beliefs @ allowed.T).reshape(-1, *self.shape)
        reward[:, ~self.model.mdp.allowed] = -np.inf
        return beliefs @ self.model.p.T, reward

    def ahead(self, p: Floats, reward: Floats, values: Floats) -> Floats:
        """Q (n, S, A) from values (n, S) one step on."""
        gained = np.add.reduceat(p * values[:, self.model.successor], self.model.begin[:-1], axis=1)
        return np.asarray(reward + self.model.mdp.discount * gained.reshape(-1, *self.shape))

    def optimal(self, beliefs: Floats, stage: int, start: Ints) -> tuple[Ints, Floats]:
        """Policies and values, (n, S), for the steps that are left after a stage."""
        p, reward = self.means(beliefs)
        if self.model.steps is not None:
            values = np.zeros((len(beliefs), self.shape[0]))
            for _ in range(self.model.steps - stage):
                Q = self.ahead(p, reward, values)
                values = Q.max(axis=2)
            return Q.argmax(axis=2), values
        policy = start
        for _ in range(MOST_ROUNDS):
            values = self.evaluated(p, reward, policy)
            Q = self.ahead(p, reward, values)
            here = np.take_along_axis(Q, policy[..., None], 2)[..., 0]
            better = Q.max(axis=2) > here + 1e-12 * (1.0 + np.abs(here))
            if not better.any():
                break
            policy = np.where(better, Q.argmax(axis=2), policy)
        return policy, values

    def evaluated(self, p: Floats, reward: Floats, policy: Ints) -> Floats:
        """V^pi (n, S) of policies (n, S) under mean models, by linear solves."""
        states, actions = self.shape
        rows = np.arange(states)
        n, gamma = len(policy), self.model.mdp.discount
        moves = np.zeros((n, states, states))
        chosen = self._pair_of % actions == policy[:, self._pair_of // actions]
        run, at = np.nonzero(chosen)
        moves[run, self._pair_of[at] // actions, self.model.successor[at]] = p[run, at]
        earned = reward[np.arange(n)[:, None], rows, policy]
        values = np.linalg.solve(np.eye(states) - gamma * moves, earned[..., None])
        return np.asarray(values[..., 0], dtype=np.float64)


def mean_policy(model: HiddenModel, belief: Floats) -> tuple[Ints, Floats]:
    """The optimal policy of the mean model, by place, and what it claims to earn from each first state, (S,)."""
    mdp, planner = model.mdp, MeanPlanner(model)
    start = np.tile(mdp.allowed.argmax(axis=1), (1, 1))
    if model.steps is None:
        policy, values = planner.optimal(belief[None], 0, start)
        return policy[0], values[0]
    stages = [planner.optimal(belief[None], stage, start) for stage in range(model.steps)]
    return np.concatenate([policy[0] for policy, _ in stages]), stages[0][1][0]


class FixedPolicies:
    """Policies that nothing is learnt with, (n, places), and what each earns under each candidate, (n, places, K).

    All there are, if they are few, and `complete` says so; else those that were found from the plans of the candidates
    and from that of the mean model by changing what gains.
    """

    def __init__(self, model: HiddenModel, plans: Ints) -> None:
        self.model, mdp = model, model.mdp
        choices = [np.nonzero(row)[0] for row in mdp.allowed] * model.stages
        count = float(np.prod([float(len(one)) for one in choices]))
        self.complete = count <= MOST_POLICIES
        if self.complete:
            self.policies = np.array(list(product(*choices)), dtype=np.int64)
        else:
            mean = mean_policy(model, model.belief)[0]
            found = np.unique(np.vstack([plans.T, mean]), axis=0)
            self.policies = np.unique(np.vstack([found, *(self._improved(one) for one in found)]), axis=0)
        self.values = np.stack([model.evaluate(np.ascontiguousarray(one)) for one in self.policies])

    def best(self, initial: Floats | None = None) -> float:
        """What the best of them earns from the first states on, or from others."""
        start = self.model.mdp.initial if initial is None else initial
        first = self.values[:, : self.model.mdp.num_states]
        return float(np.einsum("nsk,s,k->n", first, start, self.model.belief).max())

    def actions(self, beliefs: Floats, places: Ints) -> Ints:
        """What the best of them for each belief and place does there, (n,)."""
        earned = np.einsum("mnk,nk->nm", self.values[:, places], beliefs)
        return self.policies[earned.argmax(axis=1), places]

    def _improved(self, policy: Ints) -> Ints:
        """A policy that gains by no change at a single place."""
        now = self._earned(policy)
        for _ in range(MOST_ROUNDS):
            changed = self._changed(policy)
            then = self._earned(changed)
            if not then > now + 1e-12 * (1.0 + abs(now)):
                return policy
            policy, now = changed, then
        return policy

    def _changed(self, policy: Ints) -> Ints:
        """The policy with changes, place by place from the last one, that gain given how often each is reached.

        With a number of steps that never loses; for ever it is a guess, which `_improved` takes only if it gains.
        """
        model, mdp = self.model, self.model.mdp
        visits = self._visits(policy)  # (places, K)
        values = model.evaluate(policy)
        out, states = policy.copy(), mdp.num_states
        after = np.zeros((states, len(model.candidates))) if model.steps else values
        for stage in range(model.stages - 1, -1, -1):
            here = slice(stage * states, (stage + 1) * states)
            Q = model.ahead(after).reshape(states, mdp.num_actions, -1)
            gain = np.einsum("sak,sk->sa", np.where(np.isfinite(Q), Q, -1e30), visits[here])
            kept = gain[np.arange(states), policy[here]]
            best = gain.argmax(axis=1)
            out[here] = np.where(gain.max(axis=1) > kept + 1e-12, best, policy[here])
            if model.steps:
                after = Q[np.arange(states), out[here]]
        return out

    def _visits(self, policy: Ints) -> Floats:
        """Discounted probabilities of places under each candidate, weighed by the belief, (places, K)."""
        model, mdp, states = self.model, self.model.mdp, self.model.mdp.num_states
        weight = np.outer(mdp.initial, model.belief)
        if model.steps is None:
            total, now = np.zeros_like(weight), weight
            while now.max() > 1e-9:
                total, now = total + now, self._onwards(now, policy)
            return total
        every = [weight]
        for stage in range(model.steps - 1):
            every.append(self._onwards(every[-1], policy[stage * states : (stage + 1) * states]))
        return np.concatenate(every)

    def _onwards(self, weight: Floats, policy: Ints) -> Floats:
        model, mdp = self.model, self.model.mdp
        pairs = mdp.transitions.pair_of
        taken = np.nonzero(pairs % mdp.num_actions == policy[pairs // mdp.num_actions])[0]
        moved = weight[pairs[taken] // mdp.num_actions] * model.p[taken]
        out = np.zeros_like(weight)
        np.add.at(out, model.successor[taken], moved)
        return mdp.discount * out

    def _earned(self, policy: Ints) -> float:
        earned = self.model.evaluate(np.ascontiguousarray(policy))[: self.model.mdp.num_states]
        return float(self.model.mdp.initial @ earned @ self.model.belief)
