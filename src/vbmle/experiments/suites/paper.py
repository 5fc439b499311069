"""What the paper shows, and what its reviewers asked: a list of experiments, each with a section of the report.

    paper        Figures 1a, 1b and that of the appendix, Table 1 and the table of standard deviations: 20 freshly drawn
                 random networks at three sizes, 500 steps. UCLK plans in every step, as the paper ran it.
    distance     Figures 2a and 2b: how far theta_t and the maximum-likelihood estimate are from the truth, 2500 steps.
    rivals       Every agent of the package on worlds that need exploration, and on the paper's.
    dimension, temperature, reward, accuracy      what a choice that the paper leaves open does to regret.
    cost-states, cost-actions, cost-dimension     larger worlds, and seconds per step against their size.

The paper leaves d and the width of the network open; d = 5, 5, 10 and 32 hidden units are our choice.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from vbmle.experiments.spec import Choice, Experiment, Recording

SIZES = {"(3,2)": (3, 2, 5), "(5,4)": (5, 4, 5), "(15,4)": (15, 4, 10)}
"""States, actions and dimension by the paper's name for the world."""

VBMLE, APPROXIMATE, LIKELIHOOD = "VBMLE", "approximated VBMLE", "maximum likelihood"
UCLK, UCLK_TUNED = "UCLK", "UCLK (0.01 radius)"
AGENTS = {
    VBMLE: Choice("VBMLE", {"bias": "sqrt", "ridge": 1.0}),
    APPROXIMATE: Choice("ApproximateVBMLE", {"bias": "sqrt", "ridge": 1.0}),
    LIKELIHOOD: Choice("MaximumLikelihood", {"ridge": 1.0}),
    UCLK: Choice("UCLK", {"update": "every-step"}),
    UCLK_TUNED: Choice("UCLK", {"update": "every-step", "radius_scale": 0.01}),
}
RIVALS = {
    VBMLE: AGENTS[VBMLE],
    "VBMLE (log bias)": Choice("VBMLE", {"bias": "log", "ridge": 1.0}),
    APPROXIMATE: AGENTS[APPROXIMATE],
    LIKELIHOOD: AGENTS[LIKELIHOOD],
    UCLK: Choice("UCLK"),
    UCLK_TUNED: Choice("UCLK", {"radius_scale": 0.01}),
    "UCLK+": Choice("UCLKPlus"),
    "UPAC-UCLK": Choice("UPACUCLK"),
    "PSRL": Choice("PSRL"),
    "UCRL2": Choice("UCRL2"),
    "RBMLE": Choice("RBMLE"),
    "Q-learning": Choice("QLearning"),
    "random": Choice("Random"),
}
NEEDY = {
    "RiverSwim, tabular": Choice("riverswim", {"length": 6, "features": "tabular"}),
    "RiverSwim, 3 parameters": Choice("riverswim", {"length": 6, "features": "mixture"}),
    "hypercube": Choice("hypercube", {"dimension": 4, "delta": 0.1, "gap": 0.9}),
    "FrozenLake 4x4": Choice("frozen_lake", {"size": 4}),
}
"""Worlds where a policy decides what is learnt."""

SEARCHES = {
    "all basins": Choice("VBMLE", {"search": "global"}),
    "three starts": Choice("VBMLE", {"search": "few"}),
    "one start": Choice("VBMLE", {"search": "local"}),
    "no bias": Choice("MaximumLikelihood"),
}


class Size(NamedTuple):
    """Trials, and steps, of the paper's own experiments and of the others."""

    trials: int
    steps: int
    long: int
    other_trials: int
    other_steps: int
    cost_steps: int


FULL = Size(20, 500, 2500, 10, 600, 60)
QUICK = Size(3, 60, 100, 2, 40, 10)


def experiments(
    quick: bool = False, trials: int | None = None, horizon: int | None = None
) -> list[Experiment]:
    """Everything; `quick` is a smaller look at the same. `trials` and `horizon`, where given, hold for all."""
    size = QUICK if quick else FULL
    found = [
        _experiment("paper", _networks(SIZES.values(), SIZES), AGENTS, size.trials, size.steps),
        _distance(size),
        _experiment("rivals", {**NEEDY, "(5,4)": _network()}, RIVALS, size.other_trials, size.other_steps),
        *_choices(size),
        *_costs(size),
    ]
    changes = {key: value for key, value in (("trials", trials), ("horizon", horizon)) if value is not None}
    return [msgspec.structs.replace(experiment, **changes) for experiment in found]


def network(states: int, actions: int, dimension: int) -> dict[str, int | float | str]:
    """The settings of the paper's world at one size."""
    return {
        "states": states,
        "actions": actions,
        "dimension": dimension,
        "hidden": 32,
        "temperature": 0.01,
        "discount": 0.9,
    }


def _network(states: int = 5, actions: int = 4, dimension: int = 5, **changes: float | str) -> Choice:
    return Choice("random_network", network(states, actions, dimension) | changes)


def _networks(sizes: Iterable[tuple[int, int, int]], labels: Iterable[str]) -> dict[str, Choice]:
    return {label: _network(*size) for label, size in zip(labels, sizes, strict=True)}


def _experiment(
    name: str, worlds: dict[str, Choice], agents: dict[str, Choice], trials: int, steps: int
) -> Experiment:
    return Experiment(name=name, worlds=worlds, agents=agents, trials=trials, horizon=steps)


def _distance(size: Size) -> Experiment:
    return Experiment(
        name="distance",
        worlds={"(3,2)": _network(3, 2, 5)},
        agents={name: AGENTS[name] for name in (VBMLE, LIKELIHOOD, UCLK, UCLK_TUNED)},
        trials=size.other_trials,
        horizon=size.long,
        record=Recording(steps="log", distance=True, mle_error=True),
    )


def _choices(size: Size) -> list[Experiment]:
    """What the paper leaves open, one choice at a time, at (5,4)."""
    three = {name: AGENTS[name] for name in (VBMLE, LIKELIHOOD, UCLK)}
    dimensions = {f"d = {d}": _network(dimension=d) for d in (2, 5, 10, 20)}
    temperatures = {f"temperature {t:g}": _network(temperature=t) for t in (0.01, 0.1, 0.3, 1.0)}
    rewards = {f"{reward} reward": _network(reward=reward) for reward in ("uniform", "sparse")}
    worlds = {"hypercube": NEEDY["hypercube"], "sparse reward": _network(reward="sparse")}
    some, steps = size.other_trials, size.steps
    return [
        _experiment("dimension", dimensions, three, some, steps),
        _experiment("temperature", temperatures, three, some, steps),
        _experiment("reward", rewards, three, size.trials, steps),
        _experiment("accuracy", worlds, SEARCHES, some, 2 * size.other_steps),
    ]


def _costs(size: Size) -> list[Experiment]:
    """One of S, A and d grows; few steps, because what is asked for is the cost of one."""
    agents = {name: AGENTS[name] for name in (VBMLE, APPROXIMATE, LIKELIHOOD, UCLK)}
    grown = {
        "states": {f"S = {n}": _network(n, 4, 10) for n in (5, 15, 45, 100)},
        "actions": {f"A = {n}": _network(15, n, 10) for n in (2, 4, 8, 16)},
        "dimension": {f"d = {n}": _network(15, 4, n) for n in (5, 10, 20, 40)},
    }
    return [
        _experiment(f"cost-{name}", worlds, agents, max(1, size.other_trials // 3), size.cost_steps)
        for name, worlds in grown.items()
    ]
