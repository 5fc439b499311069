"""What the paper shows, and what its reviewers asked: a list of experiments, each with a section of the report.

    paper        Figures 1a, 1b and that of the appendix, Table 1 and the table of standard deviations: freshly drawn
                 random networks at three sizes, 500 steps. As many worlds as it takes to tell VBMLE from UCLK, maximum
                 likelihood, its log bias and PSRL, up to a budget (`vbmle.experiments.stopping`); fewer for the
                 agents beside them. UCLK plans in every step, as the paper ran it.
    distance     Figures 2a and 2b: how far theta_t and the maximum-likelihood estimate are from the truth, 2500 steps.
    growth...    regret against T and d (`vbmle.paper.growth`).
    rivals       Every agent of the package on worlds that need exploration, and on the paper's.
    dimension, temperature, reward, accuracy      what a choice that the paper leaves open does to regret.
    cost-states, cost-actions, cost-dimension     larger worlds, and seconds per step against their size.
    choices      all that the paper leaves open, with the spread that it prints (`choices`; thorough only).

The paper leaves d and the width of the network open; d = 5, 5, 10 and 32 hidden units are our choice.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from vbmle.experiments.spec import Choice, Experiment, Recording
from vbmle.experiments.stopping import Stopping
from vbmle.paper import choices, growth
from vbmle.paper.growth import GrowthSize
from vbmle.paper.network import SIZES, random_network

SECTIONS = "vbmle.paper.sections:sections"
"""What adds the paper's claims to the report of these experiments."""

VBMLE, APPROXIMATE, LIKELIHOOD = "VBMLE", "approximated VBMLE", "maximum likelihood"
LOG_BIAS, PSRL = "VBMLE (log bias)", "PSRL"
UCLK, UCLK_TUNED = "UCLK", "UCLK (0.01 radius)"
AGENTS = {
    VBMLE: Choice("VBMLE", {"bias": "sqrt", "ridge": 1.0}),
    LOG_BIAS: Choice("VBMLE", {"bias": "log", "ridge": 1.0}),
    APPROXIMATE: Choice("ApproximateVBMLE", {"bias": "sqrt", "ridge": 1.0}),
    LIKELIHOOD: Choice("MaximumLikelihood", {"ridge": 1.0}),
    PSRL: Choice("PSRL"),
    UCLK: Choice("UCLK", {"update": "every-step"}),
    UCLK_TUNED: Choice("UCLK", {"update": "every-step", "radius_scale": 0.01}),
}
COMPARED = (UCLK, LIKELIHOOD, LOG_BIAS, PSRL)
"""What VBMLE is compared with."""

RIVALS = {
    **{name: AGENTS[name] for name in (VBMLE, LOG_BIAS, APPROXIMATE, LIKELIHOOD)},
    UCLK: Choice("UCLK"),
    UCLK_TUNED: Choice("UCLK", {"radius_scale": 0.01}),
    "UCLK+": Choice("UCLKPlus"),
    "UPAC-UCLK": Choice("UPACUCLK"),
    PSRL: AGENTS[PSRL],
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

Looks = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]
Counts = tuple[int, int, int]


class Size(NamedTuple):
    """Trials, and steps, of the paper's own experiments and of the others."""

    looks: Looks
    """By size of the world: after how many worlds comparisons are looked at."""
    measured: Counts
    """By size of the world: how many are measured, to say what decides; one of the largest takes a second."""
    beside: int
    steps: int
    long_trials: int
    long: int
    other_trials: int
    other_steps: int
    cost_steps: int
    cost_states: tuple[int, ...]
    growth: GrowthSize
    gives_up: bool = True
    """Whether a size is left when its comparisons are decided or hopeless, not only when all are decided."""
    choices: int = 0
    """Trials of what the paper leaves open; 0: not run."""


QUICK = Size(((4,), (4,), (2,)), (4, 4, 2), 2, 60, 2, 100, 2, 40, 10, (5, 15, 45), growth.QUICK)
FULL = Size(
    looks=((100, 200, 400), (100, 200, 400), (100,)),
    measured=(400, 200, 0),
    beside=10,
    steps=500,
    long_trials=20,
    long=2500,
    other_trials=10,
    other_steps=600,
    cost_steps=30,
    cost_states=(5, 15, 45),
    growth=growth.FULL,
)
THOROUGH = FULL._replace(
    looks=((100, 200, 400, 800), (100, 200, 400, 800), (100,)),
    gives_up=False,
    measured=(800, 800, 100),
    beside=20,
    long_trials=40,
    other_trials=20,
    growth=growth.THOROUGH,
    choices=40,
)


def experiments(
    quick: bool = False, trials: int | None = None, horizon: int | None = None, thorough: bool = False
) -> list[Experiment]:
    """Everything; `quick` is a smaller look at the same. `trials` and `horizon`, where given, hold for all.

    The first agent of each is the paper's own method, which the others are compared with.
    """
    size = _size(quick, thorough)
    found = [
        _headlines(size),
        _distance(size),
        *growth.experiments(size.growth),
        _experiment(
            "rivals", {**NEEDY, "(5,4)": random_network()}, RIVALS, size.other_trials, size.other_steps
        ),
        *_choices(size),
        *_costs(size),
        *(choices.experiments(size.choices, size.steps) if size.choices else ()),
    ]
    changes: dict[str, object] = {"sections": SECTIONS}
    changes |= {key: value for key, value in (("trials", trials), ("horizon", horizon)) if value is not None}
    if trials is not None:
        found[0] = msgspec.structs.replace(found[0], stop=None)  # the user decides
    return [
        msgspec.structs.replace(experiment, reference=next(iter(experiment.agents)), **changes)
        for experiment in found
    ]


def measured(quick: bool = False, thorough: bool = False) -> dict[str, int]:
    """How many worlds of each size are measured."""
    return dict(zip(SIZES, _size(quick, thorough).measured, strict=True))


def _size(quick: bool, thorough: bool) -> Size:
    return QUICK if quick else THOROUGH if thorough else FULL


def _experiment(
    name: str, worlds: dict[str, Choice], agents: dict[str, Choice], trials: int, steps: int
) -> Experiment:
    return Experiment(name=name, worlds=worlds, agents=agents, trials=trials, horizon=steps)


def _networks(sizes: Iterable[tuple[int, int, int]], labels: Iterable[str]) -> dict[str, Choice]:
    return {label: random_network(*size) for label, size in zip(labels, sizes, strict=True)}


def _headlines(size: Size) -> Experiment:
    """The comparisons that the paper is about, in as many worlds as they need."""
    looks = dict(zip(SIZES, size.looks, strict=True))
    return Experiment(
        name="paper",
        worlds=_networks(SIZES.values(), SIZES),
        agents=AGENTS,
        trials=max(max(found) for found in looks.values()),
        horizon=size.steps,
        record=Recording(steps="log"),
        stop=Stopping(VBMLE, COMPARED, looks, size.beside, gives_up=size.gives_up),
    )


def _distance(size: Size) -> Experiment:
    return Experiment(
        name="distance",
        worlds={"(3,2)": random_network(3, 2, 5)},
        agents={name: AGENTS[name] for name in (VBMLE, LIKELIHOOD, UCLK, UCLK_TUNED)},
        trials=size.long_trials,
        horizon=size.long,
        record=Recording(steps="log", distance=True, mle_error=True),
    )


def _choices(size: Size) -> list[Experiment]:
    """What the paper leaves open, one choice at a time, at (5,4)."""
    three = {name: AGENTS[name] for name in (VBMLE, LIKELIHOOD, UCLK)}
    dimensions = {f"d = {d}": random_network(dimension=d) for d in (2, 5, 10, 20)}
    temperatures = {f"temperature {t:g}": random_network(temperature=t) for t in (0.01, 0.1, 0.3, 1.0)}
    rewards = {f"{reward} reward": random_network(reward=reward) for reward in ("uniform", "sparse")}
    worlds = {"hypercube": NEEDY["hypercube"], "sparse reward": random_network(reward="sparse")}
    some, steps = size.other_trials, size.steps
    return [
        _experiment("dimension", dimensions, three, some, steps),
        _experiment("temperature", temperatures, three, some, steps),
        _experiment("reward", rewards, three, 2 * some, steps),
        _experiment("accuracy", worlds, SEARCHES, some, 2 * size.other_steps),
    ]


def _costs(size: Size) -> list[Experiment]:
    """One of S, A and d grows; few steps, because what is asked for is the cost of one."""
    agents = {name: AGENTS[name] for name in (VBMLE, APPROXIMATE, LIKELIHOOD, UCLK)}
    grown = {
        "states": {f"S = {n}": random_network(n, 4, 10) for n in size.cost_states},
        "actions": {f"A = {n}": random_network(15, n, 10) for n in (2, 4, 8, 16)},
        "dimension": {f"d = {n}": random_network(15, 4, n) for n in (5, 10, 20, 40)},
    }
    return [
        _experiment(f"cost-{name}", worlds, agents, max(1, size.other_trials // 3), size.cost_steps)
        for name, worlds in grown.items()
    ]
