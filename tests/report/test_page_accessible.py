"""The page of a report can be read by everybody: axe-core asks, on every screen, with all of it unfolded."""

from pathlib import Path

import pytest
from accessible import LOOKS, looking, violations
from browsing import drawn, unfold
from playwright.sync_api import Browser

pytest_plugins = ["page_fixtures"]


@pytest.mark.parametrize("look", LOOKS)
def test_axe_has_nothing_against_a_report(browser: Browser, report: Path, look: str):
    with looking(browser, LOOKS[look]) as page:
        page.goto(report.as_uri())
        drawn(page)
        assert violations(page) == []
        unfold(page)
        assert violations(page) == []
