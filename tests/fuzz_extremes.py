"""Extremes with an independent judge: counts of 1e12, gamma of .99999, rewards of 1e-12 and 1e12, probabilities of
1e-300, base models 1e-9 apart, d = 1, S = 1, A = 1, a feasible set that is a point.

`python tests/fuzz_extremes.py 10000` judges that many models, in all cores; the test suite judges a few dozen. Model k
is the same in every run: `python tests/fuzz_extremes.py --only k` judges it again. Plans are judged in rational
numbers, which do not round: the floats that the model was told are rationals, every policy is tried, and its value is
solved for by elimination. Solves are judged by `fuzz.judge`.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from typing import Any

import mpmath
import numpy as np
from crowd import limited, spread
from fuzz import CALLS_PER_MODEL, Tally, judge

import vbmle
from vbmle.estimation.counts import TransitionCounts
from vbmle.model.mdp import LinearMixtureMDP

mpmath.mp.dps = 50
DISCOUNTS = (0.01, 0.9, 0.999, 0.99999)
SCALES = (1.0, 1e-12, 1e12)
TINY = (1e-300, 1e-13, 9e-13, 1e-11, 1e-6)
APART = 1e-9
CHUNK = 10  # models that a process judges at a time


@dataclass(frozen=True)
class Extreme:
    """A model, and what it was told."""

    mdp: LinearMixtureMDP
    models: list[np.ndarray]
    reward: np.ndarray
    told: str


def mixture(models: list[np.ndarray], *known: Any, **settings: Any) -> LinearMixtureMDP:
    """A mixture, without the warning that its models are nearly equal."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return LinearMixtureMDP.from_models(models, *known, **settings)


def draw(rng: np.random.Generator) -> Extreme:
    """A small model that is extreme in a few ways at once."""
    states, actions, d = (int(n) for n in rng.integers(1, [4, 3, 4]))
    gamma, scale = float(rng.choice(DISCOUNTS)), float(rng.choice(SCALES))
    models = [
        rng.dirichlet(np.full(states, rng.choice([0.1, 1.0])), size=(states, actions)) for _ in range(d)
    ]
    way = ("plain", "tiny", "apart", "point")[int(rng.integers(4))]
    if way == "tiny" and states > 1:
        for model in models:
            model[...] = with_tiny(model, float(rng.choice(TINY)))
    if way == "apart":
        models = [models[0]] + [(1.0 - APART) * models[0] + APART * model for model in models[1:]]
    if way == "point":
        models = models[:1] * d
    models = [exact_rows(model) for model in models]
    domain = "polytope" if way == "point" and d == 1 else str(rng.choice(["simplex", "polytope"]))
    reward = scale * rng.random((states, actions))
    mdp = mixture(models, reward, gamma, domain=domain, normalise_reward=scale > 1.0)
    return Extreme(mdp, models, reward, f"{way}, gamma {gamma}, rewards of {scale:g}, {domain}, {mdp!r}")


def with_tiny(model: np.ndarray, p: float) -> np.ndarray:
    """Every row's last entry p, the first all that is left over."""
    out = model.copy()
    out[..., -1], out[..., 0] = p, 1.0 + model[..., 0]
    return out


def exact_rows(model: np.ndarray) -> np.ndarray:
    """Rows that sum to 1 as closely as floats can: what is missing goes to the largest entry."""
    out = model / model.sum(axis=-1, keepdims=True)
    for row in out.reshape(-1, out.shape[-1]):
        k = int(row.argmax())
        row[k] = float(1 - sum(Fraction(float(p)) for i, p in enumerate(row) if i != k))
    return out


def values(P: list[list[Fraction]], reward: list[Fraction], gamma: Fraction) -> list[Fraction]:
    """V of one policy: (I - gamma P) V = reward, by elimination."""
    n = len(reward)
    rows = [[Fraction(int(i == j)) - gamma * P[i][j] for j in range(n)] + [reward[i]] for i in range(n)]
    for k in range(n):
        pivot = max(range(k, n), key=lambda i: abs(rows[i][k]))
        rows[k], rows[pivot] = rows[pivot], rows[k]
        for i in range(n):
            if i != k and rows[i][k]:
                factor = rows[i][k] / rows[k][k]
                rows[i] = [a - factor * b for a, b in zip(rows[i], rows[k], strict=True)]
    return [rows[i][n] / rows[i][i] for i in range(n)]


def best_values(extreme: Extreme, theta: np.ndarray) -> list[Fraction]:
    """V* of what the model was told, rewards mapped as it maps them, without any rounding."""
    mdp, weights = extreme.mdp, [Fraction(float(w)) for w in theta]
    low, scale = Fraction(mdp.reward_offset), Fraction(mdp.reward_scale)
    states, actions = range(mdp.num_states), range(mdp.num_actions)
    told = [model.tolist() for model in extreme.models]
    P = [
        [
            [
                sum((w * Fraction(m[s][a][to]) for w, m in zip(weights, told, strict=True)), Fraction())
                for to in states
            ]
            for a in actions
        ]
        for s in states
    ]
    r = [[(Fraction(float(extreme.reward[s, a])) - low) / scale for a in actions] for s in states]
    found = [
        values([P[s][a] for s, a in enumerate(policy)], [r[s][a] for s, a in enumerate(policy)], gamma)
        for gamma in [Fraction(mdp.discount)]
        for policy in product(actions, repeat=mdp.num_states)
    ]
    return [max(V[s] for V in found) for s in states]


def some_theta(mdp: LinearMixtureMDP, rng: np.random.Generator) -> np.ndarray:
    """A feasible theta whose weights sum to 1 as closely as floats can."""
    theta = rng.dirichlet(np.ones(mdp.dimension))
    theta[0] = float(1 - sum(Fraction(float(w)) for w in theta[1:]))
    return theta


@dataclass
class Found:
    """How the models fared."""

    models: int = 0
    plans: int = 0
    unconverged: int = 0
    tightest: float = 0.0  # the largest share of a bound that an error took up
    solves: Tally = field(default_factory=Tally)
    largest_count: int = 0
    gaps: int = 0
    broken: list[str] = field(default_factory=list)

    def add(self, other: Found) -> None:
        """Count these too."""
        self.models += other.models
        self.plans += other.plans
        self.unconverged += other.unconverged
        self.tightest = max(self.tightest, other.tightest)
        self.solves.add(other.solves)
        self.largest_count = max(self.largest_count, other.largest_count)
        self.gaps += other.gaps
        self.broken += other.broken

    def __str__(self) -> str:
        plans = f"{self.plans} plans, {self.unconverged} of them not to the tolerance"
        gaps = f"{self.gaps} gaps that hold, counts up to {self.largest_count:.3g}"
        return f"{self.models} models, {plans}, {self.solves.calls} solves, {gaps}, {len(self.broken)} broken"


def judge_plan(extreme: Extreme, theta: np.ndarray, found: Found) -> None:
    """The error of a plan is within its bound."""
    plan = vbmle.plan(extreme.mdp, theta)
    assert np.isfinite(plan.V).all(), "V is not finite"
    exact = best_values(extreme, theta)
    error = max(abs(Fraction(float(v)) - w) for v, w in zip(plan.V, exact, strict=True))
    assert error <= Fraction(plan.error_bound), (
        f"V is off by {float(error):.3g}, bound {plan.error_bound:.3g}"
    )
    found.plans += 1
    found.unconverged += not plan.converged
    if plan.error_bound > 0.0:
        found.tightest = max(found.tightest, float(error) / plan.error_bound)


def extreme_counts(mdp: LinearMixtureMDP, rng: np.random.Generator) -> TransitionCounts:
    """Up to 1e12 of a few transitions."""
    counts = TransitionCounts(mdp)
    possible = np.nonzero(mdp.transitions.probabilities(mdp.polytope.interior) > 1e-9)[0]
    for i in rng.choice(possible, size=int(rng.integers(0, len(possible) + 1)), replace=False):
        state, action = divmod(int(mdp.transitions.pair_of[i]), mdp.num_actions)
        counts.add(state, action, int(mdp.transitions.successor[i]), int(10 ** rng.uniform(0, 12)))
    return counts


def highest(extreme: Extreme, counts: TransitionCounts, ridge: float) -> Any:
    """The largest ridged log-likelihood of two base models, in 50 digits: it is concave in the weight of the second."""
    mdp, rows = extreme.mdp, extreme.mdp.transitions
    tables = [model.reshape(-1, mdp.num_states) for model in extreme.models]
    first, second = (table[rows.pair_of, rows.successor].tolist() for table in tables)
    ends = [(mpmath.mpf(p), mpmath.mpf(q) - mpmath.mpf(p)) for p, q in zip(first, second, strict=True)]
    low = max([-p / slope for p, slope in ends if slope > 0], default=mpmath.mpf(0))
    high = min([-p / slope for p, slope in ends if slope < 0], default=mpmath.mpf(1))
    if mdp.domain == "simplex":
        low, high = max(low, mpmath.mpf(0)), min(high, mpmath.mpf(1))
    seen = [(int(n), *end) for n, end in zip(counts.values.tolist(), ends, strict=True) if n > 0]

    def slope_at(x: Any) -> Any:
        return sum(n * slope / (p + x * slope) for n, p, slope in seen) - ridge * (2 * x - 1)

    def height(x: Any) -> Any:
        return sum(n * mpmath.log(p + x * slope) for n, p, slope in seen) - ridge / 2 * (x**2 + (1 - x) ** 2)

    a, b = low, high
    for _ in range(200):
        middle = (a + b) / 2
        a, b = (middle, b) if slope_at(middle) > 0 else (a, middle)
    return height((a + b) / 2)


def judge_gap(extreme: Extreme, counts: TransitionCounts, found: Found) -> None:
    """The maximum of the likelihood is within the gap that is reported.

    Not where nothing can be chosen: models that differ by 1e-11 count as one (`vbmle.model.feasible_set`).
    """
    if len(extreme.models) != 2 or extreme.mdp.core.num_free == 0 or extreme.mdp.transitions.left_out:
        return
    est = vbmle.maximum_likelihood(extreme.mdp, counts, ridge=1.0)
    top = highest(extreme, counts, 1.0)
    p = np.maximum(extreme.mdp.transitions.probabilities(np.asarray(est.theta)), 1e-300)
    rounding = 1e-9 + 1e-14 * float(counts.values @ (1.0 + np.abs(np.log(p))))  # of the objective itself
    short = float(top - mpmath.mpf(est.objective))
    assert short <= est.gap + rounding, f"the maximum is {short:.3g} above, gap {est.gap:.3g}"
    found.gaps += 1


def judge_model(extreme: Extreme, rng: np.random.Generator, found: Found) -> None:
    """One model: a plan for some theta, a few solves, and the library's own theta, which it has to accept."""
    mdp = extreme.mdp
    judge_plan(extreme, some_theta(mdp, rng), found)
    for _ in range(CALLS_PER_MODEL // 5):
        counts = extreme_counts(mdp, rng)
        found.largest_count = max(found.largest_count, counts.total)
        judge(mdp, counts, rng, found.solves)
        judge_gap(extreme, counts, found)
        vbmle.plan(mdp, vbmle.maximum_likelihood(mdp, counts).theta)
    found.models += 1


def fuzz(models: range, seed: int) -> Found:
    """Some models, by their numbers, and what of each breaks a promise."""
    found = Found()
    for k in models:
        rng, case = np.random.default_rng([seed, k]), f"model {k} of seed {seed}"
        extreme = draw(rng)
        try:
            with limited(case):
                judge_model(extreme, rng, found)
        except Exception as error:
            found.broken.append(f"{case}, {extreme.told}: {error!r}")
    return found


def some(task: tuple[range, int]) -> Found:
    return fuzz(*task)


def main(models: int, seed: int, processes: int | None) -> Found:
    """So many models; what breaks a promise is printed at once."""
    tasks = [(range(k, min(models, k + CHUNK)), seed) for k in range(0, models, CHUNK)]
    total = Found()
    for found in spread(some, tasks, "extremes", processes):
        total.add(found)
        for line in found.broken:
            print(line[:400], flush=True)
    return total


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", type=int, nargs="?", default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, help="processes; by default all cores")
    parser.add_argument("--only", type=int, help="the number of one model that is judged again")
    given = parser.parse_args()
    if given.only is None:
        result = main(given.models, given.seed, given.jobs)
    else:
        result = fuzz(range(given.only, given.only + 1), given.seed)
        print(*result.broken, sep="\n")
    print(result)
    sys.exit(bool(result.broken))
