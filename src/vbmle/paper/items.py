"""Where each figure and table of the paper is: the card that has it, and its files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from vbmle.paper.claims import FILES
from vbmle.paper.suite import APPROXIMATE, UCLK, VBMLE
from vbmle.report import charts
from vbmle.report.charts import Chart
from vbmle.report.sections import Card, Item, Run

CURVES = {
    "figure-1a": ("Figure 1a", "(3,2)", (VBMLE, UCLK)),
    "figure-1b": ("Figure 1b", "(5,4)", (VBMLE, UCLK)),
    "figure-appendix": ("Figure of the appendix", "(15,4)", (VBMLE, APPROXIMATE)),
}
"""By file: its name in the paper, the world, and the agents that the paper shows."""

DISTANCES = {
    "distance": ("figure-2a", "Figure 2a", "distance of θ_t from the truth"),
    "mle_error": ("figure-2b", "Figure 2b", "error of the maximum likelihood estimate in the norm of A_t"),
}
"""By what was recorded in the experiment of that name."""

TABLES = {
    "claim-time": ("Table 1", "seconds per step"),
    "claim-spread": ("Table of standard deviations", "of regret after the last step"),
}
THEOREM = ("claim-growth", "Theorem 2", "growth of regret with T and d")
ALL = "-all"
"""What the files with all agents end in."""


def curves(run: Run) -> list[Chart]:
    """Each of the paper's figures of regret: with the paper's own agents, and with all."""
    found = []
    for stem, (name, label, agents) in CURVES.items():
        worlds = [world for world in run.worlds("paper") if world.label == label]
        for suffix, shown, who in (("", agents, "the paper's agents"), (ALL, (), "all agents")):
            drawn = charts.regret(worlds, "paper", shown) if worlds else None
            if drawn is not None:
                found.append(replace(drawn, stem=stem + suffix, title=f"{name}: regret at {label}, {who}"))
    return found


def card(run: Run, cards: Sequence[Card]) -> Card | None:
    """A line for each item that there are records for; None without any."""
    drawn = {chart.stem: one.key for one in cards for chart in one.charts}
    listed = {table.stem for one in cards for table in one.tables}
    keys = {one.key for one in cards}
    items = []
    for stem, (name, label, _) in CURVES.items():
        files = [f"figures/{one}" for one in (stem, stem + ALL) if one in drawn]
        if files:
            items.append(Item(name, f"regret at {label}", drawn[files[0].split("/")[1]], files))
    recorded = {
        name for world in run.worlds("distance") for runs in world.agents.values() for name in runs.columns
    }
    for column, (stem, name, about) in DISTANCES.items():
        if column in recorded:
            place = "claim-distance" if "claim-distance" in keys else "distance"
            items.append(Item(name, about, place, [f"figures/{stem}"]))
    for key, (name, about) in TABLES.items():
        if FILES[key] in listed:
            items.append(Item(name, about, key, [f"tables/{FILES[key]}"]))
    key, name, about = THEOREM
    if key in keys:
        items.append(Item(name, about, key, [f"figures/{key}"]))
    return (
        Card("items", "Where is what the paper shows?", "", items=items, chapter="claims") if items else None
    )
