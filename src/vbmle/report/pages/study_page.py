"""The study of maximiser and bias: tables, and a summary in plain words. The page of the report has its figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from vbmle.experiments.records import load
from vbmle.experiments.suites.study import (
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
from vbmle.report import statistics, tables, world_runs
from vbmle.report.comparisons import SAME_REGRET
from vbmle.report.tables import Row, Value, text
from vbmle.report.world_runs import WorldRuns

if TYPE_CHECKING:
    pass

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
    for results in load(folder):
        if results.experiment.name.startswith("study-"):
            target = certified if CERTIFIED in results.experiment.agents else worlds
            target.update({world.label: world for world in world_runs.by_world(results)})
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
    return {CERTIFIED, GLOBAL} <= set(world.agents) and len(world.shared(CERTIFIED, GLOBAL)) > 0


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


def regret_rows(study: Study) -> list[Row]:
    """Regret in the end and time per step; in the row of the global search also how often it found the maximum."""
    rows = []
    for world in [*study.worlds.values(), *study.certified.values()]:
        for row in tables.regret([world]):
            kept: dict[str, Value] = {k: v for k, v in row.items() if not k.startswith("published")}
            findings = study.audited.get(world.label, []) if row["agent"] == GLOBAL else []
            hits = sum(finding.missed <= HIT for finding in findings)
            kept |= {"steps": world.horizon, "audited_steps": len(findings) or None}
            rows.append(kept | {"hit_rate": hits / len(findings) if findings else None})
    return rows


def audit_rows(study: Study) -> list[Row]:
    """How often the global search found the certified maximum, and what it missed otherwise."""
    rows: list[Row] = []
    for label, findings in study.audited.items():
        missed = np.array([finding.missed for finding in findings])
        gaps = np.array([finding.gap for finding in findings])
        rows.append(
            {
                "world": label,
                "steps": len(findings),
                "hits": int((missed <= HIT).sum()),
                "hit_rate": float((missed <= HIT).mean()),
                "largest_miss": float(missed.max()),
                "other_action": sum(not finding.same_action for finding in findings),
                "proved": int((gaps <= 2 * HIT).sum()),
                "largest_open_gap": float(gaps.max()),
            }
        )
    return rows


# Words


def _certified(world: WorldRuns) -> tuple[statistics.Interval, int, int]:
    """Certified minus global, in how many trials they are the same at every step, and trials."""
    one, two = world.agents[CERTIFIED], world.agents[GLOBAL]
    shared = world.shared(CERTIFIED, GLOBAL)
    rows = [runs.regret[np.searchsorted(runs.trials, shared)] for runs in (one, two)]
    same = (abs(rows[0] - rows[1]) <= SAME_REGRET).all(axis=1).sum()
    return statistics.mean_interval(rows[0][:, -1] - rows[1][:, -1]), int(same), len(shared)


def summary(study: Study) -> list[str]:
    """What the records say, as Markdown."""
    return [
        "# What the maximiser and the bias do to regret",
        "",
        "Differences are paired (same worlds, same luck), with 95% bootstrap intervals of their mean.",
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
    """The global search against others."""
    if GLOBAL not in world.agents:
        return "no trial of the global search"
    parts = [f"{_short(GLOBAL, names)} lost {text(float(world.agents[GLOBAL].final.mean()))}"]
    for other in others:
        if other in world.agents:
            parts.append(f"{_short(other, names)} {_difference(world, other, GLOBAL)}")
    return "; ".join(parts)


def _difference(world: WorldRuns, one: str, two: str) -> str:
    """How much more or less the first lost than the second, and how sure that is."""
    shared = world.shared(one, two)
    if not len(shared):
        return "has no trial in common"
    gaps = world.agents[one].at(shared) - world.agents[two].at(shared)
    if (abs(gaps) <= SAME_REGRET).all():
        return "the same in every trial"
    found = statistics.mean_interval(gaps)
    interval = f"{text(abs(found.value))} {'more' if found.value > 0 else 'less'}"
    sure = "" if found.excludes_zero else ", which may be chance"
    return f"{interval} (difference {text(found.low)} to {text(found.high)}{sure})"


def _certified_sentence(world: WorldRuns) -> str:
    difference, same, trials = _certified(world)
    sentence = (
        f"{world.label}, certified: the same regret as global at every one of {world.horizon} steps in {same} of "
        f"{trials} trials"
    )
    if same < trials:
        interval = f"{text(difference.low)} to {text(difference.high)}"
        sentence += f"; difference in the end {text(difference.value)} ({interval})"
    cost = world.agents[CERTIFIED].seconds_per_step.mean() / world.agents[GLOBAL].seconds_per_step.mean()
    return f"{sentence}; a step takes {text(float(cost))} times as long."


def _audit_sentence(row: Row) -> str:
    sentence = f"{row['world']}: the maximum, to {HIT:g} relative, in {row['hits']} of {row['steps']} steps"
    if row["hits"] != row["steps"]:
        sentence += (
            f"; at worst it missed {text(row['largest_miss'])} relative, and in {row['other_action']} steps the best "
            f"theta asks for another action"
        )
    return f"{sentence} (proved in {row['proved']}; largest open gap {text(row['largest_open_gap'])})."


def _ranking(world: WorldRuns) -> str:
    """The schedules from best to worst mean, and which of them lost more than the best by the interval."""
    means = {agent: float(world.agents[agent].final.mean()) for agent in SCHEDULE if agent in world.agents}
    order = sorted(means, key=lambda agent: means[agent])
    if not order:
        return "no trial is complete yet"
    if means[order[-1]] <= SAME_REGRET:
        return "no schedule lost anything"
    best, parts = order[0], []
    for agent in order:
        gaps = world.agents[agent].at(shared := world.shared(agent, best)) - world.agents[best].at(shared)
        surely = len(shared) > 1 and statistics.mean_interval(gaps).low > 0.0
        parts.append(f"{_short(agent, SCHEDULE)} {text(means[agent])}{'*' if surely else ''}")
    sentence = f"mean regret from best to worst: {', '.join(parts)}"
    return sentence + (
        " (* more than the best by a 95% interval, one comparison at a time)"
        if any("*" in part for part in parts)
        else ""
    )
