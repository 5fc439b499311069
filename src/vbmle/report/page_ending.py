"""The end of the page: the spec, versions, machine and seeds, and a link to every record."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from urllib.parse import quote

from vbmle.experiments.spec import Trial
from vbmle.experiments.store import Results, Store
from vbmle.report.section import Section


def html(sections: Sequence[Section]) -> str:
    """What was run, experiment by experiment."""
    parts = [
        f"<h3>{escape(section.text.title)}</h3>{_details(section.results)}{_records(section.results)}"
        for section in sections
    ]
    return (
        '<section id="run"><h2>What was run</h2><p class="note">Settings that are not named have their defaults. Every '
        "record carries its own settings, seeds (the agent's too), versions and a checksum; links lead to the "
        f"Parquet files beside this page.</p>{''.join(parts)}</section>"
    )


def _details(results: Results) -> str:
    experiment = results.experiment
    entries = {f"world {label}": choice.call() for label, choice in experiment.worlds.items()}
    entries |= {f"agent {label}": choice.call("mdp") for label, choice in experiment.agents.items()}
    entries["horizon"] = f"{experiment.horizon} steps"
    entries["records"] = f"{len(results.records)} of {len(experiment.plan())} trials"
    about = dict(results.about)
    entries["machine"] = about.pop("machine", "unknown")
    entries["versions"] = ", ".join(f"{name} {value}" for name, value in about.items())
    if results.left_out:
        entries["left out"] = "; ".join(results.left_out)
    items = "".join(f"<dt>{escape(key)}</dt><dd>{escape(value)}</dd>" for key, value in entries.items())
    return f"<details open><summary>Spec, versions and machine</summary><dl>{items}</dl></details>"


def _records(results: Results) -> str:
    """A line for each world and agent with a link to each trial, and one for each world and trial with its seeds."""
    if not results.records:
        return ""
    store, places = Store(Path(), results.experiment), list(results.experiment.worlds)
    cells: dict[tuple[str, str], list[Trial]] = {}
    drawn: dict[tuple[str, int], Trial] = {}
    for trial in sorted((r.trial for r in results.records), key=lambda t: (places.index(t.world), t.index)):
        cells.setdefault((trial.world, trial.agent), []).append(trial)
        drawn.setdefault((trial.world, trial.index), trial)
    records = [
        (world, agent, " ".join(_link(t, store) for t in trials)) for (world, agent), trials in cells.items()
    ]
    seeds = []
    for (world, index), trial in drawn.items():
        found = trial.seeds()
        seeds.append((world, str(index), str(found["chance"]), str(found.get("world", "-"))))
    return _table("Records", ("world", "agent", "records, by trial"), records) + _table(
        "Seeds", ("world", "trial", "seed of the run", "seed of the world"), seeds
    )


def _link(trial: Trial, store: Store) -> str:
    address = quote(store.path(trial).as_posix(), safe="/=+")
    return f'<a href="{escape(address)}">{trial.index}</a>'


def _table(title: str, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table that is closed at first; cells hold links, so only the first two columns are escaped."""
    head = "".join(f'<th scope="col">{heading}</th>' for heading in headings)
    lines = []
    for row in rows:
        cells = "".join(f"<td>{escape(cell) if place < 2 else cell}</td>" for place, cell in enumerate(row))
        lines.append(f"<tr>{cells}</tr>")
    return (
        f'<details><summary>{title}</summary><div class="wide" role="region" tabindex="0" aria-label="{title}">'
        f'<table class="plain"><thead><tr>{head}</tr></thead><tbody>{"".join(lines)}</tbody></table></div></details>'
    )
