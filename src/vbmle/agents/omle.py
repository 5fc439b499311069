"""OMLE: optimism within a likelihood set (Liu, Netrapalli, Szepesvari and Jin 2022).

    theta_t = argmax of V*(s_t; theta)   subject to   l(theta) >= max l - beta_t,              play pi*(theta_t)

with l the log-likelihood of the counts (less a ridge) over P. Every point that maximises l + alpha V* for some
alpha >= 0 solves this problem for the beta that it reaches, so the multiplier alpha is sought: l falls as alpha grows,
and the largest alpha whose maximiser is still in the set is found by doubling or halving, then by bisection of its
logarithm.

    beta_t = radius_scale * (log(1/delta) + k/2 log(1 + t)),     k the free coordinates of P

is the width of the set: the paper's has the bracketing number of the class in place of the second term, which grows
like k log t up to constants. Departures: one policy for each step, where the paper has episodes; and where V* is not
concave, points that maximise V* in the set but no l + alpha V* are missed (a duality gap), so that the policy played is
optimistic, but perhaps not the most optimistic. The maximiser follows one basin and looks for others, two starts a
step.
"""

from __future__ import annotations

import math
from typing import Annotated, ClassVar

import numpy as np

from vbmle.agents import decision
from vbmle.agents.base import Knob, a_policy, a_theta
from vbmle.agents.decision import Decision
from vbmle.agents.model_agent import ModelAgent
from vbmle.agents.triggers import InformationGrown, SolveAgain
from vbmle.common.keeper import Saved, within
from vbmle.common.stated import A_SCALE, BETWEEN_0_AND_1, Seed
from vbmle.common.validation import Floats, Ints
from vbmle.estimation.maximiser import Ridge, make_objective, make_solver

BISECTIONS = 4
"""Bisections of log alpha once it is known to a factor of 2."""

MOST_DOUBLINGS = 12
"""Most doublings or halvings of alpha in one step."""

LARGEST_ALPHA, SMALLEST_ALPHA = 1e9, 1e-9
"""Beyond these, the value alone or the likelihood alone decides."""


class OMLE(ModelAgent):
    """Plays the best policy of the most valuable theta whose likelihood is within beta of the best.

    Examples
    --------
    >>> import vbmle
    >>> world = vbmle.worlds.riverswim(features="mixture")
    >>> agent = vbmle.OMLE(world.mdp, radius_scale=0.1)
    >>> history = vbmle.simulate(agent, world, horizon=20)
    >>> world.mdp.contains(agent.theta), agent.policy.tolist()
    (True, [1, 1, 1, 1, 1, 1])
    """

    label = "OMLE"
    tuning = Knob("radius_scale", (0.01, 0.03, 0.1, 0.3, 1.0))
    saved: ClassVar[Saved] = {
        "_theta": a_theta,
        "_policy": a_policy,
        "_alpha": within(SMALLEST_ALPHA, LARGEST_ALPHA),
    }

    radius_scale: Annotated[float, A_SCALE, "Multiplies beta, the width of the set (nats)."] = 1.0
    delta: Annotated[
        float,
        BETWEEN_0_AND_1,
        "The probability, in the paper's argument, that the set misses the truth; it enters beta.",
    ] = 0.1
    ridge: Ridge = 1.0
    update: SolveAgain = "every-step"
    seed: Seed = 0

    def _start(self) -> None:
        mdp = self.mdp
        if self.update == "doubling":
            self._trigger = InformationGrown(mdp, self.ridge)
        self._likely = make_solver(mdp, seed=self.seed)
        self._likely.plan()
        self._valued = make_solver(mdp, seed=self.seed)
        self._valued.plan()
        self._objective = make_objective(self.counts, self.ridge)
        self._theta: Floats = np.array(self._likely.theta)
        self._policy: Ints = np.array(self._likely.policy)
        self._alpha = 1.0  # where the next search begins
        self._least = -math.inf  # what l must be at least, in this step
        self._held = -math.inf  # V* of the theta in force, in this step

    @property
    def policy(self) -> Ints:
        return self._policy

    @property
    def theta(self) -> Floats:
        """The parameter in force."""
        return self._theta

    def radius(self) -> float:
        """beta_t now."""
        grown = 0.5 * self.mdp.core.num_free * math.log1p(self.counts.total + 1)
        return float(self.radius_scale * (grown - math.log(self.delta)))

    def _decide(self, state: int) -> None:
        objective = self._objective
        objective.aim(state, 0.0)
        self._likely.climb(objective)
        self._likely.plan()
        self._theta[...], self._policy[...] = self._likely.theta, self._likely.policy
        self._least, self._held = self._likely.objective - self.radius(), float(self._likely.V[state])
        alpha, fits = self._alpha, self._try(self._alpha, search=True)
        for _ in range(MOST_DOUBLINGS):
            step = 2.0 if fits else 0.5
            if not SMALLEST_ALPHA <= alpha * step <= LARGEST_ALPHA:
                break
            before, alpha = fits, alpha * step
            fits = self._try(alpha)
            if fits != before:
                break
        low = alpha if fits else 0.5 * alpha
        self._alpha = min(
            max(self._bisect(low), SMALLEST_ALPHA), LARGEST_ALPHA
        )  # else it doubles step by step

    def _bisect(self, low: float) -> float:
        """The largest alpha found to fit, between low and twice that."""
        width = math.log(2.0)
        for _ in range(BISECTIONS):
            width *= 0.5
            if self._try(low * math.exp(width)):
                low *= math.exp(width)
        return low

    def _try(self, alpha: float, search: bool = False) -> bool:
        """Whether the maximiser of l + alpha V* is in the set; if so, it is in force if none before had more value."""
        objective, solver = self._objective, self._valued
        objective.aim(objective.state, alpha)
        (solver.follow if search else solver.climb)(objective)
        value = float(solver.V[objective.state])
        fits = solver.objective - alpha * value >= self._least
        if fits and value >= self._held:
            self._theta[...], self._policy[...], self._held = solver.theta, solver.policy, value
        return bool(fits)

    def _outcome(self) -> Decision:
        return decision.of_solver(
            self._valued, self.counts, "the likelihood biased by value, for several multipliers"
        )
