"""The pages in a real browser: what an operator sees first, in light and dark, on a desk and on a phone."""

import asyncio
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from accessible import violations
from playwright.sync_api import Browser, FloatRect, Locator, Page, expect, sync_playwright
from serving import DEPOT, NPZ, PATIENCE, Local, Process, served

CHROMIUM = "/usr/bin/chromium"
UNLIKELY = int(DEPOT.mdp.transition(np.full(3, 1 / 3))[1, 0].argmin())
"""The state that all models together call the least likely after action 0 in state 1."""

MILLISECONDS = PATIENCE * 1000

pytestmark = pytest.mark.skipif(not Path(CHROMIUM).exists(), reason=f"{CHROMIUM} is not there")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    """Four loops: one that learns, one that no model fits, one that saw the impossible, and one without data."""
    folder = tmp_path_factory.mktemp("pages")

    async def fill(local: Local) -> None:
        await local.make("VBMLE", "learning")
        await local.play(60, "learning")
        await local.make("VBMLE", "odd")
        body = {"state": 0, "request_id": "<script>alert(1)</script>", "allowed": [0]}
        decision = (await local.post("decisions", body, "odd")).body
        await local.post("observations", {"decision_id": decision["decision_id"], "next_state": 3}, "odd")
        await local.make("PSRL", "empty", mode="shadow")
        await local.make("VBMLE", "misfit")
        for number in range(60):  # each model leads elsewhere most of the time
            body = {"state": 1, "request_id": f"r{number}", "allowed": [0]}
            decision = (await local.post("decisions", body, "misfit")).body
            told = {"decision_id": decision["decision_id"], "next_state": UNLIKELY}
            await local.post("observations", told, "misfit")

    served(folder, fill)
    process = Process(folder)
    yield process
    process.close()


@pytest.fixture(
    params=[(scheme, *size) for scheme in ("light", "dark") for size in ((1366, 768), (390, 844))],
    ids=lambda p: f"{p[0]}-{p[1]}",
)
def page(request: pytest.FixtureRequest, browser: Browser) -> Iterator[Page]:
    scheme, width, height = request.param
    context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": height})
    context.set_default_timeout(MILLISECONDS)
    expect.set_options(timeout=MILLISECONDS)
    yield context.new_page()
    context.close()


def visit(page: Page, url: str) -> list[str]:
    """Go there; returns everything that went wrong, filled in later too."""
    wrong: list[str] = []
    page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on(
        "request",
        lambda request: (
            wrong.append(request.url)
            if not request.url.startswith((url.split("/loops")[0], "data:"))
            else None
        ),
    )
    page.goto(url)
    return wrong


def luminance(colour: str) -> float:
    """Of rgb(r, g, b), relative, as WCAG defines it."""
    parts = [int(value) / 255 for value in re.findall(r"\d+", colour)[:3]]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def style(page: Page, selector: str, name: str) -> str:
    return page.locator(selector).first.evaluate(f"node => getComputedStyle(node).{name}")


def contrast(page: Page, selector: str) -> float:
    ink, paper = (luminance(style(page, selector, name)) for name in ("color", "backgroundColor"))
    return (max(ink, paper) + 0.05) / (min(ink, paper) + 0.05)


def fits(page: Page) -> bool:
    return page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def test_all_loops_with_the_worst_first(page: Page, server: Process):
    wrong = visit(page, f"{server.url}/")
    cards = page.locator(".card")
    expect(cards).to_have_count(4)
    expect(page.locator(".lead")).to_contain_text("need you now")
    expect(cards.first).to_have_class("card stop")
    expect(cards.last).to_have_class("card learning")
    assert contrast(page, ".card") >= 4.5
    assert contrast(page, ".card.stop") >= 4.5
    assert contrast(page, ".card .pill.live") >= 4.5
    assert fits(page)
    assert (luminance(style(page, "body", "backgroundColor")) < 0.2) == page.evaluate(
        "matchMedia('(prefers-color-scheme: dark)').matches"
    )
    assert violations(page) == []
    assert wrong == []


def place_of(part: Locator) -> FloatRect:
    """Where a part of the page is; one that is just being drawn anew has no place for a moment."""
    end = time.monotonic() + PATIENCE
    while (box := part.bounding_box()) is None:
        assert time.monotonic() < end, "it is nowhere"
    return box


@pytest.mark.parametrize(
    ("loop", "title"),
    [
        ("learning", "Learning"),
        ("odd", "The impossible happened"),
        ("empty", "No data yet"),
        ("misfit", "The model does not fit"),
    ],
)
def test_the_verdict_and_the_switch_are_seen_at_once(page: Page, server: Process, loop: str, title: str):
    wrong = visit(page, f"{server.url}/loops/{loop}")
    expect(page.locator(".verdict h2")).to_have_text(title)
    for selector in (".verdict", ".modes button[data-mode=shadow]", ".modes button[data-mode=frozen]"):
        box = place_of(page.locator(selector))
        screen = page.viewport_size
        assert screen is not None
        assert box["y"] + box["height"] <= screen["height"], f"{selector} is below the first screen"
        assert box["height"] >= 44, "large enough for a finger"
    assert contrast(page, ".verdict") >= 4.5
    assert contrast(page, "h1 .pill") >= 4.5
    assert fits(page)
    assert violations(page) == []
    assert wrong == []


def test_the_alarm_says_where_and_what_to_do(page: Page, server: Process):
    wrong = visit(page, f"{server.url}/loops/misfit")
    expect(page.locator(".verdict")).to_contain_text("hand over to the baseline")
    expect(page.locator(".verdict")).to_have_attribute("role", "alert")
    expect(page.locator(".fit")).to_have_text("No: the alarm rings")
    section = page.locator("section", has=page.locator(".fit")).last
    expect(section.locator("caption")).to_have_text("Action 0 was taken 60 times in state 1")
    expect(section.locator("tr", has_text=f"state {UNLIKELY}").locator("td").nth(1)).to_have_text("60")
    expect(page.locator("button[data-mode=shadow]")).to_have_class("urgent")
    expect(page.locator("button[data-mode=shadow]")).to_contain_text("stop the agent")
    assert contrast(page, "button.urgent") >= 4.5
    above, below = place_of(section), place_of(page.locator(".columns section").first)
    assert above["y"] <= below["y"], "what it is about comes first"
    assert wrong == []


def test_what_is_proven_and_believed_is_drawn(page: Page, server: Process):
    wrong = visit(page, f"{server.url}/loops/learning")
    expect(page.locator(".belief li")).to_have_count(3)
    expect(page.locator(".bounds .range")).to_have_count(1)
    expect(page.locator(".fit")).to_have_text("Yes, so far")
    expect(page.locator(".days .bar")).to_have_count(1)
    assert page.locator("tbody tr").count() == 12
    assert wrong == []


def test_what_clients_send_is_shown_as_text(page: Page, server: Process):
    wrong = visit(page, f"{server.url}/loops/odd")
    expect(page.locator(".tiles .stop dd")).to_have_text("1")
    assert wrong == []


def test_the_page_follows_the_loop_and_the_mode_can_be_changed(browser: Browser, tmp_path: Path):
    server = Process(tmp_path)
    try:
        client = server.client()
        client.put_model("depot", NPZ)
        loop = client.loop("depot")
        loop.create("depot", "MaximumLikelihood")
        page = browser.new_page()
        page.set_default_timeout(MILLISECONDS)
        page.clock.install()
        page.goto(f"{server.url}/loops/depot")
        expect(page.locator(".verdict h2")).to_have_text("No data yet")
        decision = loop.act(1)
        expect(page.locator("tbody tr")).to_have_count(1)
        expect(page.locator("tbody tr td").nth(3)).to_have_text("waiting")
        loop.observe(decision, 2)
        expect(page.locator("tbody tr td").nth(3)).to_have_text("2")
        page.on("dialog", lambda dialog: dialog.accept())
        page.locator("button[data-mode=frozen]").click()
        expect(page.locator("h1 .pill")).to_have_text("frozen")
        assert loop.status()["mode"] == "frozen"
        server.kill()
        page.clock.fast_forward(70_000)
        expect(page.locator("#link")).to_contain_text("No connection to the server since ")
        expect(page.locator("#link")).to_contain_text("1 min ago")  # and not 0 s ago after every try
        page.close()
    finally:
        server.close()


def test_an_empty_folder_says_what_to_do_next(tmp_path: Path):
    async def read(local: Local) -> list[str]:
        empty = (await local.ask("GET", "/")).body.decode()
        await local.ask("PUT", "/v1/models/depot", content=NPZ)
        return [empty, (await local.ask("GET", "/")).body.decode()]

    empty, with_model = served(tmp_path, read)
    assert "Next: send a model" in empty
    assert "curl -T depot.npz http://localhost/v1/models/depot" in empty
    assert "Next: make a loop" in with_model


def test_pages_are_the_same_for_every_agent_and_state(tmp_path: Path):
    """Rendered with undefined names refused: no agent leaves a hole."""

    async def test(local: Local) -> None:
        for agent in ("Random", "QLearning", "VBMLE"):
            await local.make(agent, agent)
            for steps in (0, 30):
                await local.play(steps, agent)
                await local.rest()
                insights: Any = local.service.loops[agent].insights
                for _ in range(2):
                    answer = await local.ask("GET", f"/loops/{agent}")
                    assert answer.status == 200
                    assert "Belief over models" in answer.body.decode()
                    if insights._task is not None:
                        while insights.latest is None:
                            await asyncio.sleep(0.001)
        assert (await local.ask("GET", "/loops/none")).status == 404
        assert (await local.ask("GET", "/static/../server.py")).status == 404

    served(tmp_path, test)
