"""UCLK: upper-confidence linear kernel reinforcement learning (Zhou, He and Gu 2021).

    Sigma = ridge I + sum phi_V phi_V',   b = sum phi_V V(s'),   theta_hat = Sigma^{-1} b,
    C = {theta in P: |Sigma^{1/2} (theta - theta_hat)| <= beta},
    Q(s,a) = R(s,a) + gamma max over C of <phi_V(s,a), theta>,   V = max_a Q,   a_t greedy for Q.

V in the sums is that of the plan in force when (s,a) was taken. A new plan is made when det Sigma has doubled since
the last one (`replan="doubling"`, as published) or in every step (what the VBMLE paper ran).

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
from typing import Annotated

import numpy as np

from vbmle.agents.base import CountingAgent
from vbmle.common.files import Snapshot
from vbmle.common.validation import (
    Among,
    Floats,
    Ints,
    fraction,
    non_negative,
    one_of,
    positive,
    positive_integer,
)
from vbmle.estimation.value_regression import Regression
from vbmle.model.mdp import LinearMixtureMDP
from vbmle.planning.optimistic_planner import Ellipsoid, Optimist

RADII = ("paper", "logdet")
REPLANS = ("doubling", "every-step")
Replan = Annotated[str, Among(REPLANS)]


def published_sweeps(horizon: int, discount: float) -> int:
    """U = ceil(log(T/(1-gamma)) / (1-gamma)), which brings the error of V below 1/T."""
    return math.ceil(math.log(horizon / (1.0 - discount)) / (1.0 - discount))


def paper_radius(t: int, dimension: int, discount: float, ridge: float, delta: float) -> float:
    """beta_t of UCLK as published; holds for all t at once with probability 1 - delta."""
    scaled = ridge * (1.0 - discount) ** 2
    growth = dimension * math.log((scaled + t * dimension) / (delta * scaled))
    return math.sqrt(growth) / (1.0 - discount) + math.sqrt(ridge * dimension)


def log_det_radius(log_det: float, dimension: int, discount: float, ridge: float, delta: float) -> float:
    """The radius that depends on the data, through log det Sigma - log det(ridge I)."""
    growth = log_det + 2.0 * math.log(1.0 / delta)
    return math.sqrt(growth) / (1.0 - discount) + math.sqrt(ridge * dimension)


class OptimisticAgent(CountingAgent):
    """What UCLK and its kin share: an optimistic plan, made anew when `_due`, and regressions on its values.

    theta: the point of P nearest to the regression's estimate; thetas: the model chosen for every (s, a).
    """

    def __init__(
        self,
        mdp: LinearMixtureMDP,
        radius_scale: float = 1.0,
        delta: float = 0.1,
        ridge: float = 1.0,
        replan: Replan = "doubling",
        tolerance: float = 1e-6,
        sweeps: int | None = None,
        **settings: object,
    ) -> None:
        super().__init__(
            mdp,
            radius_scale=non_negative("radius_scale", radius_scale),
            delta=fraction("delta", delta),
            ridge=positive("ridge", ridge),
            replan=one_of("replan", replan, REPLANS),
            tolerance=positive("tolerance", tolerance),
            sweeps=None if sweeps is None else positive_integer("sweeps", sweeps),
            **settings,
        )
        self._begin(ridge)
        self._optimist = Optimist(mdp)
        self._due = True
        self._planned_at: list[float] = []  # log-determinants at the last plan
        self.empty_sets = 0

    @property
    def policy(self) -> Ints:
        self._plan_if_due()
        return self._optimist.policy

    @property
    def theta(self) -> Floats:
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
    def _information(self) -> list[float]:
        """Log-determinants: one that is new, or grows by log 2, asks for a new plan."""

    @abstractmethod
    def _sets(self) -> list[Ellipsoid]:
        """The confidence sets, of which all hold."""

    @abstractmethod
    def _learn(self, row: int, next_state: int) -> None:
        """Take in one transition from the row s * A + a."""

    def _decide(self, state: int) -> None:
        self._plan_if_due()

    def observe(self, state: int, action: int, next_state: int) -> None:
        self._plan_if_due()
        super().observe(state, action, next_state)
        self._learn(state * self.mdp.num_actions + action, next_state)
        now, then = self._information(), self._planned_at
        doubled = len(now) > len(then) or any(a - b > math.log(2.0) for a, b in zip(now, then, strict=True))
        self._due = self.settings["replan"] == "every-step" or doubled

    def _plan_if_due(self) -> None:
        if self._due:
            self._due = False
            self._optimist.plan(self._sets(), self.settings["tolerance"], self.settings["sweeps"])
            self._planned_at = self._information()
            if self._optimist.empty:
                self._note_empty()

    def _note_empty(self) -> None:
        if self.empty_sets == 0:
            name, t = type(self).__name__, self.counts.total + 1
            warnings.warn(
                f"{name}: no feasible theta is within the radius at t = {t}; planning for the nearest instead",
                RuntimeWarning,
                stacklevel=2,
            )
        self.empty_sets += 1

    def _snapshot(self) -> Snapshot:
        plan = {"plan.due": np.array(self._due), "plan.empty_sets": np.array(self.empty_sets)}
        plan["plan.at"] = np.array(self._planned_at, dtype=np.float64)
        return super()._snapshot() | self._optimist.snapshot() | plan

    def _restore(self, snapshot: Snapshot) -> None:
        super()._restore(snapshot)
        self._optimist.restore(snapshot)
        self._due, self.empty_sets = bool(snapshot["plan.due"]), int(snapshot["plan.empty_sets"])
        self._planned_at = snapshot["plan.at"].tolist()


class UCLK(OptimisticAgent):
    """Optimism over an ellipsoid around a value-targeted regression, with a model of its own for every (s, a)."""

    def __init__(
        self,
        mdp: LinearMixtureMDP,
        radius: Annotated[str, Among(RADII)] = "paper",
        radius_scale: float = 1.0,
        delta: float = 0.1,
        ridge: float = 1.0,
        replan: Replan = "doubling",
        tolerance: float = 1e-6,
        sweeps: int | None = None,
    ) -> None:
        kind = one_of("radius", radius, RADII)
        super().__init__(mdp, radius_scale, delta, ridge, replan, tolerance, sweeps, radius=kind)

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

    def _information(self) -> list[float]:
        return [self._regression.log_det]

    def _sets(self) -> list[Ellipsoid]:
        return [Ellipsoid(self._regression.sigma, self._regression.estimate(), self.radius())]

    def _learn(self, row: int, next_state: int) -> None:
        V = self._optimist.V
        self._regression.add(row, V, float(V[next_state]))

    def _snapshot(self) -> Snapshot:
        return super()._snapshot() | self._regression.snapshot()

    def _restore(self, snapshot: Snapshot) -> None:
        super()._restore(snapshot)
        self._regression.restore(snapshot)
