"""All agents compared, in words and one table: where VBMLE wins, ties or loses, default and tuned; and the
card of tuning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from vbmle.common import statistics
from vbmle.common.statistics import Interval
from vbmle.plot.panels import Panel
from vbmle.report import charts, runs, significance, tables
from vbmle.report.charts import REGRET, Chart
from vbmle.report.runs import WorldRuns
from vbmle.report.sections import Card, Run, Sections, Text
from vbmle.report.significance import Difference
from vbmle.report.tables import Row, column
from vbmle.report.words import count, several
from vbmle.suites.compare import AGENTS, PREFIX, REFERENCE, SUFFIX, Chosen

WINS, TIES, LOSES = "wins", "ties", "loses"
NOTE = "Hollow: default settings. Filled: tuned on other seeds. Lowest regret on top."

TEXTS = {
    "compare": Text(
        "All agents compared",
        "",
        "Every agent with its default settings and, where it has one to tune, tuned for each world on other seeds. "
        "Oracle knows the truth and Random ignores it: they are there as a measure.",
        cards=("improvement",),
    ),
    "tuning": Text(
        "How the tuned values were chosen",
        "Which values won?",
        "Every value of a stated grid, on worlds and luck of their own. What won here is the tuned agent of vbmle "
        "compare.",
        cards=("regret",),
        chapter="matters",
    ),
}


@dataclass(frozen=True)
class Line(Row):
    """One agent in one world; differences of regret are its own minus VBMLE's, untuned and tuned."""

    world: str = column("world")
    agent: str = column("agent")
    untuned: Interval = column("regret, default settings")
    untuned_verdict: str = column("VBMLE against it")
    untuned_difference: Interval | None = column("its regret minus VBMLE's")
    value: str = column("tuned to")
    tuned: Interval | None = column("regret, tuned")
    tuned_verdict: str = column("tuned VBMLE against it")
    tuned_difference: Interval | None = column("its regret minus tuned VBMLE's")


def write(folder: Path, chosen: Chosen) -> Path:
    """DIR/comparison.md and tables/comparison.csv; returns the page of words and table."""
    parts = [part for part in runs.read(folder) if part.experiment.name.startswith(PREFIX)]
    worlds = [world for part in parts for world in part.worlds]
    lines = [line for world in worlds for line in compare(world, chosen)]
    tables.write(lines, folder / "tables" / "comparison.csv")
    path = folder / "comparison.md"
    told = ["# All agents compared", "", *_words(worlds, lines), "", *_markdown(lines)]
    path.write_text("\n".join(told) + "\n", encoding="utf-8")
    return path


def compare(world: WorldRuns, chosen: Chosen) -> list[Line]:
    """Every agent that has records in the world, in the order of the comparison."""
    lines = []
    for label, (_, knob) in AGENTS.items():
        if label not in world.agents:
            continue
        tuned = label + SUFFIX
        value = chosen.get(world.label, {}).get(label)
        gaps = [
            None if one == other else significance.difference(world, one, other)
            for one, other in ((label, REFERENCE), (tuned, REFERENCE + SUFFIX))
        ]
        lines.append(
            Line(
                world=world.label,
                agent=label,
                untuned=statistics.mean_interval(world.agents[label].final),
                untuned_verdict=verdict(gaps[0]),
                untuned_difference=gaps[0].found if gaps[0] else None,
                value="nothing to tune" if knob is None else f"{knob.setting} = {value}",
                tuned=statistics.mean_interval(world.agents[tuned].final) if tuned in world.agents else None,
                tuned_verdict=verdict(gaps[1]),
                tuned_difference=gaps[1].found if gaps[1] else None,
            )
        )
    return lines


def verdict(gap: Difference | None) -> str:
    """What VBMLE does against an agent: it ties where the interval of their difference contains 0."""
    if gap is None:
        return ""
    words = {"worse": WINS, "better": LOSES, "too few": "too few trials"}
    return words.get(gap.outcome, TIES)


def _words(worlds: Sequence[WorldRuns], lines: Sequence[Line]) -> list[str]:
    """A paragraph, and for each world whom VBMLE beats, ties with and loses to."""
    trials = count(max(world.planned for world in worlds), "trial")
    told = [
        f"{trials} on the same worlds with the same luck. Brackets are 95% intervals; beside each verdict stands the "
        "other's regret minus VBMLE's (above 0: VBMLE has less), and a tie is an interval that contains 0. From fewer "
        f"than {statistics.FEWEST} trials there is no verdict. Tuned values were chosen for each "
        "world, on other seeds; "
        "the grids are in the documentation.",
        "",
    ]
    for world in worlds:
        here = [line for line in lines if line.world == world.label]
        told.append(f"- **{world.label}** ({world.horizon} steps)")
        for name, which in (("with default settings", "untuned_verdict"), ("tuned", "tuned_verdict")):
            found = {line.agent: getattr(line, which) for line in here}
            parts = [
                f"{word} {', '.join(agents)}"
                for word, agents in (
                    ("wins against", [a for a, v in found.items() if v == WINS]),
                    ("ties with", [a for a, v in found.items() if v == TIES]),
                    ("loses to", [a for a, v in found.items() if v == LOSES]),
                )
                if agents
            ]
            told.append(
                f"    - {name}, VBMLE {'; '.join(parts)}" if parts else f"    - {name}: too few trials"
            )
    return told


def _markdown(lines: Sequence[Row]) -> list[str]:
    shown = tables.present(lines)
    head = ["| " + " | ".join(one.heading for one in shown) + " |", "|" + "---|" * len(shown)]
    cells = [[tables.bracketed(getattr(line, one.name)) for one in shown] for line in lines]
    return head + ["| " + " | ".join(cell) + " |" for cell in cells]


# The card


def cards(run: Run) -> list[Card]:
    """What tuning gains, in every world where agents were tuned."""
    names = [part.experiment.name for part in run.parts if part.experiment.name.startswith(PREFIX)]
    worlds = [world for name in names for world in run.worlds(name)]
    drawn = chart(worlds)
    return (
        [Card("tuned", "What does tuning gain?", sentence(worlds), drawn, chapter="matters")] if drawn else []
    )


def chart(worlds: Sequence[WorldRuns]) -> Chart | None:
    """A panel for each world, a row for each agent; None where no agent was tuned."""
    if not any(SUFFIX in agent for world in worlds for agent in world.agents):
        return None
    panels = [_panel(world) for world in worlds]
    told = f"{NOTE} {REGRET} {charts.sizes(worlds)}."
    caption = f"Mean regret of every agent with 95% bootstrap intervals, logarithmic. {told}"
    return Chart("compare-tuned", "tuned", "Default and tuned", NOTE, caption, panels)


def _panel(world: WorldRuns) -> Panel:
    """The agent with the lowest regret (tuned, where it was) on top."""
    here = [label for label in AGENTS if label in world.agents]
    means = {
        label: [
            statistics.mean_interval(world.agents[name].final)
            for name in (label, label + SUFFIX)
            if name in world.agents
        ]
        for label in here
    }
    rows = []
    for label in sorted(here, key=lambda label: means[label][-1].value):
        untuned, *tuned = means[label]
        rows.append(charts.row(label, label, untuned, faint=True))
        rows += [charts.row(label, label, found) for found in tuned]
    title = f"regret at t = {world.horizon}, log scale"
    return Panel("forest", world.label, title, "", rows, x_scale="symlog", world=world.label)


def sentence(worlds: Sequence[WorldRuns]) -> str:
    """In how many worlds tuning helps the reference."""
    found = [significance.difference(world, REFERENCE + SUFFIX, REFERENCE) for world in worlds]
    gaps = [gap for gap in found if gap is not None]
    if not gaps:
        return ""
    if all(gap.outcome == "too few" for gap in gaps):
        return f"{several([gap.trials for gap in gaps])} trials are too few to compare."
    helped, hurt = (sum(gap.outcome == word for gap in gaps) for word in ("better", "worse"))
    worse = f" and is significantly worse in {hurt}" if hurt else ""
    return f"Tuning helps {REFERENCE} significantly in {helped} of {count(len(gaps), 'world')}{worse}."


sections = Sections(TEXTS, cards)
