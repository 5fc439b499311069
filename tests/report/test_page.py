"""The page in a real browser: it draws, filters, sorts, answers the keyboard, and asks the network for nothing."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from vbmle.experiments.spec import Choice, Experiment
from vbmle.experiments.store import Record, Store
from vbmle.report import figures, write

CHROMIUM = Path("/usr/bin/chromium")
if not CHROMIUM.exists():
    pytest.skip("no browser: /usr/bin/chromium is not there", allow_module_level=True)

from playwright.sync_api import Browser, Page, sync_playwright  # noqa: E402

QUIET = [
    *("--no-sandbox", "--headless", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
AGENTS = ("VBMLE", "maximum likelihood", "<b>UCLK</b>")
GAPS = (0.1, 0.3, 0.9)
HORIZON = 60


def make(folder: Path, name: str, worlds: dict[str, Choice], extra: bool) -> None:
    """Records of curves that are made up: the n-th agent loses n + 1 times the trial's own number, as sqrt(t)."""
    agents = {agent: Choice("MaximumLikelihood") for agent in AGENTS}
    store = Store(folder, Experiment(name=name, worlds=worlds, agents=agents, trials=6, horizon=HORIZON))
    store.begin()
    steps = np.arange(1, HORIZON + 1)
    for trial in store.experiment.plan():
        rank, luck = AGENTS.index(trial.agent), np.random.default_rng(trial.chance).exponential()
        columns = {"regret": luck * rank * np.sqrt(steps), "seconds": np.full(HORIZON, 1e-3 * (1 + rank))}
        if extra:
            columns |= {"distance": 1.0 / steps, "distance_mean": (1.0 + rank) / steps}
            columns["mle_error"] = np.log1p(steps)
        facts = {"states": 2, "actions": 2, "dimension": 2}
        store.write(Record(trial, columns, facts))


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page")
    gaps = {f"gap {gap}": Choice("hypercube", {"dimension": 2, "gap": gap}) for gap in GAPS}
    make(folder, "gaps", gaps, extra=False)
    make(folder, "truth", {"one": Choice("closed_loop_trap")}, extra=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            figures, "write", lambda *_: None
        )  # those on paper are tested elsewhere, and take seconds
        return write(folder)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)


class Opened:
    """A page, with what it said and asked for."""

    def __init__(self, browser: Browser, report: Path, **settings: object) -> None:
        self.page: Page = browser.new_page(**settings)  # type: ignore[arg-type]
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(report.as_uri())
        self.page.wait_for_function(
            "[...document.querySelectorAll('.panel')].every(panel => panel.dataset.drawn)", timeout=30_000
        )


@pytest.fixture(scope="module")
def wide(browser: Browser, report: Path) -> Opened:
    return Opened(browser, report, viewport={"width": 1200, "height": 900})


@pytest.fixture
def page(wide: Opened) -> Page:
    """The page as it was in the beginning, for tests that change it."""
    wide.page.reload()
    wide.page.wait_for_function(
        "[...document.querySelectorAll('.panel')].every(panel => panel.dataset.drawn)"
    )
    return wide.page


def traces(page: Page, figure: str) -> list[str]:
    """Names of the curves that a figure's first panel shows."""
    return page.evaluate(
        "id => document.querySelector(id + ' .panel').data.map(trace => trace.name).filter(name => name)",
        figure,
    )


def test_it_is_small_silent_and_asks_for_nothing(wide: Opened, report: Path):
    assert report.stat().st_size < 4_000_000
    assert wide.said == []
    assert set(wide.asked) == {report.as_uri()}


def test_every_figure_draws(wide: Opened):
    page = wide.page
    kinds = page.eval_on_selector_all("figure", "all => all.map(figure => figure.dataset.kind)")
    assert set(kinds) == {"regret", "parameter", "profile", "improvement", "distance", "mle_error"}
    for panel in page.locator(".panel").all():
        marks = panel.locator("path.js-line, .points path").count()
        assert marks >= len(AGENTS) - 1, panel.get_attribute("aria-label")
        box = panel.locator("svg.main-svg").first.bounding_box()
        assert box
        assert min(box["width"], box["height"]) > 100


def test_labels_are_text_not_markup(wide: Opened):
    page = wide.page
    assert page.locator("b", has_text="UCLK").count() == 0
    assert "<b>UCLK</b>" in page.locator("#figure-0 .legend").inner_text()


def test_hovering_tells_numbers(wide: Opened):
    page = wide.page
    panel = page.locator("#figure-0 .panel").first
    panel.scroll_into_view_if_needed()
    box = panel.locator(".nsewdrag").bounding_box()
    assert box
    page.mouse.move(box["x"] + 0.97 * box["width"], box["y"] + 0.97 * box["height"])
    panel.locator(".hovertext").wait_for(timeout=5000)
    assert "median" in panel.locator(".hovertext").first.text_content(timeout=5000)  # type: ignore[operator]


def test_dragging_zooms(page: Page):
    panel = page.locator("#figure-0 .panel").first
    panel.scroll_into_view_if_needed()
    box = panel.locator(".nsewdrag").bounding_box()
    assert box
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 0.3 * box["width"], middle)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.6 * box["width"], middle, steps=5)
    page.mouse.up()
    zoomed = "() => document.querySelector('#figure-0 .panel').layout.xaxis.range"
    low, high = page.evaluate(zoomed)
    assert HORIZON * 0.2 < low < high < HORIZON * 0.7


def test_no_button_sends_anything_anywhere(wide: Opened):
    page = wide.page
    names = page.eval_on_selector_all(".modebar-btn", "all => all.map(button => button.dataset.title)")
    assert names
    assert not [name for name in names if "loud" in name or "hare" in name or "dit" in name]


def test_agents_can_be_left_out_everywhere(page: Page):
    rows = "tr:not([data-off])[data-agent='VBMLE'], tr:not([data-off])[data-against='VBMLE']"
    assert "VBMLE" in traces(page, "#figure-0")
    assert page.locator(rows).count() > 0
    page.locator("#bar summary").click()
    page.locator("#bar input[value='VBMLE']").uncheck()
    assert "VBMLE" not in traces(page, "#figure-0")
    assert "maximum likelihood" in traces(page, "#figure-0")
    assert page.locator(rows).count() == 0
    assert not page.locator("#figure-0 .legend li[data-agent='VBMLE']").is_visible()
    assert page.locator("#count").inner_text() == "2 of 3"
    page.locator("#bar [data-all]").click()
    assert "VBMLE" in traces(page, "#figure-0")


def test_worlds_can_be_left_out_of_their_section(page: Page):
    section = page.locator("#gaps")
    section.locator(".worlds summary").click()
    section.locator("input[value='gap 0.3']").uncheck()
    assert section.locator("figure[data-world='gap 0.3']").is_hidden()
    assert section.locator("figure[data-world='gap 0.1']").is_visible()
    assert section.locator("tr[data-world='gap 0.3']").first.is_hidden()
    section.locator(".worlds [data-none]").click()
    assert section.locator("figure[data-world]:visible").count() == 0
    assert page.locator("#truth figure[data-world]:visible").count() == 3


def test_regret_can_be_seen_on_a_logarithmic_axis(page: Page):
    def heights() -> list[float]:
        return page.evaluate(
            "() => { const panel = document.querySelector('#figure-0 .panel');"
            "const line = panel.data.find(trace => trace.name === 'maximum likelihood');"
            "return [line.y[0], line.y[line.y.length - 1]]; }"
        )

    first, last = heights()
    assert last / first == pytest.approx(np.sqrt(HORIZON), rel=1e-3)
    page.select_option("#scale", "log")
    start, end = heights()
    assert end - start == pytest.approx(np.log10(np.sqrt(HORIZON)), abs=1e-3)


def test_tables_sort_by_number_with_the_missing_last(page: Page):
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
    growth = page.locator("#gaps table.sortable").nth(2)  # VBMLE lost nothing: it has no exponent
    for _ in range(2):
        growth.locator("th", has_text="exponent").locator("button").click()
        shown = growth.locator("tbody td:nth-child(3)").all_inner_texts()
        assert shown[-3:] == ["-"] * 3
        assert "-" not in shown[:-3]


def test_all_of_it_can_be_reached_and_used_by_keyboard(page: Page):
    page.evaluate("document.querySelectorAll('details').forEach(part => { part.open = true; })")
    reached = set()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    everything = "a[href], button, select, input, summary, .panel, .wide"
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
    range_of = "() => document.querySelector('#figure-0 .panel').layout.xaxis.range.slice()"
    page.locator("#figure-0 .panel").first.focus()
    before = page.evaluate(range_of)
    page.keyboard.press("+")
    zoomed = page.evaluate(range_of)
    assert zoomed[1] - zoomed[0] == pytest.approx(0.7 * (before[1] - before[0]), rel=1e-6)
    page.keyboard.press("ArrowRight")
    moved = page.evaluate(range_of)
    assert moved[0] > zoomed[0]
    page.keyboard.press("0")
    assert page.evaluate(range_of) == pytest.approx(before)


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
            ("a[href^=figures]", "color", 4.5),
            (".panel .xtick text", "fill", 4.5),
            ("#figure-0 .js-line", "stroke", 3.0),
        ):
            page.wait_for_function(  # figures follow a change of the scheme
                "dark => (getComputedStyle(document.querySelector('.panel .xtick text')).fill"
                ".match(/\\d+/g)[0] > 127) === dark",
                arg=scheme == "dark",
            )
            found = luminance(page.evaluate(query.format(selector, part)))
            ratio = (max(found, ground) + 0.05) / (min(found, ground) + 0.05)
            assert ratio >= needed, (selector, ratio)
    finally:
        page.emulate_media(color_scheme="light")


def test_a_phone_shows_it_without_scrolling_sideways(browser: Browser, report: Path):
    phone = Opened(browser, report, viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True)
    assert phone.page.evaluate("document.documentElement.scrollWidth") <= 360
    wide = "() => [...document.querySelectorAll('.panel svg.main-svg')].map(s => s.getBoundingClientRect())"
    assert max(box["right"] for box in phone.page.evaluate(wide)) <= 360
    size = phone.page.evaluate("parseFloat(getComputedStyle(document.body).fontSize)")
    assert size >= 16
    assert phone.said == []
    phone.page.close()


def test_it_prints_on_light_paper_with_every_figure(browser: Browser, report: Path):
    """Printing from a dark screen, right after opening: figures are drawn for paper first."""
    opened = Opened(browser, report, color_scheme="dark", viewport={"width": 1200, "height": 700})
    opened.page.evaluate(
        "window.addEventListener('beforeprint', () => { window.seen = [...document.querySelectorAll('.panel')]"
        ".map(p => [p.layout.width, p.layout.font.color]); })"
    )
    content = opened.page.pdf(format="A4")
    assert content.startswith(b"%PDF")
    seen = opened.page.evaluate("window.seen")
    assert len(seen) == opened.page.locator(".panel").count()
    assert {color for _, color in seen} == {"#000000"}
    assert max(width for width, _ in seen) <= 670
    opened.page.emulate_media(media="print")
    assert opened.page.locator("#bar").is_hidden()
    assert opened.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert opened.said == []
    opened.page.close()
