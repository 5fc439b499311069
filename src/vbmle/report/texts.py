"""What an experiment is called on the page, the question it answers, and which figures it gets.

A new experiment: add an entry to TEXTS under the experiment's name (or under the part of it before the first
"-" or blank, for a family of experiments, which share one place on the page). Without an entry the title is the spec's,
and the figures are chosen by what the records hold. The page has experiments in the order of TEXTS, then all
others by name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from vbmle.report import world_runs
from vbmle.report.world_runs import WorldRuns

QUESTIONS = {
    "tuned": "What does tuning gain?",
    "parameter": "Does {parameter} matter?",
    "regret": "Who loses least, step by step?",
    "improvement": "Whom does {first} beat?",
    "distance": "Do the estimates find the truth?",
    "mle_error": "Does the error keep to the paper's bound?",
    "cost": "What does a step cost?",
}
"""The figures that have a card of their own, and what it asks."""

FOLDED = ("regret", "trials", "profile")
"""The figures that are folded away where they have no card."""

FEW_WORLDS = 4
"""Worlds up to which curves have a card of their own beside that of who beats whom."""


@dataclass(frozen=True)
class Text:
    """An experiment on the page."""

    title: str
    question: str = ""
    """Heading of its first card; by default that of the figure's kind."""
    lead: str = ""
    """What a reader should know, folded."""
    cards: tuple[str, ...] | None = None
    """Which figures have a card; None: what the records are good for."""
    parameter: str | None = None
    """The setting on the axis of "parameter"; None: every numeric setting that was varied alone."""
    first: bool = True
    """Whether its worlds are in the picture of the first screen."""
    page: str = ""
    """What a page is called that begins with it; by default its title."""
    groups: tuple[tuple[str, str, tuple[str, ...]], ...] = ()
    """Questions about some of its agents alone: key, question, agents."""


TEXTS: dict[str, Text] = {
    "paper": Text(
        "The paper's worlds",
        "Who loses least in the paper's worlds?",
        "Figures 1a, 1b and the (15,4) figure of the appendix, with Table 1 and the table of standard deviations. "
        "The worlds are random networks, freshly drawn for every trial.",
        cards=("regret",),
        page="The paper's experiments, run again",
    ),
    "rivals": Text(
        "More rivals, more worlds",
        "Whom does VBMLE beat, of all rivals?",
        "What the paper lacks: UCLK+, UPAC-UCLK, posterior sampling and tabular rivals, with their defaults, where a "
        "policy decides what is learnt; and one of the paper's worlds beside them. Optimists with the radii of their "
        "proofs hardly learn in so few steps: where the most optimistic policy is the best one they lose nothing, "
        "where it is not they may lose more than chance. For tuned agents run vbmle compare.",
        cards=("improvement",),
    ),
    "distance": Text(
        "Distance to the truth",
        "Do the estimates find the truth?",
        "Figure 2a: the squared distance of theta_t from theta*; UCLK has a theta for every (s, a), of which the "
        "nearest and the mean are drawn. Figure 2b: the error of the maximum-likelihood estimate in the norm of A_t, "
        "with the bound of the paper's Lemma. What is not identified by the policy in force does not come nearer, and "
        "need not.",
        cards=("distance", "mle_error"),
        first=False,
    ),
    "growth": Text(
        "Growth with T and d",
        "How does regret grow with d?",
        "Long runs, on the hypercube and on random networks; the same with d from 2 on. Most plan only when what is "
        "known has doubled, which is checked against planning in every step where both can run.",
        cards=("parameter",),
        parameter="dimension",
        first=False,
    ),
    "choices": Text(
        "What the paper leaves open",
        "Does it matter what the paper leaves open?",
        cards=("regret",),
        first=False,
    ),
    "dimension": Text(
        "The dimension d",
        "Does the dimension d matter?",
        "The paper does not say what d it used. Everything else is that of its (5,4) world.",
        cards=("parameter",),
        parameter="dimension",
        first=False,
    ),
    "temperature": Text(
        "The temperature",
        "Does the temperature of the base models matter?",
        "At the paper's 0.01 base models are nearly deterministic, and one transition tells much. Warmer ones are "
        "harder to tell apart, but differ less in value.",
        cards=("parameter",),
        parameter="temperature",
        first=False,
    ),
    "reward": Text(
        "The reward",
        "Does the reward matter?",
        "The paper does not say what reward it used. Uniform: every (s, a) is worth something. Sparse: few are.",
        cards=("regret",),
        first=False,
    ),
    "accuracy": Text(
        "The maximiser",
        "How well must the maximum be found?",
        "The theory assumes the global maximum of an objective that is not concave. One start: a climb from the last "
        "theta alone. Three: also from the most likely theta and from the middle. All basins: the default.",
        cards=("regret",),
        first=False,
    ),
    "cost": Text(
        "The cost of a step",
        "What does a step cost in larger worlds?",
        "One size grows, the others stay. UCLK plans in every step. Few steps: read the cost, not the regret.",
        cards=("cost",),
        first=False,
    ),
    "compare": Text(
        "All agents compared",
        "What does tuning gain?",
        "Every agent with its default settings and, where it has one to tune, tuned for each world on other seeds. "
        "Oracle knows the truth and Random ignores it: they are there as a measure.",
        cards=("tuned", "improvement"),
    ),
    "tuning": Text(
        "How the tuned values were chosen",
        "Which values won?",
        "Every value of a stated grid, on worlds and luck of their own. What won here is the tuned agent of vbmle "
        "compare.",
        cards=("regret",),
    ),
    "league": Text(
        "The league",
        "Whom does the recommended agent beat?",
        "Every agent that may be recommended, with default settings, in worlds of many kinds.",
        cards=("improvement",),
        page="The league: which agent to recommend",
    ),
    "study": Text(
        "The maximiser and the bias",
        "",
        "VBMLE with searches of different thoroughness and with different weights of the bias.",
        cards=(),
        page="What the maximiser and the bias do to regret",
        groups=(
            ("accuracy", "How well must the maximum be found?", ("global", "few", "local")),
            ("certified", "Does a certified maximum do better?", ("global", "certified")),
            (
                "schedule",
                "How much bias is best?",
                (
                    "global",
                    "0.1 sqrt(t)",
                    "10 sqrt(t)",
                    "0.3 log(1+t)",
                    "log(1+t)",
                    "3 log(1+t)",
                    "none",
                ),
            ),
        ),
    ),
}


def family(name: str) -> str:
    """The key of TEXTS that an experiment belongs to; its own name where it is in no family."""
    head = re.split(r"[- ]", name, maxsplit=1)[0]
    return name if name in TEXTS or head not in TEXTS else head


def of(name: str) -> Text:
    """The entry of an experiment, or of its family; otherwise its name as the title."""
    return TEXTS.get(family(name), Text(name))


def sorting_key(name: str) -> tuple[int, str]:
    """Where the experiment stands on the page: a key to sort by."""
    order = list(TEXTS)
    found = family(name)
    return (order.index(found) if found in TEXTS else len(order), name)


def kinds(text: Text, worlds: Sequence[WorldRuns]) -> tuple[list[str], list[str]]:
    """The figures of an experiment: those with a card, and those that are folded away."""
    several = len(worlds) >= 3 and any(len(world.agents) > 1 for world in worlds)
    shown = list(_by_records(text, worlds, several) if text.cards is None else text.cards)
    if shown == ["cost"]:
        return shown, []
    return shown, [k for k in FOLDED if k not in shown and (several or k != "profile") and not text.groups]


def _by_records(text: Text, worlds: Sequence[WorldRuns], several: bool) -> list[str]:
    recorded = {name for world in worlds for runs in world.agents.values() for name in runs.columns}
    sizes = {tuple(world.facts[key] for key in ("states", "actions", "dimension")) for world in worlds}
    swept = bool(world_runs.sweeps(worlds, text.parameter))
    wanted = {
        "tuned": False,
        "parameter": swept,
        "regret": not several or (len(worlds) <= FEW_WORLDS and not swept),
        "improvement": several,
        "distance": "distance" in recorded,
        "mle_error": "mle_error" in recorded,
        "cost": len(sizes) > 2,
    }
    return [kind for kind in QUESTIONS if wanted[kind]]
