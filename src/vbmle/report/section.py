"""One experiment of the report: its words, charts and tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from vbmle.experiments.spec import folder_name
from vbmle.experiments.store import Results
from vbmle.report import charts_across, published, summary, tables, texts, world_runs
from vbmle.report.charts import Chart
from vbmle.report.tables import Row
from vbmle.report.texts import Text
from vbmle.report.world_runs import WorldRuns

MANY_PAIRS = 60
"""Pairs of agents up to which the page shows all of them, and not the first agent's alone."""


@dataclass(frozen=True, eq=False)
class Table:
    """A table of the page and its file."""

    file: str
    title: str
    note: str
    headings: Mapping[str, str]
    rows: Sequence[Row]
    """All of them, as in the file."""
    first_only: str = ""
    """If not empty, the page shows only the rows of this agent."""


@dataclass(frozen=True, eq=False)
class Section:
    """One experiment on the page."""

    results: Results
    text: Text
    worlds: Sequence[WorldRuns]
    charts: Sequence[Chart]
    tables: Sequence[Table]
    pairs: Sequence[Row]

    @property
    def key(self) -> str:
        """Its address on the page."""
        return folder_name(self.results.experiment.name)

    @property
    def headline(self) -> list[str]:
        """What the top of the page says of it."""
        return summary.costs(self.worlds) if self._about_cost else summary.headline(self.worlds, self.pairs)

    @property
    def sentences(self) -> list[str]:
        """What it says of itself."""
        return summary.costs(self.worlds) if self._about_cost else summary.sentences(self.worlds, self.pairs)

    @property
    def _about_cost(self) -> bool:
        return self.text.kinds == ("cost",) and len(self.worlds) > 0


def build(results: Results) -> Section:
    """Everything that the report says of an experiment."""
    worlds, text = world_runs.by_world(results), texts.of(results.experiment.name)
    charts = charts_across.build(worlds, texts.kinds(text, worlds), text)
    pairs = tables.pairs(worlds)
    return Section(results, text, worlds, charts, _tables(results, worlds, pairs, text), pairs)


def _tables(results: Results, worlds: Sequence[WorldRuns], pairs: Sequence[Row], text: Text) -> list[Table]:
    experiment = results.experiment
    name = folder_name(experiment.name)
    first = next(iter(worlds[0].agents)) if worlds and len(pairs) > MANY_PAIRS else ""
    only = f" Here those of {first}; the file has every pair." if first else ""
    rows = tables.regret(worlds)
    shown = tables.present(tables.REGRET, rows)
    note = "IQM: mean of the middle half. Std: standard deviation over the trials. A dash: nothing there."
    if "trouble" in shown:
        note += " Decisions in trouble: over all steps of all trials, those that did not end as they should."
    if experiment.name == published.EXPERIMENT:
        note += (
            ' "Published" is what the paper prints, from its own machine and its own draw of worlds; it leaves the '
            "dimension, the reward and the width of the network open, so its standard deviations can be compared in "
            "size only, and its seconds were spent by other software on other hardware."
        )
    else:
        shown = {key: heading for key, heading in shown.items() if not key.startswith("published")}
    found = [
        Table(
            f"{name}-regret.csv",
            f"Regret after {experiment.horizon} steps",
            note,
            shown,
            rows,
        ),
        Table(
            f"{name}-pairs.csv",
            "Agents compared on the same worlds with the same luck",
            "Difference of regret, agent minus the one it is compared with: below 0 means it lost less. Intervals that "
            f"contain 0 leave open which is better, and they are for one comparison at a time.{only}",
            tables.PAIRS,
            pairs,
            first,
        ),
        Table(
            f"{name}-growth.csv",
            "How fast regret grows",
            "The exponent b of mean regret ~ t^b over the later half of log t: 1 is linear (nothing learned), 0.5 the "
            "rate of the theory, near 0 as good as over. A dash where nothing was lost, or where it came all at once.",
            tables.GROWTH,
            tables.growth(worlds),
        ),
    ]
    trends = tables.trends(worlds, text.parameter)
    if trends:
        found.append(
            Table(
                f"{name}-trends.csv",
                "How regret grows with a parameter",
                "The exponent b of mean regret ~ parameter^b over the worlds that differ in it alone. A dash where it "
                "has none: some world's mean regret is 0, or the parameter is not positive.",
                tables.TREND,
                trends,
            )
        )
    return found
