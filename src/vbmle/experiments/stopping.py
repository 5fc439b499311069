"""When an experiment has seen enough worlds: paired comparisons looked at a fixed number of times.

A reference agent is compared with each rival on the same worlds with the same luck, after n_1 < n_2 < ... < n_K = N
worlds. A comparison is decided at the first look whose interval of the mean difference (rival minus reference)

    excludes 0,  or is shorter than a tenth of the larger of the two mean losses,

and a world is left when each of its comparisons is decided or hopeless, after N trials at the latest. Hopeless is one
whose interval, were it to shrink like the root of n, would after N trials still contain 0 if the difference were twice
what it is, and be twice as long as asked. Giving up decides nothing, so it can only make errors rarer; what it costs is
a comparison now and then that N trials would have decided. Look k spends the error
alpha_k = alpha ((n_k/N)^2 - (n_{k-1}/N)^2), and its interval has the level 1 - alpha_k. By the union bound all K
intervals hold together with probability 1 - alpha, wherever the run stops, and so does what they have in common, which
is what is reported (repeated confidence intervals, Jennison and Turnbull 1989; spending as by Lan and DeMets 1983).

Each interval is Student's, corrected for skewness (Hall 1992), and guarded: its upper end is that of the sample with
one more world, in which the rival's regret is as high as the highest of either agent, its lower end that of the
sample with one in which the reference does. What is guaranteed: the error for differences of finite variance, as n
grows. What is tested, with looks from 100 to 800 worlds: about 5% in all where at least one world in twenty causes the
losses. Where one in thirty does it is 9% to 17%. What nothing can give without a bound on losses: protection from a
tail that none of n worlds has met. First looks at fewer than 100 worlds would miss it more often.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import msgspec
import numpy as np

from vbmle.common.statistics import hall
from vbmle.common.validation import Floats
from vbmle.experiments import InputError

ERROR = 0.05
"""That any of the intervals of a comparison misses the truth."""

SHARE = 0.1
"""Of the larger mean regret: a shorter interval says that the agents are about equally good."""

Look = Annotated[int, msgspec.Meta(ge=2)]


class Stopping(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Who is compared with whom, and after how many trials comparisons are looked at, by world."""

    reference: str
    rivals: tuple[str, ...]
    looks: dict[str, tuple[Look, ...]]
    beside: int = 20
    """Trials of the agents that are not compared."""
    measure: str | None = None
    """The random policy, where a look asks how far the reference is behind the best (`vbmle.experiments.behind`)."""
    gives_up: bool = True
    """Whether hopeless comparisons are left open before the last look."""

    def check(self, name: str, worlds: Sequence[str], agents: Sequence[str]) -> None:
        """Refuse labels that are not there, and looks that do not increase."""
        measure = () if self.measure is None else (self.measure,)
        for agent in (self.reference, *self.rivals, *measure):
            if agent not in agents:
                raise InputError(f"{name}: stop compares {agent!r}, which is not one of its agents")
        if set(self.looks) != set(worlds):
            raise InputError(f"{name}: stop needs looks for each of its worlds, {', '.join(worlds)}")
        for world, looks in self.looks.items():
            if not looks or list(looks) != sorted(set(looks)):
                raise InputError(f"{name}: the looks at {world} are {list(looks)}; they need to increase")

    def budget(self, world: str, agent: str) -> int:
        """How many trials there may be."""
        compared = agent == self.reference or agent in self.rivals
        return self.looks[world][-1] if compared else min(self.beside, self.looks[world][-1])


@dataclass(frozen=True)
class Comparison:
    """The mean of rival minus reference after the last look that there are trials for."""

    reference: str
    rival: str
    trials: int
    value: float
    low: float
    high: float
    mean: float
    """The mean regret of the reference."""
    rival_mean: float
    decided: int = 0
    """After how many trials it was; 0 while it is open."""

    @property
    def outcome(self) -> str:
        """The reference's regret, where significant: "less", "more", "the same" (within a tenth), or it is "open"."""
        if self.low > 0.0 or self.high < 0.0:
            return "less" if self.low > 0.0 else "more"
        short = self.high - self.low < SHARE * max(self.mean, self.rival_mean)
        return "the same" if short else "open"


def levels(looks: Sequence[int], error: float = ERROR) -> Floats:
    """The error that each look spends."""
    spent = error * (np.array(looks) / looks[-1]) ** 2
    return np.diff(spent, prepend=0.0)


def compare(names: tuple[str, str], ours: Floats, theirs: Floats, looks: Sequence[int]) -> Comparison | None:
    """Where the comparison stands after the trials there are; None before the first look.

    `ours` and `theirs` are the losses of reference and rival by trial, NaN where a trial failed: a pair that lacks one
    is left out.
    """
    found = None
    for look, error in zip(looks, levels(looks), strict=True):
        both = np.isfinite(ours[:look]) & np.isfinite(theirs[:look])
        if len(both) < look or both.sum() < 2:
            continue
        one, two = ours[:look][both], theirs[:look][both]
        value, low, high = paired(one, two, error)
        if found and max(low, found.low) <= value <= min(high, found.high):
            low, high = max(low, found.low), min(high, found.high)
        before = found.decided if found else 0
        found = Comparison(*names, len(one), value, low, high, float(one.mean()), float(two.mean()), before)
        if not before and found.outcome != "open":
            found = replace(found, decided=len(one))
    return found


def paired(ours: Floats, theirs: Floats, error: float = ERROR) -> tuple[float, float, float]:
    """The mean of theirs - ours, and the ends of its guarded interval."""
    gaps = theirs - ours
    worst = float(max(np.abs(ours).max(), np.abs(theirs).max()))
    low, _ = hall(np.append(gaps, -worst), error)
    _, high = hall(np.append(gaps, worst), error)
    return float(gaps.mean()), low, high


def comparisons(stop: Stopping, world: str, losses: Mapping[str, Floats]) -> list[Comparison]:
    """Every comparison of a world that has come to its first look, from losses by agent and trial (NaN: none)."""
    ours = losses[stop.reference]
    pairs = [((stop.reference, rival), losses[rival]) for rival in stop.rivals]
    found = [compare(names, ours, theirs, stop.looks[world]) for names, theirs in pairs]
    return [comparison for comparison in found if comparison is not None]


def is_hopeless(found: Comparison, most: int) -> bool:
    """Whether so many trials would hardly decide a comparison that is open."""
    shrinks = math.sqrt(found.trials / most)
    towards_zero = found.value - found.low if found.value > 0.0 else found.high - found.value
    short = SHARE * max(found.mean, found.rival_mean)
    return (
        2.0 * abs(found.value) < shrinks * towards_zero and shrinks * (found.high - found.low) > 2.0 * short
    )


def settled(stop: Stopping, world: str, found: Sequence[Comparison]) -> bool:
    """Whether no comparison of a world is worth another look."""
    most = stop.looks[world][-1]
    done = [one.decided > 0 or (stop.gives_up and is_hopeless(one, most)) for one in found]
    return len(done) == len(stop.rivals) and all(done)
