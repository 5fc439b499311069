"""The tool that the pages are examined with finds what is wrong with one, and nothing where nothing is."""

from collections.abc import Iterator

import pytest
from accessible import LOOKS, looking, violations
from playwright.sync_api import Browser, sync_playwright

FINE = """<!doctype html><html lang="en"><head><title>Fine</title></head><body><main><h1>Fine</h1>
<p>Words.</p><button>Go</button></main></body></html>"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])


@pytest.mark.parametrize(
    ("now", "instead", "rule"),
    [
        ("", "", ""),
        ("<p>", '<p style="color: #999">', "color-contrast"),
        ("<p>Words.</p>", "<h3>Deep</h3>", "heading-order"),
        ("<button>", '<button aria-label="Stop">', "label-content-name-mismatch"),
        ("<p>Words.</p>", "<input>", "label"),
        (' lang="en"', "", "html-has-lang"),
    ],
)
def test_it_finds_what_is_wrong(browser: Browser, now: str, instead: str, rule: str):
    with looking(browser, LOOKS["light"]) as page:
        page.set_content(FINE.replace(now, instead))
        assert [line.split(":")[0] for line in violations(page)] == [rule] * bool(rule)
