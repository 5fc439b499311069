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

from vbmle.agents.base import Agent, RaiseOrSkip, refuse_more, require_convex, rule_for_impossible
from vbmle.agents.decision import Decision
from vbmle.agents.triggers import UPDATES, EveryObservation, LogDeterminantDoubled, Trigger, Update
from vbmle.agents.tuning import RADIUS_SCALE
from vbmle.common.validation import (
    MOST_SCALE,
    Among,
    Floats,
    Ints,
    fraction,
    non_negative,
    one_of,
    positive,
    positive_integer,
)
from vbmle.estimation.counts import TransitionCounts
from vbmle.estimation.value_regression import Regression
from vbmle.model.mdp import LinearMixtureMDP
from vbmle.planning.optimistic_planner import Ellipsoid, Optimist

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


class OptimisticAgent(Agent):
    """What UCLK and its variants share: an optimistic plan, made again when it is due, and regressions on its values.

    theta: the point of P nearest to the regression's estimate; thetas: the model chosen for every (s, a);
    empty_sets: how many plans found no feasible theta within the radius.
    """

    tuning = RADIUS_SCALE
    renamed: ClassVar[dict[str, str]] = {"replan": "update"}
    saved: ClassVar[tuple[str, ...]] = ("decisions", "empty_sets")

    def __init__(
        self,
        mdp: LinearMixtureMDP,
        radius_scale: float = 1.0,
        delta: float = 0.1,
        ridge: float = 1.0,
        update: Update = "doubling",
        tolerance: float = 1e-6,
        sweeps: int | None = None,
        on_impossible: RaiseOrSkip = "raise",
        **unknown: object,
    ) -> None:
        self._refuse(unknown)
        require_convex(type(self).__name__, mdp)
        super().__init__(
            mdp,
            **rule_for_impossible(on_impossible),
            radius_scale=non_negative("radius_scale", radius_scale, MOST_SCALE),
            delta=fraction("delta", delta),
            ridge=positive("ridge", ridge),
            update=one_of("update", update, UPDATES),
            tolerance=positive("tolerance", tolerance),
            sweeps=None if sweeps is None else positive_integer("sweeps", sweeps),
        )
        self.counts = TransitionCounts(mdp)
        self.empty_sets = 0
        self._begin(ridge)
        self._optimist = Optimist(mdp)
        doubled = update == "doubling"
        self._trigger: Trigger = LogDeterminantDoubled(self._log_dets) if doubled else EveryObservation()

    @classmethod
    def _refuse(cls, unknown: dict[str, object]) -> None:
        for name in unknown:
            now = f"; it is called {cls.renamed[name]!r} now" if name in cls.renamed else ""
            raise TypeError(f"{cls.__name__} has no setting {name!r}{now}")

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
    def _begin(self, ridge: float) -> None:
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
        seen = self._counted(state, action, next_state)
        if seen is None:
            return
        self._learn(state * self.mdp.num_actions + action, next_state)
        self._trigger.seen(seen)

    def _plan_if_due(self) -> None:
        if self._trigger.due():
            sweeps = sweeps_that_matter(self.settings["sweeps"], self.mdp.discount)
            self._optimist.plan(self._sets(), self.settings["tolerance"], sweeps)
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

    Parameters
    ----------
    mdp : LinearMixtureMDP
        What is known. The agent never sees the hidden theta.
    radius : {"paper", "logdet"}, default "paper"
        The published radius, or the one that uses the determinant itself in place of its bound, which is smaller.
    radius_scale : float, default 1.0
        Multiplies the radius; at least 0. Only 1 has the proof; 0.01 usually loses far less.
    delta : float, default 0.1
        The sets hold at all times together with probability 1 - delta; strictly between 0 and 1.
    ridge : float, default 1.0
        lambda of the regression, Sigma = lambda I + ...; above 0.
    update : {"doubling", "every-step"}, default "doubling"
        When to plan again: when a determinant of Sigma has doubled, as published, or after every observation.
    tolerance : float, default 1e-6
        The proved error of the optimistic value at which planning stops, in units of value.
    sweeps : int, optional
        A fixed number of sweeps instead of `tolerance`, as published: see `vbmle.agents.uclk.published_sweeps`. Those
        after V has reached its fixed point to rounding are left out.
    on_impossible : {"raise", "skip"}, default "raise"
        What to do with an observation that no feasible theta allows: refuse it, or note it in `counts.skipped` and
        learn nothing from it. A regression on values has no likelihood to widen.

    Raises
    ------
    ValueError
        If a setting is out of range; the message names it and what it needs.
    TypeError
        If a setting is unknown.

    Examples
    --------
    >>> import vbmle
    >>> world = vbmle.worlds.riverswim(length=6)
    >>> agent = vbmle.UCLK(world.mdp, radius="logdet")
    >>> agent.act(0), agent.last.converged
    (1, True)
    """

    def __init__(
        self,
        mdp: LinearMixtureMDP,
        radius: Annotated[str, Among(RADII)] = "paper",
        radius_scale: float = 1.0,
        delta: float = 0.1,
        ridge: float = 1.0,
        update: Update = "doubling",
        tolerance: float = 1e-6,
        sweeps: int | None = None,
        on_impossible: RaiseOrSkip = "raise",
        **unknown: object,
    ) -> None:
        super().__init__(mdp, radius_scale, delta, ridge, update, tolerance, sweeps, on_impossible, **unknown)
        self.settings["radius"] = one_of("radius", radius, RADII)

    def _begin(self, ridge: float) -> None:
        self._regression = Regression(self.mdp, ridge)

    def radius(self) -> float:
        """beta now, at t = observations + 1."""
        known = (self.mdp.dimension, self.mdp.discount, self.settings["ridge"], self.settings["delta"])
        if self.settings["radius"] == "paper":
            beta = paper_radius(self.counts.total + 1, *known)
        else:
            beta = log_det_radius(self._regression.log_det, *known)
        return float(self.settings["radius_scale"]) * beta

    def _log_dets(self) -> list[float]:
        return [self._regression.log_det]

    def _sets(self) -> list[Ellipsoid]:
        return [Ellipsoid(self._regression.sigma, self._regression.estimate(), self.radius())]

    def _learn(self, pair: int, next_state: int) -> None:
        V = self._optimist.V
        self._regression.add(pair, V, float(V[next_state]))
