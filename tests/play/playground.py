"""The playground in a browser, for the tests beside this file."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = Path("/usr/bin/chromium")
if not CHROMIUM.exists():
    pytest.skip("no browser: /usr/bin/chromium is not there", allow_module_level=True)

from playwright.sync_api import Browser, Page, sync_playwright  # noqa: E402

QUIET = [
    *("--no-sandbox", "--headless", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
LAPTOP = {"width": 1366, "height": 768}
PHONE = {"width": 390, "height": 844}
PATIENCE = 900_000
"""Milliseconds after which a page counts as hanging."""


class Opened:
    """A page, with what it said and asked for."""

    def __init__(self, browser: Browser, path: Path, address: str = "", **settings: Any) -> None:
        self.page: Page = browser.new_page(**{"viewport": LAPTOP, **settings})
        self.page.set_default_timeout(PATIENCE)
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(path.as_uri() + address)
        self.settle()

    def settle(self) -> None:
        """Wait until the situation that was asked for is there, and its address too."""
        self.page.wait_for_function(
            "() => window.playground && !playground.app.playing && document.body.dataset.busy === 'false'"
            " && location.hash === playground.app.address"
        )

    def tracks(self) -> Any:
        """Path, decisions and regret of every learner."""
        return self.page.evaluate("playground.tracks()")

    def at(self) -> Any:
        """The settings of the situation."""
        return self.page.evaluate("playground.app.at")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page, as `vbmle play` writes it."""
    from vbmle.play import write

    return write(tmp_path_factory.mktemp("play") / "playground.html")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)


@pytest.fixture(scope="module")
def laptop(browser: Browser, path: Path) -> Opened:
    """One page for all tests of a file; each opens the situation that it needs."""
    return Opened(browser, path)
