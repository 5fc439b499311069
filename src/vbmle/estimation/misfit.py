"""Does any theta fit? An alarm that may be looked at after every step.

If theta* of P is true, the probability that a predictor gave to the path, divided by L_t(theta*), is a martingale of
mean 1 for every predictor that knows the past only, whatever the actions depend on. The predictor here is the rule
of Krichevsky and Trofimov for every pair (s, a), p(s') = (n(s') + 1/2) / (n + k/2), which can learn any table. As
L_t(theta*) is at most the supremum over P,

    E_all = prod over pairs KT_pair / sup over P of L_t(theta),       E_pair = KT_pair / sup over P of L_t,pair(theta)

are e-processes, all pairs together and each of them alone, and so is the mean of E_all and of the average of E_pair.
By Ville's inequality it ever reaches 1/delta with probability at most delta. E_all has the power where many pairs
are a little off, E_pair where a single one is: it pays for learning one pair, and log(2 S A) for not knowing which.

`evidence` is the logarithm of that mean, rounded down: suprema are bounded from above by the solver's gap.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vbmle.common import showing
from vbmle.common.keeper import Rows, Shown
from vbmle.common.validation import Floats, Ints, fraction
from vbmle.estimation.counts import TransitionCounts
from vbmle.estimation.likelihood_set import log_by_pair, most_likely

PAIRS_SHOWN = 5
"""How many pairs are named, at most."""


@dataclass(frozen=True, eq=False)
class MisfitPair:
    """One pair (s, a), and how well the most likely theta explains it.

    Attributes
    ----------
    state : int
        s.
    action : int
        a.
    evidence : float
        The logarithm of the probability that a table learnt here gave to the observations, relative to the most likely
        theta.
    visits : float
        How often the pair was observed.
    successors : (m,) integer array
        The next states.
    expected : (m,) array
        How often each should have followed.
    observed : (m,) array
        How often it did.
    name : str
        The pair in words, with the names of state and action where the model has them.

    Examples
    --------
    >>> import vbmle
    >>> counts = vbmle.TransitionCounts(vbmle.worlds.riverswim(features="mixture").mdp)
    >>> _ = counts.add(0, 1, 0, times=50)  # known to happen with probability 0.4
    >>> pair = vbmle.theory.misfit(counts).where[0]
    >>> pair.state, pair.action, pair.expected.round(6).tolist(), pair.observed.tolist()
    (0, 1, [20.0, 30.0], [50.0, 0.0])
    """

    state: int
    action: int
    evidence: float
    visits: float
    successors: Ints
    expected: Floats
    observed: Floats
    name: str = ""


@dataclass(frozen=True, eq=False, repr=False)
class Misfit(Shown):
    """Whether the data speak against every theta at once, as `misfit` returns it.

    Attributes
    ----------
    alarm : bool
        Whether `evidence` has reached `threshold` = log(1/delta). If some feasible theta is true, that ever happens
        with probability at most delta, however often you look.
    evidence : float
        The logarithm of an e-process; above 0 the data speak against the model, infinite where something was seen that
        no theta allows.
    threshold : float
        log(1/delta).
    where : tuple of MisfitPair
        The pairs that speak loudest against the model, the loudest first.
    theta : (d,) array
        The most likely theta, which `where` compares with.
    delta : float
        The probability with which there may ever be a false alarm.

    Examples
    --------
    >>> import vbmle
    >>> counts = vbmle.TransitionCounts(vbmle.worlds.riverswim(features="mixture").mdp)
    >>> found = vbmle.theory.misfit(counts)
    >>> found.alarm, found.where, round(found.threshold, 3)
    (False, (), 2.996)
    """

    alarm: bool
    evidence: float
    threshold: float
    where: tuple[MisfitPair, ...]
    theta: Floats
    delta: float

    def _shown(self) -> Rows:
        told = f"{showing.number(self.evidence)} of {showing.number(self.threshold)}"
        where = [
            (
                "where",
                showing.some(
                    f"{pair.name or (pair.state, pair.action)} {pair.evidence:.3g}" for pair in self.where
                ),
            )
        ]
        verdict = "no theta fits" if self.alarm else "nothing against the model"
        return [("alarm", verdict), ("evidence", told), *(where if self.where else [])]


def misfit(counts: TransitionCounts, delta: float = 0.05) -> Misfit:
    """Whether any theta fits what was counted, at confidence 1 - delta at all times at once.

    Parameters
    ----------
    counts : TransitionCounts
        What was observed.
    delta : float, default 0.05
        The probability with which there may ever be a false alarm, in (0, 1).

    Raises
    ------
    ValueError
        If a setting is out of range; the message names it and what it needs.

    Examples
    --------
    >>> import vbmle
    >>> mdp = vbmle.worlds.riverswim(features="mixture").mdp
    >>> counts = vbmle.TransitionCounts(mdp)
    >>> _ = counts.add(1, 1, 2, times=100)  # from state 1 always forward, from state 2 always back:
    >>> _ = counts.add(2, 1, 1, times=100)  # no theta has both
    >>> vbmle.theory.misfit(counts).alarm
    True
    """
    threshold = -float(np.log(fraction("delta", delta)))
    mdp, starts = counts.mdp, counts.mdp.transitions.indptr[:-1]
    solver, _ = most_likely(counts)
    p = mdp.transitions.probabilities(solver.theta)
    with np.errstate(divide="ignore"):
        log_p = np.where(counts.values > 0.0, np.log(np.maximum(p, 0.0)), 0.0)
    table = log_by_pair(counts)
    by_pair = table - np.add.reduceat(counts.values * log_p, starts)
    together = float(table.sum()) - (solver.objective + max(solver.gap, 0.0))
    single = _single_pairs(counts, table, by_pair)
    evidence = np.inf if counts.skipped else float(np.logaddexp(together, single) - np.log(2.0))
    for state, action, _ in counts.skipped:
        by_pair[state * mdp.num_actions + action] = np.inf
    loudest = np.argsort(-by_pair, kind="stable")[:PAIRS_SHOWN]
    where = tuple(
        _pair(counts, int(pair), float(by_pair[pair]), p) for pair in loudest if by_pair[pair] > 0.0
    )
    return Misfit(evidence >= threshold, evidence, threshold, where, solver.theta.copy(), float(delta))


def _single_pairs(counts: TransitionCounts, table: Floats, by_pair: Floats) -> float:
    """log of the average of E_pair, from below.

    The supremum is at least what the most likely theta gives, so a pair where that is more than the table gives
    cannot help: it counts as 0 and is not solved for.
    """
    promising = np.nonzero(by_pair > 0.0)[0]
    found = np.full(len(by_pair), -np.inf)
    alone = TransitionCounts(counts.mdp)
    begin = counts.mdp.transitions.indptr
    for pair in promising:
        values = np.zeros_like(counts.values)
        values[begin[pair] : begin[pair + 1]] = counts.values[begin[pair] : begin[pair + 1]]
        alone.load_values(values, np.nonzero(values)[0])
        solver, _ = most_likely(alone)
        found[pair] = table[pair] - solver.objective - max(solver.gap, 0.0)
    top = float(found.max())
    return top + float(np.log(np.exp(found - top).mean())) if top > -np.inf else -np.inf


def _pair(counts: TransitionCounts, pair: int, evidence: float, p: Floats) -> MisfitPair:
    transitions = counts.mdp.transitions
    state, action = divmod(pair, transitions.num_actions)
    here = slice(int(transitions.indptr[pair]), int(transitions.indptr[pair + 1]))
    odd = {to: times for (s, a, to), times in counts.skipped.items() if (s, a) == (state, action)}
    known = ~np.isin(transitions.successor[here], list(odd))
    to = np.concatenate([transitions.successor[here][known], np.array(list(odd), np.int64)])
    seen = np.concatenate([counts.values[here][known], np.array(list(odd.values()), np.float64)])
    expected = seen.sum() * np.concatenate([p[here][known], np.zeros(len(odd))])
    name = counts.mdp.names.pair(state, action)
    return MisfitPair(state, action, evidence, float(seen.sum()), to, expected, seen, name)
