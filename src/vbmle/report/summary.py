"""What the records say, in plain words: who lost less, where, by how much, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence

from vbmle.report import published, statistics
from vbmle.report.comparisons import SAME_REGRET
from vbmle.report.tables import Row, text
from vbmle.report.world_runs import Runs, WorldRuns

MOST_OF_REGRET = 0.9
"""Share of the total regret that is called most of it."""

FEW_WORLDS = 4
"""Worlds up to which each is named with its numbers."""

PLAIN = "maximum likelihood"
"""The agent that does not explore."""

KEY = (PLAIN, "UCLK")
"""Whom the first agent is compared with on top of the page, where there are many."""


def sentences(worlds: Sequence[WorldRuns], pairs: Sequence[Row]) -> list[str]:
    """The summary of a section, most important first."""
    if not worlds:
        return ["No trial is complete yet."]
    others = _others(worlds, pairs)
    compared = [_comparison(worlds, pairs, other, short=len(others) > FEW_WORLDS) for other in others]
    warnings = [*_missing(worlds), *trouble(worlds)]
    return [*_best(worlds, pairs), *compared, *warnings, _tails(worlds), _cost(worlds)]


def headline(worlds: Sequence[WorldRuns], pairs: Sequence[Row]) -> list[str]:
    """What the top of the page says of a section."""
    if not worlds:
        return ["No trial is complete yet."]
    others = _others(worlds, pairs)
    chosen = others if len(others) <= 2 else [other for other in KEY if other in others] or others[:1]
    return [*_best(worlds, pairs), *(_comparison(worlds, pairs, other, short=True) for other in chosen)]


def _others(worlds: Sequence[WorldRuns], pairs: Sequence[Row]) -> list[str]:
    """Whom the first agent is compared with; baselines, which come last, first, and measures at the end."""
    first, measures = next(iter(worlds[0].agents)), worlds[0].references
    found = dict.fromkeys(str(row["against"]) for row in pairs if row["agent"] == first)
    return sorted(reversed(found), key=lambda other: other in measures)


def costs(worlds: Sequence[WorldRuns]) -> list[str]:
    """What is said of a section that is about the cost of a step alone."""
    agents = dict.fromkeys(agent for world in worlds for agent in world.agents)
    told = [
        _cost_range([(world, world.agents[agent]) for world in worlds if agent in world.agents], agent)
        for agent in agents
    ]
    return told + trouble(worlds)


# Who is best


def _best(worlds: Sequence[WorldRuns], pairs: Sequence[Row]) -> list[str]:
    """In how many worlds each agent is among the best, and where the one that does not explore is."""
    best = {world.label: among_the_best(world, pairs) for world in worlds}
    counts: dict[str, int] = {}
    for agents in best.values():
        for agent in agents:
            counts[agent] = counts.get(agent, 0) + 1
    if max(len(world.agents) for world in worlds) < 2:
        return []
    order = sorted(counts, key=lambda agent: -counts[agent])
    number = len(worlds)
    told = _join([f"{agent} in {counts[agent]}" for agent in order]) + f" of {number} worlds"
    if number == 1:
        told = _join(order)
    found = [f"Among the best, in that no other agent surely lost less: {told}."]
    alone = [f"{agents[0]} in {label}" for label, agents in best.items() if len(agents) == 1]
    if number > 1 and 0 < len(alone) <= 2 * FEW_WORLDS:
        found[0] = f"{found[0][:-1]}; alone at the top: {_join(alone)}."
    plain = [label for label, agents in best.items() if PLAIN in agents and len(agents) > 1]
    if plain:
        where = _join(plain) if len(plain) <= 2 * FEW_WORLDS else f"{len(plain)} of {_count(number, 'world')}"
        found.append(
            f"{_capital(PLAIN)}, which does not explore, is among the best in {where}: nothing there shows a need "
            f"for exploration."
        )
    return found


def among_the_best(world: WorldRuns, pairs: Sequence[Row]) -> list[str]:
    """The agent with the least mean regret, and those that cannot be told apart from it by paired differences."""
    agents = {label: runs for label, runs in world.agents.items() if label not in world.references}
    if not agents:
        return []
    leader = min(agents, key=lambda label: float(agents[label].final.mean()))
    surely: set[str] = set()
    for row in pairs:
        if row["world"] == world.label and leader in (row["agent"], row["against"]):
            other = str(row["against"] if row["agent"] == leader else row["agent"])
            if verdict(row) == (-1 if row["agent"] == leader else 1):
                surely.add(other)
    return [label for label in agents if label not in surely]


# One against another


def _comparison(worlds: Sequence[WorldRuns], pairs: Sequence[Row], other: str, short: bool) -> str:
    """The first agent against another one, over all worlds; `short` leaves out the numbers of trials."""
    first = next(iter(worlds[0].agents))
    rows = [row for row in pairs if row["agent"] == first and row["against"] == other]
    most = 2 if short else FEW_WORLDS
    parts = []
    for sign, winner in ((-1, first), (1, other)):
        won = [row for row in rows if verdict(row) == sign]
        if len(won) > most:
            parts.append(f"{winner} lost less in {len(won)} of {_count(len(rows), 'world')}, {_range(won)}")
        parts += [
            f"{winner} lost less in {row['world']}, {_by(row, short)}" for row in won if len(won) <= most
        ]
    equal = [str(row["world"]) for row in rows if verdict(row) == 0]
    if equal:
        where = _join(equal) if len(equal) <= FEW_WORLDS else f"{len(equal)} of {len(rows)} worlds"
        parts.append(f"they cannot be told apart in {where}")
    return f"{first} against {other}: {'; '.join(parts)}."


def verdict(row: Row) -> int:
    """-1 if the agent lost less than the other, 1 if more, 0 if the interval contains 0."""
    low, high = row["difference_low"], row["difference_high"]
    assert isinstance(low, float)
    assert isinstance(high, float)
    return 1 if low > 0.0 else -1 if high < 0.0 else 0


def _by(row: Row, short: bool) -> str:
    ends = sorted(abs(float(row[key] or 0.0)) for key in ("difference_low", "difference_high"))
    less, more = (row["less"], row["more"]) if verdict(row) < 0 else (row["more"], row["less"])
    trials = f"; less in {less} of {row['trials']} trials, more in {more}, the same in {row['same']}"
    return (
        f"by {_short(abs(float(row['difference'] or 0.0)))} on average (95% interval {_short(ends[0])} to "
        f"{_short(ends[1])}{'' if short else trials})"
    )


def _range(rows: Sequence[Row]) -> str:
    """From the smallest to the largest mean difference."""
    ordered = sorted(rows, key=lambda row: abs(float(row["difference"] or 0.0)))
    least, most = (
        f"{_short(abs(float(row['difference'] or 0.0)))} in {row['world']}"
        for row in (ordered[0], ordered[-1])
    )
    return f"by {least} to {most} on average (every 95% interval excludes 0)"


# What to beware of


def _missing(worlds: Sequence[WorldRuns]) -> list[str]:
    """A warning where agents have not finished the same trials."""
    lacking = [
        f"{agent} in {world.label} ({len(runs.trials)} of {world.expected(agent)})"
        for world in worlds
        for agent, runs in world.agents.items()
        if len(runs.trials) < world.expected(agent)
    ]
    if not lacking:
        return []
    if len(lacking) > 2 * FEW_WORLDS:
        lacking = [*lacking[: 2 * FEW_WORLDS], f"{len(lacking) - 2 * FEW_WORLDS} more"]
    return [f"Trials are missing: {_join(lacking)}. Only paired differences compare like with like there."]


def trouble(worlds: Sequence[WorldRuns]) -> list[str]:
    """One sentence about decisions that did not end as they should, where there were any."""
    found = [
        f"{agent} in {world.label} ({runs.trouble} in {_steps(world, runs)} steps)"
        for world in worlds
        for agent, runs in world.agents.items()
        if runs.trouble
    ]
    if not found:
        return []
    if len(found) > 2 * FEW_WORLDS:
        found = [*found[: 2 * FEW_WORLDS], f"{len(found) - 2 * FEW_WORLDS} more"]
    return [
        "Some decisions were in trouble (the solver did not converge, its certificate was not closed, or the "
        f"confidence set was empty): {_join(found)}."
    ]


def _steps(world: WorldRuns, runs: Runs) -> int:
    return len(runs.trials) * world.horizon


def _tails(worlds: Sequence[WorldRuns]) -> str:
    """How many worlds make the mean of the first agent."""
    first = next(iter(worlds[0].agents))
    here = [world for world in worlds if first in world.agents]
    parts = [f"in {world.label} {_tail(world.agents[first])}" for world in here]
    if len(here) > FEW_WORLDS:
        lost = [loss for world in here for loss in world.agents[first].final]
        parts = [f"lost nothing in {sum(loss < SAME_REGRET for loss in lost)} of all {len(lost)} trials"]
    return f"Look at medians and dots, not at means alone. {first}: {'; '.join(parts)}."


def _tail(runs: Runs) -> str:
    count = len(runs.final)
    nothing = int((runs.final < SAME_REGRET).sum())
    if nothing == count:
        return f"lost nothing in all {count} trials"
    most = 1 + next(
        n for n in range(count) if statistics.share_of_largest(runs.final, n + 1) >= MOST_OF_REGRET
    )
    return f"lost nothing in {nothing} of {count} trials, and {most} made {MOST_OF_REGRET:.0%} of its loss"


def _cost(worlds: Sequence[WorldRuns]) -> str:
    """Time per step of the first agent beside the published one."""
    first = next(iter(worlds[0].agents))
    here = [(world, world.agents[first]) for world in worlds if first in world.agents]
    if len(here) > FEW_WORLDS:
        return _cost_range(here, first)
    parts, compared = [], False
    for world, runs in here:
        printed = published.of_world(world.experiment, world.label).get(first)
        compared = compared or printed is not None
        theirs = f" (the paper: {printed.seconds_per_step} s)" if printed else ""
        parts.append(f"{_milliseconds(runs)} in {world.label}{theirs}")
    note = " The paper's figures come from other hardware and software." if compared else ""
    return f"A step of {first} took {_join(parts)}.{note}"


def _cost_range(runs: Sequence[tuple[WorldRuns, Runs]], agent: str) -> str:
    ordered = sorted(runs, key=lambda pair: float(pair[1].seconds_per_step.mean()))
    ends = [f"{_milliseconds(found)} in {world.label}" for world, found in (ordered[0], ordered[-1])]
    return f"A step of {agent} took from {ends[0]} to {ends[1]}."


def _milliseconds(runs: Runs) -> str:
    return f"{_short(1e3 * float(runs.seconds_per_step.mean()))} ms"


def _short(value: float) -> str:
    """Two significant digits."""
    return text(float(f"{value:.1e}")).rstrip("0").rstrip(".") if 0 < value < 10 else f"{value:.0f}"


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def _join(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]
