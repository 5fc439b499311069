"""The paper's bounds as plain functions of its symbols.

    beta_t   = 37 d^2/p_min^2 G_t log(1/delta)              Theorem 1, (23) and (76)
    beta'_t  = 22 d^2/p_min^2 G_t max(1, log(1/delta))      (77)
    Delta_t <=  8 d^2/p_min^2 G_{t-1}                       Lemma 5, (22)
    sum |phi_i|^2 in A_i^{-1} <= 2 d G_T                    Lemma 1, (15)
    G_t      = log((d lambda + t L^2) / d)

and the regret of Theorem 2 in its detailed form, (78). What is printed is corrected where it slips, as the page of
departures lists; with p_min = 0 all but Lemma 1 are infinite. t may be an array.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from vbmle.common.validation import Floats, fraction, non_negative, one_of, positive
from vbmle.model.mdp import LinearMixtureMDP
from vbmle.model.transitions import row_norms

FORMS = ("corrected", "printed")


class Constants(NamedTuple):
    """What the bounds depend on besides t, with the symbols of the paper.

    Attributes
    ----------
    d : int
        The dimension of theta.
    ridge : float
        lambda of the penalty lambda/2 |theta|^2.
    p_min : float
        The smallest probability of a possible transition.
    L : float
        A bound on |phi(s'|s,a)|.
    delta : float
        The probability with which the bounds may fail.
    discount : float
        gamma.

    Examples
    --------
    >>> from vbmle import theory
    >>> known = theory.Constants(d=2, ridge=1.0, p_min=0.1, L=1.0, delta=0.1, discount=0.9)
    >>> known._replace(d=4).d
    4
    """

    d: int
    ridge: float
    p_min: float
    L: float
    delta: float
    discount: float


def constants(
    mdp: LinearMixtureMDP, ridge: float = 1.0, delta: float = 0.1, p_min: float | None = None
) -> Constants:
    """The constants of a model, for `regret_bound` and the others.

    Parameters
    ----------
    mdp : LinearMixtureMDP
        The model.
    ridge : float, default 1.0
        lambda of the penalty, at least 0.
    delta : float, default 0.1
        The probability with which the bounds may fail, in (0, 1).
    p_min : float, optional
        The smallest probability of a possible transition; by default the model's own.

    Raises
    ------
    ValueError
        If a setting is out of range; the message names it and what it needs.

    Examples
    --------
    >>> import vbmle
    >>> known = vbmle.theory.constants(vbmle.worlds.riverswim(features="mixture").mdp, p_min=0.05)
    >>> known.d, round(known.L, 4), known.p_min
    (3, 1.7321, 0.05)
    """
    longest = float(row_norms(mdp.transitions.phi).max())
    least = mdp.p_min if p_min is None else non_negative("p_min", p_min)
    known = (mdp.dimension, non_negative("ridge", ridge), least, longest, fraction("delta", delta))
    return Constants(*known, mdp.discount)


def log_growth(t: ArrayLike, d: int, ridge: float, L: float) -> Floats:
    """G_t; for lambda < 1, where the printed logarithm can be negative, log((d lambda + t L^2) / (d lambda))."""
    with np.errstate(divide="ignore"):
        return np.log((d * ridge + np.asarray(t, dtype=np.float64) * L**2) / (d * min(1.0, ridge)))


def beta(t: ArrayLike, d: int, ridge: float, p_min: float, L: float, delta: float) -> Floats:
    """beta_t of Theorem 1, (76): bounds |theta* - theta_MLE|^2 in A_t with probability 1 - delta at each t.

    Parameters
    ----------
    t : int or array
        The step.
    d : int
        The dimension of theta.
    ridge : float
        lambda of the penalty, at least 0.
    p_min : float
        The smallest probability of a possible transition; 0 makes the bound infinite.
    L : float
        A bound on |phi(s'|s,a)|.
    delta : float
        The probability with which the bound may fail.

    Examples
    --------
    >>> from vbmle import theory
    >>> round(float(theory.beta(t=100, d=2, ridge=1.0, p_min=0.1, L=1.0, delta=0.1)))
    133990
    """
    return _over_square(37.0 * d**2 * log_growth(t, d, ridge, L) * np.log(1.0 / delta), p_min)


def beta_prime(t: ArrayLike, d: int, ridge: float, p_min: float, L: float, delta: float) -> Floats:
    """beta'_t, (77): bounds `<grad l_t(theta_MLE), theta_MLE - theta*>` with probability 1 - delta at each t.

    Parameters
    ----------
    t : int or array
        The step.
    d : int
        The dimension of theta.
    ridge : float
        lambda of the penalty, at least 0.
    p_min : float
        The smallest probability of a possible transition; 0 makes the bound infinite.
    L : float
        A bound on |phi(s'|s,a)|.
    delta : float
        The probability with which the bound may fail.

    Examples
    --------
    >>> from vbmle import theory
    >>> round(float(theory.beta_prime(t=100, d=2, ridge=1.0, p_min=0.1, L=1.0, delta=0.1)))
    79670
    """
    return _over_square(22.0 * d**2 * log_growth(t, d, ridge, L) * max(1.0, np.log(1.0 / delta)), p_min)


def delta_bound(t: ArrayLike, d: int, ridge: float, p_min: float, L: float) -> Floats:
    """The bound (22) on Delta_t = sum_{i <= t} z_i.

    Parameters
    ----------
    t : int or array
        The step.
    d : int
        The dimension of theta.
    ridge : float
        lambda of the penalty, at least 0.
    p_min : float
        The smallest probability of a possible transition; 0 makes the bound infinite.
    L : float
        A bound on |phi(s'|s,a)|.

    Examples
    --------
    >>> from vbmle import theory
    >>> round(float(theory.delta_bound(t=100, d=2, ridge=1.0, p_min=0.1, L=1.0)))
    12550
    """
    before = np.asarray(t, dtype=np.float64) - 1.0
    wider = max(1.0, _norm_factor(ridge, L) / (4.0 * d))  # what Lemma 1 lacks for small lambda
    return _over_square(8.0 * d**2 * wider * log_growth(before, d, ridge, L), p_min)


def vector_norm_bound(T: ArrayLike, d: int, ridge: float, L: float) -> Floats:
    """The bound (15) on sum_{t <= T} |phi(s_{t+1}|s_t,a_t)|^2 in A_t^{-1}.

    Its factor 2 holds while L^2 is at most 2.51 lambda; beyond, x <= c/log(1+c) log(1+x) for x <= c = L^2/lambda gives
    the factor.

    Parameters
    ----------
    T : int or array
        The number of steps.
    d : int
        The dimension of theta.
    ridge : float
        lambda of the penalty, at least 0.
    L : float
        A bound on |phi(s'|s,a)|.

    Examples
    --------
    >>> from vbmle import theory
    >>> round(float(theory.vector_norm_bound(T=100, d=2, ridge=1.0, L=1.0)), 2)
    15.73
    """
    return _norm_factor(ridge, L) * d * log_growth(T, d, ridge, L)


def regret_terms(
    T: ArrayLike, known: Constants, bias_scale: float = 1.0, form: str = "corrected"
) -> dict[str, Floats]:
    """The terms of (78) by name, for alpha(t) = bias_scale sqrt(t), with delta = 1/T^2 in beta as in its proof.

    "likelihood" comes from (beta_T/2p^2 + beta'_T) sum 1/alpha, "noise" from Azuma's inequality for B_1, B_3 and
    B_4, "estimation" from |theta_MLE - theta*|, and "bias" from completing the square. If (94) is granted, the regret
    is below their sum with probability at least 1 - 1/T - 3 delta.

    Parameters
    ----------
    T : int or array
        The number of steps.
    known : Constants
        Of the model, with p_min above 0.
    bias_scale : float, default 1.0
        Of alpha(t) = bias_scale sqrt(t).
    form : {"corrected", "printed"}, default "corrected"
        Whether the slips of the printed bound are corrected (see "Departures from the paper").

    Raises
    ------
    ValueError
        If a setting is out of range; the message names it and what it needs.

    Examples
    --------
    >>> from vbmle import theory
    >>> known = theory.Constants(d=2, ridge=1.0, p_min=0.1, L=1.0, delta=0.1, discount=0.9)
    >>> terms = theory.regret_terms(1e6, known)
    >>> max(terms, key=terms.get)
    'likelihood'
    """
    one_of("form", form, FORMS)
    T = np.asarray(T, dtype=np.float64)
    d, ridge, p_min, L, delta, gamma = known
    p, H = positive("p_min", p_min), 1.0 / (1.0 - gamma)
    plain = beta(T, d, ridge, p_min, L, np.exp(-1.0)) * 2.0 * np.log(T)  # log(1/delta) = 2 log T
    slope = beta_prime(T, d, ridge, p_min, L, np.exp(-1.0)) * np.maximum(1.0, 2.0 * np.log(T))
    norms = vector_norm_bound(T, d, ridge, L)
    noise = np.sqrt(T * np.log(1.0 / delta))
    alpha = positive("bias_scale", bias_scale) * np.sqrt(T)
    terms = {
        "likelihood": (plain / 2.0 / p / p + slope) * 2.0 * np.sqrt(T) / bias_scale,
        "estimation": np.sqrt(plain) * gamma / p * H**2 * (1.0 + np.sqrt(T * norms)),
    }
    if form == "printed":
        terms["noise"] = (4.0 * gamma * H + 2.0 * gamma / p * H**2) * noise
        terms["bias"] = alpha * H * norms
    else:
        terms["noise"] = (4.0 + 2.0 / p) * gamma * H**2 * noise + 2.0 * gamma * H**2
        terms["bias"] = 0.5 * alpha * norms * (gamma * H**2 / p) ** 2
    return terms


def regret_bound(T: ArrayLike, known: Constants, bias_scale: float = 1.0, form: str = "corrected") -> Floats:
    """The bound of Theorem 2 on R(T) in its detailed form, (78), stated to hold with probability 1 - 1/T - 3 delta.

    The proof has a gap from (93) to (94), which this grants (see "Departures from the paper").

    Parameters
    ----------
    T : int or array
        The number of steps.
    known : Constants
        Of the model; p_min = 0 makes the bound infinite.
    bias_scale : float, default 1.0
        Of alpha(t) = bias_scale sqrt(t).
    form : {"corrected", "printed"}, default "corrected"
        Whether the slips of the printed bound are corrected (see "Departures from the paper").

    Raises
    ------
    ValueError
        If a setting is out of range; the message names it and what it needs.

    Examples
    --------
    >>> from vbmle import theory
    >>> known = theory.Constants(d=2, ridge=1.0, p_min=0.1, L=1.0, delta=0.1, discount=0.9)
    >>> f"{theory.regret_bound(1e6, known):.1e}"
    '5.8e+11'
    """
    if known.p_min == 0.0:
        return np.full_like(np.asarray(T, dtype=np.float64), np.inf)
    return np.asarray(sum(regret_terms(T, known, bias_scale, form).values()))


def regret_order(T: ArrayLike, d: int, discount: float) -> Floats:
    """d sqrt(T) log T / (1-gamma)^2, the order of the regret by Theorem 2, (24).

    Parameters
    ----------
    T : int or array
        The number of steps.
    d : int
        The dimension of theta.
    discount : float
        gamma, strictly between 0 and 1.

    Examples
    --------
    >>> from vbmle import theory
    >>> round(float(theory.regret_order(T=10_000, d=2, discount=0.9)))
    184207
    """
    steps = np.asarray(T, dtype=np.float64)
    return d * np.sqrt(steps) * np.log(steps) / (1.0 - discount) ** 2


def steps_needed(target: float, known: Constants, bias_scale: float = 1.0) -> float:
    """The smallest T from which on the bound on R(T)/T, the regret per step, is at most `target`; inf if none.

    Parameters
    ----------
    target : float
        The regret per step, above 0; the reward lies in [0, 1].
    known : Constants
        Of the model, with p_min above 0.
    bias_scale : float, default 1.0
        Of alpha(t) = bias_scale sqrt(t).

    Raises
    ------
    ValueError
        If a setting is out of range; the message names it and what it needs.

    Examples
    --------
    >>> from vbmle import theory
    >>> known = theory.Constants(d=2, ridge=1.0, p_min=0.1, L=1.0, delta=0.1, discount=0.9)
    >>> f"{theory.steps_needed(1.0, known):.1e}"  # what is proved is far from what is seen
    '3.8e+19'
    """
    positive("target", target)

    def enough(T: float) -> bool:
        return float(regret_bound(T, known, bias_scale)) <= target * T

    # R(T)/T falls with T once T > e^4, where log(T)^2/sqrt(T) does.
    low, high = np.exp(4.0), np.exp(4.0)
    while not enough(high):
        low, high = high, 2.0 * high
        if high > 1e150:
            return np.inf
    while high - low > max(0.5, 1e-12 * high):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return float(np.ceil(high))


def _over_square(value: Floats, p_min: float) -> Floats:
    """value / p_min^2, infinite where p_min is 0."""
    return np.full_like(value, np.inf) if p_min == 0.0 else value / p_min**2


def _norm_factor(ridge: float, L: float) -> float:
    if ridge == 0.0:
        return np.inf
    c = L**2 / ridge
    return max(2.0, float(c / np.log1p(c)))
