"""The three sentences of the first screen, and what to beware of."""

from __future__ import annotations

from collections.abc import Sequence

from vbmle.report import charts_across, exploring, leaders
from vbmle.report.exploring import PLAIN
from vbmle.report.words import capital, count, interval, join, listed, named, percent
from vbmle.report.world_runs import WorldRuns

NOTHING = "No trial is complete yet."
RIVALS = ("UCLK", PLAIN)
"""Whom the first agent is compared with on the first screen, where they are there."""

FEW = 3
"""Up to this many are named one by one."""


def top(worlds: Sequence[WorldRuns]) -> list[str]:
    """Three sentences: who wins, by how much the first agent leads or lags, and whether exploration pays."""
    if not worlds:
        return [NOTHING]
    told = [_best(worlds), _against(worlds), exploring.short(worlds) or _size(worlds)]
    return [line for line in told if line]


# Who is best


def _best(worlds: Sequence[WorldRuns]) -> str:
    """In how many worlds each agent is among the best; with one world, by how much."""
    if len(worlds) == 1:
        return _best_of_one(worlds[0])
    wins: dict[str, int] = {}
    runs: dict[str, int] = {}
    for world in worlds:
        for label, place in leaders.places(world).items():
            runs[label] = runs.get(label, 0) + 1
            wins[label] = wins.get(label, 0) + (not place.sure)
    ranked = sorted((label for label in leaders.order(worlds) if wins[label]), key=lambda label: -wins[label])
    parts = [f"{named(label)} in {wins[label]} of {runs[label]}" for label in ranked[1:FEW]]
    most = f"{named(ranked[0])} is among the best in {wins[ranked[0]]} of {count(runs[ranked[0]], 'world')}"
    return f"{capital(join([most, *parts]))}." if len(parts) < 2 else f"{capital(most)}; {', '.join(parts)}."


def _best_of_one(world: WorldRuns) -> str:
    places = leaders.places(world)
    if not places:
        return ""
    best = next(place for place in places.values() if place.leads)
    equal = [label for label, place in places.items() if not place.sure and not place.leads]
    told = f"In {named(world.label)} {named(best.agent)} loses least, {interval(best.mean)}"
    if not equal:
        return f"{told}; every other agent surely loses more." if len(places) > 1 else f"{told}."
    who = listed(equal) if len(equal) <= FEW else f"{len(equal)} others"
    return f"{told}; {who} cannot be told apart from it."


# One against another


def rival(worlds: Sequence[WorldRuns]) -> str | None:
    """Whom the first agent is compared with: the paper's rival where it is there, otherwise the best of the others."""
    first = next(iter(worlds[0].agents))
    others = {label for world in worlds if first in world.agents for label in world.agents} - {first}
    found = [label for label in (*RIVALS, *leaders.order(worlds)) if label in others]
    return found[0] if found else None


def _against(worlds: Sequence[WorldRuns]) -> str:
    """The first agent against its rival, over all worlds that have both."""
    first, other = next(iter(worlds[0].agents)), rival(worlds)
    both = [w for w in worlds if other and {first, other} <= set(w.agents) and len(w.shared(first, other))]
    if not both or other is None:
        return ""
    found = charts_across.likelier(both, first, other)
    told = f"{capital(named(first))} loses less than {named(other)}"
    return f"{told} in {percent(found)} of paired runs, ties counted half."


def _size(worlds: Sequence[WorldRuns]) -> str:
    trials, steps = sorted({w.planned for w in worlds}), sorted({w.horizon for w in worlds})
    ends = [
        f"{numbers[0]}" if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"
        for numbers in (trials, steps)
    ]
    return f"Every agent ran {ends[0]} trials of {ends[1]} steps in each of {count(len(worlds), 'world')}."


# What to beware of


def warnings(worlds: Sequence[WorldRuns]) -> list[str]:
    """Trials that are missing, and decisions that did not end as they should."""
    lacking = [
        f"{named(agent)} in {named(world.label)} ({len(runs.trials)} of {world.expected(agent)})"
        for world in worlds
        for agent, runs in world.agents.items()
        if len(runs.trials) < world.expected(agent)
    ]
    told = []
    if lacking:
        told.append(
            f"Trials are missing: {_some(lacking)}. Only paired differences compare like with like there."
        )
    return [*told, *_troubled(worlds)]


def _troubled(worlds: Sequence[WorldRuns]) -> list[str]:
    """Where most decisions were in trouble, and how rare it was elsewhere."""
    shares = {
        (agent, world.experiment, world.label): runs.trouble / (len(runs.trials) * world.horizon)
        for world in worlds
        for agent, runs in world.agents.items()
        if runs.trouble
    }
    if not shares:
        return []
    order = sorted(shares, key=lambda key: -shares[key])
    parts = [
        f"{named(agent)} in {named(label)} ({_rate(shares[agent, name, label])})"
        for agent, name, label in order[:FEW]
    ]
    if order[FEW:]:
        parts.append(f"{len(order) - FEW} more (at most {_rate(shares[order[FEW]])})")
    return [
        "Some decisions were in trouble (the solver did not converge, its certificate was not closed, or the "
        f"confidence set was empty): {join(parts)}."
    ]


def _rate(share: float) -> str:
    """A share of steps."""
    return f"{share:.1%} of steps" if share >= 0.001 else f"1 step in {round(1.0 / share):,}"


def _some(parts: Sequence[str]) -> str:
    most = 2 * FEW
    return join(parts if len(parts) <= most else [*parts[:most], f"{len(parts) - most} more"])
