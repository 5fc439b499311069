"""Q-learning (Watkins 1989): no model, one number per (s, a).

    Q(s,a) <- (1 - eta) Q(s,a) + eta [ r + gamma max_b Q(s',b) ],      r = r(s,a), or r(s,a,s') where it is that

The reward is known, so r is looked up. The learning rate eta at the n-th visit of (s, a) is

    "horizon"   (H + 1)/(H + n) with H = 1/(1-gamma)      (Jin, Allen-Zhu, Bubeck, Jordan 2018)
    "visits"    1/n, which forgets too slowly: it needs of the order of exp(H) visits (Even-Dar, Mansour 2003)
    a number    constant.

With `optimistic` Q starts at 1/(1-gamma), which no value exceeds, so that what is untried looks best.

Ours: epsilon-greedy exploration is a draw of a whole policy in each step, each state on its own playing a uniform
action with probability epsilon. The action in the current state is that of epsilon-greedy, and regret is
that of the policy in force, exploration included; epsilon = 1 is the agent `Random`.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np

from vbmle.agents.base import Agent, Knob, refuse_more
from vbmle.agents.random_policy import draw_policy
from vbmle.common import keeper
from vbmle.common.files import Snapshot
from vbmle.common.keeper import Saved
from vbmle.common.stated import A_PROBABILITY, YES_OR_NO, Check, Seed
from vbmle.common.validation import Among, Floats, Ints, one_of
from vbmle.estimation.counts import TransitionCounts
from vbmle.estimation.evidence import Refusal, counted

RATES = ("horizon", "visits")


def _rate_of(name: str, rate: str | float) -> str | float:
    """A name, or a number above 0 and at most 1."""
    if isinstance(rate, str):
        return one_of(name, rate, RATES)
    if not 0.0 < rate <= 1.0:
        raise ValueError(f"{name} is {rate}; it needs 'horizon', 'visits' or a number above 0 and at most 1")
    return float(rate)


def _values(agent: Any, name: str, Q: Floats) -> None:
    """A saved Q is no larger than a few times what a value may be, and -inf where an action is not allowed."""
    worst = np.where(agent.mdp.allowed, 2.0 / (1.0 - agent.mdp.discount), -np.inf)
    keeper.require_within(name, Q, np.where(agent.mdp.allowed, -worst, -np.inf), worst)


class QLearning(Agent, Refusal):
    """Optimistic Q-learning: learns values, not a model, and ignores the features.

    Examples
    --------
    >>> import vbmle
    >>> world = vbmle.worlds.riverswim(length=6)
    >>> vbmle.QLearning(world.mdp, epsilon=0.1).act(0) in (0, 1)
    True
    """

    label = "Q-learning"
    tuning = Knob("epsilon", (0.0, 0.03, 0.1, 0.3))
    saved: ClassVar[Saved] = {"Q": _values}

    learning_rate: Annotated[
        Annotated[str, Among(RATES)] | float,
        Check("a number above 0 and at most 1 where it is one", _rate_of),
        '"horizon" is (H + 1)/(H + n) with H = 1/(1-gamma) after n visits, "visits" is 1/n.',
    ] = "horizon"
    optimistic: Annotated[bool, YES_OR_NO, "Whether Q starts at 1/(1-gamma) instead of 0."] = True
    epsilon: Annotated[float, A_PROBABILITY, "The probability of a random action."] = 0.0
    seed: Seed = 0

    def _start(self) -> None:
        mdp = self.mdp
        self.counts = TransitionCounts(mdp)
        start = 1.0 / (1.0 - mdp.discount) if self.optimistic else 0.0
        self.Q: Floats = np.full((mdp.num_states, mdp.num_actions), start)
        self.Q[~mdp.allowed] = -np.inf
        self._greedy: Ints = self.Q.argmax(axis=1)
        self._policy = self._draw()

    @property
    def policy(self) -> Ints:
        return self._policy

    def observe(self, state: int, action: int, next_state: int, *more: Any, **named: Any) -> None:
        if more or named:
            refuse_more(self, state, action, next_state, *more, **named)
        mdp = self.mdp
        state, action, next_state = self._numbers(state, action, next_state)
        i = counted(self.counts, self, state, action, next_state)
        if i is None:
            return
        pair = state * mdp.num_actions + action
        reward = mdp.pair_reward[pair] + (mdp.transition_reward[i] if len(mdp.transition_reward) else 0.0)
        target = reward + mdp.discount * self.Q[next_state].max()
        eta = self._rate(float(self.counts.values[slice(*mdp.transitions.indptr[pair : pair + 2])].sum()))
        self.Q[state, action] += eta * (target - self.Q[state, action])
        self._greedy[state] = self.Q[state].argmax()
        self._policy = self._draw()

    def _rate(self, visits: float) -> float:
        rate = self.learning_rate
        if rate == "visits":
            return 1.0 / visits
        if rate == "horizon":
            horizon = 1.0 / (1.0 - self.mdp.discount)
            return (horizon + 1.0) / (horizon + visits)
        return float(rate)

    def _draw(self) -> Ints:
        """The greedy policy, with a random action in each state with probability epsilon."""
        if self.epsilon == 0.0:
            return self._greedy
        rng = np.random.default_rng([self.seed, self.counts.total])
        random = draw_policy(rng, self.mdp)
        return np.where(rng.random(self.mdp.num_states) < self.epsilon, random, self._greedy)

    def restore(self, snapshot: Snapshot) -> None:
        super().restore(snapshot)
        self._greedy = self.Q.argmax(axis=1)
        self._policy = self._draw()
