"""The league: every agent that may be recommended, with default settings, in worlds of many kinds.

Each world has a length of its own and is an experiment of its own. All agents meet the same worlds with the same luck,
until it is known how far behind the best of them the recommended one is (`vbmle.experiments.behind`), or the trials are
used up. Agents decide when information has grown where that hardly changes their regret and saves most of the time:
information-directed planning by a tenth, OMLE by doubling. `vbmle.report.standings` has the result.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from vbmle.experiments.spec import Choice, Experiment, Recording
from vbmle.experiments.stopping import Stopping

PREFIX = "league-"
"""What the names of these experiments begin with."""

SECTIONS = "vbmle.suites.league_page:sections"

RANDOM = "random"
"""The agent whose regret is the measure of what a world can cost; it takes no part."""

AGENTS = {
    "informed VBMLE": Choice("InformedVBMLE"),
    "VBMLE": Choice("VBMLE"),
    "VBMLE, log bias": Choice("VBMLE", {"bias": "log"}),
    "VBMLE, 0.3 log bias": Choice("VBMLE", {"bias": "log", "bias_scale": 0.3}),
    "MEX": Choice("VBMLE", {"bias": "constant"}),
    "approximated VBMLE": Choice("ApproximateVBMLE"),
    "maximum likelihood": Choice("MaximumLikelihood"),
    "information-directed": Choice("InformationDirected", {"update": "tenth"}),
    "PSRL": Choice("PSRL"),
    "feel-good sampling": Choice("FeelGoodSampling"),
    "EVILL": Choice("EVILL"),
    "OMLE": Choice("OMLE", {"update": "doubling"}),
    "OMLE, 0.1 radius": Choice("OMLE", {"radius_scale": 0.1, "update": "doubling"}),
    "UCLK, 0.01 radius": Choice("UCLK", {"radius_scale": 0.01}),
    "RBMLE": Choice("RBMLE"),
    RANDOM: Choice("Random"),
}
"""By label. Those with a radius in their label are far behind with the radius of their proof."""

RECOMMENDED = "informed VBMLE"
"""The label of `vbmle.recommended`."""


class Entry(NamedTuple):
    """A world and the steps of a run in it."""

    family: str
    steps: int
    choice: Choice


def _entry(family: str, steps: int, name: str, **settings: Any) -> Entry:
    return Entry(family, steps, Choice(name, settings))


def _network(steps: int, size: tuple[int, int, int], family: str = "paper", **settings: Any) -> Entry:
    states, actions, dimension = size
    shape = {"states": states, "actions": actions, "dimension": dimension}
    return _entry(family, steps, "random_network", **shape, **settings)


WORLDS = {
    "(3,2)": _network(500, (3, 2, 5)),
    "(5,4)": _network(500, (5, 4, 5)),
    "(15,4)": _network(500, (15, 4, 10)),
    "(5,4) sparse": _network(500, (5, 4, 5), reward="sparse"),
    "River": _entry("rivers", 600, "riverswim", features="tabular"),
    "River, 3 par.": _entry("rivers", 600, "riverswim", features="mixture"),
    "River, 12 long": _entry("rivers", 1000, "riverswim", length=12, features="mixture"),
    "cube 4, gap .9": _entry("hypercubes", 2000, "hypercube", dimension=4, gap=0.9),
    "cube 4, gap .5": _entry("hypercubes", 2000, "hypercube", dimension=4, gap=0.5),
    "cube 6, gap .9": _entry("hypercubes", 1000, "hypercube", dimension=6, gap=0.9),
    "cube 6, gap .5": _entry("hypercubes", 1000, "hypercube", dimension=6, gap=0.5),
    "lake 4x4": _entry("grids", 1000, "frozen_lake", size=4),
    "lake 8x8": _entry("grids", 600, "frozen_lake", size=8),
    "cliff": _entry("grids", 500, "cliff_walking"),
    "taxi": _entry("grids", 300, "taxi"),
    "queue 30": _entry("money", 500, "queue", capacity=30),
    "queue 12": _entry("money", 500, "queue", capacity=12),
    "maintenance 40": _entry("money", 500, "maintenance", ages=40),
    "maintenance 15": _entry("money", 500, "maintenance", ages=15),
    "inventory 40": _entry("money", 300, "inventory", capacity=40),
    "inventory 15": _entry("money", 300, "inventory", capacity=15),
    "pricing 10 days": _entry("money", 300, "pricing", days=10, seats=4),
    "pricing 5 days": _entry("money", 300, "pricing", days=5, seats=2),
    "queue, any mix": _entry("any mix", 500, "queue", capacity=12, mix="random"),
    "maintenance, any mix": _entry("any mix", 500, "maintenance", ages=15, mix="random"),
    "inventory, any mix": _entry("any mix", 300, "inventory", capacity=15, mix="random"),
    "pricing, any mix": _entry("any mix", 300, "pricing", days=5, seats=2, mix="random"),
    "trap": _entry("traps", 300, "closed_loop_trap"),
    "trap, long": _entry("traps", 20_000, "closed_loop_trap", discount=0.8),
    "2 candidates": _network(400, (8, 3, 2), "mixtures"),
    "20 candidates": _network(400, (8, 3, 20), "mixtures"),
    "slow river": _entry("slow", 1000, "riverswim", features="mixture", discount=0.99),
    "slow network": _network(600, (6, 3, 4), "slow", discount=0.99, temperature=0.001),
}
"""By label; labels are short, because they stand under the columns of the figure."""


class Size(NamedTuple):
    """The most trials, and by what steps are divided."""

    trials: int
    shorter: int


FULL, QUICK = Size(256, 1), Size(2, 10)

FIRST_LOOK = 16
"""Trials before one looks whether they are enough; as many are there of the random policy."""


def experiments(size: Size) -> list[Experiment]:
    """One for each world."""
    return [_experiment(label, entry, size) for label, entry in WORLDS.items()]


def _experiment(label: str, entry: Entry, size: Size) -> Experiment:
    trials = size.trials
    rivals = tuple(agent for agent in AGENTS if agent not in (RECOMMENDED, RANDOM))
    return Experiment(
        name=PREFIX + label,
        worlds={label: entry.choice},
        agents=AGENTS,
        trials=trials,
        horizon=entry.steps // size.shorter,
        record=Recording(steps="log"),
        reference=RECOMMENDED,
        sections=SECTIONS,
        stop=Stopping(RECOMMENDED, rivals, {label: looks(trials)}, FIRST_LOOK, RANDOM)
        if trials > 1
        else None,
    )


def looks(trials: int) -> tuple[int, ...]:
    """After 16, 32, 64 ... trials, and after the last."""
    found: list[int] = []
    while (following := FIRST_LOOK * 2 ** len(found)) < trials:
        found.append(following)
    return (*found, trials)
