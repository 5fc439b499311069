"""What a core answers to a few questions, as one line of JSON, every number to the last bit.

Tests that compare libraries run it once for each: `VBMLE_LIBRARY=... python tests/core/answers.py`.
"""

import json
from collections.abc import Iterable
from typing import Any

import numpy as np

import vbmle
from vbmle.core.library import built_by


def exact(numbers: Iterable[float]) -> list[str]:
    return [float(number).hex() for number in np.ravel(np.asarray(numbers))]


def estimates() -> dict[str, list[str]]:
    world = vbmle.worlds.riverswim(length=6, features="mixture")
    counts, rng = vbmle.TransitionCounts(world.mdp), np.random.default_rng(0)
    state = 0
    for _ in range(200):
        action = int(rng.integers(world.mdp.num_actions))
        following = world.next_state(state, action, rng.random())
        counts.add(state, action, following)
        state = following
    likely = vbmle.maximum_likelihood(world.mdp, counts)
    biased = vbmle.value_biased(world.mdp, counts, 0, 10.0, certify=True)
    assert biased.upper_bound is not None
    return {
        "objective": exact([likely.objective]),
        "log likelihood": exact([vbmle.log_likelihood(world.mdp, counts, likely.theta)]),
        "biased objective": exact([biased.objective]),
        "theta": exact([*likely.theta, *biased.theta, biased.upper_bound]),
    }


def plans() -> dict[str, list[str]]:
    rng = np.random.default_rng(1)
    known = [rng.dirichlet(np.ones(70), size=(70, 3)) for _ in range(3)]
    models = {"small": vbmle.worlds.random_network(5, 4, 5).mdp}
    models["with factors"] = vbmle.LinearMixtureMDP.from_models(known, rng.random((70, 3)), 0.95)
    return {
        f"plan, {name}": exact(vbmle.plan(mdp, np.full(mdp.dimension, 1.0 / mdp.dimension)).V)
        for name, mdp in models.items()
    }


def regrets() -> dict[str, list[str]]:
    hard = vbmle.worlds.hypercube(4, delta=0.1, gap=0.9, seed=1)
    small = vbmle.worlds.random_network(5, 4, 5, seed=2)
    played: list[tuple[str, Any, Any, int]] = [
        ("VBMLE, hypercube", vbmle.VBMLE(hard.mdp), hard, 300),
        ("certified VBMLE", vbmle.VBMLE(small.mdp, search="certified"), small, 20),
        ("PSRL", vbmle.PSRL(small.mdp), small, 50),
        ("UCLK", vbmle.UCLK(small.mdp, radius_scale=0.01, update="every-step"), small, 20),
        ("InformedVBMLE", vbmle.InformedVBMLE(small.mdp), small, 50),
    ]
    return {
        name: exact(vbmle.simulate(agent, world, horizon=steps, seed=3).regret)
        for name, agent, world, steps in played
    }


if __name__ == "__main__":
    print(json.dumps({"built by": built_by(), **estimates(), **plans(), **regrets()}))
