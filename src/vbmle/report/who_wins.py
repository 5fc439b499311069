"""Who wins where: agents against worlds, colour for the regret relative to the best, filled where the
difference is significant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vbmle.common.statistics import FEWEST
from vbmle.experiments.behind import FLOOR
from vbmle.plot.panels import Panel, Series
from vbmle.plot.styles import LEVELS
from vbmle.report import leaders
from vbmle.report.charts import REGRET, Chart
from vbmle.report.leaders import Place
from vbmle.report.runs import WorldRuns
from vbmle.report.sections import Section
from vbmle.report.tables import bracketed
from vbmle.report.words import several, short

ROWS = 14
"""Agents that are shown at once; the others on request."""

FAR = 100.0
"""Ratios are not told beyond this where the best has less regret than what counts: they are ratios to the floor."""


@dataclass(frozen=True)
class Cell:
    """One agent in one world."""

    world: str
    shown: str
    level: int
    """0 for the best, then by LEVELS."""
    decided: bool
    """Whether it is the best, or significantly worse; an outline, where trials cannot tell."""
    leads: bool
    told: str
    """The same in words."""
    link: str
    """Where the numbers behind it are."""


@dataclass(frozen=True)
class Line:
    """One agent; None where it did not run."""

    agent: str
    cells: Sequence[Cell | None]


@dataclass(frozen=True)
class Head:
    """Over a column: a world, how large it is, and what was run there."""

    world: str
    states: str
    actions: str
    trials: str
    size: str


@dataclass(frozen=True)
class Picture:
    """The picture of the first screen."""

    groups: Sequence[tuple[str, str, int]]
    """Key and title of a section, and how many columns it has."""
    heads: Sequence[Head]
    lines: Sequence[Line]

    own: bool
    """Whether some cell shows the regret itself."""

    @property
    def worlds(self) -> list[str]:
        return [head.world for head in self.heads]

    @property
    def counts(self) -> list[tuple[str, list[str]]]:
        """What stands under the names of the worlds, by name."""
        return [
            (name, [getattr(head, name) for head in self.heads]) for name in ("states", "actions", "trials")
        ]


def worlds_of(sections: Sequence[Section]) -> list[tuple[Section, WorldRuns]]:
    """The columns: the worlds of the sections that are for the first screen, where two agents or more ran.

    Of the worlds of a family that have the same label the first stands for all.
    """
    wanted = [section for section in sections if section.text.first] or list(sections)
    found: dict[tuple[str, str], tuple[Section, WorldRuns]] = {}
    for section in wanted:
        for world in section.worlds:
            if len(world.contenders) > 1:
                found.setdefault((section.key, world.label), (section, world))
    return list(found.values())


def build(sections: Sequence[Section]) -> Picture | None:
    """The picture; None where no world has two agents."""
    columns = worlds_of(sections)
    if not columns:
        return None
    found = [leaders.places(world) for _, world in columns]
    groups: list[tuple[str, str, int]] = []
    for section, _ in columns:
        if groups and groups[-1][0] == section.key:
            groups[-1] = (*groups[-1][:2], groups[-1][2] + 1)
        else:
            groups.append((section.key, section.text.title, 1))
    lines = [
        Line(
            agent, [_cell(places.get(agent), *column) for places, column in zip(found, columns, strict=True)]
        )
        for agent in leaders.order([world for _, world in columns])
    ]
    own = any(
        place.below_floor and not place.leads and place.ratio <= FAR for at in found for place in at.values()
    )
    return Picture(groups, [_head(world) for _, world in columns], lines, own)


def _head(world: WorldRuns) -> Head:
    trials = several(
        [len(runs.trials) for label, runs in world.agents.items() if label in leaders.places(world)]
    )
    size = "{states} states, {actions} actions, {dimension} parameters".format(**world.facts)
    states, actions = (f"{world.facts[key]:,}" for key in ("states", "actions"))
    return Head(world.label, states, actions, trials, f"{size}; {trials} trials of {world.horizon} steps")


def level(ratio: float) -> int:
    """Which colour a ratio has."""
    return int(np.searchsorted(LEVELS, ratio))


def _cell(place: Place | None, section: Section, world: WorldRuns) -> Cell | None:
    if place is None:
        return None
    told = f"{place.agent} in {world.label}: mean regret {bracketed(place.mean)}"
    if place.leads:
        told += ", the lowest" if not place.below_floor else ", next to none"
    elif place.below_floor:
        told += ", where the best has next to none"
    else:
        told += f", {times(place)} times the best"
    if place.behind is not None:
        ways = {
            "worse": "significantly worse",
            "better": "better",
            "the same": "the same",
            "open": "undecided",
        }
        word = ways.get(place.behind.outcome, "too few trials to compare")
        told += f"; {bracketed(place.behind.found)} more than {place.leader}: {word}"
    link = section.row(world, place.agent)
    shown, height = times(place), level(place.ratio)
    return Cell(world.label, shown, height, decided(place, world), place.leads, told, link)


def decided(place: Place, world: WorldRuns) -> bool:
    """Whether it is the best, or significantly worse, and that from enough trials."""
    return place.clear or (place.leads and len(world.agents[place.agent].trials) >= FEWEST)


def times(place: Place) -> str:
    """How many times the best agent's regret, in few characters; the regret itself, in brackets, where the best
    has next to none."""
    most = FAR if place.below_floor else 999.0
    if place.ratio > most:
        return f">{most:.0f}"
    if place.below_floor and not place.leads:
        return f"({short(place.mean.value)})"
    return f"{place.ratio:.1f}" if place.ratio < 9.95 else f"{place.ratio:.0f}"


def chart(sections: Sequence[Section]) -> Chart | None:
    """The same for paper."""
    columns = [world for _, world in worlds_of(sections)]
    if not columns:
        return None
    labels, series = [world.label for world in columns], []
    across = np.arange(len(labels), dtype=np.float64)
    for agent in leaders.order(columns):
        places = [leaders.places(world).get(agent) for world in columns]
        pairs = list(zip(places, columns, strict=True))
        series.append(
            Series(
                agent,
                agent,
                across,
                np.array([np.nan if place is None else place.ratio for place in places]),
                worlds=labels,
                decided=np.array(
                    [float(place is not None and decided(place, world)) for place, world in pairs]
                ),
                shown=["" if place is None else times(place) for place in places],
            )
        )
    panel = Panel("matrix", "", "", "", series)
    note = (
        "A number is mean regret over that of the best agent in the same world; filled: significantly worse."
    )
    caption = (
        f"Who wins where: agents against worlds. {note} Regrets below {FLOOR:.1%} of the random policy's (or of the "
        "worst agent's, where it was not run) count as that; where the best has less, a number in brackets is the "
        "regret itself. Significant: the 95% interval of the paired difference excludes 0, one comparison at a time. "
        f"{REGRET}"
    )
    return Chart("who-wins", "matrix", "Who wins where", note, caption, [panel])
