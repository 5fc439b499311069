"""The quantities of the analysis along a run, each beside its bound, with the paper's definitions.

    l_t(theta)  = sum_{i<t} log p(s_{i+1}|s_i,a_i; theta) - lambda/2 |theta|^2      (11), the ridge subtracted
    theta_MLE_t = argmax over P of l_t                                              (12); theta_MLE_0 = theta_MLE_1
    A_t         = sum_{i<t} phi phi' + lambda I                                     (13)
    z_t         = l_t(theta_MLE_t) - l_t(theta_MLE_{t-1})                           (17)
    Delta_t     = sum_{i<=t} z_i                                                    (21)
    X_t         = l_t(theta_MLE_{t-1}) - l_t(theta*) - sum_{i<t} z_i                (16), the sum subtracted
    ratio_t     = L_t(theta_MLE_{t-1}) prod_{i<t} exp(-z_i), divided by its first   Lemma 4, (19)

One warm-started solve a step, so a run of 2,500 steps takes seconds. All arrays start at t = 1, where nothing has been
seen, and end at t = T.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vbmle.common.keeper import Rows, Shown
from vbmle.common.showing import number
from vbmle.common.validation import Floats, Ints
from vbmle.estimation.counts import TransitionCounts
from vbmle.estimation.information import Information
from vbmle.estimation.maximiser import Solver, make_objective
from vbmle.model.mdp import LinearMixtureMDP
from vbmle.model.world import World
from vbmle.simulation import History
from vbmle.theory import bounds
from vbmle.theory.bounds import Constants


@dataclass(frozen=True, eq=False, repr=False)
class Trace(Shown):
    """The quantities of the analysis at t = 1..T, as `trace` returns them; a name in `_bound` bounds the one without.

    Attributes
    ----------
    known : Constants
        What the bounds depend on.
    t : (T,) integer array
        1..T.
    theta_mle : (T, d) array
        The most likely theta of each step.
    error : (T,) array
        |theta* - theta_MLE|^2 in A_t.
    error_bound : (T,) array
        beta_t.
    z : (T,) array
        What the newest maximiser gains on the last.
    Delta : (T,) array
        The sum of z so far.
    Delta_bound : (T,) array
        The bound (22).
    X : (T,) array
        The martingale (16).
    X_bound : (T,) array
        X_1 + sqrt(2 M_t log(1/delta)), by Azuma's inequality.
    log_ratio : (T,) array
        The logarithm of the likelihood-ratio martingale.
    log_ratio_bound : (T,) array
        log(1/delta), at all times by Ville's inequality.
    log_max_ratio : (T,) array
        The same for max_theta L_t(theta), a submartingale.
    slope : (T,) array
        `<grad l_t(theta_MLE), theta_MLE - theta*>`.
    slope_bound : (T,) array
        beta'_t.
    norms : (T,) array
        sum_{i<=t} |phi_i|^2 in A_i^{-1}.
    norms_bound : (T,) array
        The bound (15).
    regret : (T,) array
        Of the run.
    regret_bound : (T,) array
        The bound (78).
    features : (T, d) array
        phi(s_{t+1}|s_t,a_t).

    Examples
    --------
    >>> import vbmle
    >>> world = vbmle.worlds.riverswim(features="mixture")
    >>> found = vbmle.theory.trace(vbmle.simulate(vbmle.VBMLE(world.mdp), world, horizon=50))
    >>> found.A(1).tolist()  # the ridge alone, before anything was seen
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """

    known: Constants
    t: Ints
    theta_mle: Floats
    error: Floats
    error_bound: Floats
    z: Floats
    Delta: Floats
    Delta_bound: Floats
    X: Floats
    X_bound: Floats
    log_ratio: Floats
    log_ratio_bound: Floats
    log_max_ratio: Floats
    slope: Floats
    slope_bound: Floats
    norms: Floats
    norms_bound: Floats
    regret: Floats
    regret_bound: Floats
    features: Floats
    """phi(s_{t+1}|s_t,a_t), (T, d)."""

    def _shown(self) -> Rows:
        bounded = ("error", "Delta", "log_ratio", "slope", "norms", "regret")
        ends = {name: (getattr(self, name)[-1], getattr(self, f"{name}_bound")[-1]) for name in bounded}
        return [
            ("steps", str(len(self.t))),
            *((name, f"{number(value)} of at most {number(bound)}") for name, (value, bound) in ends.items()),
        ]

    def A(self, t: int) -> Floats:
        """A_t, (d, d)."""
        seen = self.features[: t - 1]
        return seen.T @ seen + self.known.ridge * np.eye(self.features.shape[1])

    def looseness(self) -> dict[str, float]:
        """By what factor each bound exceeds what it bounds at the end of the run."""
        names = ("error", "Delta", "slope", "norms", "regret")
        found = {name: (getattr(self, f"{name}_bound")[-1], getattr(self, name)[-1]) for name in names}
        return {
            name: float(bound / value) if value > 0.0 else np.inf for name, (bound, value) in found.items()
        }


def trace(history: History, world: World | None = None, ridge: float = 1.0, delta: float = 0.1) -> Trace:
    """Follow the analysis along a run of `simulate`.

    Parameters
    ----------
    history : History
        The run.
    world : World, optional
        Where it happened; by default the history's own.
    ridge : float, default 1.0
        lambda of the penalty, at least 0.
    delta : float, default 0.1
        The probability with which the bounds may fail, in (0, 1).

    Raises
    ------
    ValueError
        If neither the history nor you give a world, or a setting is out of range.

    Examples
    --------
    >>> import vbmle
    >>> world = vbmle.worlds.riverswim(features="mixture")
    >>> found = vbmle.theory.trace(vbmle.simulate(vbmle.VBMLE(world.mdp), world, horizon=50))
    >>> bool((found.norms <= found.norms_bound).all())
    True
    """
    world = world if world is not None else history.world
    if world is None:
        raise ValueError("the history does not know its world; give it: trace(history, world)")
    known = bounds.constants(world.mdp, ridge, delta)
    path = _path(world.mdp, history)
    followed = _follow(world, path, known.ridge)
    theta, best, before, truth = followed["theta"], followed["best"], followed["before"], followed["truth"]
    # l_t(theta_MLE_{t-1}) is l_{t-1}(theta_MLE_{t-1}) plus the newest term; nothing is new at t = 1.
    newest = np.concatenate([[0.0], before[:-1]])
    last = np.concatenate([best[:1], best[:-1]]) + newest
    z = best - last
    Delta = np.cumsum(z)
    true_newest = np.concatenate([[0.0], truth[:-1]])
    log_truth = np.cumsum(true_newest)
    size = 0.5 * known.ridge * float(world.theta @ world.theta)
    X = last - (log_truth - size) - np.concatenate([[0.0], Delta[:-1]])
    spread = np.cumsum((newest - true_newest) ** 2)  # M_t of (61)
    t = np.arange(1, len(path) + 1)
    five = (known.d, known.ridge, known.p_min, known.L)
    return Trace(
        known=known,
        t=t,
        theta_mle=theta,
        error=followed["error"],
        error_bound=bounds.beta(t, *five, delta),
        z=z,
        Delta=Delta,
        Delta_bound=bounds.delta_bound(t, *five),
        X=X,
        X_bound=X[0] + np.sqrt(2.0 * spread * np.log(1.0 / delta)),
        log_ratio=np.cumsum(newest - true_newest),
        log_ratio_bound=np.full(len(t), np.log(1.0 / delta)),
        log_max_ratio=best - log_truth,
        slope=followed["slope"],
        slope_bound=bounds.beta_prime(t, *five, delta),
        norms=np.cumsum(_norms(world.mdp, path, known.ridge)),
        norms_bound=bounds.vector_norm_bound(t, known.d, known.ridge, known.L),
        regret=history.regret,
        regret_bound=bounds.regret_bound(t, known),
        features=_dense(world.mdp, path),
    )


def mle_error(counts: TransitionCounts, estimate: Floats, truth: Floats, ridge: float) -> float:
    """|truth - estimate|^2 in A_t = sum n phi phi' + ridge I, without the matrix: a sum over transitions."""
    off = truth - estimate
    return float(counts.values @ counts.mdp.transitions.probabilities(off) ** 2 + ridge * (off @ off))


def _path(mdp: LinearMixtureMDP, history: History) -> Ints:
    """The transitions of a run, by index."""
    steps = zip(history.states, history.actions, history.next_states, strict=True)
    return np.array([mdp.transitions.find(int(s), int(a), int(n)) for s, a, n in steps], dtype=np.int64)


def _follow(world: World, path: Ints, ridge: float) -> dict[str, Floats]:
    """By step: theta_MLE, l_t there, log p of what comes next under it and under theta*, the error, the slope."""
    mdp, count = world.mdp, len(path)
    counts, solver = TransitionCounts(mdp), Solver(mdp)
    found = {name: np.empty(count) for name in ("best", "before", "error", "slope")}
    found["theta"] = np.empty((count, mdp.dimension))
    true_p = mdp.transitions.probabilities(world.theta)
    pair_of, successor, actions = mdp.transitions.pair_of, mdp.transitions.successor, mdp.num_actions
    for k, i in enumerate(path):
        solver.climb(make_objective(counts, ridge))  # from where the last one ended
        theta, n = solver.theta, counts.values
        p = mdp.transitions.probabilities(theta)
        found["theta"][k], found["best"][k] = theta, solver.objective
        found["before"][k] = np.log(p[i]) if p[i] > 0.0 else -np.inf
        found["error"][k] = mle_error(counts, theta, world.theta, ridge)
        seen = n > 0.0
        off = n[seen] @ ((p[seen] - true_p[seen]) / p[seen])
        found["slope"][k] = off - ridge * (theta @ (theta - world.theta))
        counts.add(int(pair_of[i]) // actions, int(pair_of[i]) % actions, int(successor[i]))
    found["truth"] = np.log(true_p[path])
    return found


def _norms(mdp: LinearMixtureMDP, path: Ints, ridge: float) -> Floats:
    """|phi(s_{t+1}|s_t,a_t)|^2 in A_t^{-1}, by rank-one updates; infinite without a ridge."""
    if ridge == 0.0:
        return np.full(len(path), np.inf)
    return Information(mdp, ridge).follow(path)


def _dense(mdp: LinearMixtureMDP, path: Ints) -> Floats:
    found = mdp.transitions.phi[path]
    return np.asarray(found) if isinstance(found, np.ndarray) else np.asarray(found.toarray())
