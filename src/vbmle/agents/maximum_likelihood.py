"""Certainty equivalence: plan for the maximum-likelihood theta, as if it were the truth.

    theta_t = argmax over P of  sum_i log <phi(s_{i+1}|s_i,a_i), theta> - ridge/2 |theta|^2,   a_t greedy for it.

It explores only by accident. Its estimate converges to some theta that predicts what its own policy visits
(closed-loop identification), which need not be the truth: see `worlds.closed_loop_trap` and RiverSwim.
"""

from __future__ import annotations

from vbmle.agents import decision
from vbmle.agents.base import Knob
from vbmle.agents.decision import Decision
from vbmle.agents.model_agent import ModelAgent
from vbmle.common.validation import Floats, Ints
from vbmle.estimation.maximiser import Ridge, make_objective, make_solver


class MaximumLikelihood(ModelAgent):
    """Plays the optimal policy of the (ridge-penalised) maximum-likelihood estimate; does not explore.

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

    ridge: Ridge = 1.0

    def _start(self) -> None:
        self._solver = make_solver(self.mdp)
        self._solver.plan()
        self._objective = make_objective(self.counts, self.ridge)

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
