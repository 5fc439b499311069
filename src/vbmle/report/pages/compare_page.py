"""All agents compared, in words and one table: where VBMLE wins, ties or loses, default and tuned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from vbmle.experiments.records import load
from vbmle.experiments.suites.compare import AGENTS, REFERENCE, SUFFIX, Chosen
from vbmle.report import statistics, tables, world_runs
from vbmle.report.statistics import Interval
from vbmle.report.world_runs import WorldRuns

WINS, TIES, LOSES = "wins", "ties", "loses"
HEADINGS = {
    "world": "world",
    "agent": "agent",
    "untuned": "regret, default settings",
    "untuned_verdict": "VBMLE against it",
    "value": "tuned to",
    "tuned": "regret, tuned",
    "tuned_verdict": "tuned VBMLE against it",
}


@dataclass(frozen=True)
class Line:
    """One agent in one world: regret and the paired difference, VBMLE's minus its own, untuned and tuned."""

    world: str
    agent: str
    untuned: Interval
    untuned_lead: Interval | None
    value: str
    tuned: Interval | None
    tuned_lead: Interval | None


def write(folder: Path, chosen: Chosen) -> Path:
    """DIR/comparison.md and tables/comparison.csv; returns the page of words and table."""
    worlds = [
        world
        for results in load(folder)
        if results.experiment.name.startswith("compare-")
        for world in world_runs.by_world(results)
    ]
    lines = [line for world in worlds for line in compare(world, chosen)]
    rows = [as_row(line) for line in lines]
    tables.write(rows, folder / "tables" / "comparison.csv")
    path = folder / "comparison.md"
    path.write_text(
        "\n".join(["# All agents compared", "", *_words(worlds, lines), "", *_markdown(rows)]) + "\n",
        encoding="utf-8",
    )
    return path


def compare(world: WorldRuns, chosen: Chosen) -> list[Line]:
    """Every agent that has records in the world, in the order of the comparison."""
    lines = []
    for label, (_, knob) in AGENTS.items():
        if label not in world.agents:
            continue
        tuned = label + SUFFIX
        has_tuned = tuned in world.agents
        value = chosen.get(world.label, {}).get(label)
        lines.append(
            Line(
                world.label,
                label,
                statistics.mean_interval(world.agents[label].final),
                _lead(world, REFERENCE, label),
                "nothing to tune" if knob is None else f"{knob.setting} = {value}",
                statistics.mean_interval(world.agents[tuned].final) if has_tuned else None,
                _lead(world, REFERENCE + SUFFIX, tuned) if has_tuned else None,
            )
        )
    return lines


def _lead(world: WorldRuns, one: str, other: str) -> Interval | None:
    """Regret of one minus regret of the other on the trials that both have."""
    if one == other or one not in world.agents or other not in world.agents:
        return None
    shared = world.shared(one, other)
    return statistics.mean_interval(world.agents[one].at(shared) - world.agents[other].at(shared))


def verdict(lead: Interval | None) -> str:
    """What the difference says: a tie where its interval contains 0, or where there is none at all."""
    if lead is None:
        return ""
    if not lead.excludes_zero:
        return TIES
    return WINS if lead.high < 0.0 else LOSES


def as_row(line: Line) -> tables.Row:
    """For the table."""
    return {
        "world": line.world,
        "agent": line.agent,
        "untuned": _interval(line.untuned),
        "untuned_verdict": _told(line.untuned_lead),
        "value": line.value,
        "tuned": _interval(line.tuned),
        "tuned_verdict": _told(line.tuned_lead),
    }


def _interval(found: Interval | None) -> str:
    return "" if found is None else f"{_short(found.value)} [{_short(found.low)}, {_short(found.high)}]"


def _told(lead: Interval | None) -> str:
    return "" if lead is None else f"{verdict(lead)}: {_interval(lead)}"


def _short(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}" if abs(value) >= 0.005 else "0"


def _words(worlds: Sequence[WorldRuns], lines: Sequence[Line]) -> list[str]:
    """A paragraph, and for each world whom VBMLE beats, ties with and loses to."""
    trials = max(world.planned for world in worlds)
    told = [
        f"{trials} trials on the same worlds with the same luck. Brackets are 95% intervals of the mean; beside each "
        "verdict stands VBMLE's regret minus the other's (below 0: VBMLE lost less), and a tie is an interval that "
        "contains 0. Tuned values were chosen for each world, on other seeds; the grids are in the documentation.",
        "",
    ]
    for world in worlds:
        here = [line for line in lines if line.world == world.label]
        told.append(f"- **{world.label}** ({world.horizon} steps)")
        for name, lead in (("with default settings", "untuned_lead"), ("tuned", "tuned_lead")):
            verdicts = {line.agent: verdict(getattr(line, lead)) for line in here}
            parts = [
                f"{word} {', '.join(agents)}"
                for word, agents in (
                    ("wins against", [a for a, v in verdicts.items() if v == WINS]),
                    ("ties with", [a for a, v in verdicts.items() if v == TIES]),
                    ("loses to", [a for a, v in verdicts.items() if v == LOSES]),
                )
                if agents
            ]
            told.append(f"    - {name}, VBMLE {'; '.join(parts)}")
    return told


def _markdown(rows: Sequence[tables.Row]) -> list[str]:
    head = ["| " + " | ".join(HEADINGS.values()) + " |", "|" + "---|" * len(HEADINGS)]
    return head + ["| " + " | ".join(str(row[key]) for key in HEADINGS) + " |" for row in rows]
