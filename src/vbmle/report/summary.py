"""What the records say, in plain words: who lost less, where, by how much, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence

from vbmle.report import published, statistics
from vbmle.report.data import Runs, WorldRuns
from vbmle.report.figures import NOTHING
from vbmle.report.tables import Row, text

MOST = 0.9
"""Share of the total regret that is called most of it."""


def sentences(worlds: Sequence[WorldRuns], pairs: Sequence[Row]) -> list[str]:
    """The summary, most important first."""
    if not worlds:
        return ["No trial is complete yet."]
    return [*_comparisons(worlds, pairs), *_missing(worlds), _tails(worlds), _cost(worlds)]


def _comparisons(worlds: Sequence[WorldRuns], pairs: Sequence[Row]) -> list[str]:
    """The first agent against each other one; baselines, which come last, first."""
    first = next(iter(worlds[0].agents))
    found = []
    for other in reversed(dict.fromkeys(row["against"] for row in pairs if row["agent"] == first)):
        rows = [row for row in pairs if row["agent"] == first and row["against"] == other]
        equal = [str(row["world"]) for row in rows if _verdict(row) == 0]
        parts = []
        if equal:
            parts.append(f"{first} and {other} cannot be told apart in {_join(equal)}")
        for row in rows:
            if _verdict(row):
                parts.append(
                    f"in {row['world']} {first if _verdict(row) < 0 else other} lost less, {_by(row)}"
                )
        found.append(_capital("; ".join(parts)) + ".")
    return found


def _verdict(row: Row) -> int:
    """-1 if the agent lost less than the other, 1 if more, 0 if the interval contains 0."""
    low, high = row["difference_low"], row["difference_high"]
    assert isinstance(low, float)
    assert isinstance(high, float)
    return 1 if low > 0.0 else -1 if high < 0.0 else 0


def _by(row: Row) -> str:
    ends = sorted(abs(float(row[key] or 0.0)) for key in ("difference_low", "difference_high"))
    less, more = (row["less"], row["more"]) if _verdict(row) < 0 else (row["more"], row["less"])
    return (
        f"by {_short(abs(float(row['difference'] or 0.0)))} on average (95% interval {_short(ends[0])} to "
        f"{_short(ends[1])}; less in {less} of {row['trials']} trials, more in {more}, the same in {row['same']})"
    )


def _missing(worlds: Sequence[WorldRuns]) -> list[str]:
    """A warning where agents have not finished the same trials."""
    lacking = [
        f"{agent} in {world.label} ({len(runs.trials)} of {world.planned})"
        for world in worlds
        for agent, runs in world.agents.items()
        if len(runs.trials) < world.planned
    ]
    if not lacking:
        return []
    return [f"Trials are missing: {_join(lacking)}. Only paired differences compare like with like there."]


def _tails(worlds: Sequence[WorldRuns]) -> str:
    """How many worlds make the mean of the first agent."""
    first = next(iter(worlds[0].agents))
    parts = [f"in {world.label} {_tail(world.agents[first])}" for world in worlds if first in world.agents]
    return f"Look at medians and dots, not at means alone. {first}: {'; '.join(parts)}."


def _tail(runs: Runs) -> str:
    count = len(runs.final)
    nothing = int((runs.final < NOTHING).sum())
    if nothing == count:
        return f"lost nothing in all {count} trials"
    most = 1 + next(n for n in range(count) if statistics.share_of_largest(runs.final, n + 1) >= MOST)
    return f"lost nothing in {nothing} of {count} trials, and {most} made {MOST:.0%} of its loss"


def _cost(worlds: Sequence[WorldRuns]) -> str:
    """Time per step of the first agent beside the published one."""
    first = next(iter(worlds[0].agents))
    parts, compared = [], False
    for world in worlds:
        if first in world.agents:
            printed = published.of_world(world.experiment, world.label).get(first)
            compared = compared or printed is not None
            theirs = f" (the paper: {printed.seconds_per_step} s)" if printed else ""
            parts.append(
                f"{_short(1e3 * float(world.agents[first].seconds.mean()))} ms in {world.label}{theirs}"
            )
    note = " The paper's figures come from other hardware and software." if compared else ""
    return f"A step of {first} took {_join(parts)}.{note}"


def _short(value: float) -> str:
    """Two significant digits."""
    return text(float(f"{value:.1e}")).rstrip("0").rstrip(".") if 0 < value < 10 else f"{value:.0f}"


def _join(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]
