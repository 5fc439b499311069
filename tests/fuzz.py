"""Random and nasty problems for the value-biased maximiser, and an independent judge of its answers.

`python tests/fuzz.py 100000` makes that many calls, in all cores; the test suite makes a few thousand. Model k is the
same in every run: `python tests/fuzz.py --only k` makes its calls again.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from dataclasses import dataclass, field

import numpy as np
from crowd import limited, spread
from problems import dense, optimality

import vbmle
from vbmle.estimation.counts import TransitionCounts
from vbmle.model.mdp import LinearMixtureMDP

PROMISED = 1e-7  # relative KKT residual of an answer that calls itself converged
JUDGED = 10 * PROMISED  # the judge scales rows and multipliers its own way
INSIDE = 1e-9
CALLS_PER_MODEL = 25
CHUNK = 20  # models that a process makes at a time


@dataclass
class Tally:
    """How the calls went."""

    calls: int = 0
    converged: int = 0
    worst: float = 0.0  # KKT residual, judged independently, among answers called converged
    broken: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Count these too."""
        self.calls += other.calls
        self.converged += other.converged
        self.worst = max(self.worst, other.worst)
        self.broken += other.broken

    def __str__(self) -> str:
        counts = f"{self.calls} calls, {self.converged} converged, worst residual of those {self.worst:.2g}"
        return f"{counts}, {len(self.broken)} broken"


def random_model(rng: np.random.Generator) -> LinearMixtureMDP:
    """A small model: any kind of P, thin ones included, any discount up to .999."""
    states, actions, d = int(rng.integers(1, 7)), int(rng.integers(1, 4)), int(rng.integers(1, 6))
    discount = float(rng.choice([0.01, 0.5, 0.9, 0.99, 0.999]))
    reward = rng.random((states, actions, states)) if rng.random() < 0.3 else rng.random((states, actions))
    if rng.random() < 0.2:
        reward = np.zeros((states, actions))
    kind = rng.integers(5)
    models = [
        rng.dirichlet(np.full(states, rng.choice([0.05, 0.5, 5.0])), size=(states, actions)) for _ in range(d)
    ]
    if kind == 0:
        return LinearMixtureMDP.from_models(models, reward, discount)
    if kind == 1:
        return LinearMixtureMDP.from_models(models, reward, discount, domain="polytope")
    if kind == 2:
        support = rng.random((states, actions, states)) < 0.6
        support[..., 0] = True
        return LinearMixtureMDP.tabular(support, reward, discount)
    if kind == 3:
        seed = int(rng.integers(2**31))
        return vbmle.worlds.random_network(
            states, actions, d, temperature=0.05, seed=seed, discount=discount
        ).mdp
    return thin(models, reward, discount, rng)


def thin(
    models: list[np.ndarray], reward: np.ndarray, discount: float, rng: np.random.Generator
) -> LinearMixtureMDP:
    """A P that p_min has made nearly empty: the least probability of some theta, less very little."""
    mix = np.tensordot(rng.dirichlet(np.ones(len(models))), np.stack(models), axes=1)
    least = mix[mix >= 1e-12].min()
    p_min = max(0.0, least * (1.0 - 10.0 ** rng.uniform(-6, -1)))
    try:
        return LinearMixtureMDP.from_models(models, reward, discount, domain="polytope", p_min=p_min)
    except ValueError:  # some transition is impossible under that theta: the bound empties P
        return LinearMixtureMDP.from_models(models, reward, discount)


def random_counts(mdp: LinearMixtureMDP, rng: np.random.Generator) -> TransitionCounts:
    """None, one, or many observations; spread out or piled on a few transitions."""
    counts = TransitionCounts(mdp)
    possible = np.nonzero(mdp.transitions.probabilities(mdp.polytope.interior) > 1e-9)[0]
    chosen = rng.choice(possible, size=int(rng.integers(0, min(12, len(possible)) + 1)), replace=False)
    for i in chosen:
        row = int(mdp.transitions.pair_of[i])
        state, action = divmod(row, mdp.num_actions)
        counts.add(state, action, int(mdp.transitions.successor[i]), int(10 ** rng.uniform(0, 4)))
    return counts


def gradient(
    mdp: LinearMixtureMDP,
    counts: TransitionCounts,
    est: vbmle.Estimate,
    state: int,
    bias: float,
    ridge: float,
):
    """grad f by plain NumPy: likelihood, ridge, and the envelope theorem for the policy of the estimate."""
    assert est.policy is not None
    rows = mdp.transitions
    phi = dense(rows.phi)
    p = phi @ est.theta
    weight = np.zeros(rows.count)
    seen = counts.values > 0
    weight[seen] = counts.values[seen] / p[seen]
    if bias > 0.0:
        played = np.arange(mdp.num_states) * mdp.num_actions + est.policy
        P = rows.csr(p)[played].toarray()
        w = np.linalg.solve(np.eye(mdp.num_states) - mdp.discount * P.T, np.eye(mdp.num_states)[state])
        gain = mdp.discount * vbmle.evaluate(mdp, np.asarray(est.theta), est.policy)[rows.successor]
        if len(mdp.transition_reward):
            gain = gain + mdp.transition_reward
        on_policy = np.isin(rows.pair_of, played)
        weight[on_policy] += bias * (w[rows.pair_of // mdp.num_actions] * gain)[on_policy]
    return phi.T @ weight - ridge * est.theta


def judges_rounding(mdp: LinearMixtureMDP, counts: TransitionCounts, theta: np.ndarray) -> float:
    """How far rounding may move what the judge computes: a probability in which large weights cancel has few digits."""
    seen = counts.values > 0
    if not seen.any():
        return 0.0
    phi = dense(mdp.transitions.phi)[seen]
    return float(8.0 * np.finfo(float).eps * (np.abs(phi) @ np.abs(theta) / np.abs(phi @ theta)).max())


def judge(mdp: LinearMixtureMDP, counts: TransitionCounts, rng: np.random.Generator, tally: Tally) -> None:
    """One call of value_biased, and everything it promises."""
    state, ridge = int(rng.integers(mdp.num_states)), float(rng.choice([0.0, 1e-3, 1.0, 100.0]))
    bias = float(rng.choice([0.0, 10.0 ** rng.uniform(-3, 6)]))
    start = None
    if rng.random() < 0.5:  # on the boundary, as the last theta of a run would be
        start = vbmle.value_biased(mdp, TransitionCounts(mdp), state, 1e6, search="local").theta
    search = "global" if rng.random() < 0.05 else "local"
    est = vbmle.value_biased(mdp, counts, state, bias, ridge, search=search, start=start)
    tally.calls += 1
    assert est.V is not None
    numbers = [est.objective, est.residual, *est.theta, *est.V]
    assert np.isfinite(numbers).all(), "not finite"
    assert mdp.contains(est.theta, INSIDE), mdp.constraints.violation(est.theta)
    if est.converged:
        assert est.residual <= PROMISED
        kkt = optimality(mdp, est.theta, gradient(mdp, counts, est, state, bias, ridge))
        relative = kkt.residual / (kkt.scale * np.sqrt(kkt.terms))  # the promise is for each number
        assert relative <= JUDGED + judges_rounding(mdp, counts, est.theta), (
            f"called converged with a residual of {relative:.3g}"
        )
        tally.converged += 1
        tally.worst = max(tally.worst, relative)


def fuzz(models: range, seed: int) -> Tally:
    """The calls of some models, by their numbers; of each, up to the first that breaks a promise."""
    tally = Tally()
    for k in models:
        rng, case = np.random.default_rng([seed, k]), f"model {k} of seed {seed}"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of models that are nearly equal
            mdp = random_model(rng)
        for call in range(CALLS_PER_MODEL):
            try:
                with limited(f"{case}, call {call}"):
                    judge(mdp, random_counts(mdp, rng), rng, tally)
            except Exception as error:
                tally.broken.append(f"{case}, call {call}, {mdp!r}: {error!r}")
                break
    return tally


def some(task: tuple[range, int]) -> Tally:
    return fuzz(*task)


def main(calls: int, seed: int, processes: int | None) -> Tally:
    """So many calls; what breaks a promise is printed at once."""
    models = -(-calls // CALLS_PER_MODEL)
    tasks = [(range(k, min(models, k + CHUNK)), seed) for k in range(0, models, CHUNK)]
    total = Tally()
    for tally in spread(some, tasks, "solves", processes):
        total.add(tally)
        for line in tally.broken:
            print(line[:400], flush=True)
    return total


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("calls", type=int, nargs="?", default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, help="processes; by default all cores")
    parser.add_argument("--only", type=int, help="the number of one model whose calls are made again")
    given = parser.parse_args()
    if given.only is None:
        found = main(given.calls, given.seed, given.jobs)
    else:
        found = fuzz(range(given.only, given.only + 1), given.seed)
        print(*found.broken, sep="\n")
    print(found)
    sys.exit(bool(found.broken))
