"""Finding one's way on the page in a real browser: contents, filters, tables, keyboard."""

from pathlib import Path

import numpy as np
import pytest
from browsing import AGENTS, CURVES, GAPS, HORIZON, LAPTOP, PATIENCE, PHONE, Opened, drawn, traces, unfold
from playwright.sync_api import Browser, Page

pytest_plugins = ["page_fixtures"]


@pytest.mark.parametrize("size", [LAPTOP, PHONE], ids=["laptop", "phone"])
def test_contents_show_where_one_is(browser: Browser, report: Path, size: tuple[int, int]):
    page = Opened(browser, report, viewport={"width": size[0], "height": size[1]}).page
    current = page.locator("nav a[aria-current]")
    assert current.inner_text() == "Who wins where"
    for place in ("truth-distance", "gaps", "run"):
        page.evaluate("place => { location.hash = place; }", place)
        page.wait_for_function(
            "place => document.querySelector('nav a[aria-current]').hash === '#' + place", arg=place
        )
        assert current.count() == 1
        box = current.bounding_box()
        assert box
        assert 0 <= box["y"] < size[1]
        assert box["x"] >= 0
    page.close()


@pytest.mark.parametrize("size", [LAPTOP, PHONE], ids=["laptop", "phone"])
def test_controls_never_cover_a_figure(browser: Browser, report: Path, size: tuple[int, int]):
    """With every filter open: what lies on top at nine places of each figure is the figure."""
    page = Opened(browser, report, viewport={"width": size[0], "height": size[1]}).page
    page.evaluate("document.querySelectorAll('#filter details').forEach(part => { part.open = true; })")
    covered = page.evaluate(
        """() => [...document.querySelectorAll('.card .panel')].filter(p => p.checkVisibility()).flatMap(panel => {
            panel.scrollIntoView();
            const box = panel.getBoundingClientRect(), found = [];
            for (const x of [0.05, 0.5, 0.95]) for (const y of [0.03, 0.5, 0.97]) {
                const at = [box.left + x * box.width, box.top + y * box.height];
                const top = document.elementFromPoint(...at);
                if (!panel.contains(top)) found.push([panel.ariaLabel, x, y, top && top.outerHTML.slice(0, 80)]);
            }
            return found;
        })"""
    )
    assert covered == []
    assert page.locator(".modebar-btn").count() == 0
    page.close()


def test_agents_can_be_left_out_everywhere(page: Page):
    unfold(page)
    rows = "tr:not([data-off])[data-agent='VBMLE'], tr:not([data-off])[data-against='VBMLE']"
    assert "VBMLE" in traces(page, CURVES)
    assert page.locator(rows).count() > 0
    page.locator("#filter input[value='VBMLE']").uncheck()
    assert "VBMLE" not in traces(page, CURVES)
    assert "maximum likelihood" in traces(page, CURVES)
    assert page.locator(rows).count() == 0
    assert not page.locator(f"{CURVES} .legend li[data-agent='VBMLE']").is_visible()
    assert page.locator("#filter summary span").first.inner_text() == "2 of 3"
    page.locator("#filter [data-all=agent]").click()
    assert "VBMLE" in traces(page, CURVES)


def test_worlds_can_be_left_out_everywhere(page: Page):
    """Panels, points, rows and columns of the world go; means over worlds are taken over those that are left."""
    unfold(page)
    place = "() => document.querySelector('#gaps-improvement .panel').data[0].x[0]"
    points = "() => document.querySelector('#gaps > .shown > figure .panel').data[0].x.length"
    before = page.evaluate(points)
    page.locator("#filter input[value='gap 0.3']").uncheck()
    drawn(page)
    assert page.evaluate(points) == before - 1
    assert page.locator("[data-world='gap 0.3']:visible").count() == 0
    assert page.locator("#gaps .axes[data-world='gap 0.1']:visible").count() == 2
    assert page.locator("#who [data-world='gap 0.1']:visible").count() == 4 + len(AGENTS)
    assert page.evaluate(place) == pytest.approx(1.0)  # VBMLE loses less in each of the worlds that are left
    page.locator("#filter [data-none=world]").click()
    assert page.locator("[data-world]:visible").count() == 0
    page.locator("#filter [data-all=world]").click()
    drawn(page)
    assert page.evaluate(points) == before


def test_regret_can_be_seen_on_a_logarithmic_axis(page: Page):
    def heights() -> list[float]:
        return page.evaluate(
            "() => { const panel = document.querySelector('" + CURVES + " .panel');"
            "const line = panel.data.find(trace => trace.name === 'maximum likelihood');"
            "return [line.y[0], line.y[line.y.length - 1]]; }"
        )

    first, last = heights()
    assert last / first == pytest.approx(np.sqrt(HORIZON), rel=1e-3)
    page.select_option("#scale", "log")
    start, end = heights()
    assert end - start == pytest.approx(np.log10(np.sqrt(HORIZON)), abs=1e-3)


def test_tables_sort_by_number_with_the_missing_last(page: Page):
    unfold(page)
    table = page.locator("#gaps table.sortable").first
    head = table.locator("th", has_text="mean").first
    column = head.evaluate("cell => cell.cellIndex")

    def values() -> list[float | None]:
        cells = table.locator(f"tbody tr td:nth-child({column + 1})").all()
        found = [cell.get_attribute("data-value") for cell in cells]
        return [None if value is None else float(value) for value in found]

    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    ascending = [value for value in values() if value is not None]
    assert len(ascending) == len(AGENTS) * len(GAPS)
    assert ascending == sorted(ascending)
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "descending"
    assert values() == ascending[::-1]
    growth = table.locator("th", has_text="exponent")  # VBMLE lost nothing: it has no exponent
    place = growth.evaluate("cell => cell.cellIndex")
    for _ in range(2):
        growth.locator("button").click()
        shown = table.locator(f"tbody td:nth-child({place + 1})").all_inner_texts()
        assert shown[-3:] == ["-"] * 3
        assert "-" not in shown[:-3]


def test_a_table_can_be_copied_as_latex(browser: Browser, report: Path):
    """What is copied is the file beside the page; after a filter, the rows that are left."""
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    page.goto(report.as_uri())
    unfold(page)
    listing = page.locator("#gaps .listing").first
    listing.locator("button.copy").click()
    listing.locator("button.copy", has_text="Copied").wait_for()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == (report.parent / "tables" / "gaps-regret.tex").read_text()
    assert "\\begin{tabular}{@{}lrrr" in copied
    page.locator("#filter input[value='VBMLE']").uncheck()
    listing.locator("button.copy").click()
    page.wait_for_function("old => navigator.clipboard.readText().then(text => text !== old)", arg=copied)
    fewer = page.evaluate("navigator.clipboard.readText()")
    assert fewer.count("\\\\\n") == copied.count("\\\\\n") - 2 * len(GAPS)  # in two parts
    assert "\nVBMLE" not in fewer
    context.close()


def test_all_of_it_can_be_reached_and_used_by_keyboard(page: Page):
    unfold(page)
    page.evaluate("document.activeElement.blur()")
    reached = set()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    everything = "a[href], button, select, input, summary:not(.shown > *), .panel, .wide"  # .shown: on phones
    number = page.locator(everything).count()
    page.evaluate(
        "selector => document.querySelectorAll(selector).forEach((part, n) => { part.dataset.stop = n; })",
        everything,
    )
    for _ in range(number + 80):  # plotly has stops of its own, perhaps
        reached.add(page.evaluate("document.activeElement.dataset.stop"))
        page.keyboard.press("Tab")
    assert {str(n) for n in range(number)} <= reached


def test_keys_zoom_move_and_reset(page: Page):
    range_of = "() => document.querySelector('" + CURVES + " .panel').layout.xaxis.range.slice()"
    page.locator(f"{CURVES} .panel").first.focus()
    before = page.evaluate(range_of)
    page.keyboard.press("+")
    zoomed = page.evaluate(range_of)
    assert zoomed[1] - zoomed[0] == pytest.approx(0.7 * (before[1] - before[0]), rel=1e-6)
    page.keyboard.press("ArrowRight")
    moved = page.evaluate(range_of)
    assert moved[0] > zoomed[0]
    page.keyboard.press("0")
    assert page.evaluate(range_of) == pytest.approx(before)


def test_what_is_chosen_is_said_and_what_has_nothing_left_says_so(page: Page):
    unfold(page)
    note, answer = page.locator("#partial"), page.locator(".answer").first
    before = "e => getComputedStyle(e, '::before').content"
    assert note.is_hidden()
    assert answer.evaluate(before) == "none"
    page.locator("#filter input[value='gap 0.3']").uncheck()
    assert note.inner_text().startswith(f"{len(AGENTS)} of {len(AGENTS)} agents and 3 of 4 worlds are shown.")
    assert "All agents and worlds" in answer.evaluate(before)
    for gap in GAPS:
        page.locator(f"#filter input[value='gap {gap}']").uncheck()
    assert page.locator("#gaps .listing .empty").count() == 2  # the third is about all worlds together
    assert page.locator("#gaps .listing .wide:visible").count() == 1
    assert page.locator("#truth .empty").count() == 0
    page.locator("#filter [data-none=agent]").click()
    assert note.inner_text().startswith("No agents are chosen, so there is nothing to show.")
    assert page.locator("#truth > .shown .empty").is_visible()
    for name in ("agent", "world"):
        page.locator(f"#filter [data-all={name}]").click()
    assert note.is_hidden()
    assert page.locator(".empty").count() == 0
    assert answer.evaluate(before) == "none"
