"""All agents on the worlds that matter, with default and with tuned settings.

For every agent with a knob (`Agent.tuning`: the weight of its bias, or the multiplier of its radius) each value of a
stated grid is tried on worlds and luck of their own; the value with the least mean regret is the tuned agent's. Then
all agents, tuned and untuned, meet the same worlds with the same luck.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from vbmle.agents.base import Knob
from vbmle.common.settings import settings_of
from vbmle.experiments import catalogue
from vbmle.experiments.spec import Choice, Experiment
from vbmle.paper.network import SIZES, network
from vbmle.report import runs

PREFIX = "compare-"
"""What the names of these experiments begin with."""

SECTIONS = "vbmle.suites.compare_page:sections"
REFERENCE = "VBMLE"
SUFFIX = ", tuned"


def compared() -> dict[str, tuple[str, Knob | None]]:
    """By label: every agent of the catalogue, and what is tuned; the reference first, agents without a knob last."""
    found = {kind.label or name: (name, kind) for name, kind in catalogue.general().items()}

    def order(label: str) -> tuple[bool, bool, bool, str]:
        kind = found[label][1]
        return label != REFERENCE, kind.tuning is None, kind.needs_truth, label.casefold()

    return {label: (found[label][0], found[label][1].tuning) for label in sorted(found, key=order)}


AGENTS = compared()

WORLDS: dict[str, tuple[int, dict[str, Choice]]] = {
    "paper": (500, {label: Choice("random_network", network(*size)) for label, size in SIZES.items()}),
    "river": (600, {"RiverSwim": Choice("riverswim", {"length": 6, "features": "tabular"})}),
    "hypercube": (1500, {"hypercube": Choice("hypercube", {"dimension": 4, "delta": 0.1, "gap": 0.9})}),
    "lake": (1000, {"FrozenLake 4x4": Choice("frozen_lake", {"size": 4})}),
}
"""By family: steps, and the worlds by label."""


class Size(NamedTuple):
    """Trials of the comparison and of the tuning, and by what steps are divided."""

    trials: int
    tuning: int
    shorter: int


FULL, QUICK = Size(20, 5, 1), Size(3, 1, 10)
Chosen = Mapping[str, Mapping[str, float | str]]
"""By world: the value chosen for each agent's knob."""


def tuning(size: Size) -> list[Experiment]:
    """Every value of every grid, on seeds that the comparison does not use."""
    agents = {
        f"{label}, {knob.setting} = {value}": Choice(name, {knob.setting: value})
        for label, (name, knob) in AGENTS.items()
        if knob is not None
        for value in knob.grid
    }
    return [
        Experiment(
            name=f"tuning-{family}",
            worlds=worlds,
            agents=agents,
            trials=size.tuning,
            horizon=steps // size.shorter,
            sections=SECTIONS,
        )
        for family, (steps, worlds) in WORLDS.items()
    ]


def choose(folder: Path) -> Chosen:
    """From the tuning's records: in each world the value of the least mean regret for each agent.

    Of values that tie the default is taken, if it is among them.
    """
    regrets: dict[tuple[str, str], dict[float | str, list[float]]] = {}
    for part in runs.read(folder):
        for met in part.worlds:
            for agent, found in met.agents.items():
                label = agent.partition(", ")[0]
                value = next(iter(part.experiment.agents[agent].settings.values()))
                regrets.setdefault((met.label, label), {})[value] = found.final.tolist()
    chosen: dict[str, dict[str, float | str]] = {}
    for (world, label), tried in regrets.items():
        usual = default(label)
        means = {value: (sum(losses) / len(losses), value != usual) for value, losses in tried.items()}
        chosen.setdefault(world, {})[label] = min(means, key=means.__getitem__)
    return chosen


def default(label: str) -> float | str:
    """The default of an agent's knob."""
    name, knob = AGENTS[label]
    assert knob is not None
    value: float | str = settings_of(catalogue.agents()[name])[knob.setting]
    return value


def comparison(chosen: Chosen, size: Size) -> list[Experiment]:
    """All agents, default and tuned: one experiment for each world, because each has its own tuned values."""
    found = []
    for family, (steps, worlds) in WORLDS.items():
        for world, choice in worlds.items():
            agents = {label: Choice(name) for label, (name, _) in AGENTS.items()}
            for label, (name, knob) in AGENTS.items():
                if knob is not None and label in chosen.get(world, {}):
                    agents[label + SUFFIX] = Choice(name, {knob.setting: chosen[world][label]})
            name = PREFIX + (family if len(worlds) == 1 else f"{family} {world}")
            found.append(
                Experiment(
                    name=name,
                    worlds={world: choice},
                    agents=agents,
                    trials=size.trials,
                    horizon=steps // size.shorter,
                    reference=REFERENCE,
                    sections=SECTIONS,
                )
            )
    return found
