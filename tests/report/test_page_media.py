"""The page on every screen and on paper: light and dark, laptop, phone, print."""

from pathlib import Path

import numpy as np
import pytest
from browsing import CURVES, LAPTOP, PHONE, Opened, fill, unfold
from playwright.sync_api import Browser, Page

from vbmle.paper import suite as paper
from vbmle.report import write
from vbmle.report.sections import CHAPTERS

pytest_plugins = ["page_fixtures"]


def luminance(color: str) -> float:
    """Of "rgb(r, g, b)", by the definition of WCAG."""
    parts = np.array([float(part) for part in color[color.index("(") + 1 : -1].split(",")[:3]]) / 255.0
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_and_figures_are_readable_in_light_and_dark(wide: Opened, scheme: str):
    """WCAG AA: 4.5 for text; 3 for lines, which also differ in dash."""
    page = wide.page
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    try:
        ground = luminance(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        assert (ground < 0.05) == (scheme == "dark")
        query = "() => getComputedStyle(document.querySelector('{}')).{}"
        for selector, part, needed in (
            ("body", "color", 4.5),
            ("figcaption", "color", 4.5),
            ("figcaption a", "color", 4.5),
            (".panel .xtick text", "fill", 4.5),
            (f"{CURVES} .js-line", "stroke", 3.0),
        ):
            page.wait_for_function(  # figures follow a change of the scheme
                "dark => (getComputedStyle(document.querySelector('.panel .xtick text')).fill"
                ".match(/\\d+/g)[0] > 127) === dark",
                arg=scheme == "dark",
            )
            found = luminance(page.evaluate(query.format(selector, part)))
            ratio = (max(found, ground) + 0.05) / (min(found, ground) + 0.05)
            assert ratio >= needed, (selector, ratio)
        for level in range(5):
            colors = page.evaluate(
                "level => { const chip = document.querySelector('.chip.l' + level), look = getComputedStyle(chip);"
                "return [look.color, look.backgroundColor]; }",
                level,
            )
            ink, fill = sorted(luminance(color) for color in colors)
            assert (fill + 0.05) / (ink + 0.05) >= 4.5, level
        shades = [
            luminance(
                page.evaluate(f"getComputedStyle(document.querySelector('.chip.l{level}')).backgroundColor")
            )
            for level in (0, 4)
        ]
        assert (max(shades) + 0.05) / (min(shades) + 0.05) >= 3.0  # the best and the worst, in grey
    finally:
        page.emulate_media(color_scheme="light")


def test_a_phone_shows_it_without_scrolling_sideways(browser: Browser, report: Path):
    phone = Opened(browser, report, viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True)
    unfold(phone.page)
    assert phone.page.evaluate("document.documentElement.scrollWidth") <= 360
    wide = "() => [...document.querySelectorAll('.panel svg.main-svg')].map(s => s.getBoundingClientRect())"
    assert max(box["right"] for box in phone.page.evaluate(wide)) <= 360
    size = phone.page.evaluate("parseFloat(getComputedStyle(document.body).fontSize)")
    assert size >= 16
    assert phone.said == []
    phone.page.close()


def test_it_prints_on_light_paper_with_every_figure_that_is_unfolded(browser: Browser, report: Path):
    """Printing from a dark screen, right after opening: figures are drawn for paper first."""
    opened = Opened(browser, report, color_scheme="dark", viewport={"width": 1200, "height": 700})
    opened.page.evaluate(
        "window.addEventListener('beforeprint', () => { window.seen = [...document.querySelectorAll('.panel')]"
        ".filter(p => p.checkVisibility()).map(p => [p.layout.width, p.layout.font.color]); })"
    )
    content = opened.page.pdf(format="A4")
    assert content.startswith(b"%PDF")
    seen = opened.page.evaluate("window.seen")
    assert len(seen) == opened.page.locator(".panel:visible").count() == 6
    assert {color for _, color in seen} == {"#000000"}
    assert max(width for width, _ in seen) <= 670
    opened.page.emulate_media(media="print")
    assert opened.page.locator("#filter").is_hidden()
    assert opened.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert opened.said == []
    opened.page.close()


def test_all_that_the_paper_shows_fits_on_a_short_page(browser: Browser, tmp_path: Path):
    """Records of the shape of `vbmle paper`, made up: below 6,000 pixels on a laptop and a phone, and below 4 MB."""
    for planned in paper.experiments(quick=True):
        fill(tmp_path, planned)
    page_file = write(tmp_path, pictures=False)
    assert page_file.stat().st_size < 4_000_000
    opened = Opened(browser, page_file, viewport={"width": LAPTOP[0], "height": LAPTOP[1]})
    assert opened.page.evaluate("document.documentElement.scrollHeight") < 6000
    assert opened.page.locator("article.card").count() > 8
    assert opened.page.locator("h1").inner_text() == "The paper's experiments, run again"
    assert opened.page.locator("section.chapter > h2").all_inner_texts() == [*CHAPTERS.values()]
    assert holes(opened.page) == []
    order = "all => all.map(e => e.getBoundingClientRect().top + window.scrollY)"
    places = [link.get_attribute("href") for link in opened.page.locator("nav a").all()]
    tops = [opened.page.locator(str(place)).evaluate_all(order)[0] for place in places]
    assert tops == sorted(tops)
    box = opened.page.locator("#who .matrix").bounding_box()
    assert box
    assert box["y"] + box["height"] <= LAPTOP[1]
    assert opened.said == []
    opened.page.close()
    phone = Opened(browser, page_file, viewport={"width": PHONE[0], "height": PHONE[1]})
    assert phone.page.evaluate("document.documentElement.scrollHeight") < 6000
    phone.page.close()


def holes(page: Page) -> list[str]:
    """Rows of cards that do not fill the width, or whose cards end at different heights."""
    return page.evaluate(
        """() => [...document.querySelectorAll('.cards')].flatMap(grid => {
          const whole = grid.getBoundingClientRect(), rows = new Map();
          [...grid.children].forEach(card => {
            const box = card.getBoundingClientRect(), row = rows.get(Math.round(box.top)) || [];
            rows.set(Math.round(box.top), [...row, { box: box, id: card.id }]);
          });
          return [...rows.values()].filter(row =>
            Math.max(...row.map(one => one.box.right)) < whole.right - 2
            || new Set(row.map(one => Math.round(one.box.bottom))).size > 1
          ).map(row => row.map(one => one.id).join(' '));
        })"""
    )


def test_a_phone_folds_figures_away_and_shows_them_on_demand(browser: Browser, report: Path):
    """A screen that grows shows them at once: what unfolds them is there on a phone alone."""
    phone = Opened(browser, report, viewport={"width": PHONE[0], "height": PHONE[1]})
    figure, knob = phone.page.locator(CURVES), phone.page.locator("#truth > .shown > summary")
    assert figure.is_hidden()
    knob.click()
    phone.page.wait_for_function(
        "curves => document.querySelector(curves + ' .panel').dataset.drawn", arg=CURVES
    )
    assert figure.is_visible()
    knob.click()
    assert figure.is_hidden()
    phone.page.set_viewport_size({"width": LAPTOP[0], "height": LAPTOP[1]})
    figure.wait_for(state="visible")
    assert knob.is_hidden()
    assert phone.said == []
    phone.page.close()
