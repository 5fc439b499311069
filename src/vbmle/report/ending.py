"""The end of the page: the spec, versions, machine and seeds, and a link to every record."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from urllib.parse import quote

from vbmle.experiments.spec import Trial
from vbmle.experiments.store import Results, Store
from vbmle.report.section import Section

WORDS = ' class="words"'


def html(sections: Sequence[Section]) -> str:
    """What was run, experiment by experiment."""
    parts = [
        f"<h3>{escape(section.text.title)}</h3>{_details(section.results)}{_records(section.results)}"
        for section in sections
    ]
    return (
        '<section id="run"><h2>What was run</h2><p class="note">Settings that are not named have their defaults. Every '
        "record carries its own settings, seeds, versions and a checksum; links lead to the Parquet files beside this "
        f"page.</p>{''.join(parts)}</section>"
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
    """A line for each world and trial: its seeds, and the record of each agent."""
    if not results.records:
        return ""
    store = Store(Path(), results.experiment)
    found: dict[tuple[str, int], list[Trial]] = {}
    for record in results.records:
        found.setdefault((record.trial.world, record.trial.index), []).append(record.trial)
    places = {label: number for number, label in enumerate(results.experiment.worlds)}
    lines = []
    for (world, index), trials in sorted(found.items(), key=lambda item: (places[item[0][0]], item[0][1])):
        seeds = trials[0].seeds()
        links = " · ".join(_link(trial, store) for trial in trials)
        lines.append(
            f'<tr data-world="{escape(world)}"><td class="words">{escape(world)}</td><td>{index}</td>'
            f"<td>{seeds['chance']}</td><td>{seeds.get('world', '-')}</td><td class=words>{links}</td></tr>"
        )
    texts = ("world", "trial", "seed of the run", "seed of the world", "records")
    head = "".join(
        f'<th scope="col"{WORDS if text in ("world", "records") else ""}>{text}</th>' for text in texts
    )
    name = escape(f"Records and seeds of {results.experiment.name}")
    return (
        f'<details><summary>Records and seeds</summary><div class="wide" role="region" tabindex="0" '
        f'aria-label="{name}"><table class="records"><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table></div></details>"
    )


def _link(trial: Trial, store: Store) -> str:
    """To a record; the agent's own seed, if it has one, as the title."""
    own = trial.seeds().get("agent")
    title = "" if own is None else f' title="seed of the agent: {own}"'
    address = quote(store.path(trial).as_posix(), safe="/=+")
    return f'<a href="{escape(address)}"{title}>{escape(trial.agent)}</a>'
