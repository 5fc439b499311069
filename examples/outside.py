"""Rewards in RiverSwim beside published ones: the table "Outside numbers" of docs/choosing-an-agent.md.

python examples/outside.py [RUNS] [STEPS]

The world is that of the public code of "LSCVI-UCB and UCRL-CVTR": six states, start left. The published rewards are
sums over 10,000 steps in ten runs, by agents for the average reward; ours plan with a discount of 0.99.
"""

import sys

import numpy as np

import vbmle

LEFT, RIGHT, STATES, DISCOUNT = 0, 1, 6, 0.99
PUBLISHED = {
    "optimal": (2241, 36),
    "LSVI-DC": (2253, 83),
    "UCRL2": (695, 1007),
    "UCRL2-VTR": (678, 1036),
}
"""Mean and standard deviation of ten runs of 10,000 steps."""


def law() -> np.ndarray:
    """P as (S, A, S)."""
    p = np.zeros((STATES, 2, STATES))
    for state in range(STATES):
        p[state, LEFT, max(state - 1, 0)] = 1.0
    p[0, RIGHT, [0, 1]] = 0.7, 0.3
    for state in range(1, STATES - 1):
        p[state, RIGHT, [state - 1, state, state + 1]] = 0.1, 0.6, 0.3
    p[-1, RIGHT, [-2, -1]] = 0.7, 0.3
    return p


def reward() -> np.ndarray:
    r = np.zeros((STATES, 2))
    r[0, LEFT], r[-1, RIGHT] = 5 / 1000, 1.0
    return r


def world() -> vbmle.World:
    """One parameter for each possible transition: the agents know which those are."""
    truth = law()
    mdp = vbmle.LinearMixtureMDP.tabular(truth > 0.0, reward(), DISCOUNT, initial=np.eye(STATES)[0])
    return vbmle.World(mdp, truth[truth > 0.0])


def gain(policy: np.ndarray) -> float:
    """The average reward of a policy, by the stationary distribution of its chain."""
    p, r = law()[np.arange(STATES), policy], reward()[np.arange(STATES), policy]
    system = np.vstack([(np.eye(STATES) - p).T, np.ones(STATES)])
    share = np.linalg.lstsq(system, np.eye(STATES + 1)[-1], rcond=None)[0]
    return float(share @ r)


def earned(agent: vbmle.Agent, steps: int, seed: int) -> float:
    path = vbmle.simulate(agent, world(), steps, seed=seed)
    return float(reward()[path.states, path.actions].sum())


def main(runs: int, steps: int) -> None:
    mdp, truth = world().mdp, world().theta.tolist()
    makers = {
        "optimal": lambda seed: vbmle.Oracle(mdp, theta=truth),
        "`vbmle.recommended`": lambda seed: vbmle.recommended(mdp, seed=seed),
        '`VBMLE(update="doubling")`': lambda seed: vbmle.VBMLE(mdp, update="doubling", seed=seed),
        '`VBMLE(bias="log", update="doubling")`': lambda seed: vbmle.VBMLE(
            mdp, bias="log", update="doubling", seed=seed
        ),
        "`MaximumLikelihood`": lambda seed: vbmle.MaximumLikelihood(mdp),
        "`PSRL`": lambda seed: vbmle.PSRL(mdp, seed=seed),
        "`UCRL2`": lambda seed: vbmle.UCRL2(mdp),
        "`RBMLE`": lambda seed: vbmle.RBMLE(mdp),
    }
    print(f"average reward of the optimal policy: {gain(vbmle.plan(mdp, truth).policy):.5f}")
    print(f"| agent | reward in {steps:,} steps, mean ± standard deviation of {runs} runs | |")
    print("|---|---:|---|")
    for name, (mean, deviation) in PUBLISHED.items():
        print(f"| {name} | {mean} ± {deviation} | published |")
    for name, make in makers.items():
        found = [earned(make(seed), steps, seed) for seed in range(runs)]
        print(f"| {name} | {np.mean(found):.0f} ± {np.std(found, ddof=1):.0f} | ours |", flush=True)


if __name__ == "__main__":
    main(*(int(given) for given in (sys.argv[1:] + ["10", "10000"][len(sys.argv) - 1 :])))
