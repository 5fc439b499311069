"""The league in words and two tables: who is how far behind the best, over all worlds."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from vbmle.common.statistics import Interval
from vbmle.experiments.behind import FLOOR, NEAR
from vbmle.report import runs, tables
from vbmle.report.sections import Sections, Text
from vbmle.report.standings import Standing, Standings, standings
from vbmle.report.tables import Row, column
from vbmle.report.words import several
from vbmle.suites.league import PREFIX, RANDOM, RECOMMENDED, WORLDS

sections = Sections(
    {
        "league": Text(
            "The league",
            "Which rivals does the recommended agent beat?",
            "Every agent that may be recommended, with default settings, in worlds of many kinds.",
            cards=("improvement",),
            page="The league: which agent to recommend",
        )
    }
)


@dataclass(frozen=True)
class AgentRow(Row):
    """One agent over all worlds."""

    agent: str = column("agent")
    geometric_mean: Interval = column("geometric mean")
    worst: Interval = column("worst ratio")
    near: Interval = column(f"within {NEAR} of the best")
    against_recommended: Interval = column("against the recommended")


@dataclass(frozen=True)
class WorldRow(Row):
    """One agent in one world."""

    world: str = column("world")
    steps: int = column("steps")
    trials: int = column("trials")
    agent: str = column("agent")
    mean_regret: float = column("mean regret")
    ratio: Interval = column("ratio")


def write(folder: Path) -> Path:
    """DIR/league.md, tables/league.csv and tables/league-worlds.csv; returns the page of words."""
    parts = [part for part in runs.read(folder) if part.experiment.name.startswith(PREFIX)]
    worlds, order = [world for part in parts for world in part.worlds], list(WORLDS)
    worlds.sort(key=lambda world: order.index(world.label) if world.label in order else len(order))
    league = standings(worlds, RANDOM, RECOMMENDED)
    tables.write(over_all(league), folder / "tables" / "league.csv")
    tables.write(by_world(league), folder / "tables" / "league-worlds.csv")
    path = folder / "league.md"
    path.write_text("\n".join(_page(league)) + "\n")
    return path


def over_all(league: Standings) -> list[AgentRow]:
    """One row per agent, with its intervals."""
    return [
        AgentRow(line.agent, line.geometric_mean, line.worst, line.near, line.against)
        for line in league.lines
    ]


def by_world(league: Standings) -> list[WorldRow]:
    """One row per world and agent."""
    return [
        WorldRow(
            world.label,
            world.horizon,
            league.trials[place],
            line.agent,
            float(world.agents[line.agent].final.mean()),
            line.behind[place],
        )
        for place, world in enumerate(league.worlds)
        for line in league.lines
    ]


def _page(league: Standings) -> list[str]:
    told = several(league.trials)
    lines = [
        "# The league",
        "",
        f"{len(league.worlds)} worlds, {told} trials of every agent in each, on the same worlds with the same luck. A "
        f"ratio is an agent's mean regret over the best agent's; regrets below {FLOOR:.1%} of the random policy's "
        "count as that. Brackets are 95% bootstrap intervals over worlds and trials. In the last column, above 1 means "
        "that the recommended agent is ahead, and an interval that contains 1 leaves open which is better.",
        "",
        f"| agent | geometric mean | worst ratio | within {NEAR} of the best | against {RECOMMENDED} |",
        "|---|---|---|---|---|",
    ]
    for line in league.lines:
        cells = (
            _told(line.geometric_mean),
            _told(line.worst),
            _percent(line.near),
            "" if line.agent == RECOMMENDED else _told(line.against),
        )
        lines.append(f"| {line.agent} | " + " | ".join(cells) + " |")
    heads = " | ".join(line.agent for line in league.lines)
    lines += [
        "",
        "Ratios by world:",
        "",
        f"| world | steps | trials | {heads} |",
        "|---" * (3 + len(league.lines)) + "|",
    ]
    for place, world in enumerate(league.worlds):
        row = " | ".join(_cell(line, place) for line in league.lines)
        lines.append(f"| {world.label} | {world.horizon} | {league.trials[place]} | {row} |")
    return lines


def _short(value: float) -> str:
    return f"{value:.0f}" if value >= 100.0 else f"{value:.3g}"


def _bold(ratio: float) -> str:
    return f"**{_short(ratio)}**" if ratio == 1.0 else _short(ratio)


def _cell(line: Standing, place: int) -> str:
    """The ratio, for the recommended agent with its interval."""
    return _told(line.behind[place]) if line.agent == RECOMMENDED else _bold(line.ratios[place])


def _told(interval: Interval) -> str:
    if not interval.known:
        return _short(interval.value)
    return f"{_short(interval.value)} [{_short(interval.low)}, {_short(interval.high)}]"


def _percent(interval: Interval) -> str:
    if not interval.known:
        return f"{interval.value:.0%}"
    return f"{interval.value:.0%} [{interval.low:.0%}, {interval.high:.0%}]"
