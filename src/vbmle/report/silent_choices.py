"""Under which of the choices that the paper leaves open is its printed spread matched?

The paper prints standard deviations over 20 trials. With tails this heavy those of 20 trials differ widely, so a
printed one is called matched where it lies between the 2.5% and the 97.5% quantile of the standard deviations of 20
trials drawn from ours. A choice matches the paper where it matches VBMLE, and UCLK in at least one of its settings.
"""

from __future__ import annotations

from collections.abc import Sequence

from vbmle.experiments.records import Results
from vbmle.experiments.suites.paper_choices import NAME
from vbmle.report import published, ratios, statistics
from vbmle.report.tables import Row
from vbmle.report.world_runs import by_world


def rows(results: Results) -> list[Row]:
    """A row for each choice, size and agent that the paper prints a spread for."""
    found: list[Row] = []
    for world in by_world(results):
        size, choice = split(world.label)
        for agent, runs in world.agents.items():
            printed = published.FIGURES.get((size, agent.split(" (")[0]))
            if printed is None or printed.std is None or len(runs.final) < ratios.PER_DRAW:
                continue
            low, high = ratios.spread_of_few(runs.final)
            row: Row = {"world": size, "choice": choice, "agent": agent, "trials": len(runs.final)}
            row |= {"std": statistics.std(runs.final), "std_low": low, "std_high": high}
            found.append(row | {"printed": printed.std, "matched": str(low <= float(printed.std) <= high)})
    return found


def split(label: str) -> tuple[str, str]:
    """The size and the choice in "(3,2), d = 2"."""
    size, _, choice = label.partition("), ")
    return f"{size})", choice


def sentence(found: Sequence[Row]) -> str:
    """Which choices match at both sizes, which at one, and which never do."""
    if not found:
        return ""
    sizes = list(dict.fromkeys(str(row["world"]) for row in found))
    choices = list(dict.fromkeys(str(row["choice"]) for row in found))
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


def matches(found: Sequence[Row], choice: str, size: str) -> bool:
    """VBMLE's spread is matched, and that of UCLK in some setting."""
    here = [
        row for row in found if row["choice"] == choice and row["world"] == size and row["matched"] == "True"
    ]
    agents = {str(row["agent"]).split(" (")[0] for row in here}
    return {"VBMLE", "UCLK"} <= agents


def of(results: Sequence[Results]) -> list[Row]:
    """The rows of the experiment on choices, where it was run."""
    return [row for made in results if made.experiment.name == NAME for row in rows(made)]
