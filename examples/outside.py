"""Problems that others published, with what can be earned in them: the tables of docs/outside.md.

python examples/outside.py [RUNS] [DRAWS]

RiverSwim and SixArms are those of Strehl and Littman (2008): 5,000 steps without a discount, and the ceiling is exact, by
backward induction. The chain and the double loop are the distributions GC and GDL of BBRL (Castronovo, Ernst, Couetoux and
Fonteneau 2016): a world is drawn, and 250 steps count with a discount of 0.95.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import vbmle

Array = np.ndarray
STEPS = 5000
SHORT, DISCOUNT = 250, 0.95
PLANNED = 0.99
"""The discount that our agents plan with where the score has none."""


class Problem(NamedTuple):
    """P(s'|s,a) and r(s,a,s') as (S, A, S), and where it starts."""

    law: Array
    reward: Array
    initial: Array


def riverswim() -> Problem:
    """Six states; 5 on the left bank, 10,000 for staying in the last state, and a start in the second or third."""
    law, reward = np.zeros((6, 2, 6)), np.zeros((6, 2, 6))
    law[range(6), 1, [0, 0, 1, 2, 3, 4]] = 1.0
    law[0, 0, :2] = 0.7, 0.3
    for state in range(1, 5):
        law[state, 0, state - 1 : state + 2] = 0.1, 0.6, 0.3
    law[5, 0, 4:] = 0.7, 0.3
    reward[0, 1, 0], reward[5, 0, 5] = 5.0, 10_000.0
    return Problem(law, reward, np.array([0.0, 0.5, 0.5, 0.0, 0.0, 0.0]))


def sixarms() -> Problem:
    """A hub and six arms: arm k is reached with a small chance, and pays for as long as its own action is repeated."""
    law, reward = np.zeros((7, 6, 7)), np.zeros((7, 6, 7))
    for arm, (chance, action, pay) in enumerate(
        [(1.0, None, 50), (0.15, 1, 133), (0.1, 2, 300), (0.05, 3, 800), (0.03, 4, 1666), (0.01, 5, 6000)]
    ):
        law[0, arm, [0, arm + 1]] = 1.0 - chance, chance
        stays = [a for a in range(6) if (a != 4 if action is None else a == action)]
        law[arm + 1, :, 0] = 1.0
        law[arm + 1, stays] = np.eye(7)[arm + 1]
        reward[arm + 1, stays, arm + 1] = pay
    return Problem(law, reward, np.eye(7)[0])


def ceiling(problem: Problem, steps: int = STEPS, discount: float = 1.0) -> float:
    """What the best policy earns in expectation, which may depend on the time left: backward induction."""
    values = np.zeros(len(problem.law))
    for _ in range(steps):
        values = (problem.law * (problem.reward + discount * values)).sum(axis=2).max(axis=1)
    return float(problem.initial @ values)


def chain(rng: np.random.Generator) -> Problem:
    """GC: five states in a row, three actions; each step leads on or back to the start, with a chance that is drawn."""
    possible, reward = np.zeros((5, 3, 5), dtype=bool), np.zeros((5, 3, 5))
    possible[:, :, 0] = True
    for state in range(5):
        possible[state, :, min(state + 1, 4)] = True
    reward[:, :, 0], reward[:, :, 4] = 2.0, 10.0
    return Problem(drawn(possible, rng), reward, np.eye(5)[0])


def double_loop(rng: np.random.Generator) -> Problem:
    """GDL: two loops through one state; the way round the second pays twice, and may break off at every state."""
    possible, reward = np.zeros((9, 2, 9), dtype=bool), np.zeros((9, 2, 9))
    possible[0, :, [1, 5]] = True
    for state in (1, 2, 3):
        possible[state, :, state + 1] = True
    for state in (5, 6, 7):
        possible[state, :, [0, state + 1]] = True
    possible[[4, 8], :, 0] = True
    reward[4, :, 0], reward[8, :, 0] = 1.0, 2.0
    return Problem(drawn(possible, rng), reward, np.eye(9)[0])


def drawn(possible: Array, rng: np.random.Generator) -> Array:
    """Rows that are uniform on what is possible: Dirichlet distributions whose parameters are all 1."""
    weights = np.where(possible, rng.standard_gamma(1.0, possible.shape), 0.0)
    return weights / weights.sum(axis=2, keepdims=True)


def played(problem: Problem, chances: Array) -> float:
    """What a policy earns in 250 discounted steps; `chances` are those of its actions, (S, A)."""
    law = np.einsum("sa,sat->st", chances, problem.law)
    reward = np.einsum("sa,sat,sat->s", chances, problem.law, problem.reward)
    values = np.zeros(len(law))
    for _ in range(SHORT):
        values = reward + DISCOUNT * law @ values
    return float(problem.initial @ values)


def world(problem: Problem, discount: float) -> vbmle.World:
    """One parameter for each possible transition: the agents know which those are, and the rewards."""
    possible = problem.law > 0.0
    mdp = vbmle.LinearMixtureMDP.tabular(
        possible, problem.reward, discount, initial=problem.initial, normalise_reward=True
    )
    return vbmle.World(mdp, problem.law[possible])


AGENTS: dict[str, Callable[[vbmle.LinearMixtureMDP, int], vbmle.Agent]] = {
    "`vbmle.recommended`": lambda mdp, seed: vbmle.recommended(mdp, seed=seed),
    '`VBMLE(bias="log", update="doubling")`': lambda mdp, seed: vbmle.VBMLE(
        mdp, bias="log", update="doubling", seed=seed
    ),
    "`PSRL`": lambda mdp, seed: vbmle.PSRL(mdp, seed=seed),
    "`UCRL2(radius_scale=0.1)`": lambda mdp, seed: vbmle.UCRL2(mdp, radius_scale=0.1),
    "`MaximumLikelihood`": lambda mdp, seed: vbmle.MaximumLikelihood(mdp),
}


def score(problem: Problem, name: str, steps: int, discount: float, seed: int) -> float:
    """What an agent earned in one run."""
    there = world(problem, PLANNED if discount == 1.0 else discount)
    history = vbmle.simulate(AGENTS[name](there.mdp, seed), there, steps, seed=seed)
    return float(vbmle.earned(there, history) @ discount ** np.arange(steps))


def show(label: str, found: list[float], best: float) -> None:
    mean, error = np.mean(found), np.std(found, ddof=1) / np.sqrt(len(found))
    print(f"| {label} | {mean:,.5g} ± {error:.2g} | {mean / best:.0%} |", flush=True)


def main(runs: int, draws: int) -> None:
    for title, problem in (("RiverSwim", riverswim()), ("SixArms", sixarms())):
        best = ceiling(problem)
        print(f"\n| {title}, {STEPS:,} steps, {runs} runs | earned | of the ceiling |\n|---|---:|---:|")
        print(f"| ceiling, exact | {best:,.0f} | 100% |")
        for name in AGENTS:
            show(name, [score(problem, name, STEPS, 1.0, seed) for seed in range(runs)], best)
    for title, draw in (("GC", chain), ("GDL", double_loop)):
        problems = [draw(np.random.default_rng(seed)) for seed in range(draws)]
        states, actions = problems[0].law.shape[:2]
        known = [ceiling(problem, SHORT, DISCOUNT) for problem in problems]
        first, chance = np.eye(actions)[np.zeros(states, dtype=int)], np.full((states, actions), 1 / actions)
        print(
            f"\n| {title}, {SHORT} steps, {draws} worlds | discounted reward | of the ceiling |\n|---|---:|---:|"
        )
        show("ceiling: the drawn world is known", known, float(np.mean(known)))
        for name in AGENTS:
            found = [score(one, name, SHORT, DISCOUNT, seed) for seed, one in enumerate(problems)]
            show(name, found, float(np.mean(known)))
        show("the first action everywhere", [played(one, first) for one in problems], float(np.mean(known)))
        show("actions at random", [played(one, chance) for one in problems], float(np.mean(known)))


if __name__ == "__main__":
    main(*(int(given) for given in (sys.argv[1:] + ["20", "500"][len(sys.argv) - 1 :])))
