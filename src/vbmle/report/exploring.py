"""Whether exploration pays: the first agent against the one that does not explore, world by world.

A gain is what the first agent loses less, as a share of what the other loses. It pays where the interval of the gain
excludes 0; nothing shows a need for it where the interval excludes a gain of WORTH; elsewhere the trials are too few to
tell, however weak or strong they look.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vbmle.report.cards import Card
from vbmle.report.charts import REGRET, Chart, Panel, Series
from vbmle.report.comparisons import SAME_REGRET
from vbmle.report.statistics import Interval
from vbmle.report.words import capital, count, join, listed, named, percent
from vbmle.report.world_runs import WorldRuns

PLAIN = "maximum likelihood"
"""The agent that does not explore."""

WORTH = 0.1
"""A gain is worth having from this share of what is lost without it."""

FEW = 3
"""Worlds up to which each is named."""


@dataclass(frozen=True)
class Gain:
    """Of the first agent over the one that does not explore, in one world."""

    world: str
    agent: str
    found: Interval
    """As a share of what the other loses."""
    trials: int

    @property
    def pays(self) -> bool:
        return self.found.low > 0.0

    @property
    def needless(self) -> bool:
        """Whether a gain worth having is excluded."""
        return not self.pays and self.found.high < WORTH


def gains(worlds: Sequence[WorldRuns]) -> list[Gain]:
    """Of all worlds where both ran two trials at least, and the one that does not explore lost something."""
    found = []
    first = next((label for world in worlds for label in world.agents if label != PLAIN), "")
    for world in worlds:
        if not {first, PLAIN} <= set(world.agents) or len(world.shared(first, PLAIN)) < 2:
            continue
        lost = float(world.paired(PLAIN, first)[0].mean())
        if lost > SAME_REGRET:
            gain = world.lead(PLAIN, first)
            share = Interval(gain.value / lost, gain.low / lost, gain.high / lost)
            found.append(Gain(world.label, first, share, len(world.shared(first, PLAIN))))
    return found


def short(worlds: Sequence[WorldRuns]) -> str:
    """For the first screen; "" where there is nothing to compare."""
    found = gains(worlds)
    if not found:
        return ""
    pays, needless = sum(gain.pays for gain in found), sum(gain.needless for gain in found)
    parts = [f"surely pays in {pays} of {count(len(found), 'world')}"]
    if needless:
        parts.append(f"surely gains less than {WORTH:.0%} in {needless}")
    if len(found) - pays - needless:
        parts.append(f"is undecided in {len(found) - pays - needless}")
    return f"Exploration {join(parts)}."


def sentence(found: Sequence[Gain]) -> str:
    """The same with its evidence."""
    pays = [gain for gain in found if gain.pays]
    needless = [gain for gain in found if gain.needless]
    others = [gain for gain in found if not gain.pays and not gain.needless]
    parts = []
    if pays:
        most = max(pays, key=lambda gain: gain.found.value)
        parts.append(
            f"in {_where(pays)} {named(most.agent)} surely loses less than {PLAIN}, most in {named(most.world)}: "
            f"{percent(most.found)} less"
        )
    if needless:
        most = max(needless, key=lambda gain: gain.found.high)
        parts.append(
            f"nothing shows a need for exploration in {_where(needless)}, where the intervals exclude a gain of "
            f"{WORTH:.0%} (the highest reaches {most.found.high:.1%})"
        )
    if others:
        most = max(others, key=lambda gain: gain.found.high)
        parts.append(
            f"in {_where(others)} the trials are too few to tell (in {named(most.world)} the gain is "
            f"{percent(most.found)})"
        )
    return f"{capital('; '.join(parts))}."


def _where(found: Sequence[Gain]) -> str:
    return (
        listed(list(dict.fromkeys(gain.world for gain in found)))
        if len(found) <= FEW
        else f"{len(found)} worlds"
    )


def card(worlds: Sequence[WorldRuns]) -> Card | None:
    """The question whether exploration pays, where the records speak of it."""
    found = gains(worlds)
    if not found:
        return None
    rows, labels = [], [gain.world for gain in found]
    for gain in found:
        name = gain.world if labels.count(gain.world) == 1 else f"{gain.world}, {gain.trials} trials"
        place, low, high = (
            np.clip([x], -1.0, 1.0) for x in (gain.found.value, gain.found.low, gain.found.high)
        )
        rows.append(Series(gain.agent, name, place, np.zeros(1), low, high, worlds=[gain.world]))
    label = "share of the loss avoided"
    panel = Panel("forest", "", label, "", rows, mark=WORTH, x_range=(-1.0, 1.0))
    note = f"Dotted: {WORTH:.0%}, a gain worth having. What lies beyond -1 or 1 is drawn there."
    caption = (
        f"How much less {found[0].agent} loses than {PLAIN}, which does not explore, as a share of what the latter "
        f"loses, with 95% intervals of paired differences. {note} {REGRET}"
    )
    chart = Chart("exploration", "exploration", "Whether exploration pays", note, caption, [panel])
    return Card("exploration", "Does exploration pay?", sentence(found), chart)
