"""EVILL (Janz, Liu, Ayoub and Szepesvari 2024): a random linear tilt of the likelihood in place of a value bias.

    W ~ N(0, scale^2 H),        H = ridge I + sum_i phi_i phi_i' / <phi_i, theta_ml>^2
    theta_k = argmax over P of  sum_i log <phi_i, theta> - ridge/2 |theta|^2 + <W, theta>,        play pi*(theta_k)

H is the curvature of the loss at the most likely theta. In the interior of P and with many observations the maximiser
is theta_ml + H^{-1} W, so its law is the normal approximation of the posterior, at the cost of one concave problem:
optimism by chance, as in PSRL, without a chain. scale = 0 is maximum likelihood.

Departures. EVILL is for generalised linear bandits, where it perturbs the loss of a natural exponential family once in
each round; there the matrix is the Fisher information at the estimate, here the observed one, and P constrains theta.
The tilt is drawn anew when the information about what was observed has doubled, or in each step, as in our PSRL. No
regret bound is known for it here.
"""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np

from vbmle.agents import decision
from vbmle.agents.base import Knob, require_convex
from vbmle.agents.decision import Decision
from vbmle.agents.model_agent import ModelAgent
from vbmle.agents.triggers import DrawAgain, EveryObservation, InformationGrown
from vbmle.common.stated import AT_LEAST_0, Seed
from vbmle.common.validation import Floats, Ints
from vbmle.estimation.maximiser import Ridge, Solver, make_objective


class EVILL(ModelAgent):
    """Plays the optimal policy of the most likely theta under a random linear tilt.

    Examples
    --------
    >>> import vbmle
    >>> world = vbmle.worlds.riverswim(features="mixture")
    >>> agent = vbmle.EVILL(world.mdp, seed=1)
    >>> history = vbmle.simulate(agent, world, horizon=20)
    >>> world.mdp.contains(agent.theta), agent.last.converged
    (True, True)
    """

    label = "EVILL"
    tuning = Knob("scale", (0.3, 1.0, 3.0))

    scale: Annotated[
        float,
        AT_LEAST_0,
        "The size of the tilt, in standard deviations of the score; 0 is maximum likelihood.",
    ] = 1.0
    ridge: Ridge = 1.0
    update: DrawAgain = "doubling"
    seed: Seed = 0

    def _start(self) -> None:
        mdp = self.mdp
        require_convex(type(self).__name__, mdp)
        self._trigger = (
            EveryObservation() if self.update == "every-step" else InformationGrown(mdp, self.ridge)
        )
        self._likely, self._solver = Solver(mdp), Solver(mdp)
        self._solver.plan()
        self._tilt = np.zeros(mdp.dimension)
        self._untilted = make_objective(self.counts, self.ridge)
        self._objective = make_objective(self.counts, self.ridge, linear=self._tilt)

    @property
    def policy(self) -> Ints:
        return self._solver.policy

    @property
    def theta(self) -> Floats:
        """The maximiser under the tilt in force."""
        return self._solver.theta

    def _decide(self, state: int) -> None:
        self._likely.climb(self._untilted)
        rng = np.random.default_rng([self.seed, self.counts.total])
        self._tilt[...] = self.scale * self._score_noise(rng)
        self._solver.climb(self._objective)
        self._solver.plan()

    def _score_noise(self, rng: np.random.Generator) -> Floats:
        """A draw from N(0, H)."""
        possible, counts = self.mdp.transitions, self.counts.values
        seen = np.nonzero(counts)[0]
        p = np.maximum(possible.probabilities(self._likely.theta)[seen], np.finfo(np.float64).tiny)
        weight = np.sqrt(counts[seen]) / p * rng.standard_normal(len(seen))
        noise = math.sqrt(self.ridge) * rng.standard_normal(self.mdp.dimension)
        return np.asarray(noise + possible.phi[seen].T @ weight)

    def _outcome(self) -> Decision:
        return decision.of_solver(self._solver, self.counts, "the likelihood under a random linear tilt")
