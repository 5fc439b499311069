"""What an experiment is called on the page, what it is about, and which figures it gets.

A new experiment: add an entry to TEXTS under the experiment's name (or under the part of it before the first
"-", for a family of experiments). Without an entry the title is the name and the figures are chosen by what
the records hold. The page has the experiments in the order of TEXTS, then all others by name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vbmle.report import data
from vbmle.report.data import WorldRuns

KINDS = ("regret", "parameter", "profile", "improvement", "distance", "mle_error", "cost")
"""The figures there are, in the order of the page."""


@dataclass(frozen=True)
class Text:
    """A section of the page."""

    title: str
    lead: str = ""
    kinds: tuple[str, ...] | None = None
    """Which figures; None: what the records are good for."""
    parameter: str | None = None
    """The setting on the axis of "parameter"; None: every numeric setting that was varied alone."""


TEXTS: dict[str, Text] = {
    "paper": Text(
        "The paper's regret experiment",
        "Figures 1a, 1b and the (15,4) figure of the appendix, with Table 1 and the table of standard deviations. "
        "The worlds are random networks, freshly drawn for every trial. They hardly need exploration: where maximum "
        "likelihood does as well as VBMLE, that is what to expect, and no sign of a fault.",
    ),
    "compare": Text(
        "All agents compared",
        "Every agent as it comes and, where it has a knob, tuned for each world on other seeds. Oracle knows the truth "
        "and Random ignores it: they are there as a measure.",
    ),
    "tuning": Text(
        "How the tuned values were chosen",
        "Every value of a stated grid, on worlds and luck of their own. What won here is the tuned agent above.",
        kinds=(),
    ),
    "study": Text(
        "What the maximiser and the bias do to regret",
        "VBMLE with searches of different thoroughness and with different weights of the bias.",
    ),
}


def of(name: str) -> Text:
    """The entry of an experiment, or of its family; otherwise its name as the title."""
    family = name.partition("-")[0]
    if name in TEXTS:
        return TEXTS[name]
    if family in TEXTS:
        return Text(f"{TEXTS[family].title}: {name.partition('-')[2]}", *_rest(TEXTS[family]))
    return Text(name)


def _rest(text: Text) -> tuple[str, tuple[str, ...] | None, str | None]:
    return text.lead, text.kinds, text.parameter


def place(name: str) -> tuple[int, str]:
    """Where the experiment stands on the page: a key to sort by."""
    order = list(TEXTS)
    found = name if name in TEXTS else name.partition("-")[0]
    return (order.index(found) if found in TEXTS else len(order), name)


def kinds(text: Text, worlds: Sequence[WorldRuns]) -> list[str]:
    """The figures of an experiment, in the order of the page."""
    if text.kinds is not None:
        return [kind for kind in KINDS if kind in text.kinds]
    recorded = {name for world in worlds for runs in world.agents.values() for name in runs.columns}
    sizes = {tuple(world.facts[key] for key in ("states", "actions", "dimension")) for world in worlds}
    several = len(worlds) >= 3 and any(len(world.agents) > 1 for world in worlds)
    wanted = {
        "regret": True,
        "parameter": bool(data.sweeps(worlds, text.parameter)),
        "profile": several,
        "improvement": several,
        "distance": "distance" in recorded,
        "mle_error": "mle_error" in recorded,
        "cost": len(sizes) > 2,
    }
    return [kind for kind in KINDS if wanted[kind]]
