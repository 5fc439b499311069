"""An experiment, or a family of them, on the page: its cards and tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from vbmle.experiments.records import Results
from vbmle.experiments.spec import folder_name
from vbmle.report import answers, charts, charts_across, published, tables, texts, world_runs
from vbmle.report.cards import Card, Table
from vbmle.report.charts import Chart
from vbmle.report.texts import Text
from vbmle.report.world_runs import WorldRuns

COLUMNS = (
    "IQM: mean of the middle half. Std: standard deviation over the trials. Growth exponent: b of mean regret ~ t^b "
    "over the later half of log t; 1 is linear (nothing learned), 0.5 the rate of the theory."
)
"""What the caption of a table of regret says of its columns; the page says it once."""

MANY_PAIRS = 60
"""Pairs of agents up to which the page shows all of them, and not the first agent's alone."""


@dataclass(frozen=True, eq=False)
class Section:
    """An experiment, or a family of them."""

    key: str
    text: Text
    results: Sequence[Results]
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
        return [
            chart for card in self.cards for chart in ([card.chart] if card.chart else []) + list(card.more)
        ]

    @property
    def tables(self) -> list[Table]:
        return [table for card in self.cards for table in card.tables]


def build(results: Sequence[Results]) -> Section:
    """Everything that the report says of an experiment, or of a family of them."""
    family = texts.family(results[0].experiment.name)
    key, text = folder_name(family), texts.of(family)
    title = results[0].experiment.title
    if title and len(results) == 1:
        text = _titled(text, title)
    worlds = [world for found in results for world in world_runs.by_world(found)]
    if not worlds:
        return Section(key, text, results, worlds, [Card(key, text.title, "No trial is complete yet.", None)])
    listed = _tables(key, worlds, text, results)
    table_rows = _table_rows(worlds)
    return Section(key, text, results, worlds, _cards(key, text, worlds, listed), table_rows)


def _titled(text: Text, title: str) -> Text:
    return Text(title, text.question, text.lead, text.cards, text.parameter, text.first, title, text.groups)


def _table_rows(worlds: Sequence[WorldRuns]) -> dict[tuple[int, str], int]:
    rows = [
        (number, str(row["agent"])) for number, world in enumerate(worlds) for row in tables.labels([world])
    ]
    return {key: number for number, key in enumerate(rows)}


def _cards(key: str, text: Text, worlds: Sequence[WorldRuns], listed: Sequence[Table]) -> list[Card]:
    """A card for each question; what has none is folded into the first."""
    shown, folded = texts.kinds(text, worlds)
    made = charts_across.build(worlds, [*shown, *folded], key, text.parameter)
    first = next(iter(worlds[0].agents))
    cards: list[Card] = []
    asked = _asked(made, shown, text)
    for chart in asked:
        parameter = chart.panels[0].x_label if chart.kind == "parameter" else text.parameter
        question = texts.QUESTIONS[chart.kind].format(parameter=parameter, first=first)
        if not cards and text.question:
            question = text.question
        told = answers.answer(chart, worlds, parameter)
        cards.append(Card(chart.stem, question, told, chart))
    for name, question, agents in text.groups:
        group = charts.regret(worlds, f"{key}-{name}", agents)
        if group and cards:
            group = replace(group, note="")  # the first has said it
        if group:
            told = answers.ranking(worlds, agents)
            cards.append(Card(f"{key}-{name}", question, told, group))
    lead = cards[0] if cards else Card(key, text.title, answers.regret(worlds), None)
    known = (f"{text.title}: {answers.tails(worlds)}", answers.beside_the_paper(worlds))
    notes = [note for note in known if note]
    more = [chart for chart in made if chart not in asked]
    whole = Card(key, lead.question, lead.answer, lead.chart, text.lead, notes, more, listed)
    return [whole, *cards[1:]]


def _asked(made: Sequence[Chart], shown: Sequence[str], text: Text) -> list[Chart]:
    """The charts with a card of their own; where a parameter was chosen, its first sweep alone."""
    found = [chart for chart in made if chart.kind in shown]
    if text.parameter is None:
        return found
    first = next((chart for chart in found if chart.kind == "parameter"), None)
    return [chart for chart in found if chart.kind != "parameter" or chart is first]


# Tables


def _tables(key: str, worlds: Sequence[WorldRuns], text: Text, results: Sequence[Results]) -> list[Table]:
    found = [_regret(key, worlds, results), _pairs(key, worlds)]
    after = _after(worlds)
    trends = tables.trends(worlds, text.parameter)
    if any(tables.cell(row, "exponent") != "-" for row in trends):
        title = "How regret grows with a parameter"
        caption = (
            f"{title}: the exponent b of mean regret after {after} ~ parameter^b, over the worlds that differ in it "
            "alone. Brackets are 95% bootstrap intervals."
        )
        found.append(Table(f"{key}-trends", title, "", caption, tables.TREND, trends))
    return [table for table in found if table.rows]


def _regret(key: str, worlds: Sequence[WorldRuns], results: Sequence[Results]) -> Table:
    rows = tables.regret(worlds)
    note = ""
    if any(found.experiment.name == published.EXPERIMENT for found in results):
        note = (
            '"Published" is what the paper prints, from its own machine and its own draw of worlds; it leaves the '
            "dimension, the reward and the width of the network open, so its standard deviations can be compared in "
            "size only."
        )
    title = f"Regret after {_after(worlds)}"
    caption = f"{title}. {charts.REGRET} Brackets are 95% bootstrap intervals. {COLUMNS} {note}".rstrip()
    return Table(f"{key}-regret", title, note, caption, tables.REGRET, rows)


def _pairs(key: str, worlds: Sequence[WorldRuns]) -> Table:
    pairs = tables.pairs(worlds)
    first = next(iter(worlds[0].agents)) if len(pairs) > MANY_PAIRS else ""
    only = f"Pairs of {first}; the CSV file has all {len(pairs)}." if first else ""
    note = (
        "Difference of regret, agent minus the one it is compared with: below 0 means it lost less. An interval that "
        "contains 0 leaves open which is better."
    )
    title = "Agents compared on the same worlds with the same luck"
    told = f"{title}, after {_after(worlds)}. {note}"
    caption = f"{told} Brackets are 95% bootstrap intervals, for one comparison at a time."
    return Table(f"{key}-pairs", title, only, caption, tables.PAIRS, pairs, first)


def _after(worlds: Sequence[WorldRuns]) -> str:
    """How many steps there were, in words."""
    steps = sorted({world.horizon for world in worlds})
    return f"{steps[0]} steps" if len(steps) == 1 else f"{steps[0]} to {steps[-1]} steps"
