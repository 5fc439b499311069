"""The report that the tests of the page look at, and a browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browsing import CHROMIUM, GAPS, MISSING, QUIET, Opened, drawn, make

from vbmle.experiments.spec import Choice
from vbmle.report import write

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page")
    gaps = {f"gap {gap}": Choice("hypercube", {"dimension": 2, "gap": gap}) for gap in GAPS}
    make(folder, "gaps", gaps, extra=False)
    make(folder, "truth", {"one": Choice("closed_loop_trap")}, extra=True)
    return write(folder, pictures=False)  # those on paper are tested elsewhere, and take seconds


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if not CHROMIUM.exists():
        pytest.skip(MISSING)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)


@pytest.fixture(scope="module")
def wide(browser: Browser, report: Path) -> Opened:
    return Opened(browser, report, viewport={"width": 1200, "height": 900})


@pytest.fixture
def page(wide: Opened) -> Page:
    """The page as it was in the beginning, for tests that change it."""
    wide.page.goto("about:blank")
    wide.page.goto(wide.address)
    drawn(wide.page)
    return wide.page
