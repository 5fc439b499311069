"""The page in a real browser: it draws, says who wins where, and asks the network for nothing."""

import re
from pathlib import Path

import pytest
from browsing import AGENTS, CURVES, HORIZON, LAPTOP, PHONE, Opened, unfold
from playwright.sync_api import Browser, Page

pytest_plugins = ["page_fixtures"]


def test_it_is_small_silent_and_asks_for_nothing(wide: Opened, report: Path):
    assert report.stat().st_size < 4_000_000
    assert wide.said == []
    assert set(wide.asked) == {report.as_uri()}


def test_every_figure_draws(page: Page):
    unfold(page)
    kinds = page.eval_on_selector_all("figure", "all => all.map(figure => figure.dataset.kind)")
    across = {"matrix", "exploration", "parameter", "profile", "improvement"}
    assert set(kinds) == across | {"regret", "trials", "distance", "mle_error"}
    for panel in page.locator(".panel").all():
        marks = panel.locator("path.js-line, .points path").count()
        assert marks >= len(AGENTS) - 1, panel.get_attribute(
            "aria-label"
        )  # a row for each other agent, or world
        box = panel.locator("svg.main-svg").first.bounding_box()
        assert box
        assert min(box["width"], box["height"]) > 100


def test_intervals_lie_within_their_axis(page: Page):
    """Of shares, which may be negative, too."""
    ranges = page.evaluate(
        "() => [...document.querySelectorAll('[data-kind=exploration] .panel')].map(p => p.layout.xaxis.range)"
    )
    assert len(ranges) == 1
    assert ranges[0][0] < -1.0
    assert ranges[0][1] > 1.0


def test_labels_are_text_not_markup(wide: Opened):
    page = wide.page
    assert page.locator("b", has_text="UCLK").count() == 0
    assert "<b>UCLK</b>" in page.locator(f"{CURVES} .legend").inner_text()


def test_hovering_tells_numbers(wide: Opened):
    page = wide.page
    panel = page.locator(f"{CURVES} .panel").first
    panel.scroll_into_view_if_needed()
    box = panel.locator(".nsewdrag").bounding_box()
    assert box
    page.mouse.move(box["x"] + 0.97 * box["width"], box["y"] + 0.97 * box["height"])
    panel.locator(".hovertext").wait_for()
    assert "median" in panel.locator(".hovertext").first.text_content()  # type: ignore[operator]


def test_dragging_zooms(page: Page):
    panel = page.locator(f"{CURVES} .panel").first
    panel.scroll_into_view_if_needed()
    box = panel.locator(".nsewdrag").bounding_box()
    assert box
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 0.3 * box["width"], middle)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.6 * box["width"], middle, steps=5)
    page.mouse.up()
    zoomed = "() => document.querySelector('" + CURVES + " .panel').layout.xaxis.range"
    low, high = page.evaluate(zoomed)
    assert HORIZON * 0.2 < low < high < HORIZON * 0.7


# The first screen


@pytest.mark.parametrize("size", [LAPTOP, PHONE], ids=["laptop", "phone"])
def test_the_first_screen_says_and_shows_who_wins_where(
    browser: Browser, report: Path, size: tuple[int, int]
):
    page = Opened(browser, report, viewport={"width": size[0], "height": size[1]}).page
    assert page.locator("h1").inner_text() == "gaps, and 1 more experiment"
    sentences = page.locator(".short p").all_inner_texts()
    assert len(sentences) == 3
    assert all(text.count(". ") <= 1 and text.endswith(".") for text in sentences), sentences
    assert sentences[0].startswith("Best overall: VBMLE, best in all 4 worlds.")
    for part in ("h1", ".short", "#who .matrix", "#who .key"):
        box = page.locator(part).bounding_box()
        assert box
        assert box["y"] + box["height"] <= size[1], part
        assert box["x"] + box["width"] <= size[0], part
    page.close()


def test_the_picture_is_filled_where_a_difference_is_significant_and_leads_to_the_comparison(page: Page):
    """VBMLE loses nothing; the third agent loses twice what the second does."""
    rows = {row.locator("th").inner_text(): row for row in page.locator("#who tbody tr").all()}
    assert list(rows) == list(AGENTS)
    assert rows["VBMLE"].locator("td").all_inner_texts() == ["best"] * 4
    assert rows["<b>UCLK</b>"].locator("td:not(.open)").count() == 4
    cell = rows["<b>UCLK</b>"].locator("td[data-world='gap 0.3'] a")
    assert "significantly worse" in str(cell.get_attribute("aria-label"))
    cell.click()
    target = page.locator("tr:target")
    assert target.get_attribute("data-world") == "gap 0.3"
    assert target.get_attribute("data-agent") == "<b>UCLK</b>"
    page.wait_for_function(
        "() => { const box = document.querySelector('tr:target').getBoundingClientRect();"
        "return box.height > 0 && box.top >= 0 && box.bottom <= window.innerHeight; }"
    )
    shown = target.locator("td").all_inner_texts()
    mean = float(target.locator("td[data-value]").nth(1).get_attribute("data-value") or "nan")
    assert mean > 0
    assert any(text.startswith("gap 0.3") for text in shown)


def test_no_sentence_stands_there_twice(page: Page):
    unfold(page)
    blocks = page.eval_on_selector_all(
        "p, figcaption, li:not(.key li)",
        "all => all.filter(e => !e.closest('nav, .legend, .key')).map(e => { const copy = e.cloneNode(true);"
        "copy.querySelectorAll('.files, button').forEach(part => part.remove()); return copy.textContent; })",
    )
    found = [part.strip() for block in blocks for part in re.split(r"(?<=\.)\s", block)]
    long = [part for part in found if len(part.split()) > 5]
    assert len(long) > 20
    assert {part for part in long if long.count(part) > 1} == set()


def test_no_column_is_without_a_value(page: Page):
    unfold(page)
    empty = page.evaluate(
        "() => [...document.querySelectorAll('.listing table')].flatMap(table => [...table.tHead.rows[0].cells]"
        ".filter((_, n) => [...table.tBodies[0].rows].every(row => ['', '-'].includes(row.cells[n].textContent)))"
        ".map(head => head.textContent))"
    )
    assert empty == []
    assert page.locator(".listing th").count() > 20
