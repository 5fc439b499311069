"""Certainty equivalence: plan for the maximum-likelihood theta, as if it were the truth.

    theta_t = argmax over P of  sum_i log <phi(s_{i+1}|s_i,a_i), theta> - ridge/2 |theta|^2,   a_t greedy for it.

It explores only by accident. Its estimate converges to some theta that predicts what its own policy visits
(closed-loop identification), which need not be the truth: see `worlds.closed_loop_trap` and RiverSwim.
"""

from __future__ import annotations

from vbmle.agents import decision
from vbmle.agents.decision import Decision
from vbmle.agents.model_agent import ModelAgent, OnImpossible
from vbmle.agents.tuning import Knob
from vbmle.common.validation import Floats, Ints, non_negative
from vbmle.estimation.candidates import make_solver
from vbmle.estimation.change_point import Restart
from vbmle.estimation.forgetting import Forget
from vbmle.estimation.maximiser import make_objective
from vbmle.model.mdp import LinearMixtureMDP


class MaximumLikelihood(ModelAgent):
    """Plays the optimal policy of the (ridge-penalised) maximum-likelihood estimate; does not explore.

    Parameters
    ----------
    mdp : LinearMixtureMDP
        What is known. The agent never sees the hidden theta.
    ridge : float, default 1.0
        lambda of the penalty lambda/2 |theta|^2 that is subtracted from the log-likelihood; at least 0. It matters
        while data are scarce.
    on_impossible : {"raise", "skip", "widen"}, default "raise"
        What to do with an observed transition that the model calls impossible: refuse it, note it without learning
        from it, or from then on give every next state of its pair (s, a) a small probability.
    forget : float or {"window": int}, optional
        How old observations fade: a half-life in steps, or a window of the last ones. By default none is forgotten.
    restart : {"on-alarm"}, optional
        Start over, with the observations since the change, when a test finds that the mix has changed.

    Raises
    ------
    ValueError
        If a setting is out of range; the message names it and what it needs.

    Examples
    --------
    >>> import vbmle
    >>> world = vbmle.worlds.riverswim(length=6)
    >>> agent = vbmle.MaximumLikelihood(world.mdp)
    >>> history = vbmle.simulate(agent, world, horizon=50)
    >>> bool(history.regret[-1] > 0)  # it never learns that swimming pays
    True
    """

    label = "maximum likelihood"
    role = "greedy"
    tuning = Knob("ridge", (0.01, 0.1, 1.0, 10.0))

    def __init__(
        self,
        mdp: LinearMixtureMDP,
        ridge: float = 1.0,
        on_impossible: OnImpossible = "raise",
        forget: Forget = None,
        restart: Restart = None,
    ) -> None:
        super().__init__(
            mdp,
            ridge=non_negative("ridge", ridge),
            on_impossible=on_impossible,
            forget=forget,
            restart=restart,
        )
        self._solver = make_solver(mdp)
        self._solver.plan()
        self._objective = make_objective(self.counts, self.settings["ridge"])

    @property
    def policy(self) -> Ints:
        return self._solver.policy

    @property
    def theta(self) -> Floats:
        """The parameter in force."""
        return self._solver.theta

    def _decide(self, state: int) -> None:
        self._solver.climb(self._objective)
        self._solver.plan()

    def _outcome(self) -> Decision:
        return decision.of_solver(self._solver, self.counts, "the likelihood")
