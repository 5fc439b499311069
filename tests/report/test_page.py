"""The page in a real browser: it draws, filters, sorts, answers the keyboard, and asks the network for nothing."""

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from vbmle.experiments.spec import Choice, Experiment, Recording
from vbmle.experiments.store import Record, Store
from vbmle.experiments.suites import paper
from vbmle.report import write

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
LAPTOP, PHONE = (1366, 768), (390, 844)
CURVES = "#truth > figure[data-kind=regret]"
"""The first figure of curves."""


def make(folder: Path, name: str, worlds: dict[str, Choice], extra: bool) -> None:
    """An experiment with three agents, and its records."""
    agents = {agent: Choice("MaximumLikelihood") for agent in AGENTS}
    record = Recording(distance=extra, mle_error=extra)
    fill(
        folder,
        Experiment(name=name, worlds=worlds, agents=agents, trials=6, horizon=HORIZON, record=record),
    )


def fill(folder: Path, experiment: Experiment) -> None:
    """Records of curves that are made up: the n-th agent loses n times the trial's own number, as sqrt(t)."""
    store = Store(folder, experiment)
    store.begin()
    for trial in experiment.all_trials():
        steps = trial.steps
        rank, luck = (
            list(experiment.agents).index(trial.agent),
            np.random.default_rng(trial.chance).exponential(),
        )
        columns = {"regret": luck * rank * np.sqrt(steps), "seconds": np.full(len(steps), 1e-3 * (1 + rank))}
        if experiment.record.distance:
            columns |= {"distance": 1.0 / steps, "distance_mean": (1.0 + rank) / steps}
            columns["mle_error"] = np.log1p(steps)
        sizes = {key: trial.world_choice.settings.get(key, 2) for key in ("states", "actions", "dimension")}
        store.write(Record(trial, columns, sizes))


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page")
    gaps = {f"gap {gap}": Choice("hypercube", {"dimension": 2, "gap": gap}) for gap in GAPS}
    make(folder, "gaps", gaps, extra=False)
    make(folder, "truth", {"one": Choice("closed_loop_trap")}, extra=True)
    return write(folder, pictures=False)  # those on paper are tested elsewhere, and take seconds


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
        self.address = report.as_uri()
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(report.as_uri())
        drawn(self.page)


def drawn(page: Page) -> None:
    """Wait for every figure that can be seen."""
    page.wait_for_function(
        "[...document.querySelectorAll('.panel')].every(p => !p.checkVisibility() || p.dataset.drawn)",
        timeout=30_000,
    )


def unfold(page: Page) -> None:
    """Open all that is folded away, and wait for its figures."""
    page.evaluate("document.querySelectorAll('details').forEach(part => { part.open = true; })")
    drawn(page)


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
    panel.locator(".hovertext").wait_for(timeout=5000)
    assert "median" in panel.locator(".hovertext").first.text_content(timeout=5000)  # type: ignore[operator]


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
    assert all(text.count(". ") == 0 and text.endswith(".") for text in sentences), sentences
    assert sentences[0] == "VBMLE is among the best in 4 of 4 worlds."
    for part in ("h1", ".short", "#who .matrix", "#who .key"):
        box = page.locator(part).bounding_box()
        assert box
        assert box["y"] + box["height"] <= size[1], part
        assert box["x"] + box["width"] <= size[0], part
    page.close()


def test_the_picture_has_a_mark_where_a_difference_is_sure_and_leads_to_the_comparison(page: Page):
    """VBMLE loses nothing; the third agent loses twice what the second does."""
    rows = {row.locator("th").inner_text(): row for row in page.locator("#who tbody tr").all()}
    assert list(rows) == list(AGENTS)
    assert rows["VBMLE"].locator("td").all_inner_texts() == ["best"] * 4
    assert rows["<b>UCLK</b>"].locator("a.sure").count() == 4
    cell = rows["<b>UCLK</b>"].locator("td[data-world='gap 0.3'] a")
    assert "surely more" in str(cell.get_attribute("aria-label"))
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


# Finding one's way


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
    points = "() => document.querySelector('#gaps > figure .panel').data[0].x.length"
    before = page.evaluate(points)
    page.locator("#filter input[value='gap 0.3']").uncheck()
    drawn(page)
    assert page.evaluate(points) == before - 1
    assert page.locator("[data-world='gap 0.3']:visible").count() == 0
    assert page.locator("#gaps .axes[data-world='gap 0.1']:visible").count() == 2
    assert page.locator("#who [data-world='gap 0.1']:visible").count() == 1 + len(AGENTS)
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
    page = context.new_page()
    page.goto(report.as_uri())
    unfold(page)
    listing = page.locator("#gaps .listing").first
    listing.locator("button.copy").click()
    listing.locator("button.copy", has_text="Copied").wait_for()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == (report.parent / "tables" / "gaps-regret.tex").read_text()
    assert "\\begin{tabular}{llrrr" in copied
    page.locator("#filter input[value='VBMLE']").uncheck()
    listing.locator("button.copy").click()
    page.wait_for_function("old => navigator.clipboard.readText().then(text => text !== old)", arg=copied)
    fewer = page.evaluate("navigator.clipboard.readText()")
    assert fewer.count("\\\\\n") == copied.count("\\\\\n") - len(GAPS)
    assert "\nVBMLE" not in fewer
    context.close()


def test_all_of_it_can_be_reached_and_used_by_keyboard(page: Page):
    unfold(page)
    page.evaluate("document.activeElement.blur()")
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
    """Records of the shape of `vbmle paper`, made up: below 6,000 pixels on a laptop, and below 4 MB."""
    for planned in paper.experiments(quick=True):
        fill(tmp_path, planned)
    page_file = write(tmp_path, pictures=False)
    assert page_file.stat().st_size < 4_000_000
    opened = Opened(browser, page_file, viewport={"width": LAPTOP[0], "height": LAPTOP[1]})
    assert opened.page.evaluate("document.documentElement.scrollHeight") < 6000
    assert opened.page.locator("article.card").count() > 8
    assert opened.page.locator("h1").inner_text() == "The paper's experiments, run again"
    box = opened.page.locator("#who .matrix").bounding_box()
    assert box
    assert box["y"] + box["height"] <= LAPTOP[1]
    assert opened.said == []
    opened.page.close()
