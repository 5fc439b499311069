"""UCLK: upper-confidence linear kernel reinforcement learning (Zhou, He and Gu 2021).

    Sigma = ridge I + sum phi_V phi_V',   b = sum phi_V V(s'),   theta_hat = Sigma^{-1} b,
    C = {theta in P: |Sigma^{1/2} (theta - theta_hat)| <= beta},
    Q(s,a) = R(s,a) + gamma max over C of <phi_V(s,a), theta>,   V = max_a Q,   a_t greedy for Q.

V in the sums is that of the plan in force when (s,a) was taken. A new plan is made when det Sigma has doubled since
the last one (`update="doubling"`, as published) or in every step (what the VBMLE paper ran).

    radius="paper":   beta = H sqrt(d log((ridge + t d H^2) / (delta ridge))) + sqrt(ridge d),   H = 1/(1-gamma)
    radius="logdet":  beta = H sqrt(log det Sigma - log det(ridge I) + 2 log(1/delta)) + sqrt(ridge d)

Departures: the fixed point of Q is found to `tolerance` unless the published number of sweeps is asked for
(`sweeps=published_sweeps(T, gamma)`); `radius_scale` other than 1 leaves the theory behind; where P and the
ellipsoid do not meet, the theta of P nearest to theta_hat is planned for, a warning is given and
`empty_sets` counts it; where the reward is r(s,a,s') the inner maximum has it inside.
"""

from __future__ import annotations

import math
import warnings
from abc import abstractmethod
from typing import Annotated, Any, ClassVar

from vbmle.agents import agent_file
from vbmle.agents.base import Agent, Knob, refuse_more, require_convex
from vbmle.agents.decision import Decision
from vbmle.agents.triggers import EveryObservation, LogDeterminantDoubled, Trigger, Update
from vbmle.common.keeper import Saved, a_count
from vbmle.common.stated import A_SCALE, ABOVE_0, BETWEEN_0_AND_1, Check
from vbmle.common.validation import Among, Floats, Ints, positive_integer
from vbmle.estimation.counts import TransitionCounts
from vbmle.estimation.evidence import Refusal, counted
from vbmle.estimation.value_regression import Regression
from vbmle.planning.optimistic_planner import Ellipsoid, Optimist

RADIUS_SCALE = Knob("radius_scale", (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0))
RADII = ("paper", "logdet")
DIGITS = 10**16
"""One over the relative rounding of a double: an error of V below one over this is none."""
EMPTY_SET = "no feasible theta is within the radius"
"""What the warning about an empty confidence set says."""


def published_sweeps(horizon: int, discount: float) -> int:
    """U = ceil(log(T/(1-gamma)) / (1-gamma)), which brings the error of V below 1/T."""
    return math.ceil(math.log(horizon / (1.0 - discount)) / (1.0 - discount))


def sweeps_that_matter(asked: int | None, discount: float) -> int | None:
    """As many as were asked for, but none after V is within rounding of its fixed point: those change nothing."""
    return None if asked is None else min(asked, published_sweeps(DIGITS, discount))


def paper_radius(t: int, dimension: int, discount: float, ridge: float, delta: float) -> float:
    """beta_t of UCLK as published; holds for all t at once with probability 1 - delta.

    Parameters
    ----------
    t : int
        The step, at least 1.
    dimension : int
        d, the dimension of theta.
    discount : float
        gamma, strictly between 0 and 1.
    ridge : float
        lambda of the regression, above 0.
    delta : float
        The probability that the radius is too small at some step, in (0, 1).

    Examples
    --------
    >>> from vbmle import theory
    >>> round(theory.uclk_radius(t=100, dimension=3, discount=0.9, ridge=1.0, delta=0.1), 2)
    63.24
    """
    scaled = ridge * (1.0 - discount) ** 2
    growth = dimension * math.log((scaled + t * dimension) / (delta * scaled))
    return math.sqrt(growth) / (1.0 - discount) + math.sqrt(ridge * dimension)


def log_det_radius(log_det: float, dimension: int, discount: float, ridge: float, delta: float) -> float:
    """The radius that depends on the data, through log det Sigma - log det(ridge I).

    Parameters
    ----------
    log_det : float
        log det Sigma - log det(ridge I), at least 0.
    dimension : int
        d, the dimension of theta.
    discount : float
        gamma, strictly between 0 and 1.
    ridge : float
        lambda of the regression, above 0.
    delta : float
        The probability that the radius is too small at some step, in (0, 1).

    Examples
    --------
    >>> from vbmle import theory
    >>> round(theory.uclk_log_det_radius(log_det=5.0, dimension=3, discount=0.9, ridge=1.0, delta=0.1), 2)
    32.72
    """
    growth = log_det + 2.0 * math.log(1.0 / delta)
    return math.sqrt(growth) / (1.0 - discount) + math.sqrt(ridge * dimension)


def _sweeps(name: str, value: int | None) -> int | None:
    return None if value is None else positive_integer(name, value)


class OptimisticAgent(Agent, Refusal):
    """What UCLK and its variants share: an optimistic plan, made again when it is due, and regressions on its values.

    theta: the point of P nearest to the regression's estimate; thetas: the model chosen for every (s, a);
    empty_sets: how many plans found no feasible theta within the radius.
    """

    tuning = RADIUS_SCALE
    saved: ClassVar[Saved] = {"decisions": a_count, "empty_sets": a_count}

    radius_scale: Annotated[
        float, A_SCALE, "Multiplies the radius. Only 1 has the proof; 0.01 usually has far lower regret."
    ] = 1.0
    delta: Annotated[
        float, BETWEEN_0_AND_1, "The sets hold at all times together with probability 1 - delta."
    ] = 0.1
    ridge: Annotated[float, ABOVE_0, "lambda of the regression, Sigma = lambda I + ..."] = 1.0
    update: Annotated[
        Update,
        "When to plan again: when a determinant of Sigma has doubled, as published, or after every observation.",
    ] = "doubling"
    tolerance: Annotated[
        float, ABOVE_0, "The proved error of the optimistic value at which planning stops, in units of value."
    ] = 1e-6
    sweeps: Annotated[
        int | None,
        Check("", _sweeps),
        "A fixed number of sweeps instead of `tolerance`, as published: see `vbmle.agents.uclk.published_sweeps`. "
        "Those after V has reached its fixed point to rounding are left out.",
    ] = None

    def _start(self) -> None:
        require_convex(type(self).__name__, self.mdp)
        self.counts = TransitionCounts(self.mdp)
        self.empty_sets = 0
        self._begin()
        self._optimist = Optimist(self.mdp)
        doubled = self.update == "doubling"
        self._trigger: Trigger = LogDeterminantDoubled(self._log_dets) if doubled else EveryObservation()

    def __reduce__(self) -> tuple[Any, ...]:
        """How `pickle` and `copy` make another: from a snapshot, for much of it is memory of the core."""
        return agent_file.again, (type(self), self._given, *agent_file.made_of(self), {})

    @property
    def policy(self) -> Ints:
        self._plan_if_due()
        return self._optimist.policy

    @property
    def theta(self) -> Floats:
        """The point of P nearest to the estimate."""
        self._plan_if_due()
        return self._optimist.theta

    @property
    def thetas(self) -> Floats:
        """The theta that the plan in force has chosen for every (s, a), (S, A, d)."""
        self._plan_if_due()
        return self._optimist.thetas()

    @property
    def V(self) -> Floats:
        """The optimistic value of the plan in force."""
        self._plan_if_due()
        return self._optimist.V

    @abstractmethod
    def _begin(self) -> None:
        """Make the regressions, which know nothing yet."""

    @abstractmethod
    def _log_dets(self) -> list[float]:
        """Log-determinants: one that is new, or grows by log 2, asks for a new plan."""

    @abstractmethod
    def _sets(self) -> list[Ellipsoid]:
        """The confidence sets, of which all hold."""

    @abstractmethod
    def _learn(self, pair: int, next_state: int) -> None:
        """Take in one transition from the pair s * A + a."""

    def observe(self, state: int, action: int, next_state: int, *more: Any, **named: Any) -> None:
        if more or named:
            refuse_more(self, state, action, next_state, *more, **named)
        state, action, next_state = self._numbers(state, action, next_state)
        self._plan_if_due()
        seen = counted(self.counts, self, state, action, next_state)
        if seen is None:
            return
        self._learn(state * self.mdp.num_actions + action, next_state)
        self._trigger.seen(seen)

    def _plan_if_due(self) -> None:
        if self._trigger.due():
            sweeps = sweeps_that_matter(self.sweeps, self.mdp.discount)
            self._optimist.plan(self._sets(), self.tolerance, sweeps)
            self._trigger.decided()
            self.decisions += 1
            if self._optimist.empty:
                self._note_empty()

    def _note_empty(self) -> None:
        if self.empty_sets == 0:
            name, t = type(self).__name__, self.counts.total + 1
            warnings.warn(
                f"{name}: {EMPTY_SET} at t = {t}; planning for the nearest instead",
                RuntimeWarning,
                stacklevel=2,
            )
        self.empty_sets += 1

    def _outcome(self) -> Decision:
        plan = self._optimist
        return Decision(
            "an optimistic plan over ellipsoids",
            plan.status,
            plan.converged,
            gap=plan.gap,
            error_bound=plan.error_bound,
            empty=plan.empty,
        )


class UCLK(OptimisticAgent):
    """Optimism over an ellipsoid around a value-targeted regression, with a model of its own for every (s, a).

    Examples
    --------
    >>> import vbmle
    >>> world = vbmle.worlds.riverswim(length=6)
    >>> agent = vbmle.UCLK(world.mdp, radius="logdet")
    >>> agent.act(0), agent.last.converged
    (1, True)
    """

    radius: Annotated[
        str,
        Among(RADII),
        "The published radius, or the one that uses the determinant itself in place of its bound, which is smaller.",
    ] = "paper"

    def _begin(self) -> None:
        self._regression = Regression(self.mdp, self.ridge)

    def beta(self) -> float:
        """The radius now, at t = observations + 1."""
        known = (self.mdp.dimension, self.mdp.discount, self.ridge, self.delta)
        if self.radius == "paper":
            beta = paper_radius(self.counts.total + 1, *known)
        else:
            beta = log_det_radius(self._regression.log_det, *known)
        return self.radius_scale * beta

    def _log_dets(self) -> list[float]:
        return [self._regression.log_det]

    def _sets(self) -> list[Ellipsoid]:
        return [Ellipsoid(self._regression.sigma, self._regression.estimate(), self.beta())]

    def _learn(self, pair: int, next_state: int) -> None:
        V = self._optimist.V
        self._regression.add(pair, V, float(V[next_state]))
