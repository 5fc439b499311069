"""What the paper adds to the report of its experiments: their texts, a card for each of its claims, and what
decides."""

from __future__ import annotations

from dataclasses import replace

from vbmle.paper import choices, claims, deciding, items, spreads
from vbmle.report.sections import Card, Run, Sections, Text

TEXTS: dict[str, Text] = {
    "paper": Text(
        "The paper's worlds",
        "Which agent has the lowest regret in the paper's worlds?",
        "Figures 1a, 1b and the (15,4) figure of the appendix, with Table 1 and the table of standard deviations. "
        "The worlds are random networks, freshly drawn for every trial.",
        cards=("regret",),
        page="The paper's experiments, run again",
    ),
    "rivals": Text(
        "More rivals, more worlds",
        "Which rivals does VBMLE beat?",
        "What the paper lacks: UCLK+, UPAC-UCLK, posterior sampling and tabular rivals, with their defaults, where a "
        "policy decides what is learnt; and one of the paper's worlds beside them. Optimists with the radii of their "
        "proofs hardly learn in so few steps: where the most optimistic policy is the best one they have no regret, "
        "where it is not they may do worse than chance. For tuned agents run vbmle compare.",
        cards=("improvement",),
    ),
    "distance": Text(
        "Distance to the truth",
        "Do the estimates find the truth?",
        "Figure 2a: the squared distance of θ_t from θ*; UCLK has a θ for every (s,a), of which the "
        "nearest and the mean are drawn. Figure 2b: the error of the maximum-likelihood estimate in the norm of A_t, "
        "with the bound of the paper's Lemma. What is not identified by the policy in force does not come nearer, and "
        "need not.",
        cards=("distance", "mle_error"),
        first=False,
        into="claim-distance",
        files={"distance": "figure-2a", "mle_error": "figure-2b"},
    ),
    "growth": Text(
        "Growth with T and d",
        "How does regret grow with d?",
        "Long runs, on the hypercube and on random networks; the same with d from 2 on. Most plan only when what is "
        "known has doubled, which is checked against planning in every step where both can run.",
        cards=("parameter",),
        parameter="dimension",
        first=False,
        into="claim-growth",
    ),
    "choices": Text(
        "What the paper leaves open",
        "Does it matter what the paper leaves open?",
        cards=("regret",),
        first=False,
        chapter="matters",
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
        chapter="matters",
    ),
    "accuracy": Text(
        "The maximiser",
        "How well must the maximum be found?",
        "The theory assumes the global maximum of an objective that is not concave. One start: a climb from the last "
        "θ alone. Three: also from the most likely θ and from the middle. All basins: the default.",
        cards=("regret",),
        first=False,
        chapter="matters",
    ),
    "cost": Text(
        "The cost of a step",
        "What does a step cost in larger worlds?",
        "One size grows, the others stay. UCLK plans in every step. Few steps: read the cost, not the regret.",
        cards=("cost",),
        first=False,
    ),
}


def cards(run: Run) -> list[Card]:
    """Where the paper's items are, the claims, what makes a world hard, and the choices that the paper leaves open;
    DIR/verdicts.json has the claims and what makes a world hard."""
    told, decides = claims.verdicts(run), deciding.card(run)
    if told:
        claims.write(run.folder, told, decides.answer if decides else "")
    shown = [claims.card(verdict) for verdict in told]
    shown = [replace(card, more=items.curves(run)) if card.key == "claim-regret" else card for card in shown]
    found = [items.card(run, shown), *shown, decides, spreads.card(run.worlds(choices.NAME))]
    return [card for card in found if card]


sections = Sections(TEXTS, cards)
