"""Count the false alarms of `misfit`, and how soon it finds models that are off: the tables of docs/your-own-models.md.

python examples/alarms.py [RUNS] [PATHS]

RUNS (1,000 by default) runs of 400 steps in each of three worlds whose theta is feasible, looked at every 50 steps;
then the steps until the alarm, in the median of PATHS (9 by default) paths, where some part of the truth is off.
"""

import sys

import numpy as np

import vbmle
from vbmle import theory
from vbmle.estimation.change_point import ChangePoint

DELTA = 0.05
WORLDS = {
    "riverswim": vbmle.worlds.riverswim(features="mixture"),
    "random_network": vbmle.worlds.random_network(4, 2, 3, seed=1),
    "closed_loop_trap": vbmle.worlds.closed_loop_trap(),
}


def path(law: np.ndarray, steps: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """States, actions and next states under any law (S, A, S), with actions at random."""
    rng, below = np.random.default_rng(seed), law.cumsum(axis=2)
    actions, luck = rng.integers(law.shape[1], size=steps), rng.random(steps)
    states = np.zeros(steps + 1, dtype=np.int64)
    for t in range(steps):
        row = below[states[t], actions[t]]
        states[t + 1] = min(int(np.searchsorted(row, luck[t] * row[-1], side="right")), len(row) - 1)
    return states[:-1], actions, states[1:]


def false_alarms(world: vbmle.World, runs: int) -> tuple[int, int]:
    """Runs in which `misfit` alarms at one look or more, and in which the test for a change does."""
    truth = world.mdp.transition(world.theta)
    law = np.asarray(truth if isinstance(truth, np.ndarray) else truth.toarray())
    law = law.reshape(world.mdp.num_states, world.mdp.num_actions, world.mdp.num_states)
    counts, watch = vbmle.TransitionCounts(world.mdp), ChangePoint(world.mdp)
    alarms, changes = 0, 0
    for run in range(runs):
        counts.load_values(np.zeros_like(counts.values), np.zeros(0, np.int64))
        watch._begin()
        raised, changed = False, False
        columns = path(law, 400, run)
        for begin in range(0, 400, 50):
            found = counts.add_many(*(column[begin : begin + 50] for column in columns))
            raised = raised or theory.misfit(counts, DELTA).alarm
            changed = any([watch.seen(i) for i in found.tolist()]) or changed
        alarms, changes = alarms + raised, changes + changed
    return alarms, changes


def steps_until_alarm(mdp: vbmle.LinearMixtureMDP, law: np.ndarray, seed: int, most: int = 128_000) -> int:
    """Looked at after 125, 177, 250, ... steps, each look 1.41 times as late as the one before."""
    columns, looks = path(law, most, seed), 125 * np.sqrt(2.0) ** np.arange(21)
    for look in looks.astype(int):
        counts = vbmle.TransitionCounts(mdp)
        counts.add_many(*(column[:look] for column in columns))
        if theory.misfit(counts, DELTA).alarm:
            return int(look)
    return most


def main(runs: int = 1000, paths: int = 9) -> None:
    print(
        f"| World | runs | alarms of misfit | alarms of restart | promised, at delta = {DELTA} |\n|---|---|---|---|---|"
    )
    for name, world in WORLDS.items():
        alarms, changes = false_alarms(world, runs)
        print(f"| `{name}` | {runs} | {alarms} | {changes} | at most {DELTA * runs:.0f} |")
    rng = np.random.default_rng(0)
    models, reward = list(rng.dirichlet(np.ones(4), (3, 4, 2))), rng.random((4, 2))
    mdp = vbmle.LinearMixtureMDP.from_models(models, reward, 0.9)
    inside = np.asarray(mdp.transition([0.2, 0.5, 0.3]))
    least = np.eye(4)[inside.argmin(axis=2)]
    print("\n| What is off | by 5% | by 10% | by 20% |\n|---|---|---|---|")
    for name in ("one row", "all rows"):
        shown = []
        for off in (0.05, 0.1, 0.2):
            law = (1.0 - off) * inside + off * least
            if name == "one row":
                law = np.where((np.arange(4)[:, None] == 2) & (np.arange(2) == 1), 1.0, 0.0)[:, :, None] * (
                    law - inside
                )
                law = inside + law
            found = [steps_until_alarm(mdp, law, seed) for seed in range(paths)]
            shown.append(f"{int(np.median(found)):,}")
        print(f"| {name} | {' | '.join(shown)} |")
    fourth = np.random.default_rng(77).dirichlet(np.ones(4), (4, 2))
    found = [steps_until_alarm(mdp, fourth, seed) for seed in range(paths)]
    print(f"\na fourth model, outside the set: {int(np.median(found))} steps")


if __name__ == "__main__":
    main(*(int(number) for number in sys.argv[1:]))
