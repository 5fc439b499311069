"""The sentence of a card: what its figure says, with the interval that says how sure that is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from vbmle.report import charts_across, comparisons, leaders, published, statistics, summary, world_runs
from vbmle.report.charts import Chart, chosen
from vbmle.report.statistics import Interval
from vbmle.report.words import capital, count, interval, join, listed, named, short
from vbmle.report.world_runs import WorldRuns

SOME = 4
"""Worlds up to which each has its own number in a sentence."""


def answer(chart: Chart, worlds: Sequence[WorldRuns], parameter: str | None = None) -> str:
    """One sentence for a chart of these worlds; "" where it has nothing to say."""
    makers: dict[str, Callable[[Sequence[WorldRuns]], str]] = {
        "regret": regret,
        "improvement": improvement,
        "distance": distance,
        "mle_error": mle_error,
        "cost": cost,
        "tuned": tuned,
    }
    if chart.kind == "parameter":
        return along(worlds, parameter)
    return makers[chart.kind](worlds) if worlds and chart.kind in makers else ""


def regret(worlds: Sequence[WorldRuns]) -> str:
    """The first agent against its rival, world by world; where cards of their own compare them, who loses least."""
    if all(world.sequential for world in worlds):
        return _least(worlds)
    first, other = next(iter(worlds[0].agents)), summary.rival(worlds)
    if other is None:
        found = {world.label: statistics.mean_interval(world.agents[first].final) for world in worlds}
        parts = [f"{interval(loss)} in {named(label)}" for label, loss in list(found.items())[:SOME]]
        return f"{capital(named(first))} loses {join(parts)}."
    leads = {
        world.label: world.lead(first, other)
        for world in worlds
        if {first, other} <= set(world.agents) and len(world.shared(first, other))
    }
    if len(leads) > SOME:
        return _counted(leads, first, other)
    parts = [f"{_lead(found)} in {named(label)}" for label, found in leads.items()]
    return f"Against {named(other)}, {named(first)} loses {'; '.join(parts)}." if parts else ""


def _least(worlds: Sequence[WorldRuns]) -> str:
    """Who has the least mean regret in each world."""
    best = [(world, place) for world in worlds for place in leaders.places(world).values() if place.leads]
    who = list(dict.fromkeys(place.agent for _, place in best))
    if len(who) == 1:
        parts = [f"{interval(place.mean)} in {named(world.label)}" for world, place in best]
        return f"{capital(named(who[0]))} has the least mean regret: {'; '.join(parts)}."
    parts = [f"{named(place.agent)} in {named(world.label)}, {interval(place.mean)}" for world, place in best]
    return f"The least mean regret has {'; '.join(parts)}." if parts else ""


def _lead(found: Interval) -> str:
    """A difference in words: how much less or more, and where it may be chance."""
    if found.value == 0.0:
        return "the same"
    size = Interval(abs(found.value), *sorted((found.low, found.high)))
    if found.value < 0.0:
        size = Interval(-found.value, -found.high, -found.low)
    sure = "" if found.excludes_zero else ", which may be chance,"
    return f"{interval(size)} {'less' if found.value < 0.0 else 'more'}{sure}"


def _counted(leads: dict[str, Interval], first: str, other: str) -> str:
    less = {label: found for label, found in leads.items() if found.high < 0.0}
    more = {label: found for label, found in leads.items() if found.low > 0.0}
    parts = []
    for word, found in (("less", less), ("more", more)):
        if found:
            most = max(found, key=lambda label: abs(found[label].value))
            parts.append(f"{word} in {len(found)}, most in {named(most)} ({_lead(found[most])})")
    told = "; ".join(parts) if parts else "neither less nor more in any"
    return f"Of {count(len(leads), 'world')}, {named(first)} surely loses {told} against {named(other)}."


def improvement(worlds: Sequence[WorldRuns]) -> str:
    """How many of the others the first agent beats more often than not."""
    agents = charts_across.agents_of(worlds)
    first, found = agents[0], {}
    for other in agents[1:]:
        both = [w for w in worlds if {first, other} <= set(w.agents) and len(w.shared(first, other))]
        if both and other not in both[0].references:
            found[other] = charts_across.likelier(both, first, other)
    above = [other for other in found if found[other].low > 0.5]
    below = [other for other in found if found[other].high < 0.5]
    if not found:
        return ""
    told = f"{named(first)} is surely likelier than not to lose less than {len(above)} of {len(found)} others"
    if below:
        worst = min(below, key=lambda other: found[other].value)
        lost = listed(below) if len(below) <= SOME else f"{len(below)} others"
        return (
            f"{told}, and less likely than {lost} (least against {named(worst)}: {interval(found[worst])})."
        )
    nearest = min(found, key=lambda other: found[other].value)
    return f"{told}; the hardest to beat is {named(nearest)}, with probability {interval(found[nearest])}."


def along(worlds: Sequence[WorldRuns], parameter: str | None) -> str:
    """The first agent's regret at both ends of the parameter, and its exponent where there is one."""
    sweeps = world_runs.sweeps(worlds, parameter)
    if not sweeps:
        return ""
    sweep = sweeps[0]
    first = next(iter(sweep.worlds[0].agents))
    here = [
        (v, w.agents[first].final)
        for v, w in zip(sweep.values, sweep.worlds, strict=True)
        if first in w.agents
    ]
    low, high = (statistics.mean_interval(lost) for _, lost in (here[0], here[-1]))
    exponent = comparisons.trend(np.array([value for value, _ in here]), [lost for _, lost in here])
    grows = "" if np.isnan(exponent.value) else f", as its power {interval(exponent)}"
    return (
        f"From {sweep.parameter} = {here[0][0]:g} to {here[-1][0]:g} the mean regret of {named(first)} goes from "
        f"{interval(low)} to {interval(high)}{grows}."
    )


def distance(worlds: Sequence[WorldRuns]) -> str:
    """How far each estimate is from the truth in the end."""
    return _ends(worlds, "distance", "the squared distance to the truth")


def mle_error(worlds: Sequence[WorldRuns]) -> str:
    """How large the error of the maximum likelihood estimate is in the end."""
    return _ends(worlds, "mle_error", "the squared error in the norm of A_t")


def _ends(worlds: Sequence[WorldRuns], column: str, what: str) -> str:
    world = next((w for w in worlds if any(column in runs.columns for runs in w.agents.values())), None)
    if world is None:
        return ""
    found = {
        agent: statistics.mean_interval(runs.columns[column][:, -1])
        for agent, runs in world.agents.items()
        if column in runs.columns
    }
    shown = list(found)[:SOME]
    parts = [f"{interval(found[agent])} for {named(agent)}" for agent in shown]
    return f"After {world.horizon} steps in {named(world.label)}, {what} is {join(parts)}."


def cost(worlds: Sequence[WorldRuns]) -> str:
    """The cheapest and the dearest world for the first agent."""
    first = next(iter(worlds[0].agents))
    here = [world for world in worlds if first in world.agents]
    here.sort(key=lambda world: float(world.agents[first].seconds_per_step.mean()))
    ends = [f"{_milliseconds(world, first)} ms in {named(world.label)}" for world in (here[0], here[-1])]
    return f"A step of {named(first)} takes from {ends[0]} to {ends[1]}."


def _milliseconds(world: WorldRuns, agent: str) -> str:
    return interval(statistics.mean_interval(1e3 * world.agents[agent].seconds_per_step))


def beside_the_paper(worlds: Sequence[WorldRuns]) -> str:
    """Time per step of the first agent beside the published one."""
    first, parts = next(iter(worlds[0].agents)), []
    for world in worlds:
        printed = published.of_world(world.experiment, world.label).get(first)
        if printed and printed.seconds_per_step and first in world.agents:
            parts.append(
                f"{_milliseconds(world, first)} ms in {world.label} where the paper prints {printed.seconds_per_step} s"
            )
    return (
        f"A step of {first} takes {join(parts)}; the paper used other hardware and software." if parts else ""
    )


def tails(worlds: Sequence[WorldRuns]) -> str:
    """How few trials make the mean of the first agent."""
    first = next(iter(worlds[0].agents))
    lost = np.concatenate([world.agents[first].final for world in worlds if first in world.agents])
    nothing = int((lost < comparisons.SAME_REGRET).sum())
    most = next((n for n in range(1, len(lost) + 1) if statistics.share_of_largest(lost, n) >= 0.9), 0)
    few = f", and {count(most, 'trial')} made 90% of its loss" if 0 < most < len(lost) // 2 else ""
    return f"{named(first)} lost nothing in {nothing} of {len(lost)} trials{few}."


def ranking(worlds: Sequence[WorldRuns], agents: Sequence[str]) -> str:
    """Which of some agents of equal standing is among the best in how many worlds, and what the worst costs."""
    here = [replace(world, agents=shown) for world in worlds if len(shown := chosen(world, agents)) > 1]
    if not here:
        return ""
    wins = {agent: sum(agent in leaders.among_the_best(world) for world in here) for agent in agents}
    order = sorted((agent for agent in agents if wins[agent]), key=lambda agent: -wins[agent])
    told = join([f"{named(agent)} in {wins[agent]}" for agent in order[:SOME]])
    lagging = [
        (place.behind.value / world.scale, world.label, place)
        for world in here
        for place in leaders.places(world).values()
        if place.sure
    ]
    if not lagging:
        return (
            f"Nobody surely loses more than another; among the best of {count(len(here), 'world')}: {told}."
        )
    _, label, worst = max(lagging, key=lambda entry: entry[0])
    return (
        f"Among the best of {count(len(here), 'world')}: {told}; the costliest choice is {named(worst.agent)} in "
        f"{named(label)}, which loses {interval(worst.behind)} more than {named(worst.leader)}."
    )


def tuned(worlds: Sequence[WorldRuns]) -> str:
    """What tuning gains the first agent, in how many worlds."""
    from vbmle.experiments.suites.compare import REFERENCE, SUFFIX

    gains = {
        world.label: world.lead(REFERENCE + SUFFIX, REFERENCE)
        for world in worlds
        if {REFERENCE, REFERENCE + SUFFIX} <= set(world.agents)
    }
    if not gains:
        return ""
    sure = [label for label, found in gains.items() if found.high < 0.0]
    most = min(gains, key=lambda label: gains[label].value)
    return (
        f"Tuning surely helps {REFERENCE} in {len(sure)} of {count(len(gains), 'world')}; most in {named(most)}, where "
        f"the tuned one loses {_lead(gains[most])} ({short(abs(gains[most].value))} of "
        f"{short(float(next(w for w in worlds if w.label == most).agents[REFERENCE].final.mean()))})."
    )
