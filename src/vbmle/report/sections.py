"""What a report is made of, and how you add to it.

Every experiment gets cards by what its records are good for. A spec may name something of yours that says more:

    sections = "mypages:sections"          # in SPEC.toml

    from vbmle.report.sections import Card, Run, Sections, Text

    def cards(run: Run) -> list[Card]:
        worlds = run.worlds("gaps")        # records of an experiment, arranged: `vbmle.report.runs`
        ...

    sections = Sections(
        texts={"gaps": Text("Gaps", question="How does the gap matter?", cards=("parameter",), parameter="gap")},
        cards=cards,
    )

The module is found as in any import, then in the working directory and beside the folder of the run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from vbmle.experiments.spec import folder_name
from vbmle.report import answers, charts, runs, tables
from vbmle.report.charts import Chart
from vbmle.report.runs import Part, WorldRuns
from vbmle.report.tables import Table

QUESTIONS = {
    "parameter": "Does {parameter} matter?",
    "regret": "Who has the lowest regret, step by step?",
    "improvement": "Which rivals does {reference} beat?",
    "distance": "Do the estimates find the truth?",
    "mle_error": "Does the error stay below its bound?",
    "cost": "What does a step cost?",
}
"""The figures that have a card of their own, and what it asks."""

CHAPTERS = {"claims": "The claims", "contest": "The rivals", "matters": "What matters", "cost": "The cost"}
"""The chapters of a page, in their order."""

CHAPTER_OF = {"regret": "contest", "improvement": "contest", "cost": "cost"}
"""Where the card of a figure stands by its kind; those that are not here, among what matters."""

FOLDED = ("regret", "trials", "profile")
"""The figures that are folded away where they have no card."""

FEW_WORLDS = 4
"""Worlds up to which curves have a card of their own beside that of who beats whom."""

COLUMNS = (
    "IQM: mean of the middle half. Std: standard deviation over the trials. Growth exponent: b of mean regret ~ t^b "
    "over the later half of log t; 1 is linear (nothing learned), 0.5 the rate of the theory."
)
"""What the caption of a table of regret says of its columns; the page says it once."""

MANY_PAIRS = 60
"""Pairs of agents up to which the page shows all of them, and not those of the reference alone."""

NO_RECORDS = "No trial is complete yet."


@dataclass(frozen=True)
class Text:
    """What an experiment is called on the page, the question it answers, and which figures it gets."""

    title: str
    question: str = ""
    """Heading of its first card; by default that of the figure's kind."""
    lead: str = ""
    """What a reader should know, folded."""
    cards: tuple[str, ...] | None = None
    """Which of QUESTIONS have a card; None: what the records are good for."""
    parameter: str | None = None
    """The setting on the axis of "parameter"; None: every numeric setting that was varied alone."""
    first: bool = True
    """Whether its worlds are in the picture of the first screen."""
    page: str = ""
    """What a page is called that begins with it; by default its title."""
    groups: tuple[tuple[str, str, tuple[str, ...]], ...] = ()
    """Questions about some of its agents alone: key, question, agents."""
    chapter: str = ""
    """The one of CHAPTERS that its cards stand in; by default that of the figure's kind."""
    into: str = ""
    """The card of yours in whose details all of it stands, where that is there."""
    files: Mapping[str, str] = field(default_factory=dict)
    """What the files of a figure are called, by its kind, where that is not experiment and kind."""


@dataclass(frozen=True)
class Number:
    """The number of a card: what it is, and its interval in words."""

    shown: str
    about: str
    interval: str = ""


@dataclass(frozen=True)
class Item:
    """Something that a reader looks for by a name, such as a figure of a paper: its card, and its files."""

    name: str
    about: str
    card: str
    files: Sequence[str]
    """Their paths without an ending, such as "figures/figure-1a"."""


@dataclass(frozen=True, eq=False)
class Card:
    """A question, the sentence that answers it, and one figure; the rest is folded away."""

    key: str
    question: str
    answer: str
    chart: Chart | None = None
    lead: str = ""
    notes: Sequence[str] = ()
    more: Sequence[Chart] = ()
    tables: Sequence[Table] = ()
    outcome: str = ""
    """Of a claim: holds, does not hold, or undecided."""
    number: Number | None = None
    chapter: str = "claims"
    """One of CHAPTERS; by default the first."""
    items: Sequence[Item] = ()
    """A list of what is where."""

    @property
    def charts(self) -> list[Chart]:
        return [*([self.chart] if self.chart else []), *self.more]


@dataclass(frozen=True, eq=False)
class Run:
    """All that a report is made from."""

    folder: Path
    parts: Sequence[Part]
    texts: Mapping[str, Text] = field(default_factory=dict)

    def part(self, experiment: str) -> Part | None:
        """An experiment by name; None where it was not run."""
        return next((part for part in self.parts if part.experiment.name == experiment), None)

    def worlds(self, experiment: str) -> Sequence[WorldRuns]:
        """The worlds of an experiment that have records."""
        part = self.part(experiment)
        return part.worlds if part else []

    def family(self, name: str) -> str:
        """The entry of the texts for an experiment: under its name, or under the part of it before the first
        "-" or blank,
        for a family of experiments, which share one place on the page; its own name where there is neither."""
        head = re.split(r"[- ]", name, maxsplit=1)[0]
        return name if name in self.texts or head not in self.texts else head

    def text(self, name: str) -> Text:
        """The entry of an experiment, or of its family; otherwise its name as the title."""
        return self.texts.get(self.family(name), Text(name))

    def place(self, part: Part) -> tuple[int, str]:
        """Where an experiment stands on the page, a key to sort by: in the order of the texts, then by name."""
        found, order = self.family(part.experiment.name), list(self.texts)
        return (order.index(found) if found in self.texts else len(order), part.experiment.name)


@dataclass(frozen=True)
class Sections:
    """What you add to a report: texts by experiment, and cards of your own, which stand before the others.

    `cards` may also write files of yours into the folder of the run.
    """

    texts: Mapping[str, Text] = field(default_factory=dict)
    cards: Callable[[Run], Sequence[Card]] = lambda run: ()


@dataclass(frozen=True, eq=False)
class Section:
    """An experiment, or a family of them."""

    key: str
    text: Text
    parts: Sequence[Part]
    worlds: Sequence[WorldRuns]
    cards: Sequence[Card]
    table_rows: Mapping[tuple[int, str], int] = field(default_factory=dict)
    """Where the row of a world (by its number) and agent is in the table of regret."""

    def row(self, world: WorldRuns, agent: str) -> str:
        """The address of the numbers of one agent in one world."""
        number = next(number for number, other in enumerate(self.worlds) if other is world)
        return f"{self.key}-{self.table_rows[number, agent]}"

    @property
    def charts(self) -> list[Chart]:
        """In the order of the page."""
        return [chart for card in self.cards for chart in card.charts]

    @property
    def tables(self) -> list[Table]:
        return [table for card in self.cards for table in card.tables]


def build(parts: Sequence[Part], text: Text, family: str) -> Section:
    """Everything that the report says of an experiment, or of a family of them."""
    key, title = folder_name(family), parts[0].experiment.title
    if title and len(parts) == 1:
        text = replace(text, title=title, page=title)
    worlds = [world for part in parts for world in part.worlds]
    if not worlds:
        return Section(key, text, parts, worlds, [Card(key, text.title, NO_RECORDS, chapter="matters")])
    places = [(number, agent) for number, world in enumerate(worlds) for agent in world.agents]
    rows = {place: number for number, place in enumerate(places)}
    return Section(key, text, parts, worlds, _cards(key, text, worlds, _tables(key, worlds, text)), rows)


def _cards(key: str, text: Text, worlds: Sequence[WorldRuns], listed: Sequence[Table]) -> list[Card]:
    """A card for each question; what has none is folded into the first."""
    shown, folded = kinds(text, worlds)
    made = [
        replace(chart, stem=text.files.get(chart.kind, chart.stem))
        for chart in charts.build(worlds, [*shown, *folded], key, text.parameter)
    ]
    cards: list[Card] = []
    asked = _asked(made, shown, text)
    for chart in asked:
        parameter = chart.panels[0].x_label if chart.kind == "parameter" else text.parameter
        question = QUESTIONS[chart.kind].format(parameter=parameter, reference=worlds[0].reference)
        if not cards and text.question:
            question = text.question
        chapter = text.chapter or CHAPTER_OF.get(chart.kind, "matters")
        answer = answers.answer(chart, worlds, parameter)
        cards.append(Card(chart.stem, question, answer, chart, chapter=chapter))
    for name, question, agents in text.groups:
        group = charts.regret(worlds, f"{key}-{name}", agents)
        if group and cards:
            group = replace(group, note="")  # the first has said it
        if group:
            told = answers.ranking(worlds, agents)
            cards.append(Card(f"{key}-{name}", question, told, group, chapter=text.chapter or "matters"))
    lead = (
        cards[0]
        if cards
        else Card(key, text.title, answers.regret(worlds), chapter=text.chapter or "contest")
    )
    tails = answers.tails(worlds)
    notes = [f"{text.title}: {tails}"] if tails else []
    more = [chart for chart in made if chart not in asked]
    whole = replace(lead, key=key, lead=text.lead, notes=notes, more=more, tables=listed)
    return [whole, *cards[1:]]


def _asked(made: Sequence[Chart], shown: Sequence[str], text: Text) -> list[Chart]:
    """The charts with a card of their own; where a parameter was chosen, its first sweep alone."""
    found = [chart for chart in made if chart.kind in shown]
    if text.parameter is None:
        return found
    first = next((chart for chart in found if chart.kind == "parameter"), None)
    return [chart for chart in found if chart.kind != "parameter" or chart is first]


def folded_into(card: Card, section: Section) -> Card:
    """A card with all of a section in its details."""
    told = [f"{one.question} {one.answer}" for one in section.cards if one.answer]
    notes = [*card.notes, *told, *(note for one in section.cards for note in one.notes)]
    return replace(
        card,
        lead=" ".join(part for part in (card.lead, section.text.lead) if part),
        notes=notes,
        more=[*card.more, *section.charts],
        tables=[*card.tables, *section.tables],
    )


# Which figures


def kinds(text: Text, worlds: Sequence[WorldRuns]) -> tuple[list[str], list[str]]:
    """The figures of an experiment: those with a card, and those that are folded away."""
    several = len(worlds) >= 3 and any(len(world.agents) > 1 for world in worlds)
    shown = list(_by_records(text, worlds, several) if text.cards is None else text.cards)
    if shown == ["cost"]:
        return shown, []
    return shown, [k for k in FOLDED if k not in shown and (several or k != "profile") and not text.groups]


def _by_records(text: Text, worlds: Sequence[WorldRuns], several: bool) -> list[str]:
    recorded = {name for world in worlds for found in world.agents.values() for name in found.columns}
    sizes = {tuple(world.facts[key] for key in ("states", "actions", "dimension")) for world in worlds}
    swept = bool(runs.sweeps(worlds, text.parameter))
    wanted = {
        "parameter": swept,
        "regret": not several or (len(worlds) <= FEW_WORLDS and not swept),
        "improvement": several and bool(worlds[0].reference),
        "distance": "distance" in recorded,
        "mle_error": "mle_error" in recorded,
        "cost": len(sizes) > 2,
    }
    return [kind for kind in QUESTIONS if wanted[kind]]


# Tables


def _tables(key: str, worlds: Sequence[WorldRuns], text: Text) -> list[Table]:
    found = [_regret(key, worlds), _pairs(key, worlds)]
    trends = tables.trends(worlds, text.parameter)
    if any(tables.text(row.exponent) != "-" for row in trends):
        title = "How regret grows with a parameter"
        caption = (
            f"{title}: the exponent b of mean regret after {_after(worlds)} ~ parameter^b, over "
            "the worlds that differ in "
            "it alone. Brackets are 95% bootstrap intervals."
        )
        found.append(Table(f"{key}-trends", title, "", caption, trends))
    return [table for table in found if table.rows]


def _regret(key: str, worlds: Sequence[WorldRuns]) -> Table:
    title = f"Regret after {_after(worlds)}"
    caption = f"{title}. {charts.REGRET} Brackets are 95% bootstrap intervals. {COLUMNS}"
    return Table(f"{key}-regret", title, "", caption, tables.regret(worlds))


def _pairs(key: str, worlds: Sequence[WorldRuns]) -> Table:
    pairs = tables.pairs(worlds)
    reference = worlds[0].reference if len(pairs) > MANY_PAIRS else ""
    only = f"Comparisons with {reference}; the CSV file has all {len(pairs)}." if reference else ""
    title = "Agents compared on the same worlds with the same luck"
    caption = (
        f"{title}, after {_after(worlds)}. A difference of mean regret is agent minus the one it "
        "is compared with: below 0 "
        "the agent is better. Brackets are 95% intervals, for one comparison at a time; one "
        "that contains 0 leaves open "
        "which is better."
    )
    return Table(f"{key}-pairs", title, only, caption, pairs, reference)


def _after(worlds: Sequence[WorldRuns]) -> str:
    """How many steps there were, in words."""
    steps = sorted({world.horizon for world in worlds})
    return f"{steps[0]} steps" if len(steps) == 1 else f"{steps[0]} to {steps[-1]} steps"
