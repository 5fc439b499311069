"""A charging depot, from the first table to the alarm: names, masks, rounded numbers, a log, a drift, an odd outcome.

python examples/depot.py [FOLDER]

The depot keeps charged batteries. Every hour it can wait, charge a few or rush, and it never knows the mix of calm and
busy hours, which changes in spring. Everything that is written goes to FOLDER, by default a temporary one.
"""

import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import polars

import vbmle

STOCK = ["empty", "low", "half", "full"]
MOVES = ["wait", "charge", "rush"]
EUROS = np.array([[-6.0, -9.0, -14.0], [8.0, 5.0, 0.0], [14.0, 11.0, 6.0], [15.0, np.nan, np.nan]])
ALLOWED = ~np.isnan(EUROS)  # a full depot can only wait


def hours(demand: float) -> np.ndarray:
    """(S, A, S): batteries leave by demand and come by charging, one level up or down."""
    p = np.zeros((4, 3, 4))
    for s in range(4):
        for a, supply in enumerate((0.0, 0.55, 0.9)):
            for step, q in ((-1, demand * (1 - supply)), (1, supply * (1 - demand))):
                p[s, a, min(max(s + step, 0), 3)] += q
            p[s, a, s] += 1.0 - p[s, a].sum()
    return p


def write_table(path: Path) -> None:
    """What the planning department sends: rounded, so that one row does not quite sum to 1."""
    rows = [
        {"model": name, "s": STOCK[s], "a": MOVES[a], "s_next": STOCK[to], "p": round(float(p[s, a, to]), 5)}
        for name, p in (("calm", hours(0.21)), ("busy", hours(0.77)))
        for s, a, to in np.argwhere(p > 0)
    ]
    rows[0]["p"] -= 0.00004
    polars.DataFrame(rows).write_csv(path)


def read_model(path: Path, euros: np.ndarray = EUROS) -> vbmle.LinearMixtureMDP:
    """The table as a model, by name; a warning says that rounded rows were mended."""
    models = vbmle.models_from_table(path, states=STOCK, actions=MOVES)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        mdp = vbmle.LinearMixtureMDP.from_models(
            models, euros, discount=0.95, normalise_reward=True, allowed=ALLOWED
        )
    print("   warned:", *(str(warning.message) for warning in told))
    return mdp


def write_log(path: Path, world: vbmle.World) -> None:
    """Last month, by somebody who tried things at random."""
    seen = vbmle.simulate(vbmle.Random(world.mdp), world, 200, seed=5)
    log = {"s": [STOCK[s] for s in seen.states], "a": [MOVES[a] for a in seen.actions]}
    polars.DataFrame(log | {"s_next": [STOCK[s] for s in seen.next_states]}).write_csv(path)


def main(folder: Path) -> None:
    print("0. A table by name, with rounded numbers")
    write_table(folder / "models.csv")
    mdp = read_model(folder / "models.csv")
    winter = vbmle.World(mdp, [0.9, 0.1])
    write_log(folder / "log.csv", winter)

    print("\n1. Begin with the log")
    agent = vbmle.VBMLE(mdp, update="doubling", on_impossible="widen", restart="on-alarm")
    agent.observe_many(*vbmle.read_log(folder / "log.csv"))
    belief = agent.belief()
    for name, low, high in zip(belief.names or (), belief.low, belief.high, strict=True):
        print(f"   {name}: between {low:.2f} and {high:.2f} of the hours")
    print("   with an empty depot:", agent.act("empty"), "- with a full one:", agent.act("full"))

    print("\n2. Spring: the mix changes after 400 hours, and the agent starts over")
    year = vbmle.DriftingWorld(mdp, [(0, winter.theta), (400, [0.1, 0.9])])
    history = vbmle.simulate(agent, year, 900, seed=1)
    print(
        f"   earned {vbmle.earned(year, history).mean():.2f} euros an hour; restarts after {agent.restarts}"
    )
    stubborn = vbmle.simulate(vbmle.VBMLE(mdp, update="doubling"), year, 900, seed=1)
    print(f"   regret {history.regret[-1]:.0f} euros, without restarts {stubborn.regret[-1]:.0f}")
    spring = vbmle.maximum_likelihood(mdp, agent.counts).theta
    print(f"   the busy share now: {spring[1]:.2f}; V* in euros: {vbmle.plan(mdp, spring).value.round(0)}")

    print("\n3. Something that no model allows: a full depot is empty an hour later")
    agent.observe("full", "wait", "empty")
    full = STOCK.index("full")
    chance = agent.mdp.transition(agent.theta).toarray().reshape(4, 3, 4)[full, 0, 0]
    print(
        f"   it is counted, and has a chance of {chance:.4f} from now on; act goes on: {agent.act('empty')}"
    )

    print("\n4. A truth that is not a mix of the models: a new charger, twice as slow")
    slow = 0.5 * hours(0.4) + 0.5 * hours(0.4)[:, [0, 0, 1]]
    watcher = vbmle.MaximumLikelihood(mdp)
    for made in range(1, 41):
        slow_hours(watcher, slow, 100, seed=made)
        if watcher.misfit(delta=0.01).alarm:
            break
    found = watcher.misfit(delta=0.01)
    print(f"   alarm after {watcher.counts.total} hours: {found.alarm}; loudest at {found.where[0].name}")

    print("\n5. The reward is corrected; what was learnt stays")
    watcher.save(folder / "agent.npz")
    dearer = read_model(folder / "models.csv", EUROS - 1.0)
    again = vbmle.MaximumLikelihood.load(folder / "agent.npz", dearer, model_changed="recount")
    print(
        f"   {again.counts.total} hours counted again; worth {vbmle.plan(dearer, again.theta).value[0]:.0f} euros"
    )

    assert len(agent.restarts) == 1
    assert history.regret[-1] < stubborn.regret[-1]
    assert found.alarm
    assert again.counts.total == watcher.counts.total


def slow_hours(agent: vbmle.MaximumLikelihood, p: np.ndarray, steps: int, seed: int) -> None:
    """Let the agent learn from hours with the new charger."""
    rng, state = np.random.default_rng(seed), 0
    for _ in range(steps):
        action = int(rng.choice(np.nonzero(ALLOWED[state])[0]))
        following = int(rng.choice(4, p=p[state, action]))
        agent.observe(state, action, following)
        state = following


if __name__ == "__main__":
    if len(sys.argv) > 1:
        Path(sys.argv[1]).mkdir(parents=True, exist_ok=True)
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(Path(temporary))
