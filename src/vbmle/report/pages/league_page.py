"""The league in words and two tables: who is how far behind the best, over all worlds."""

from __future__ import annotations

from pathlib import Path

from vbmle.experiments.behind import FLOOR, NEAR
from vbmle.experiments.records import load
from vbmle.experiments.suites.league import PREFIX, RANDOM, RECOMMENDED, WORLDS
from vbmle.report import tables, world_runs
from vbmle.report.standings import Standing, Standings, standings
from vbmle.report.statistics import Interval


def write(folder: Path) -> Path:
    """DIR/league.md, tables/league.csv and tables/league-worlds.csv; returns the page of words."""
    found = [results for results in load(folder) if results.experiment.name.startswith(PREFIX)]
    worlds = [world for results in found for world in world_runs.by_world(results)]
    order = list(WORLDS)
    worlds.sort(key=lambda world: order.index(world.label) if world.label in order else len(order))
    league = standings(worlds, RANDOM, RECOMMENDED)
    tables.write(over_all(league), folder / "tables" / "league.csv")
    tables.write(by_world(league), folder / "tables" / "league-worlds.csv")
    path = folder / "league.md"
    path.write_text("\n".join(_page(league)) + "\n")
    return path


def over_all(league: Standings) -> list[tables.Row]:
    """One row per agent, with its intervals."""
    return [
        {
            "agent": line.agent,
            **_columns("geometric_mean", line.geometric_mean),
            **_columns("worst", line.worst),
            **_columns("near", line.near),
            **_columns("against_recommended", line.against),
        }
        for line in league.lines
    ]


def by_world(league: Standings) -> list[tables.Row]:
    """One row per world and agent."""
    return [
        {
            "world": world.label,
            "steps": world.horizon,
            "trials": league.trials[place],
            "agent": line.agent,
            "mean_regret": float(world.agents[line.agent].final.mean()),
            **_columns("ratio", line.behind[place]),
        }
        for place, world in enumerate(league.worlds)
        for line in league.lines
    ]


def _columns(name: str, interval: Interval) -> tables.Row:
    return {name: interval.value, f"{name}_low": interval.low, f"{name}_high": interval.high}


def _page(league: Standings) -> list[str]:
    told = _trials(league)
    lines = [
        "# The league",
        "",
        f"{len(league.worlds)} worlds, {told} trials of every agent in each, on the same worlds with the same luck. A "
        f"ratio is an agent's mean regret over the best agent's; regrets below {FLOOR:.1%} of the random policy's "
        "count as that. Brackets are 95% bootstrap intervals over worlds and trials. In the last column, above 1 means "
        "that the recommended agent is ahead, and an interval that contains 1 that neither is surely better.",
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


def _trials(league: Standings) -> str:
    low, high = min(league.trials), max(league.trials)
    return f"{low}" if low == high else f"{low} to {high}"


def _short(value: float) -> str:
    return f"{value:.0f}" if value >= 100.0 else f"{value:.3g}"


def _bold(ratio: float) -> str:
    return f"**{_short(ratio)}**" if ratio == 1.0 else _short(ratio)


def _cell(line: Standing, place: int) -> str:
    """The ratio, for the recommended agent with its interval."""
    return _told(line.behind[place]) if line.agent == RECOMMENDED else _bold(line.ratios[place])


def _told(interval: Interval) -> str:
    return f"{_short(interval.value)} [{_short(interval.low)}, {_short(interval.high)}]"


def _percent(interval: Interval) -> str:
    return f"{interval.value:.0%} [{interval.low:.0%}, {interval.high:.0%}]"
