"""What an experiment is called on the page, what it is about, and which figures it gets.

A new experiment: add an entry to TEXTS under the experiment's name (or under the part of it before the first
"-", for a family of experiments). Without an entry the title is the name and the figures are chosen by what
the records hold. The page has the experiments in the order of TEXTS, then all others by name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vbmle.report import world_runs
from vbmle.report.world_runs import WorldRuns

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
    "distance": Text(
        "How far the estimates are from the truth",
        "Figure 2a: the squared distance of theta_t from theta*; UCLK has a theta for every (s, a), of which the "
        "nearest and the mean are drawn. Figure 2b: the error of the maximum-likelihood estimate in the norm of A_t, "
        "with the bound of the paper's Lemma. What is not identified by the policy in force does not come nearer, and "
        "need not.",
        kinds=("regret", "distance", "mle_error"),
    ),
    "rivals": Text(
        "Rivals, and worlds that need exploration",
        "What the paper lacks: UCLK+, UPAC-UCLK, posterior sampling and tabular rivals, with their defaults, where a "
        "policy decides what is learnt; and one of the paper's worlds beside them. Optimists with the radii of their "
        "proofs hardly learn in so few steps: where the most optimistic policy is the best one they lose nothing, "
        "where it is not they may lose more than chance. For tuned agents run vbmle compare.",
        kinds=("regret", "profile", "improvement"),
    ),
    "dimension": Text(
        "The value of d",
        "The paper does not say what d it used. Everything else is that of its (5,4) world.",
        kinds=("regret", "parameter"),
        parameter="dimension",
    ),
    "temperature": Text(
        "The temperature of the base models",
        "At the paper's 0.01 base models are nearly deterministic, and one transition tells much. Warmer ones are "
        "harder to tell apart, but differ less in value.",
        kinds=("regret", "parameter"),
        parameter="temperature",
    ),
    "reward": Text(
        "The reward",
        "The paper does not say what reward it used. Uniform: every (s, a) is worth something. Sparse: few are.",
        kinds=("regret",),
    ),
    "accuracy": Text(
        "The accuracy of the maximiser",
        "The theory assumes the global maximum of an objective that is not concave. One start: a climb from the last "
        "theta alone. Three: also from the most likely theta and from the middle. All basins: the default. On the "
        "hypercube a local solver fails; on the paper's world it hardly matters.",
        kinds=("regret",),
    ),
    "cost": Text(
        "Larger worlds, and the cost of a step",
        "One size grows, the others stay. UCLK plans in every step. Few steps: read the cost, not the regret.",
        kinds=("cost",),
    ),
    "compare": Text(
        "All agents compared",
        "Every agent with its default settings and, where it has one to tune, tuned for each world on other seeds. "
        "Oracle knows the truth "
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
        "parameter": bool(world_runs.sweeps(worlds, text.parameter)),
        "profile": several,
        "improvement": several,
        "distance": "distance" in recorded,
        "mle_error": "mle_error" in recorded,
        "cost": len(sizes) > 2,
    }
    return [kind for kind in KINDS if wanted[kind]]
