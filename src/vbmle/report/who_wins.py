"""Who wins where: agents against worlds, colour for the loss relative to the best, a mark where that is sure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from vbmle.report import leaders
from vbmle.report.charts import REGRET, Chart, Panel, Series
from vbmle.report.leaders import Place
from vbmle.report.section import Section
from vbmle.report.styles import LEVELS
from vbmle.report.words import interval
from vbmle.report.world_runs import WorldRuns

ROWS = 14
"""Agents that are shown at once; the others on request."""


@dataclass(frozen=True)
class Cell:
    """One agent in one world."""

    world: str
    shown: str
    level: int
    """0 for the best, then by LEVELS."""
    sure: bool
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
class Picture:
    """The picture of the first screen."""

    groups: Sequence[tuple[str, str, int]]
    """Key and title of a section, and how many columns it has."""
    worlds: Sequence[str]
    lines: Sequence[Line]


def worlds_of(sections: Sequence[Section]) -> list[tuple[Section, WorldRuns]]:
    """The columns: the worlds of the sections that are for the first screen, where two agents or more ran.

    Of the worlds of a family that have the same label the first stands for all.
    """
    wanted = [section for section in sections if section.text.first] or list(sections)
    found: dict[tuple[str, str], tuple[Section, WorldRuns]] = {}
    for section in wanted:
        for world in section.worlds:
            if len(world.agents.keys() - world.references) > 1:
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
    return Picture(groups, [world.label for _, world in columns], lines)


def level(ratio: float) -> int:
    """Which colour a ratio has."""
    return int(np.searchsorted(LEVELS, ratio))


def _cell(place: Place | None, section: Section, world: WorldRuns) -> Cell | None:
    if place is None:
        return None
    told = f"{place.agent} in {world.label} loses {interval(place.mean)}"
    if place.leads:
        told += ", the least of all"
    else:
        sure = "surely more" if place.sure else "which may be chance"
        told += f", {_times(place.ratio)} times the best: {interval(place.behind)} more than {place.leader}, {sure}"
    link = section.row(world, place.agent)
    return Cell(world.label, _times(place.ratio), level(place.ratio), place.sure, place.leads, told, link)


def _times(ratio: float) -> str:
    return f"{ratio:.1f}" if ratio < 9.95 else f"{ratio:.0f}" if ratio < 999.5 else ">999"


def chart(sections: Sequence[Section]) -> Chart | None:
    """The same for paper."""
    columns = worlds_of(sections)
    if not columns:
        return None
    found: list[Mapping[str, Place]] = [leaders.places(world) for _, world in columns]
    labels = [world.label for _, world in columns]
    series = []
    for agent in leaders.order([world for _, world in columns]):
        ratios = np.array([places[agent].ratio if agent in places else np.nan for places in found])
        sure = np.array([float(agent in places and places[agent].sure) for places in found])
        series.append(
            Series(agent, agent, np.arange(len(labels), dtype=np.float64), ratios, worlds=labels, sure=sure)
        )
    panel = Panel("matrix", "", "", "", series)
    note = "A number is mean regret over that of the best agent in the same world; a dot marks what surely loses more."
    caption = (
        f"Who wins where: agents against worlds. {note} Sure means that the 95% interval of the paired difference "
        f"excludes 0, one comparison at a time. {REGRET}"
    )
    return Chart("who-wins", "matrix", "Who wins where", note, caption, [panel])
