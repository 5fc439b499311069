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

from typing import Annotated

from vbmle.agents.base import require_convex
from vbmle.agents.decision import Decision
from vbmle.agents.information_ratio import INFORMED_UPDATES, PosteriorDraws, informed_trigger
from vbmle.agents.model_agent import ModelAgent, OnImpossible
from vbmle.agents.posterior import MOST_DRAWS, MOST_THINNING
from vbmle.common.validation import Among, Ints, at_most, index, one_of, positive_integer
from vbmle.estimation.change_point import Restart
from vbmle.estimation.forgetting import Forget
from vbmle.model.mdp import LinearMixtureMDP

MOST_ROUNDS = 1000


class InformationDirected(ModelAgent):
    """Plays the policy that loses least, squared, for what it teaches about theta.

    Parameters
    ----------
    mdp : LinearMixtureMDP
        What is known. The agent never sees the hidden theta.
    draws : int, default 12
        Draws from the posterior to judge by; at least 1.
    fresh : int, default 2
        How many of them are replaced for each observation; at least 1.
    rounds : int, default 4
        Fixed-point steps in the search for the policy; at least 1.
    update : {"every-step", "tenth", "doubling"}, default "every-step"
        When to decide again: at every step, or when the information about what was observed has grown by a tenth, or
        has doubled; in between the policy in force is played.
    thinning : int, default 10
        Steps of the chain per free coordinate between two draws; at least 1.
    seed : int, default 0
        Seeds everything that the agent draws for itself: the draws from the
        posterior. The world's luck has its own seed.
    on_impossible : {"raise", "skip", "widen"}, default "raise"
        What to do with an observed transition that the model calls impossible: refuse it, note it without learning
        from it, or from then on give every next state of its pair (s, a) a small probability.
    forget : float or {"window": int}, optional
        How old observations fade: a half-life in steps, or a window of the last ones. By default none is forgotten.
    restart : {"on-alarm"}, optional
        Forget everything observed before a change of theta, when a test finds one. By default there is no such test.

    Raises
    ------
    ValueError
        If a setting is out of range, or theta is one of the candidates (domain "vertices").

    Examples
    --------
    >>> import vbmle
    >>> world = vbmle.worlds.riverswim(features="mixture")
    >>> agent = vbmle.InformationDirected(world.mdp)
    >>> agent.act(0) in (0, 1), agent.last.status
    (True, 'converged')
    """

    label = "information-directed"
    saved = ("_policy",)

    def __init__(
        self,
        mdp: LinearMixtureMDP,
        draws: int = 12,
        fresh: int = 2,
        rounds: int = 4,
        update: Annotated[str, Among(INFORMED_UPDATES)] = "every-step",
        thinning: int = 10,
        seed: int = 0,
        on_impossible: OnImpossible = "raise",
        forget: Forget = None,
        restart: Restart = None,
    ) -> None:
        require_convex(type(self).__name__, mdp)
        super().__init__(
            mdp,
            draws=at_most("draws", draws, MOST_DRAWS),
            fresh=positive_integer("fresh", fresh),
            rounds=at_most("rounds", rounds, MOST_ROUNDS),
            update=one_of("update", update, INFORMED_UPDATES),
            thinning=at_most("thinning", thinning, MOST_THINNING),
            seed=index("seed", seed, 2**63),
            on_impossible=on_impossible,
            forget=forget,
            restart=restart,
        )
        self._draws = PosteriorDraws(self.counts, draws, fresh, thinning, seed)
        self._policy: Ints = mdp.allowed.argmax(axis=1)  # the first allowed action
        self._trigger = informed_trigger(mdp, update)

    @property
    def policy(self) -> Ints:
        return self._policy

    def _decide(self, state: int) -> None:
        draws = self._draws
        draws.refresh()
        policy = draws.best_for(0.0, self._policy)
        score = draws.score(policy, state)
        chosen, least = policy, score
        for _ in range(self.settings["rounds"]):
            if score.regret == 0.0 or score.information == 0.0:
                break
            policy = draws.best_for(score.regret / (2.0 * score.information), policy)
            score = draws.score(policy, state)
            if score.order() < least.order():
                chosen, least = policy, score
        self._policy[...] = chosen

    def _outcome(self) -> Decision:
        return Decision("regret and information of a few policies, by draws", "converged", converged=True)
