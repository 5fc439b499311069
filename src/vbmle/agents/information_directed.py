"""Information-directed planning: play the policy with the lowest expected cost per unit of information.

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

from typing import Annotated, ClassVar

from vbmle.agents.base import a_policy, require_convex
from vbmle.agents.decision import Decision
from vbmle.agents.information_ratio import Draws, Fresh, InformedUpdate, PosteriorDraws, informed_trigger
from vbmle.agents.model_agent import ModelAgent
from vbmle.agents.posterior import Thinning
from vbmle.common.keeper import Saved
from vbmle.common.stated import Seed, up_to
from vbmle.common.validation import Ints

MOST_ROUNDS = 1000


class InformationDirected(ModelAgent):
    """Plays the policy with the lowest squared expected regret per unit of information about theta.

    Examples
    --------
    >>> import vbmle
    >>> world = vbmle.worlds.riverswim(features="mixture")
    >>> agent = vbmle.InformationDirected(world.mdp)
    >>> agent.act(0) in (0, 1), agent.last.status
    (True, 'converged')
    """

    label = "information-directed"
    saved: ClassVar[Saved] = {"_policy": a_policy}

    draws: Draws = 12
    fresh: Fresh = 2
    rounds: Annotated[int, up_to(MOST_ROUNDS), "Fixed-point steps in the search for the policy."] = 4
    update: InformedUpdate = "every-step"
    thinning: Thinning = 10
    seed: Seed = 0

    def _start(self) -> None:
        require_convex(type(self).__name__, self.mdp)
        self._draws = PosteriorDraws(self.counts, self.draws, self.fresh, self.thinning, self.seed)
        self._policy: Ints = self.mdp.allowed.argmax(axis=1)  # the first allowed action
        self._trigger = informed_trigger(self.mdp, self.update)

    @property
    def policy(self) -> Ints:
        return self._policy

    def _decide(self, state: int) -> None:
        draws = self._draws
        draws.refresh()
        policy = draws.best_for(0.0, self._policy)
        (score,) = draws.score([policy], state)
        chosen, least = policy, score
        for _ in range(self.rounds):
            if score.regret == 0.0 or score.information == 0.0:
                break
            policy = draws.best_for(score.regret / (2.0 * score.information), policy)
            (score,) = draws.score([policy], state)
            if score.order() < least.order():
                chosen, least = policy, score
        self._policy[...] = chosen

    def _outcome(self) -> Decision:
        return Decision("regret and information of a few policies, by draws", "converged", converged=True)
