"""UCLK+: UCLK with samples weighted by the variance of the value (Zhou, Gu and Szepesvari 2021).

H = 1/(1-gamma). Two regressions: on V with weights 1/sigma^2 (hat), and on V^2 (tilde):

    V_bar   = [<phi_{V^2}, theta_tilde>] in [0, H^2]  -  ([<phi_V, theta_hat>] in [0, H])^2
    E       = min(H^2, 2 H beta_check |phi_V| in Sigma_hat^{-1}) + min(H^2, beta_tilde |phi_{V^2}| in Sigma_tilde^{-1})
    sigma^2 = max(H^2 / d, V_bar + E)
    beta_hat   = 8 sqrt(d log(1 + t/ridge) log(4t^2/delta)) + 4 sqrt(d) log(4t^2/delta) + sqrt(ridge) B
    beta_check = 8 d sqrt(log(1 + t/ridge) log(4t^2/delta)) + 4 sqrt(d) log(4t^2/delta) + sqrt(ridge) B
    beta_tilde = 8 H^2 sqrt(d log(1 + t H^4/(d ridge)) log(4t^2/delta)) + 4 H^2 log(4t^2/delta) + sqrt(ridge) B

Plans are UCLK's, over |Sigma_hat^{1/2} (theta - theta_hat)| <= beta_hat, made again when det Sigma_hat has doubled.
B = sqrt(d) bounds |theta*|; the truth is never read. `radius_scale` multiplies all three radii (1 is the theory);
the other departures are UCLK's.
"""

from __future__ import annotations

import math

import numpy as np

from vbmle.agents.uclk import OptimisticAgent
from vbmle.estimation.value_regression import Regression
from vbmle.planning.optimistic_planner import Ellipsoid


def radii(t: int, dimension: int, discount: float, ridge: float, delta: float) -> tuple[float, float, float]:
    """beta_hat, beta_check and beta_tilde of UCLK+ as published.

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
    >>> [round(r, 1) for r in theory.uclk_plus_radii(t=100, dimension=3, discount=0.9, ridge=1.0, delta=0.1)]
    [198.0, 276.3, 22908.3]
    """
    d, H = dimension, 1.0 / (1.0 - discount)
    chance = math.log(4.0 * t**2 / delta)
    size = math.sqrt(ridge * d)
    growth = math.log1p(t / ridge) * chance
    hat = 8.0 * math.sqrt(d * growth) + 4.0 * math.sqrt(d) * chance + size
    check = 8.0 * d * math.sqrt(growth) + 4.0 * math.sqrt(d) * chance + size
    squares = d * math.log1p(t * H**4 / (d * ridge)) * chance
    tilde = 8.0 * H**2 * math.sqrt(squares) + 4.0 * H**2 * chance + size
    return hat, check, tilde


class UCLKPlus(OptimisticAgent):
    """UCLK whose regression trusts samples of low variance more.

    Examples
    --------
    >>> import vbmle
    >>> world = vbmle.worlds.riverswim(length=6)
    >>> vbmle.UCLKPlus(world.mdp).act(0)
    1
    """

    label = "UCLK+"

    def _begin(self) -> None:
        self._hat, self._tilde = Regression(self.mdp, self.ridge), Regression(self.mdp, self.ridge)

    def radii(self, t: int) -> tuple[float, float, float]:
        """beta_hat, beta_check and beta_tilde for the t-th observation."""
        found = radii(t, self.mdp.dimension, self.mdp.discount, self.ridge, self.delta)
        hat, check, tilde = (self.radius_scale * beta for beta in found)
        return hat, check, tilde

    def variance(self, pair: int, t: int) -> float:
        """sigma^2, an upper bound on the variance of V after the pair s * A + a, for the t-th observation."""
        H = 1.0 / (1.0 - self.mdp.discount)
        _, check, tilde = self.radii(t)
        V = self.V
        square = V * V
        expected, norm = self._hat.predict(pair, V)
        expected_square, square_norm = self._tilde.predict(pair, square)
        mean = min(max(expected, 0.0), H)
        guess = min(max(expected_square, 0.0), H**2) - mean**2
        doubt = min(H**2, 2.0 * H * check * norm) + min(H**2, tilde * square_norm)
        return max(H**2 / self.mdp.dimension, guess + doubt)

    def _log_dets(self) -> list[float]:
        return [self._hat.log_det]

    def _sets(self) -> list[Ellipsoid]:
        radius = self.radii(self.counts.total + 1)[0]
        return [Ellipsoid(self._hat.sigma, self._hat.estimate(), radius)]

    def _learn(self, pair: int, next_state: int) -> None:
        V = self._optimist.V
        weight = 1.0 / self.variance(pair, self.counts.total)  # counted already
        self._hat.add(pair, V, float(V[next_state]), weight)
        self._tilde.add(pair, np.square(V), float(V[next_state]) ** 2)
