"""Whether exploring pays: an agent that explores against one that is marked as not exploring, world by world.

It pays where the explorer is significantly better; it gains next to nothing where the interval excludes a
gain of WORTH;
elsewhere the trials cannot tell, however weak or strong they look. Which agents explore is said by their
class or by the
spec (`role`), and which explorer is meant by the spec's `reference`: without one nothing is said.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vbmle.common.statistics import SAME_REGRET, Interval
from vbmle.plot.panels import Panel
from vbmle.report import significance
from vbmle.report.answers import TOO_FEW
from vbmle.report.charts import REGRET, Chart, row
from vbmle.report.runs import WorldRuns
from vbmle.report.sections import Card
from vbmle.report.significance import Difference
from vbmle.report.words import count, join, listed, named, some

WORTH = 0.1
"""A gain is worth having from this share of the regret without it."""


@dataclass(frozen=True)
class Gain:
    """An explorer beside an agent that does not explore, in one world."""

    world: str
    experiment: str
    found: Difference

    @property
    def share(self) -> Interval:
        """As a share of the other's regret: below 0 exploring helps."""
        return self.found.share

    @property
    def pays(self) -> bool:
        return self.found.outcome == "better"

    @property
    def costs(self) -> bool:
        return self.found.outcome == "worse"

    @property
    def needless(self) -> bool:
        """Whether a gain worth having is excluded."""
        return not self.pays and self.share.low > -WORTH


def gains(worlds: Sequence[WorldRuns]) -> list[Gain]:
    """Of all worlds where both ran, and the one that does not explore had some regret."""
    found = []
    for world in worlds:
        greedy = [label for label in world.agents if world.role(label) == "greedy"]
        explorers = [label for label in world.agents if world.role(label) == "explorer"]
        if world.role(world.reference) == "explorer":
            explorers = [world.reference]
        for one in explorers if world.reference else ():
            for other in greedy if world.reference in explorers else [world.reference]:
                gap = significance.difference(world, one, other)
                if gap is not None and gap.against_mean > SAME_REGRET:
                    found.append(Gain(world.label, world.experiment, gap))
    return found


def sentence(found: Sequence[Gain]) -> str:
    """In how many comparisons exploring pays, costs, or makes no difference worth having; "" where there are none."""
    known = [gain for gain in found if gain.share.known]
    if not known:
        return ""
    pays, costs = [gain for gain in known if gain.pays], [gain for gain in known if gain.costs]
    needless = [gain for gain in known if gain.needless and not gain.costs]
    where = [(gain.experiment, gain.world) for gain in known]
    what = "world" if len(set(where)) == len(where) else "comparison"
    groups = (("pays", pays), ("costs more than it gains", costs), (f"gains at most {WORTH:.0%}", needless))
    parts = [f"{verb} in {len(some_of)}" for verb, some_of in groups if some_of]
    told = f"Of {count(len(known), what)}, exploring {join(parts)}" if parts else ""
    open_ones = len(known) - len(pays) - len(costs) - len(needless)
    if not open_ones:
        return f"{told}."
    if not parts:
        return "Whether exploring pays, the trials cannot tell."
    return f"{told}; in {open_ones} the trials cannot tell."


def details(found: Sequence[Gain]) -> str:
    """Where it pays, and where not."""
    groups = (
        ("Exploring pays", [gain for gain in found if gain.pays]),
        ("It costs more than it gains", [gain for gain in found if gain.costs]),
        (f"A gain of more than {WORTH:.0%} is ruled out", [g for g in found if g.needless and not g.costs]),
    )
    return " ".join(
        f"{head} in {some(list(dict.fromkeys(gain.world for gain in here)), 'world')}."
        for head, here in groups
        if here
    )


def card(worlds: Sequence[WorldRuns]) -> Card | None:
    """The question whether exploring pays, where the records speak of it."""
    found = gains(worlds)
    if not found:
        return None
    several = len({gain.found.agent for gain in found}) > 1
    beside = list(dict.fromkeys(gain.found.against for gain in found))
    places = {gain.world: {one.experiment for one in found if one.world == gain.world} for gain in found}
    rows = []
    for gain in found:
        name = gain.world if len(places[gain.world]) == 1 else f"{gain.world}, {gain.experiment}"
        name += f", against {gain.found.against}" if len(beside) > 1 else ""
        shown = Interval(
            *(float(np.clip(end, -1.0, 1.0)) for end in (gain.share.value, gain.share.low, gain.share.high))
        )
        rows.append(
            row(gain.found.agent, f"{gain.found.agent}, {name}" if several else name, shown, gain.world)
        )
    greedy = named(beside[0]) if len(beside) == 1 else "an agent that does not explore"
    panel = Panel(
        "forest",
        "",
        f"change of regret, as a share of {greedy}'s",
        "",
        rows,
        mark=-WORTH,
        x_range=(-1.0, 1.0),
    )
    note = (
        f"Left of 0 exploring helps; dotted: a gain of {WORTH:.0%}. Values outside ±1 are drawn at the edge."
    )
    who = "agents that explore" if several else named(found[0].found.agent)
    caption = (
        f"Regret of {who} minus that of {listed(beside)}, which {'does' if len(beside) == 1 else 'do'} not explore, as "
        f"a share of the latter, with 95% intervals of paired differences. {note} {REGRET}"
    )
    chart = Chart("exploration", "exploration", "Whether exploring pays", note, caption, [panel])
    told = details(found) or ("The trials cannot tell in any world." if sentence(found) else TOO_FEW)
    return Card("exploration", "Does exploring pay?", told, chart, chapter="matters")
