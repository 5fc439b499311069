"""The sentences of the first screen, computed from the numbers of its picture, and what to beware of."""

from __future__ import annotations

import math
from collections.abc import Sequence

from vbmle.common.statistics import FEWEST
from vbmle.report import exploring, leaders, significance
from vbmle.report.leaders import Place
from vbmle.report.runs import WorldRuns
from vbmle.report.sections import NO_RECORDS
from vbmle.report.who_wins import FAR
from vbmle.report.words import capital, count, join, listed, named, several, short, some

FEW = 3
"""Up to this many are named one by one."""

FAR_BEHIND = 10.0
"""Ratios from here on are told by their order of magnitude."""

EQUAL = 1e-9
"""Geometric means of ratios within this are equal."""


def top(worlds: Sequence[WorldRuns]) -> list[str]:
    """Who is best, how the reference (or the next one) compares, and whether exploring pays; for worlds of
    two agents or more."""
    if not worlds:
        return [NO_RECORDS]
    order = leaders.order(worlds)
    if len(order) < 2:
        return [_alone(worlds), _size(worlds)]
    if max(len(runs.trials) for world in worlds for runs in world.contenders.values()) < FEWEST:
        return [
            f"Too few trials to compare agents: at least {FEWEST} are needed. What is shown is a first look.",
            _size(worlds),
        ]
    told = [
        _best(worlds, order),
        _other(worlds, order),
        exploring.sentence(exploring.gains(worlds)) or _size(worlds),
    ]
    return [line for line in told if line]


def _alone(worlds: Sequence[WorldRuns]) -> str:
    """Of one agent, or of none that may win."""
    agent = next(iter(worlds[0].contenders or worlds[0].agents))
    means = [
        f"{short(float(world.agents[agent].final.mean()))} in {named(world.label)}"
        for world in worlds[:FEW]
        if agent in world.agents
    ]
    return f"{capital(named(agent))}, with nothing to compare with: mean regret {join(means)}."


# Who is best


def _best(worlds: Sequence[WorldRuns], order: Sequence[str]) -> str:
    """The agent with the least ratio to the best, on average over worlds, and whom it cannot be told from."""
    equals = [label for label in order if _average(worlds, label) <= _average(worlds, order[0]) + EQUAL]
    if len(equals) > 1:
        who = listed(equals) if len(equals) <= FEW else count(len(equals), "agent")
        return f"No agent is ahead: {who} have the same regret{_everywhere(worlds)}."
    best, several_worlds = order[0], len(worlds) > 1
    ends = {label: _outcomes(worlds, label, best) for label in order[1:]}
    rivals = {label: found for label, found in ends.items() if found}
    unclear = [label for label, found in rivals.items() if not found & {"better", "worse"}]
    better = [label for label, found in rivals.items() if "better" in found]
    told = [f"Best overall: {named(best)}, {stands(worlds, best)}."]
    if unclear:
        who = listed(unclear) if len(unclear) <= FEW else f"{len(unclear)} of {len(rivals)} others"
        told.append(f"{capital(who)} cannot be told from it{' in any world' if several_worlds else ''}.")
    elif rivals and all("worse" in found for found in rivals.values()):
        told.append(f"Every other agent is significantly worse{' in some world' if several_worlds else ''}.")
    if better:
        verb = "is" if len(better) == 1 else "are"
        told.append(f"{capital(some(better, 'other'))} {verb} significantly better in some world.")
    return " ".join(told)


def _other(worlds: Sequence[WorldRuns], order: Sequence[str]) -> str:
    """How the reference stands, or the one that does not explore, or the next best."""
    reference = worlds[0].reference
    greedy = [label for label in order if any(world.role(label) == "greedy" for world in worlds)]
    wanted = [label for label in (reference, *greedy, *order) if label in order[1:]]
    return f"{capital(named(wanted[0]))}: {stands(worlds, wanted[0])}."


def stands(worlds: Sequence[WorldRuns], agent: str) -> str:
    """How an agent compares with the best of each world, by the numbers of the picture."""
    here = [places[agent] for world in worlds if agent in (places := leaders.places(world))]
    best, worst = sum(place.leads for place in here), max(here, key=lambda place: place.ratio)
    every = f"in all {len(here)} worlds" if len(here) > 1 else "in the one world"
    if best == len(here):
        return f"best {every}"
    if worst.ratio < FAR_BEHIND:
        return _within(here, every)
    bound = min(10.0 ** math.floor(math.log10(worst.ratio)), FAR if worst.below_floor else math.inf)
    far = [place for place in here if place.ratio >= bound]
    led = f"best in {best} of {len(here)}" if best else f"best in none of {count(len(here), 'world')}"
    return f"{led}, and at least {bound:.0f} times the best in {len(far)}"


def _within(here: Sequence[Place], every: str) -> str:
    """By the largest ratio; where the best has next to no regret there is none."""
    known = [place.ratio for place in here if place.leads or not place.below_floor]
    without = len(here) - len(known)
    if not without:
        return f"within {max(known):.1f} times the best {every}"
    if not known:
        return f"behind a best agent with next to no regret {every}"
    within = (
        f"best in {len(known)}"
        if max(known) == 1.0
        else f"within {max(known):.1f} times the best in {len(known)}"
    )
    return f"{within} of {len(here)} worlds, and behind one with next to no regret in {without}"


def _average(worlds: Sequence[WorldRuns], agent: str) -> float:
    """The mean logarithm of its ratios."""
    found = [math.log(places[agent].ratio) for world in worlds if agent in (places := leaders.places(world))]
    return sum(found) / len(found)


def _outcomes(worlds: Sequence[WorldRuns], agent: str, best: str) -> set[str]:
    """How an agent compares with the best one overall, in each world where both ran."""
    found = [significance.difference(world, agent, best) for world in worlds]
    return {gap.outcome for gap in found if gap is not None}


def _everywhere(worlds: Sequence[WorldRuns]) -> str:
    return f" in all {len(worlds)} worlds" if len(worlds) > 1 else f" in {named(worlds[0].label)}"


def _size(worlds: Sequence[WorldRuns]) -> str:
    trials, steps = several([world.planned for world in worlds]), several([world.horizon for world in worlds])
    return f"Every agent ran {trials} trials of {steps} steps in each of {count(len(worlds), 'world')}."


# What to beware of


def warnings(worlds: Sequence[WorldRuns]) -> list[str]:
    """Trials that are missing, and steps that failed."""
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
    return [*told, *_failed(worlds)]


def _failed(worlds: Sequence[WorldRuns]) -> list[str]:
    """Where most steps failed, and how rare that was elsewhere."""
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
        "In some steps the solver failed (no convergence, no proof of optimality, or an empty confidence set): "
        f"{join(parts)}."
    ]


def _rate(share: float) -> str:
    """A share of steps."""
    return f"{share:.1%} of steps" if share >= 0.001 else f"1 step in {round(1.0 / share):,}"


def _some(parts: Sequence[str]) -> str:
    most = 2 * FEW
    return join(parts if len(parts) <= most else [*parts[:most], f"{len(parts) - most} more"])
