"""One self-contained page: a summary in plain words, the figures, the tables, and what was run. No network."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from vbmle.experiments.spec import Experiment
from vbmle.experiments.store import Results
from vbmle.report import summary, tables
from vbmle.report.data import WorldRuns
from vbmle.report.figures import Picture
from vbmle.report.tables import Row

STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #fff; --soft: #57606a; --line: #d0d7de; --tint: #f3f5f7; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e8eb; --paper: #14171a; --soft: #9aa4ae; --line: #343b42; --tint: #1d2226; }
}
body { margin: 0 auto; padding: 1rem 1rem 4rem; max-width: 64rem; background: var(--paper); color: var(--ink);
       font: 1rem/1.55 system-ui, sans-serif; }
h1 { font-size: 1.6rem; line-height: 1.25; } h2 { font-size: 1.2rem; margin-top: 2.2rem; }
.summary { background: var(--tint); border-radius: .5rem; padding: .3rem 1.2rem; }
.summary li { margin: .5rem 0; } .summary li:first-child { font-weight: 600; }
figure { margin: 1.5rem 0; }
figure img { width: 100%; min-width: 40rem; height: auto; display: block; background: #fff; border-radius: .4rem; }
figcaption, .note { color: var(--soft); font-size: .9rem; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-size: .88rem; white-space: nowrap; }
th, td { padding: .3rem .6rem; text-align: right; font-variant-numeric: tabular-nums; }
th { vertical-align: bottom; white-space: normal; border-bottom: 2px solid var(--line); }
.words { text-align: left; } tr.first td { border-top: 1px solid var(--line); }
dt { font-weight: 600; } dd { margin: 0 0 .4rem 0; overflow-wrap: anywhere; }
@media print { body { max-width: none; } figure, tr { break-inside: avoid; } }
"""
WORDS = ("world", "agent", "against")


@dataclass(frozen=True, eq=False)
class Section:
    """One experiment on the page."""

    results: Results
    worlds: Sequence[WorldRuns]
    pictures: Sequence[Picture]
    regret: Sequence[Row]
    pairs: Sequence[Row]


def write(sections: Sequence[Section], path: Path) -> Path:
    """Write the page."""
    title = "Regret of value-biased maximum likelihood"
    body = "\n".join(_section(section) for section in sections)
    path.write_text(
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{title}</title>\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<style>{STYLE}</style>\n</head>\n'
        f"<body>\n<h1>{title}</h1>\n{body}\n</body>\n</html>\n",
        encoding="utf-8",
    )
    return path


def _section(section: Section) -> str:
    experiment = section.results.experiment
    told = "".join(f"<li>{escape(line)}</li>" for line in summary.sentences(section.worlds, section.pairs))
    parts = [
        f'<p class="note">{escape(_setting(experiment))}</p>',
        f'<div class="summary"><ul>{told}</ul></div>',
        "<h2>Regret step by step</h2>",
        *(_figure(picture) for picture in section.pictures),
        f"<h2>Regret after {experiment.horizon} steps, and seconds per step</h2>",
        _table(section.regret, tables.REGRET),
        '<p class="note">IQM: mean of the middle half. "Published" is what the paper prints, from its own '
        "machine and its own draw of worlds; it leaves the dimension, the reward and the width of the network "
        "open, so its standard deviations can be compared in size only. A dash: nothing there.</p>",
        "<h2>Agents compared on the same worlds with the same luck</h2>",
        _table(section.pairs, tables.PAIRS),
        '<p class="note">Difference of regret, agent minus the one it is compared with: below 0 means it lost less. '
        "Intervals that contain 0 leave open which is better.</p>",
        "<h2>What was run</h2>",
        _details(section.results),
    ]
    return "\n".join(parts)


def _setting(experiment: Experiment) -> str:
    return (
        f"{experiment.trials} trials of {experiment.horizon} steps for every agent and world. Regret is what was "
        f"lost against the best policy, exact, without sampling noise. Intervals are 95% bootstrap intervals "
        f"of the mean."
    )


def _figure(picture: Picture) -> str:
    data = base64.b64encode(picture.png.read_bytes()).decode()
    caption = escape(picture.caption)
    image = f'<img src="data:image/png;base64,{data}" alt="{caption}">'
    return f'<figure><div class="wide">{image}</div><figcaption>{caption}</figcaption></figure>'


def _table(rows: Sequence[Row], headings: Mapping[str, str]) -> str:
    kind = {key: ' class="words"' if key in WORDS else "" for key in headings}
    head = "".join(f'<th scope="col"{kind[key]}>{escape(heading)}</th>' for key, heading in headings.items())
    lines, last = [], None
    for row in rows:
        cells = "".join(f"<td{kind[key]}>{escape(tables.cell(row, key))}</td>" for key in headings)
        lines.append(f"<tr{'' if row['world'] == last else ' class=first'}>{cells}</tr>")
        last = row["world"]
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{"".join(lines)}</tbody></table></div>'


def _details(results: Results) -> str:
    experiment = results.experiment
    entries = {f"world {label}": choice.call() for label, choice in experiment.worlds.items()}
    entries |= {f"agent {label}": choice.call("mdp") for label, choice in experiment.agents.items()}
    entries["records"] = f"{len(results.records)} of {len(experiment.plan())} trials"
    entries["versions"] = ", ".join(f"{name} {value}" for name, value in results.about.items())
    if results.left_out:
        entries["left out"] = "; ".join(results.left_out)
    items = "".join(f"<dt>{escape(key)}</dt><dd>{escape(value)}</dd>" for key, value in entries.items())
    return f"<dl>{items}</dl>"
