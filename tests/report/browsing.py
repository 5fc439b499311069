"""A report in a real browser, for the tests of the page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from sweeps import keep

from vbmle.experiments.records import Record
from vbmle.experiments.spec import Choice, Experiment, Recording

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CHROMIUM = Path("/usr/bin/chromium")
MISSING = f"no browser: {CHROMIUM} is not there"
QUIET = [
    *("--no-sandbox", "--headless", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
PATIENCE = 900_000
"""Milliseconds after which a page counts as hanging."""

AGENTS = ("VBMLE", "maximum likelihood", "<b>UCLK</b>")
GAPS = (0.1, 0.3, 0.9)
HORIZON = 60
LAPTOP, PHONE = (1366, 768), (390, 844)
CURVES = "#truth > .shown > figure[data-kind=regret]"
"""The first figure of curves."""


def make(folder: Path, name: str, worlds: dict[str, Choice], extra: bool) -> None:
    """An experiment with three agents, and its records."""
    kinds = ("VBMLE", "MaximumLikelihood", "UCLK")
    agents = {agent: Choice(kind) for agent, kind in zip(AGENTS, kinds, strict=True)}
    record = Recording(distance=extra, mle_error=extra)
    fill(
        folder,
        Experiment(
            name=name,
            worlds=worlds,
            agents=agents,
            trials=12,
            horizon=HORIZON,
            record=record,
            reference=AGENTS[0],
        ),
    )


def fill(folder: Path, experiment: Experiment) -> None:
    """Records of curves that are made up: the n-th agent loses n times the trial's own number, as sqrt(t)."""
    records = []
    for trial in experiment.all_trials():
        steps = trial.steps
        rank, luck = (
            list(experiment.agents).index(trial.agent),
            np.random.default_rng(trial.chance).exponential(),
        )
        columns = {"regret": luck * rank * np.sqrt(steps), "seconds": np.full(len(steps), 1e-3 * (1 + rank))}
        if experiment.record.distance:
            columns |= {"distance": 1.0 / steps, "distance_mean": (1.0 + rank) / steps}
            columns["mle_error"] = np.log1p(steps)
        sizes = {key: trial.world_choice.settings.get(key, 2) for key in ("states", "actions", "dimension")}
        records.append(Record(trial, columns, sizes))
    keep(folder, experiment, records)


class Opened:
    """A page, with what it said and asked for."""

    def __init__(self, browser: Browser, report: Path, **settings: object) -> None:
        self.page: Page = browser.new_page(**settings)  # type: ignore[arg-type]
        self.page.set_default_timeout(PATIENCE)
        self.said: list[str] = []
        self.asked: list[str] = []
        self.address = report.as_uri()
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(report.as_uri())
        drawn(self.page)


def drawn(page: Page) -> None:
    """Wait for every figure that can be seen."""
    page.wait_for_function(
        "[...document.querySelectorAll('.panel')].every(p => !p.checkVisibility() || p.dataset.drawn)",
    )


def unfold(page: Page) -> None:
    """Open all that is folded away, and wait for its figures."""
    page.evaluate("document.querySelectorAll('details').forEach(part => { part.open = true; })")
    drawn(page)


def traces(page: Page, figure: str) -> list[str]:
    """Names of the curves that a figure's first panel shows."""
    return page.evaluate(
        "id => document.querySelector(id + ' .panel').data.map(trace => trace.name).filter(name => name)",
        figure,
    )
