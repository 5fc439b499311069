"""The study of maximiser and bias: tables, and a summary in plain words. The page of the report has its figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vbmle.common.statistics import SAME_REGRET
from vbmle.report import leaders, runs, significance, tables
from vbmle.report.runs import WorldRuns
from vbmle.report.sections import Sections, Text
from vbmle.report.significance import Difference
from vbmle.report.tables import RegretRow, Row, column, text
from vbmle.suites.study import (
    CERTIFIED,
    FEW,
    GLOBAL,
    LOCAL,
    NO_BIAS,
    WORLDS,
    Audit,
    Finding,
    read_audit,
)

HIT = 1e-6
"""The relative distance from the maximum at which a search counts as having found it."""

ACCURACY = {
    LOCAL: "local: from the last theta",
    FEW: "few: last, most likely, middle",
    GLOBAL: "global: all known basins",
}
SCHEDULE = {
    "0.1 sqrt(t)": "0.1 √t",
    GLOBAL: "√t (the paper's)",
    "10 sqrt(t)": "10 √t",
    "0.3 log(1+t)": "0.3 log(1+t)",
    "log(1+t)": "log(1+t)",
    "3 log(1+t)": "3 log(1+t)",
    NO_BIAS: "no bias (maximum likelihood)",
}
"""By agent: what it is called."""

sections = Sections(
    {
        "study": Text(
            "The maximiser and the bias",
            "",
            "VBMLE with searches of different thoroughness and with different weights of the bias.",
            cards=(),
            page="What the maximiser and the bias do to regret",
            groups=(
                ("accuracy", "How well must the maximum be found?", (GLOBAL, FEW, LOCAL)),
                ("certified", "Does a certified maximum do better?", (GLOBAL, CERTIFIED)),
                (
                    "schedule",
                    "How much bias is best?",
                    (GLOBAL, *(name for name in SCHEDULE if name != GLOBAL)),
                ),
            ),
        )
    }
)


@dataclass(frozen=True)
class StudyRow(RegretRow):
    """The same, with the length of the runs; in the row of the global search also how often it found the maximum."""

    steps: int = column("steps")
    audited_steps: int | None = column("audited steps")
    hit_rate: float | None = column("hit rate")


@dataclass(frozen=True)
class AuditRow(Row):
    """How often the global search found the certified maximum, and what it missed otherwise."""

    world: str = column("world")
    steps: int = column("steps")
    hits: int = column("hits")
    hit_rate: float = column("hit rate")
    largest_miss: float = column("largest miss")
    other_action: int = column("steps with another action")
    proved: int = column("proved")
    largest_open_gap: float = column("largest open gap")


@dataclass(frozen=True, eq=False)
class Study:
    """All records: each world with all agents, with certified search, and what the audit found."""

    worlds: dict[str, WorldRuns]
    certified: dict[str, WorldRuns]
    audited: dict[str, list[Finding]]


def read(folder: Path, audits: Sequence[Audit]) -> Study:
    """The study that is kept in a folder."""
    worlds: dict[str, WorldRuns] = {}
    certified: dict[str, WorldRuns] = {}
    for part in runs.read(folder):
        if part.experiment.name.startswith("study-"):
            target = certified if CERTIFIED in part.experiment.agents else worlds
            target.update({world.label: world for world in part.worlds})
    audited: dict[str, list[Finding]] = {}
    for audit in audits:
        audited.setdefault(audit.trial.world, []).extend(read_audit(audit, folder) or [])
    order = [label for family in WORLDS.values() for label in family]
    return Study(
        {label: worlds[label] for label in order if label in worlds},
        {label: certified[label] for label in order if label in certified and _both(certified[label])},
        {label: audited[label] for label in order if audited.get(label)},
    )


def _both(world: WorldRuns) -> bool:
    """Whether certified and global search have a trial in common."""
    return world.has(CERTIFIED, GLOBAL)


def write(folder: Path, audits: Sequence[Audit]) -> Path:
    """Make the tables and summary.md from what is kept in a folder; returns the summary."""
    study = read(folder, audits)
    tables.write(regret_rows(study), folder / "tables" / "study-regret.csv")
    tables.write(audit_rows(study), folder / "tables" / "study-audit.csv")
    pairs = tables.pairs([*study.worlds.values(), *study.certified.values()])
    tables.write(pairs, folder / "tables" / "study-pairs.csv")
    path = folder / "summary.md"
    path.write_text("\n".join(summary(study)) + "\n", encoding="utf-8")
    return path


# Tables


def regret_rows(study: Study) -> list[StudyRow]:
    """A row for each world and agent."""
    rows = []
    for world in [*study.worlds.values(), *study.certified.values()]:
        for agent, found in world.agents.items():
            findings = study.audited.get(world.label, []) if agent == GLOBAL else []
            hits = sum(finding.missed <= HIT for finding in findings)
            plain = tables.regret_row(world.label, agent, found, leaders.places(world).get(agent))
            rows.append(
                StudyRow(
                    **vars(plain),
                    steps=world.horizon,
                    audited_steps=len(findings) or None,
                    hit_rate=hits / len(findings) if findings else None,
                )
            )
    return rows


def audit_rows(study: Study) -> list[AuditRow]:
    """A row for each world."""
    rows = []
    for label, findings in study.audited.items():
        missed = np.array([finding.missed for finding in findings])
        gaps = np.array([finding.gap for finding in findings])
        rows.append(
            AuditRow(
                world=label,
                steps=len(findings),
                hits=int((missed <= HIT).sum()),
                hit_rate=float((missed <= HIT).mean()),
                largest_miss=float(missed.max()),
                other_action=sum(not finding.same_action for finding in findings),
                proved=int((gaps <= 2 * HIT).sum()),
                largest_open_gap=float(gaps.max()),
            )
        )
    return rows


# Words


def _identical(world: WorldRuns) -> tuple[int, int]:
    """In how many trials certified and global search have the same regret at every step, and trials."""
    shared = world.shared(CERTIFIED, GLOBAL)
    one, two = (
        found.regret[np.searchsorted(found.trials, shared)]
        for found in (world.agents[CERTIFIED], world.agents[GLOBAL])
    )
    return int((abs(one - two) <= SAME_REGRET).all(axis=1).sum()), len(shared)


def summary(study: Study) -> list[str]:
    """What the records say, as Markdown."""
    return [
        "# What the maximiser and the bias do to regret",
        "",
        "Differences are paired (same worlds, same luck), with 95% intervals; below 0 the first is better.",
        "",
        "## Accuracy of the maximiser, bias √t",
        "",
        *(f"- {world.label}: {_against(world, (LOCAL, FEW), ACCURACY)}." for world in study.worlds.values()),
        *(
            f"- {_certified_sentence(world)}"
            for world in study.certified.values()
            if CERTIFIED in world.agents
        ),
        "",
        "## How often the global search finds the certified maximum",
        "",
        *(f"- {_audit_sentence(row)}" for row in audit_rows(study)),
        "",
        "## Bias schedule, global search",
        "",
        *(f"- {world.label}: {_ranking(world)}." for world in study.worlds.values()),
    ]


def _short(agent: str, names: Mapping[str, str]) -> str:
    return names[agent].partition(":")[0].partition(" (")[0]


def _against(world: WorldRuns, others: Sequence[str], names: Mapping[str, str]) -> str:
    """Others beside the global search."""
    if GLOBAL not in world.agents:
        return "no trial of the global search"
    parts = [f"{_short(GLOBAL, names)}: mean regret {text(float(world.agents[GLOBAL].final.mean()))}"]
    for other in others:
        if other in world.agents:
            parts.append(f"{_short(other, names)} {_told(significance.difference(world, other, GLOBAL))}")
    return "; ".join(parts)


def _told(gap: Difference | None) -> str:
    """How much more or less regret the first has, and whether that is significant."""
    if gap is None:
        return "has no trial in common"
    if gap.found.value == gap.found.low == gap.found.high == 0.0:
        return "the same in every trial"
    more = f"{text(abs(gap.found.value))} {'more' if gap.found.value > 0 else 'less'}"
    if not gap.found.known:
        return f"{more} (too few trials to compare)"
    verdict = "" if gap.decided else ", not significant"
    return f"{more} (difference {tables.ends(gap.found)}{verdict})"


def _certified_sentence(world: WorldRuns) -> str:
    same, trials = _identical(world)
    sentence = (
        f"{world.label}, certified: the same regret as global at every one of {world.horizon} steps in {same} of "
        f"{trials} trials"
    )
    gap = significance.difference(world, CERTIFIED, GLOBAL)
    if same < trials and gap is not None:
        sentence += f"; difference in the end {tables.bracketed(gap.found)}"
    cost = world.agents[CERTIFIED].seconds_per_step.mean() / world.agents[GLOBAL].seconds_per_step.mean()
    return f"{sentence}; a step takes {text(float(cost))} times as long."


def _audit_sentence(row: AuditRow) -> str:
    sentence = f"{row.world}: the maximum, to {HIT:g} relative, in {row.hits} of {row.steps} steps"
    if row.hits != row.steps:
        sentence += (
            f"; at worst it missed {text(row.largest_miss)} relative, and in {row.other_action} steps the best theta "
            "asks for another action"
        )
    return f"{sentence} (proved in {row.proved}; largest open gap {text(row.largest_open_gap)})."


def _ranking(world: WorldRuns) -> str:
    """The schedules from best to worst mean, and which of them are significantly worse than the best."""
    means = {agent: float(world.agents[agent].final.mean()) for agent in SCHEDULE if agent in world.agents}
    order = sorted(means, key=lambda agent: means[agent])
    if not order:
        return "no trial is complete yet"
    if means[order[-1]] <= SAME_REGRET:
        return "no schedule had any regret"
    best, parts = order[0], []
    for agent in order:
        gap = significance.difference(world, agent, best) if agent != best else None
        worse = gap is not None and gap.outcome == "worse"
        parts.append(f"{_short(agent, SCHEDULE)} {text(means[agent])}{'*' if worse else ''}")
    sentence = f"mean regret from best to worst: {', '.join(parts)}"
    marked = any("*" in part for part in parts)
    return sentence + (" (* significantly worse than the best, one comparison at a time)" if marked else "")
