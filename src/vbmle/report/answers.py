"""The sentence of a card: what its figure says. Intervals stand in the figure and the tables beside it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from vbmle.common import statistics
from vbmle.report import charts, leaders, runs, significance
from vbmle.report.charts import Chart
from vbmle.report.runs import WorldRuns
from vbmle.report.words import capital, count, listed, named, several, short, some

TOO_FEW = f"Fewer than {statistics.FEWEST} trials are too few to compare."

SHOWN = 4
"""Agents whose numbers a sentence gives."""


def answer(chart: Chart, worlds: Sequence[WorldRuns], parameter: str | None = None) -> str:
    """One or two sentences for a chart of these worlds; "" where it has nothing to say."""
    makers: dict[str, Callable[[Sequence[WorldRuns]], str]] = {
        "regret": regret,
        "improvement": improvement,
        "distance": distance,
        "mle_error": mle_error,
        "cost": cost,
    }
    if chart.kind == "parameter":
        return along(worlds, parameter)
    return makers[chart.kind](worlds) if worlds and chart.kind in makers else ""


def regret(worlds: Sequence[WorldRuns]) -> str:
    """Who has the lowest mean regret, and how the reference, where there is one, compares with the others."""
    told = [lowest(worlds), against_rivals(worlds)]
    return " ".join(line for line in told if line)


def lowest(worlds: Sequence[WorldRuns]) -> str:
    """In which worlds each leader has the lowest mean regret."""
    led: dict[str, list[str]] = {}
    for world in worlds:
        best = [place.agent for place in leaders.places(world).values() if place.leads]
        if len(best) == 1 and len(leaders.places(world)) > 1:
            led.setdefault(best[0], []).append(world.label)
    if not led:
        return ""
    parts = [
        f"{named(agent)} in {some(list(dict.fromkeys(where)), 'world')}"
        for agent, where in sorted(led.items(), key=lambda entry: -len(entry[1]))
    ]
    rest = f"; {len(parts) - SHOWN} more agents lead elsewhere" if len(parts) > SHOWN else ""
    return f"Lowest mean regret: {'; '.join(parts[:SHOWN])}{rest}."


def against_rivals(worlds: Sequence[WorldRuns]) -> str:
    """How many of its comparisons are decided, and which way."""
    reference = worlds[0].reference
    found = [
        significance.difference(world, reference, other)
        for world in worlds
        for other in world.contenders
        if other != reference and world.has(reference, other)
    ]
    ends = Counter(one.outcome for one in found if one is not None)
    if not ends.total():
        return ""
    if ends["too few"] == ends.total():
        return TOO_FEW
    decided = ends["better"] + ends["worse"]
    if not decided:
        return f"Its rivals cannot be told from {named(reference)}."
    told = f"Against its rivals {named(reference)} is significantly better in {ends['better']} of "
    told += f"{count(ends.total(), 'comparison')} and significantly worse in {ends['worse']}"
    unsettled = ends.total() - decided
    return f"{told}; {unsettled} cannot be told." if unsettled else f"{told}."


def improvement(worlds: Sequence[WorldRuns]) -> str:
    """How many of the others the reference beats more often than not."""
    found = {other: p for other, p, both in charts.rivals(worlds) if other in both[0].contenders}
    if not found:
        return ""
    if not any(p.known for p in found.values()):
        return TOO_FEW
    above = [other for other, p in found.items() if p.low > 0.5]
    below = [other for other, p in found.items() if p.high < 0.5]
    told = f"{named(worlds[0].reference)} probably beats {len(above)} of {count(len(found), 'rival')}."
    if below:
        verb = "beats" if len(below) == 1 else "beat"
        told += f" {capital(some(below, 'rival'))} probably {verb} it."
    return capital(told)


def along(worlds: Sequence[WorldRuns], parameter: str | None) -> str:
    """The reference's regret at both ends of the parameter, and its exponent where there is one."""
    sweeps = runs.sweeps(worlds, parameter)
    reference = worlds[0].reference if worlds else ""
    if not sweeps or not reference:
        return ""
    sweep = sweeps[0]
    pairs = zip(sweep.values, sweep.worlds, strict=True)
    here = [(value, world.agents[reference].final) for value, world in pairs if reference in world.agents]
    if len(here) < 2:
        return ""
    (start, low), (end, high) = ((value, float(lost.mean())) for value, lost in (here[0], here[-1]))
    exponent = statistics.trend(np.array([value for value, _ in here]), [lost for _, lost in here])
    grows = f", about as {sweep.parameter}^{short(exponent.value)}" if exponent.known else ""
    verb = "rises" if high > low else "falls" if high < low else "stays"
    return (
        f"The mean regret of {named(reference)} {verb} from {short(low)} at {sweep.parameter} = {start:g} to "
        f"{short(high)} at {end:g}{grows}."
    )


def distance(worlds: Sequence[WorldRuns]) -> str:
    """How far each estimate is from the truth in the end."""
    return _ends(worlds, "distance", "mean squared distance to the truth")


def mle_error(worlds: Sequence[WorldRuns]) -> str:
    """How large the error of the maximum likelihood estimate is in the end."""
    return _ends(worlds, "mle_error", "mean squared error in the norm of A_t")


def _ends(worlds: Sequence[WorldRuns], column: str, what: str) -> str:
    world = next((w for w in worlds if any(column in found.columns for found in w.agents.values())), None)
    if world is None:
        return ""
    found = {a: r.columns[column][:, -1].mean() for a, r in world.agents.items() if column in r.columns}
    parts = [f"{named(agent)} {short(float(value))}" for agent, value in list(found.items())[:SHOWN]]
    return f"After {world.horizon} steps in {named(world.label)}, {what}: {', '.join(parts)}."


def cost(worlds: Sequence[WorldRuns]) -> str:
    """The cheapest and the dearest step: of the reference, or of all agents where there is none."""
    reference = worlds[0].reference
    taken = [
        (float(found.seconds_per_step.mean()), agent, world.label)
        for world in worlds
        for agent, found in world.agents.items()
        if agent == reference or not reference
    ]
    if not taken:
        return ""
    ends = [
        f"{short(1e3 * seconds)} ms ({'' if reference else f'{named(agent)}, '}{label})"
        for seconds, agent, label in (min(taken), max(taken))
    ]
    return f"A step{f' of {named(reference)}' if reference else ''} takes from {ends[0]} to {ends[1]}."


def tails(worlds: Sequence[WorldRuns]) -> str:
    """How few trials make the mean of the reference."""
    reference = worlds[0].reference
    here = [world.agents[reference].final for world in worlds if reference in world.agents]
    if not here:
        return ""
    lost = np.concatenate(here)
    nothing = int((lost < statistics.SAME_REGRET).sum())
    most = next((n for n in range(1, len(lost) + 1) if statistics.share_of_largest(lost, n) >= 0.9), 0)
    verb = "accounts" if most == 1 else "account"
    few = f"; {count(most, 'trial')} {verb} for 90% of the total" if 0 < most < len(lost) // 2 else ""
    return f"{named(reference)} had no regret in {nothing} of {count(len(lost), 'trial')}{few}."


def ranking(worlds: Sequence[WorldRuns], agents: Sequence[str]) -> str:
    """Which of some agents leads where, and which are significantly worse than the leader."""
    here = [
        replace(world, agents=shown) for world in worlds if len(shown := charts.chosen(world, agents)) > 1
    ]
    if not here:
        return ""
    placed = [place for world in here for place in leaders.places(world).values()]
    behind = list(dict.fromkeys(place.agent for place in placed if place.clear))
    trials = [len(found.trials) for world in here for found in world.agents.values()]
    if max(trials) < statistics.FEWEST:
        told = f"With {several(trials)} trials there are too few to compare."
    elif behind:
        told = f"Significantly worse than the leader somewhere: {listed(behind)}."
    else:
        told = "None is significantly worse than the leader anywhere."
    return " ".join(part for part in (lowest(here), told) if part)
