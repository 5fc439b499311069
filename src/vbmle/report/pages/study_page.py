"""The study of maximiser and bias: a figure for each, tables, and a summary in plain words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vbmle.experiments.store import load
from vbmle.experiments.suites.study import (
    CERTIFIED,
    FEW,
    GLOBAL,
    LOCAL,
    NO_BIAS,
    NOT_CERTIFIED,
    WORLDS,
    Audit,
    Finding,
    read_audit,
)
from vbmle.report import statistics, tables, world_runs
from vbmle.report.charts import thin
from vbmle.report.comparisons import SAME_REGRET
from vbmle.report.styles import BLUE, GREEN, INK, ORANGE, RED, SKY
from vbmle.report.tables import Row, Value, text
from vbmle.report.world_runs import Runs, WorldRuns

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HIT = 1e-6
"""The relative distance from the maximum at which a search counts as having found it."""

# The line's style says the same again.
ACCURACY: dict[str, tuple[str, str, Any]] = {
    LOCAL: ("local: from the last theta", RED, "--"),
    FEW: ("few: last, most likely, middle", GREEN, "-."),
    GLOBAL: ("global: all known basins", BLUE, "-"),
}
SCHEDULE: dict[str, tuple[str, str, Any]] = {
    "0.1 sqrt(t)": ("0.1 √t", SKY, ":"),
    GLOBAL: ("√t (the paper's)", BLUE, "-"),
    "10 sqrt(t)": ("10 √t", BLUE, "--"),
    "0.3 log(1+t)": ("0.3 log(1+t)", ORANGE, ":"),
    "log(1+t)": ("log(1+t)", RED, "-"),
    "3 log(1+t)": ("3 log(1+t)", RED, "--"),
    NO_BIAS: ("no bias (maximum likelihood)", INK, (0, (1, 1.5))),
}
"""By agent: what it is called in a figure, colour and line."""


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
    """Make the figures, the tables and summary.md from what is kept in a folder; returns the summary."""
    study = read(folder, audits)
    (folder / "figures").mkdir(parents=True, exist_ok=True)
    for name, figure in (("accuracy", draw_accuracy(study)), ("schedule", draw_schedule(study))):
        figure.savefig(folder / "figures" / f"study-{name}.png", dpi=100)
        figure.savefig(folder / "figures" / f"study-{name}.pdf", metadata={"CreationDate": None})
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


# Figures


def draw_accuracy(study: Study) -> Figure:
    """Regret with each search, and in words how certified search compares with the global one."""
    figure, panels = _panels(study, ACCURACY, "How well the maximum is found, and what that costs")
    for label, axes in panels.items():
        note = "too many vertices to certify" if label in NOT_CERTIFIED else ""
        if label in study.certified:
            note = _certified_note(study.certified[label])
        axes.text(0.03, 0.99, note, transform=axes.transAxes, va="top", fontsize="small", color="0.25")
    return figure


def draw_schedule(study: Study) -> Figure:
    """Regret with each bias schedule."""
    figure, panels = _panels(study, SCHEDULE, "The weight of the bias, alpha(t), with the global search")
    for label, axes in panels.items():
        final = [runs.final.max() for agent, runs in study.worlds[label].agents.items() if agent in SCHEDULE]
        nothing = sum(loss <= SAME_REGRET for loss in final)
        if 1 < nothing < len(final):
            note = f"{nothing} of {len(final)} lost nothing"
            axes.text(0.03, 0.99, note, transform=axes.transAxes, va="top", fontsize="small", color="0.25")
    return figure


def _panels(
    study: Study, shown: Mapping[str, tuple[str, str, Any]], title: str
) -> tuple[Figure, dict[str, Axes]]:
    """Small multiples: a column for each family of two worlds."""
    from matplotlib.figure import Figure

    columns = (len(study.worlds) + 1) // 2
    figure = Figure(figsize=(3.6 * columns, 6.4), layout="constrained")
    grid = figure.subplots(2, columns, squeeze=False).T.ravel()
    for axes, world in zip(grid, study.worlds.values(), strict=False):
        for agent, style in shown.items():
            if agent in world.agents:
                _curve(axes, world.agents[agent], style)
        fewest = min(len(runs.trials) for runs in world.agents.values())
        missing = f" ({fewest} trials)" if fewest < world.planned else ""
        axes.set_title(world.label + missing, fontsize="medium", fontweight="bold")
        axes.set(xlabel="step t", xlim=(0, world.horizon))
        highest = [float(world.agents[agent].final.max()) for agent in shown if agent in world.agents]
        _from_nothing(axes, max(highest, default=0.0))
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="y", alpha=0.25)
    for axes in grid[:2]:
        axes.set_ylabel("cumulative regret")
    for axes in grid[len(study.worlds) :]:
        axes.set_visible(False)
    trials = max(world.planned for world in study.worlds.values())
    figure.suptitle(f"{title} (mean of {trials} trials, 95% band)")
    handles, names = grid[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=4, frameon=False, handlelength=3)
    return figure, dict(zip(study.worlds, grid, strict=False))


def _from_nothing(axes: Axes, highest: float) -> None:
    """Let the axis begin a little below 0, with room for a note above; say so where there is nothing to see."""
    top = 1.12 * axes.get_ylim()[1] if highest > SAME_REGRET else 1.0
    axes.set_ylim(-0.03 * top, top)
    if highest <= SAME_REGRET:
        axes.set_yticks([0.0])
        axes.text(0.5, 0.5, "nothing lost in any trial", transform=axes.transAxes, ha="center", color="0.25")


def _curve(axes: Axes, runs: Runs, style: tuple[str, str, Any]) -> None:
    name, color, line = style
    shown = thin(len(runs.steps))
    steps, curves = runs.steps[shown], runs.regret[:, shown]
    low, high = statistics.mean_band(curves, resamples=statistics.FEWER)
    axes.fill_between(steps, low, high, color=color, alpha=0.09, linewidth=0)
    axes.plot(steps, curves.mean(axis=0), color=color, linestyle=line, linewidth=2, label=name)


# Words


def _certified_note(world: WorldRuns) -> str:
    """How certified search compares with the global one, for a figure."""
    difference, same, trials = _certified(world)
    where = f"{trials} trials of {world.horizon} steps" if trials > 1 else f"{world.horizon} steps"
    if same == trials:
        return f"certified = global ({where})"
    return f"certified - global: {text(difference.value)} ({where})"


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


def _short(agent: str, names: Mapping[str, tuple[str, str, Any]]) -> str:
    return names[agent][0].partition(":")[0].partition(" (")[0]


def _against(world: WorldRuns, others: Sequence[str], names: Mapping[str, tuple[str, str, Any]]) -> str:
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
