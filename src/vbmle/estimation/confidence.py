"""What is certain about the value and about a policy, whichever theta of a confidence set is the truth.

theta' is the most likely theta, V' = V^pi(.; theta'), P' and A' its dynamics and advantages, M = (I - gamma P'_pi)^{-1}
and Phi(s,a) = sum_s' phi(s'|s,a) (r(s,a,s') + gamma V'(s')). For any theta, with E = V^pi(.; theta) - V',

    E               = M Phi_pi (theta - theta') + gamma M (P_theta - P')_pi E
    advantage(s,a)  = A'(s,a) + <Phi(s,a) + K(s,a) Phi_pi, theta - theta'>
                      + gamma (P_theta - P')(s,a) E + gamma K(s,a) (P_theta - P')_pi E,     K = (gamma P'(s,a) - e_s) M

exactly. The linear terms are bounded over the whole set at once (`LikelihoodSet.support`), the others, of second
order, by |P_theta - P'| and |E|. If no advantage can be positive, the policy is optimal for every theta of the set.
Its regret is at most max advantage / (1 - gamma); V* lies between V^pi and V^pi plus that loss, and below
the optimistic value of the ellipsoid around the set (`vbmle.planning.optimistic_planner`), where every (s, a)
has a theta of its own. The same with the sign of the reward reversed bounds V^pi from below.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.sparse.csgraph import breadth_first_order

from vbmle.common import showing, validation
from vbmle.common.keeper import Rows, Shown
from vbmle.common.validation import Bools, Floats, Ints
from vbmle.estimation.candidate_confidence import CandidateSet, losses
from vbmle.estimation.counts import TransitionCounts
from vbmle.estimation.likelihood_set import LikelihoodSet, likelihood_set
from vbmle.model.core_model import core_model
from vbmle.model.mdp import LinearMixtureMDP
from vbmle.model.naming import Names
from vbmle.planning.optimistic_planner import Optimist
from vbmle.planning.planner import DENSE_STATES, evaluate, require_policy

TIED_ADVANTAGE = 1e-9
"""Advantages up to this, relative to 1/(1-gamma), count as none: what rounding can make of a tie."""

VALUE_ROUNDS = 60
"""Of bounding the value by its error and the error by the value."""


NUMBERS = Names()
"""Where states and actions have no names."""


@dataclass(frozen=True, eq=False, repr=False)
class Confidence(Shown):
    """What holds for every theta of a set that contains the truth with probability at least 1 - delta.

    Attributes
    ----------
    policy : (S,) integer array
        The policy that is judged.
    V_low : (S,) array
        A lower bound on V*, in the units of your reward.
    V_high : (S,) array
        An upper bound on V*, in the same units.
    loss : float
        A bound on V* - V^policy in the states that matter (those that `state` can lead to; by default all), in
        the same units.
    certified : bool
        The policy is optimal there for every theta of the set; then `loss` is 0.
    rivals : (S, A) boolean array
        The actions that may be better than the policy's for some theta of the set.
    theta : (d,) array
        The most likely theta.
    threshold : float
        How far below its log-likelihood the set reaches.
    delta : float
        The probability with which the set may miss the truth.
    empty : bool
        Whether no theta fits the data at this level: either an event of probability at most delta has occurred, or the
        model is misspecified. Then nothing is proved: the bounds are those of the rewards alone, and every action is a
        rival.
    names : Names
        What states and actions are called.

    Examples
    --------
    >>> import vbmle
    >>> world = vbmle.worlds.riverswim(features="mixture")
    >>> agent = vbmle.VBMLE(world.mdp)
    >>> history = vbmle.simulate(agent, world, horizon=200)
    >>> found = agent.confidence(delta=0.05)
    >>> found.empty, found.delta, bool((found.V_low <= found.V_high).all())
    (False, 0.05, True)
    """

    policy: Ints
    V_low: Floats
    V_high: Floats
    loss: float
    certified: bool
    rivals: Bools
    theta: Floats
    threshold: float
    delta: float
    empty: bool = False
    names: Names = NUMBERS

    def _shown(self) -> Rows:
        if self.empty:
            return [("empty", f"no theta fits the data at {1.0 - self.delta:.0%}")]
        states = self.names.states or [str(s) for s in range(len(self.policy))]
        ends = zip(states, self.V_low, self.V_high, strict=True)
        rivals = int(self.rivals.sum())
        loss = (
            "optimal for every theta of the set"
            if self.certified
            else f"at most {showing.number(self.loss)} below V*"
        )
        return [
            ("confidence", f"{1.0 - self.delta:.0%}"),
            ("policy", showing.choices(self.names.states, self.names.actions, self.policy)),
            ("it is", loss),
            ("V*", showing.some(f"{s}: {low:.3g} to {high:.3g}" for s, low, high in ends)),
            ("actions that may be better", str(rivals)),
        ]

    def interval(self, state: int) -> tuple[float, float]:
        """Bounds on V*(state)."""
        return float(self.V_low[state]), float(self.V_high[state])


def confidence(
    counts: TransitionCounts, policy: ArrayLike, delta: float = 0.1, state: int | None = None
) -> Confidence:
    """What the counts prove about V* and about a policy, at confidence 1 - delta, at all times at once.

    Parameters
    ----------
    counts : TransitionCounts
        What was observed.
    policy : (S,) integer array
        The policy to judge.
    delta : float, default 0.1
        The probability with which the statement may ever be wrong, in (0, 1).
    state : int, optional
        Judge only the states that can be reached from here; all by default.

    Raises
    ------
    ValueError
        If an argument is out of range, or the model is too large for exact bounds.

    Examples
    --------
    >>> import vbmle
    >>> world = vbmle.worlds.riverswim(features="mixture")
    >>> agent = vbmle.VBMLE(world.mdp)
    >>> history = vbmle.simulate(agent, world, horizon=200)
    >>> found = vbmle.theory.confidence(agent.counts, agent.policy)
    >>> low, high = found.interval(0)
    >>> bool(low <= vbmle.plan(world.mdp, world.theta).V[0] <= high)
    True
    """
    if counts.mdp.domain == "vertices":
        return _among_candidates(counts, policy, validation.fraction("delta", delta), state)
    return certify(likelihood_set(counts, delta), policy, delta, state)


def _among_candidates(
    counts: TransitionCounts, policy: ArrayLike, delta: float, state: int | None
) -> Confidence:
    """The same where theta is one of the candidates: exact over those that are left."""
    mdp, likely = counts.mdp, CandidateSet(counts, delta)
    chosen, matters = require_policy(mdp, policy), _reachable(mdp, state)
    if not likely.left.any():
        return _nothing(mdp, chosen, matters, (likely.most_likely, likely.threshold, delta))
    low, high, loss, advantage = losses(mdp, likely, chosen)
    rivals = (advantage > TIED_ADVANTAGE / (1.0 - mdp.discount)) & matters[:, None]
    certified = not rivals.any()
    most = 0.0 if certified else float(loss[matters].max())
    parts = (likely.most_likely, likely.threshold, delta)
    return _told(mdp, Confidence(chosen, low, high, most, certified, rivals, *parts))


def _nothing(
    mdp: LinearMixtureMDP, policy: Ints, matters: Bools, parts: tuple[Floats, float, float]
) -> Confidence:
    """What an empty set proves."""
    worst, best = _range(mdp)
    low, high = np.full(mdp.num_states, worst), np.full(mdp.num_states, best)
    rivals = np.repeat(matters[:, None], mdp.num_actions, axis=1)
    rivals[np.arange(mdp.num_states), policy] = False
    rivals &= mdp.allowed
    return _told(mdp, Confidence(policy, low, high, best - worst, False, rivals, *parts, empty=True))


def certify(
    likely: LikelihoodSet, policy: ArrayLike, delta: float = 0.1, state: int | None = None
) -> Confidence:
    """What a set of likely thetas proves about V* and about a policy.

    Parameters
    ----------
    likely : LikelihoodSet
        From `likelihood_set` or `Prequential.set`.
    policy : (S,) integer array
        The policy to judge.
    delta : float, default 0.1
        The probability with which the set may miss theta*, as it was made with.
    state : int, optional
        Judge only the states that can be reached from here; all by default.

    Raises
    ------
    ValueError
        If an argument is out of range, or the model is too large for exact bounds.

    Examples
    --------
    >>> import vbmle
    >>> world = vbmle.worlds.riverswim(features="mixture")
    >>> likely = vbmle.theory.likelihood_set(vbmle.TransitionCounts(world.mdp))
    >>> vbmle.theory.certify(likely, policy=[1, 1, 1, 1, 1, 1]).certified  # nothing was seen yet
    False
    """
    mdp = likely.mdp
    chosen = require_policy(mdp, policy)
    if mdp.num_states > DENSE_STATES:
        raise ValueError(
            f"the model has {mdp.num_states} states; bounds are computed for up to {DENSE_STATES}"
        )
    delta = validation.fraction("delta", delta)
    matters, (worst, best) = _reachable(mdp, state), _range(mdp)
    if likely.empty:
        return _nothing(mdp, chosen, matters, (likely.theta, likely.threshold, delta))
    local = _Expansion(likely, chosen)
    low, high = local.value_bounds()
    size = np.maximum(high - local.V, local.V - low)
    gain = local.advantages(size, matters)
    rivals = gain > TIED_ADVANTAGE / (1.0 - mdp.discount)
    loss = float(np.where(rivals, gain, 0.0).max() / (1.0 - mdp.discount))
    low = np.clip(low, worst, best)
    ceiling = np.minimum(_optimistic(mdp, likely), best)
    high = np.maximum(np.minimum(np.where(matters, high + loss, ceiling), ceiling), low)
    loss = min(loss, float((high - low)[matters].max()))
    certified = not rivals.any()
    parts = (likely.theta, likely.threshold, delta)
    return _told(mdp, Confidence(chosen, low, high, loss, certified, rivals, *parts))


def _told(mdp: LinearMixtureMDP, found: Confidence) -> Confidence:
    """The same in the units of the user's reward."""
    return replace(
        found,
        V_low=mdp.in_units(found.V_low),
        V_high=mdp.in_units(found.V_high),
        loss=mdp.reward_scale * found.loss,
        names=mdp.names,
    )


class _Expansion:
    """The terms of the module's two identities, around the most likely theta."""

    def __init__(self, likely: LikelihoodSet, policy: Ints) -> None:
        mdp, transitions = likely.mdp, likely.mdp.transitions
        self._likely, self._mdp, self._policy = likely, mdp, policy
        self._played = np.arange(mdp.num_states) * mdp.num_actions + policy
        self.V = evaluate(mdp, likely.theta, policy)
        moves = transitions.csr(likely.p).toarray()
        self._inverse = np.linalg.inv(np.eye(mdp.num_states) - mdp.discount * moves[self._played])
        extra = mdp.transition_reward if len(mdp.transition_reward) else 0.0
        worth = extra + mdp.discount * self.V[transitions.successor]
        by_pair = sparse.csr_array((worth, np.arange(transitions.count), transitions.indptr))
        gains = by_pair @ transitions.phi
        self._gains: Floats = gains.toarray() if sparse.issparse(gains) else np.asarray(gains)
        here = np.repeat(np.arange(mdp.num_states), mdp.num_actions)
        self._advantage = mdp.pair_reward + by_pair @ likely.p - self.V[here]
        self._K = mdp.discount * moves @ self._inverse - self._inverse[here]

    def value_bounds(self) -> tuple[Floats, Floats]:
        """Bounds on V^pi from below and above: those of a theta for every state, sharpened by the expansion."""
        likely, functionals = self._likely, self._inverse @ self._gains[self._played]
        # The most likely theta is of the set, so V' lies between the bounds, whatever rounding makes of a tie.
        high = np.maximum(_optimistic(_forced(self._mdp, self._policy, 1.0), likely), self.V)
        low = np.minimum(-_optimistic(_forced(self._mdp, self._policy, -1.0), likely), self.V)
        reach = likely.reach(functionals)
        up = np.array([likely.support(c, r) for c, r in zip(functionals, reach, strict=True)])
        down = np.array([likely.support(-c, r) for c, r in zip(functionals, reach, strict=True)])
        for _ in range(VALUE_ROUNDS):
            size = np.maximum(high - self.V, self.V - low)
            rest = self._mdp.discount * self._inverse @ self._second(size)[self._played]
            high = np.minimum(high, self.V + up + rest)
            low = np.maximum(low, self.V - down - rest)
        return low, high

    def advantages(self, size: Floats, matters: Bools) -> Floats:
        """Upper bounds on the advantage of every (s, a) over the policy's action; 0 in states that don't matter."""
        mdp, second = self._mdp, self._second(size)
        rest = mdp.discount * (second + np.abs(self._K) @ second[self._played])
        functionals = self._gains + self._K @ self._gains[self._played]
        reach = self._likely.reach(functionals)
        bound = self._advantage + reach + rest
        same = self._same_as_played() | ~np.repeat(matters, mdp.num_actions)
        bound[same] = 0.0
        known = self._advantage + rest
        for pair in np.nonzero((bound > 0.0) & (known <= 0.0))[0]:  # only these can still be decided
            bound[pair] = known[pair] + self._likely.support(functionals[pair], reach[pair])
        return bound.reshape(mdp.num_states, mdp.num_actions)

    def _second(self, size: Floats) -> Floats:
        """Bounds on |(P_theta - P') E| by pair, where |E| <= size."""
        transitions = self._mdp.transitions
        return np.add.reduceat(
            self._likely.probability_reach * size[transitions.successor], transitions.indptr[:-1]
        )

    def _same_as_played(self) -> Bools:
        """Rows that equal the policy's own: their advantage is 0 for every theta."""
        mdp, transitions = self._mdp, self._mdp.transitions
        found = np.zeros(len(mdp.pair_reward), dtype=bool)
        for pair in range(len(found)):
            own = int(self._played[pair // mdp.num_actions])
            found[pair] = pair == own or _same_pair(
                mdp, transitions.indptr[pair], transitions.indptr[own], pair, own
            )
        return found


def _optimistic(mdp: LinearMixtureMDP, likely: LikelihoodSet) -> Floats:
    """A bound on V* over the ellipsoid around the set: every (s, a) has the theta that is best for it."""
    optimist = Optimist(mdp)
    optimist.plan([likely.ellipsoid()], 1e-6)
    return optimist.V + optimist.error_bound


def _forced(mdp: LinearMixtureMDP, policy: Ints, sign: float) -> LinearMixtureMDP:
    """The same model with the reward times `sign` for the policy's actions, and a reward that forbids all others."""
    forced = copy(mdp)
    reward = np.full(len(mdp.pair_reward), -3.0 / (1.0 - mdp.discount))
    played = np.arange(mdp.num_states) * mdp.num_actions + policy
    reward[played] = sign * mdp.pair_reward[played]
    vars(forced)["core"] = core_model(mdp, reward, sign * mdp.transition_reward)
    return forced


def _same_pair(mdp: LinearMixtureMDP, i: int, j: int, pair: int, other: int) -> bool:
    """Whether two pairs have the same successors, features and rewards."""
    transitions = mdp.transitions
    a, b = slice(i, transitions.indptr[pair + 1]), slice(j, transitions.indptr[other + 1])
    if mdp.pair_reward[pair] != mdp.pair_reward[other] or not np.array_equal(
        transitions.successor[a], transitions.successor[b]
    ):
        return False
    if len(mdp.transition_reward) and (mdp.transition_reward[a] != mdp.transition_reward[b]).any():
        return False
    return bool(abs(transitions.phi[a] - transitions.phi[b]).max() == 0.0)


def _reachable(mdp: LinearMixtureMDP, state: int | None) -> Bools:
    """The states that some actions can lead to from `state`; all without one."""
    found = np.ones(mdp.num_states, dtype=bool)
    if state is None:
        return found
    start = validation.index("state", state, mdp.num_states)
    transitions = mdp.transitions
    edges = (transitions.pair_of // mdp.num_actions, transitions.successor)
    graph = sparse.coo_array((np.ones(transitions.count), edges), shape=(mdp.num_states,) * 2).tocsr()
    found[:] = False
    found[breadth_first_order(graph, start, return_predecessors=False)] = True
    return found


def _range(mdp: LinearMixtureMDP) -> tuple[float, float]:
    """Bounds on every value from rewards alone."""
    values = mdp.transition_reward if len(mdp.transition_reward) else mdp.pair_reward[mdp.allowed.ravel()]
    return float(values.min()) / (1.0 - mdp.discount), float(values.max()) / (1.0 - mdp.discount)
