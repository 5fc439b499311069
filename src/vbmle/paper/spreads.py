"""Under which of the choices that the paper leaves open is its printed spread matched?

The paper prints standard deviations over 20 trials. With tails this heavy those of 20 trials differ widely, so a
printed one is called matched where it lies between the 2.5% and the 97.5% quantile of the standard deviations of 20
trials drawn from ours. A choice matches the paper where it matches VBMLE, and UCLK in at least one of its settings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vbmle.common import statistics
from vbmle.common.statistics import FEWER, SEED, Interval
from vbmle.common.validation import Floats
from vbmle.paper import published
from vbmle.report.runs import WorldRuns
from vbmle.report.sections import Card
from vbmle.report.tables import Row, Table, column

PER_DRAW = 20
"""Trials behind a standard deviation that the paper prints."""


@dataclass(frozen=True)
class SpreadRow(Row):
    """A choice, size and agent that the paper prints a spread for."""

    world: str = column("world")
    choice: str = column("choice")
    agent: str = column("agent")
    trials: int = column("trials")
    std: Interval = column("std")
    """With the range of those of twenty trials."""
    printed: str = column("printed", words=False)
    matched: bool = column("matched")


def rows(worlds: Sequence[WorldRuns]) -> list[SpreadRow]:
    """A row for each choice, size and agent that the paper prints a spread for."""
    found = []
    for world in worlds:
        size, choice = split(world.label)
        for agent, runs in world.agents.items():
            printed = published.FIGURES.get((size, agent.split(" (")[0]))
            if printed is None or printed.std is None or len(runs.final) < PER_DRAW:
                continue
            low, high = spread_of_few(runs.final)
            std = Interval(statistics.std(runs.final), low, high)
            matched = low <= float(printed.std) <= high
            found.append(SpreadRow(size, choice, agent, len(runs.final), std, printed.std, matched))
    return found


def spread_of_few(values: Floats, count: int = PER_DRAW) -> tuple[float, float]:
    """Between which values the standard deviation of `count` trials drawn from these lies in 95% of draws."""
    rng = np.random.default_rng(np.random.SeedSequence(SEED))
    drawn = values[rng.integers(len(values), size=(FEWER, count))].std(axis=1, ddof=1)
    low, high = np.quantile(drawn, [0.025, 0.975])
    return float(low), float(high)


def split(label: str) -> tuple[str, str]:
    """The size and the choice in "(3,2), d = 2"."""
    size, _, choice = label.partition("), ")
    return f"{size})", choice


def sentence(found: Sequence[SpreadRow]) -> str:
    """Which choices match at both sizes, which at one, and which never do."""
    if not found:
        return ""
    sizes = list(dict.fromkeys(row.world for row in found))
    choices = list(dict.fromkeys(row.choice for row in found))
    where = {choice: [size for size in sizes if matches(found, choice, size)] for choice in choices}
    both = [choice for choice, at in where.items() if len(at) == len(sizes)]
    one = [f"{choice} (at {at[0]})" for choice, at in where.items() if at and len(at) < len(sizes)]
    never = [choice for choice, at in where.items() if not at]
    parts = [
        f"{head} {', '.join(names)}"
        for head, names in (
            ("matched under", both),
            ("matched at one size only under", one),
            ("never under", never),
        )
        if names
    ]
    return f"The printed spreads of VBMLE and UCLK are {'; '.join(parts)}."


def matches(found: Sequence[SpreadRow], choice: str, size: str) -> bool:
    """VBMLE's spread is matched, and that of UCLK in some setting."""
    here = [row for row in found if row.choice == choice and row.world == size and row.matched]
    return {"VBMLE", "UCLK"} <= {row.agent.split(" (")[0] for row in here}


def card(worlds: Sequence[WorldRuns]) -> Card | None:
    """From the experiment on choices; None where it was not run, or has too few trials."""
    found = rows(worlds)
    if not found:
        return None
    title = "Standard deviations under each choice, beside the printed ones"
    told = sentence(found)
    table = Table("choices-spread", title, "", f"{title}. {told}", found)
    return Card(
        "choices-spread", "Which choices match the paper's spread?", told, tables=[table], chapter="matters"
    )
