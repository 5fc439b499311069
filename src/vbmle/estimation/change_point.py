"""Has theta changed? A test that may be looked at after every step, and that makes an agent start over on an alarm.

Fix thetas theta_1 .. theta_N of P before the first step, and let B(i, j) = mean over n of L_ij(theta_n) be what the
mixture of them gives to the transitions i .. j-1. For every k, B(0, k) B(k, t) is the probability that a predictor
gives to the path which forgets all at step k, so that with weights w_k that sum to at most 1

    E_t = sum over k of w_k B(0, k) B(k, t) / sup over P of L_0t(theta)

is at most a martingale of mean 1 if one theta of P has governed all steps: by Ville's inequality it ever reaches
1/delta with probability at most delta. After a change at k it grows as fast as two thetas explain the path better than
one, less log N for each of them and -log w_k for not knowing k. The weights are 1/(m (m+1)) for the m-th block of
`BLOCK` steps; of the splits so far at most `SPLITS` are kept, which makes E_t smaller and is allowed.

Where theta is one of the candidates, these are the thetas; else they are draws from P, which serve mixtures of a few
models well, and tables with a parameter for every transition badly: there the test is valid and has little power.
"""

from __future__ import annotations

from collections import deque

import numpy as np

from vbmle.common.files import Snapshot
from vbmle.common.validation import Floats, Ints
from vbmle.estimation.counts import TransitionCounts
from vbmle.model.mdp import LinearMixtureMDP

FALSE_ALARM = 0.05
"""The probability of an alarm, ever, while one theta governs all steps."""

DRAWS = 100
BLOCK = 10
SPLITS = 64
RECENT = 1000
"""Transitions that are kept, so that a new start has those since the change."""

THINNING = 30
NEARNESS_TO_BASE = 0.9
"""How near to a base model a theta is put for each of them, between it and the interior point."""


def fixed_thetas(mdp: LinearMixtureMDP) -> Floats:
    """The thetas that the test compares, (N, d): the same each time."""
    from vbmle.core.sampling import Sampler

    if mdp.domain == "vertices":
        return np.eye(mdp.dimension)
    chain, rng = Sampler(mdp.core), np.random.default_rng(0)
    nothing = np.zeros(mdp.transitions.count)
    found = [chain.sample(nothing, THINNING, rng).copy() for _ in range(DRAWS)]
    if mdp.domain == "simplex" and mdp.p_min == 0.0:
        found += list(
            NEARNESS_TO_BASE * np.eye(mdp.dimension) + (1.0 - NEARNESS_TO_BASE) * mdp.polytope.interior
        )
    return np.array(found)


class ChangePoint:
    """The test for one agent. `seen` takes transitions by index, and says when there is an alarm."""

    def __init__(self, mdp: LinearMixtureMDP, delta: float = FALSE_ALARM) -> None:
        p = np.column_stack([mdp.transitions.probabilities(theta) for theta in fixed_thetas(mdp)])
        with np.errstate(divide="ignore"):
            self._log_p: Floats = np.ascontiguousarray(np.log(np.maximum(p, 0.0)))
        self._counts, self._threshold = TransitionCounts(mdp), -float(np.log(delta))
        self.steps = 0
        """All transitions seen, since the agent was made."""
        self.restarts: list[int] = []
        """After how many transitions there was an alarm."""
        self._recent: deque[int] = deque(maxlen=RECENT)
        self._begin()

    def _begin(self) -> None:
        """Forget all but what `steps`, `restarts` and the recent transitions say."""
        self._values: Floats = np.zeros(len(self._log_p))
        self._since: Floats = np.zeros((1, self._log_p.shape[1]))  # log L of each theta, after each split
        self._head: Floats = np.full(1, -np.inf)  # log w_k B(0, k); the first row is the start, no split
        self._at: Ints = np.zeros(1, dtype=np.int64)
        self._age, self._spacing = 0, BLOCK

    def seen(self, transition: int) -> bool:
        """Take in one transition; whether theta has changed, judged at the end of each block."""
        self._since += self._log_p[transition]
        self._values[transition] += 1.0
        self._recent.append(transition)
        self.steps += 1
        self._age += 1
        if self._age % BLOCK:
            return False
        alarm = self.evidence(at_least=self._threshold) >= self._threshold
        if not alarm and self._age % self._spacing == 0:
            self._split()
        return alarm

    def seen_many(self, transitions: Ints) -> tuple[int, bool]:
        """Take in transitions until there is an alarm: how many were taken, and whether there was one."""
        for i, transition in enumerate(transitions.tolist()):
            if self.seen(transition):
                return i + 1, True
        return len(transitions), False

    def evidence(self, at_least: float = -np.inf) -> float:
        """log E_t, from below; an upper bound of it where even that is below `at_least`."""
        if len(self._head) == 1:
            return -np.inf
        terms = self._head[1:] + _log_mean(self._since[1:])
        top = float(terms.max())
        total = top + float(np.log(np.exp(terms - top).sum())) if top > -np.inf else -np.inf
        optimistic = total - float(self._since[0].max())
        if optimistic < at_least or not np.isfinite(total):
            return optimistic if np.isfinite(total) else -np.inf
        self._counts.load_values(self._values, np.nonzero(self._values)[0])
        from vbmle.estimation.likelihood_set import most_likely

        solver, _ = most_likely(self._counts)
        return total - solver.objective - max(solver.gap, 0.0)

    def _split(self) -> None:
        """From here on, too, there is a predictor that has forgotten all before."""
        if len(self._head) == SPLITS:
            self._spacing *= 2
            keep = (self._at % self._spacing == 0) | (np.arange(SPLITS) == 0)
            self._since, self._head, self._at = self._since[keep], self._head[keep], self._at[keep]
            if self._age % self._spacing:
                return
        m = self._age / BLOCK
        head = float(_log_mean(self._since[:1])[0]) - float(np.log(m * (m + 1.0)))
        self._since = np.vstack([self._since, np.zeros_like(self._since[:1])])
        self._head, self._at = np.append(self._head, head), np.append(self._at, self._age)

    def restart(self) -> Ints:
        """Note an alarm and begin anew; the transitions since the most likely change, as far as they were kept."""
        terms = self._head[1:] + _log_mean(self._since[1:])
        since = self._age - int(self._at[1:][int(terms.argmax())])
        self.restarts.append(self.steps)
        kept = np.array(self._recent, dtype=np.int64)[-since:]
        self._begin()
        return kept

    def snapshot(self) -> Snapshot:
        """What `restore` continues from."""
        return {
            "numbers": np.array([self.steps, self._age, self._spacing], dtype=np.int64),
            "restarts": np.array(self.restarts, dtype=np.int64),
            "recent": np.array(self._recent, dtype=np.int64),
            "values": self._values.copy(),
            "since": self._since.copy(),
            "head": self._head.copy(),
            "at": self._at.copy(),
        }

    def restore(self, snapshot: Snapshot) -> None:
        """Continue from a snapshot."""
        rows, size = len(snapshot["head"]), len(self._values)
        shapes = {"values": (size,), "since": (rows, self._log_p.shape[1]), "at": (rows,), "numbers": (3,)}
        for name, shape in shapes.items():
            if snapshot[name].shape != shape:
                raise ValueError(f"{name} has shape {snapshot[name].shape}; it needs {shape}")
        recent = snapshot["recent"].astype(np.int64)
        if rows < 1 or (len(recent) and not (recent.min() >= 0 and recent.max() < size)):
            raise ValueError("recent holds what is no transition")
        self.steps, self._age, self._spacing = (int(number) for number in snapshot["numbers"])
        self.restarts = [int(step) for step in snapshot["restarts"]]
        self._recent = deque(recent.tolist(), maxlen=RECENT)
        self._values, self._since = snapshot["values"].copy(), snapshot["since"].copy()
        self._head, self._at = snapshot["head"].copy(), snapshot["at"].astype(np.int64)


def _log_mean(rows: Floats) -> Floats:
    """log of the mean of exp over each row."""
    top = rows.max(axis=1)
    safe = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(safe + np.log(np.exp(rows - safe[:, None]).mean(axis=1)))
