"""What the paper leaves open, one choice at a time: under which of them is its printed spread matched?

The paper prints the standard deviation of regret at t = 500 over 20 trials: of UCLK 79.3 and 24.0, of VBMLE 1.87 and
1.83, at (3,2) and (5,4). It does not say d, the width of the network, the reward, whether trials share one world, nor
UCLK's radius; and its temperature need not be ours.
"""

from __future__ import annotations

from vbmle.experiments.spec import Choice, Experiment, Recording
from vbmle.paper.network import SIZES, network

NAME = "choices"
AGENTS = {
    "VBMLE": Choice("VBMLE", {"bias": "sqrt", "ridge": 1.0}),
    "UCLK": Choice("UCLK", {"update": "every-step"}),
    "UCLK (doubling)": Choice("UCLK", {"update": "doubling"}),
    "UCLK (0.1 radius)": Choice("UCLK", {"update": "every-step", "radius_scale": 0.1}),
    "UCLK (0.01 radius)": Choice("UCLK", {"update": "every-step", "radius_scale": 0.01}),
}
CHANGES: dict[str, dict[str, float | str]] = {
    "as we run it": {},
    "d = 2": {"dimension": 2},
    "d = 10": {"dimension": 10},
    "d = 20": {"dimension": 20},
    "hidden 8": {"hidden": 8},
    "hidden 128": {"hidden": 128},
    "sparse reward": {"reward": "sparse"},
    "temperature 0.1": {"temperature": 0.1},
    "temperature 1": {"temperature": 1.0},
    "one world (seed 0)": {"seed": 0},
    "one world (seed 1)": {"seed": 1},
    "one world (seed 2)": {"seed": 2},
}
"""By name: the settings of the world that differ from ours. With a seed, all trials share one world."""


def experiments(trials: int, steps: int) -> list[Experiment]:
    """The choices at the two sizes that the paper prints spreads for."""
    worlds = {}
    for label in ("(3,2)", "(5,4)"):
        states, actions, dimension = SIZES[label]
        for name, changes in CHANGES.items():
            settings = network(states, actions, dimension) | changes
            worlds[f"{label}, {name}"] = Choice("random_network", settings)
    record = Recording(steps="log")
    return [Experiment(name=NAME, worlds=worlds, agents=AGENTS, trials=trials, horizon=steps, record=record)]
