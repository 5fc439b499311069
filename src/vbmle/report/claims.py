"""Cards for the paper's claims, for what decides who loses, and for the choices that the paper leaves open."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from vbmle.experiments.records import Results
from vbmle.report import deciding, silent_choices, verdicts
from vbmle.report.cards import Card, Table
from vbmle.report.charts import REGRET, Chart, Panel, Series
from vbmle.report.tables import Row
from vbmle.report.verdicts import Verdict

MARKS = {"difference": 0.0, "ratio": 1.0, "exponent": verdicts.THEOREM_T}
"""What an estimate is compared with, by the column it stands in."""

LABELS = {
    "regret": "the other's regret minus VBMLE's",
    "spread": "UCLK's standard deviation over VBMLE's",
    "time": "UCLK's seconds per step over VBMLE's",
    "distance": "UCLK's squared distance over VBMLE's",
    "growth": "exponent",
}
"""What the axis of a claim says."""

NOTES = {
    "regret": "Right of 0 VBMLE loses less.",
    "growth": "In T: over its last tenfold. Dotted: 1/2, the theorem's exponent of T; that of d is 1.",
}

FAR = 30.0
"""Ratios get a logarithmic axis where the largest is this many times the smallest."""

ABOUT_REGRET = ("regret", "spread", "growth")
"""Claims whose captions say what regret is."""

MEASURES_SHOWN = ("optimistic_loss", "inverse_gaps", "likely_loss")
"""The measures of a world that are drawn."""


def cards(folder: Path, results: Sequence[Results], told: Sequence[Verdict]) -> list[Card]:
    """Those that the records are good for; `told` are the verdicts on them."""
    found = [_claim(verdict) for verdict in told]
    return [card for card in (*found, _decides(folder, results), _choices(results)) if card]


def _claim(verdict: Verdict) -> Card:
    title = f"{verdict.title}: by world"
    caption = f"{verdict.title}. {verdict.sentence}"
    if verdict.claim in ABOUT_REGRET:
        caption += f" {REGRET}"
    table = Table(f"claim-{verdict.claim}", title, "", caption, _headings(verdict.details), verdict.details)
    tables = [table] if verdict.details else []
    key = f"claim-{verdict.claim}"
    return Card(
        key, verdict.title, verdict.sentence, _forest(verdict), tables=tables, outcome=verdict.outcome
    )


def _headings(rows: Sequence[Row]) -> dict[str, str]:
    return {key: key for key in dict.fromkeys(key for row in rows for key in row)}


def _forest(verdict: Verdict) -> Chart | None:
    """A row for each line of the details that has an estimate with its interval."""
    column = next((key for key in MARKS if any(key in row for row in verdict.details)), None)
    if column is None:
        return None
    rows = []
    last = max((int(row.get("to") or 0) for row in verdict.details if row.get("in") == "T"), default=0)
    for row in verdict.details:
        if row.get("in") == "T" and row["to"] != last:
            continue
        values = [row.get(key) for key in (column, "low", "high")]
        numbers = np.array([np.nan if value is None else float(value) for value in values])
        if np.isfinite(numbers).all():
            who = [str(row[key]) for key in ("world", "rival", "agent", "UCLK's", "in") if key in row]
            value, low, high = numbers[:, None]
            agent = str(row.get("rival", row.get("agent", "")))
            rows.append(
                Series(agent, ", ".join(who), value, np.zeros(1), low, high, worlds=[str(row["world"])])
            )
    if not rows:
        return None
    ends = np.concatenate([[MARKS[column]], *(line.low for line in rows), *(line.high for line in rows)])
    reach = (float(ends.min()), float(ends.max()))
    bent = column == "ratio" and max(float(line.x[0]) for line in rows) > FAR
    panel = Panel(
        *("forest", "", LABELS[verdict.claim], "", rows),
        x_scale="symlog" if bent else "linear",
        mark=MARKS[column],
        x_range=reach,
    )
    note = NOTES.get(verdict.claim, "")
    caption = f"{verdict.title}: estimates with 95% intervals; dotted: {MARKS[column]:g}. {verdict.sentence}"
    return Chart(f"claim-{verdict.claim}", "claim", verdict.title, note, caption, [panel])


def _decides(folder: Path, results: Sequence[Results]) -> Card | None:
    """Which measures of a world go with what is lost there."""
    found = deciding.worlds(folder, results)
    if not found:
        return None
    one = found[0]
    panels = [
        Panel(
            "scatter",
            "",
            deciding.MEASURES[name],
            "regret (units of reward)",
            [Series(agent, agent, one.measures[name], lost) for agent, lost in one.losses.items()],
            y_scale="symlog",
            world=one.label,
        )
        for name in MEASURES_SHOWN
        if np.isfinite(one.measures[name]).any()
    ]
    note = f"A dot is one of the {one.count} worlds at {one.label}."
    caption = f"What is lost in a world against measures of that world. {note} {REGRET}"
    chart = Chart("decides", "decides", "What decides", note, caption, panels) if panels else None
    rows = deciding.table(found)
    title = "Rank correlations of measures and losses"
    shown = _headings(rows) | {"correlation": "rank correlation"}
    told = deciding.sentence(found)
    table = Table("decides", title, "", f"{title}. {told}", shown, rows)
    return Card("decides", "Which worlds make agents lose?", told, chart, tables=[table])


def _choices(results: Sequence[Results]) -> Card | None:
    """Under which of the choices that the paper leaves open its spread is matched."""
    rows = silent_choices.of(results)
    if not rows:
        return None
    title = "Standard deviations under each choice, beside the printed ones"
    told = silent_choices.sentence(rows)
    table = Table("choices-spread", title, "", f"{title}. {told}", _headings(rows), rows)
    return Card("choices-spread", "Which choices match the paper's spread?", told, None, tables=[table])
