"""Whether a page can be read by everybody: axe-core asks, in light, in dark and on a phone."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

AXE = Path(__file__).with_name("axe") / "axe.min.js"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
"""The sets of rules that a page keeps, and below, one more that is in none: a control is called what it shows."""
ONE_MORE = {"label-content-name-mismatch": {"enabled": True}}

COLOURS = ["color-contrast", "link-in-text-block"]


class Look(NamedTuple):
    """How somebody looks at a page."""

    scheme: str
    width: int
    height: int


LOOKS = {
    "light": Look("light", 1366, 768),
    "dark": Look("dark", 1366, 768),
    "phone": Look("light", 390, 844),
    "dark phone": Look("dark", 390, 844),
}


@functools.cache
def axe() -> str:
    return AXE.read_text(encoding="utf-8")


def violations(page: Page, within: str | None = None, rules: str | None = None) -> list[str]:
    """What axe-core has against a page as it stands: one line for each element, with the rule first.

    `within` is a part of the page; `rules` are "colours", those that depend on the colours, or "layout", all others.
    """
    page.evaluate(f"() => {{ if (!window.axe) {{ {axe()} }} }}")
    options: dict[str, Any] = {
        "runOnly": {"type": "tag", "values": RULES},
        "rules": ONE_MORE,
        "resultTypes": ["violations"],
    }
    if rules == "colours":
        options |= {"runOnly": {"type": "rule", "values": COLOURS}, "rules": {}}
    elif rules == "layout":
        options["rules"] = ONE_MORE | {rule: {"enabled": False} for rule in COLOURS}
    found = page.evaluate("([part, options]) => axe.run(part ?? document, options)", [within, options])
    return [
        f"{rule['id']}: {node['html'][:200]} ({' '.join(node['failureSummary'].split())})"
        for rule in found["violations"]
        for node in rule["nodes"]
    ]


@contextmanager
def looking(browser: Browser, look: Look, patience: float = 900_000) -> Iterator[Page]:
    """A page of its own, as somebody looks at it; nothing on it moves."""
    context = browser.new_context(
        color_scheme="dark" if look.scheme == "dark" else "light",
        viewport={"width": look.width, "height": look.height},
        reduced_motion="reduce",
    )
    context.set_default_timeout(patience)
    yield context.new_page()
    context.close()
