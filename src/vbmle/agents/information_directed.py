"""Information-directed planning: play what loses little for what it teaches.

    pi_t = argmin over policies of  D(pi)^2 / G(pi)

with the expected regret D and the discounted information G of `vbmle.agents.information_ratio`. Where D^2/G is
least, D - lambda G is least too, for lambda = D/(2G); and up to the difference between the mean of values and the
value of the mean, minimising D - lambda G is planning for r + lambda I on the mean model. So: start at the policy that
is best for lambda = 0, compute its lambda, plan, and so on for a few steps; the policy with the least ratio of all is
played.

After Russo and Van Roy (2014), who define the ratio for bandits, and Hao and Lattimore (2022), who carry it to Markov
decision processes and add information to the reward. Departures, which are ours: stationary policies that are chosen
anew in each step, where they have episodes; information about theta, measured by a few draws; the fixed-point steps.
There is no proof for this form.
"""

from __future__ import annotations

from vbmle.agents.base import ModelAgent, OnImpossible, require_convex
from vbmle.agents.decision import Decision
from vbmle.agents.information_ratio import PosteriorDraws
from vbmle.agents.posterior import MOST_DRAWS, MOST_THINNING
from vbmle.common.validation import Ints, at_most, index, positive_integer
from vbmle.estimation.forgetting import Forget
from vbmle.model.mdp import LinearMixtureMDP

MOST_ROUNDS = 1000


class InformationDirected(ModelAgent):
    """Plays the policy that loses least, squared, for what it teaches about theta.

    draws : from the posterior; `fresh` of them are replaced for each observation. rounds : fixed-point steps.
    thinning : see `PSRL`.
    """

    label = "information-directed"
    saved = ("_policy",)

    def __init__(
        self,
        mdp: LinearMixtureMDP,
        draws: int = 12,
        fresh: int = 2,
        rounds: int = 4,
        thinning: int = 10,
        seed: int = 0,
        on_impossible: OnImpossible = "raise",
        forget: Forget = None,
    ) -> None:
        require_convex(type(self).__name__, mdp)
        super().__init__(
            mdp,
            draws=at_most("draws", draws, MOST_DRAWS),
            fresh=positive_integer("fresh", fresh),
            rounds=at_most("rounds", rounds, MOST_ROUNDS),
            thinning=at_most("thinning", thinning, MOST_THINNING),
            seed=index("seed", seed, 2**63),
            on_impossible=on_impossible,
            forget=forget,
        )
        self._draws = PosteriorDraws(mdp, draws, fresh, thinning, seed)
        self._policy: Ints = mdp.allowed.argmax(axis=1)  # the first allowed action

    @property
    def policy(self) -> Ints:
        return self._policy

    def _decide(self, state: int) -> None:
        draws = self._draws
        draws.refresh(self.counts)
        policy = draws.best_for(0.0, self._policy)
        score = draws.score(policy, state)
        chosen, least = policy, score
        for _ in range(self.settings["rounds"]):
            if score.regret == 0.0 or score.information == 0.0:
                break
            policy = draws.best_for(score.regret / (2.0 * score.information), policy)
            score = draws.score(policy, state)
            if score.order < least.order:
                chosen, least = policy, score
        self._policy[...] = chosen

    def _outcome(self) -> Decision:
        return Decision("regret and information of a few policies, by draws", "converged", converged=True)
