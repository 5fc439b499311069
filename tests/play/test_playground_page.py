"""The playground in a real browser: silent, complete, restorable from its address, usable without a mouse."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from accessible import violations
from playground import PHONE, Opened, browser, laptop, path
from playwright.sync_api import Browser, Page

__all__ = ["browser", "laptop", "path"]

WORLDS = ("trap", "river", "desk", "shop", "lake")
STORIES = ("trap", "door", "far", "basin", "much", "none")
LARGEST = 1_500_000


def go(opened: Opened, address: str) -> Page:
    """Open a situation by its address, in the page that is there."""
    opened.page.goto("about:blank")
    opened.page.goto(opened.asked[0].partition("#")[0] + address)
    opened.settle()
    return opened.page


def test_it_is_small_silent_and_asks_for_nothing(browser: Browser, path: Path):
    assert path.stat().st_size < LARGEST
    opened = Opened(browser, path)
    for world in WORLDS:
        go(opened, f"#world={world}&t=20")
    assert opened.said == []
    assert {url.partition("#")[0] for url in opened.asked} == {path.as_uri(), "about:blank"} - {"about:blank"}


def test_it_begins_with_a_question(browser: Browser, path: Path):
    page = Opened(browser, path).page
    assert page.locator("#question").inner_text().endswith("?")
    assert page.locator("#answers button").count() >= 2
    assert page.locator("#verdict").inner_text() == ""


@pytest.mark.parametrize("number", range(len(STORIES)), ids=STORIES)
def test_every_card_asks_plays_to_its_end_and_answers(laptop: Opened, number: int):
    page = go(laptop, "")
    page.locator("#tabs button").nth(number).click()
    laptop.settle()
    story: Any = laptop.at()
    assert (story["story"], story["t"], story["answer"]) == (STORIES[number], 0, None)
    page.locator("#answers button").nth(1).click()
    page.wait_for_selector("#answers .next")
    laptop.settle()
    assert laptop.at()["t"] >= 60
    text = page.locator("#verdict").inner_text()
    assert text.startswith(("Right.", "Not quite."))
    assert "NaN" not in text
    assert "{" not in text


def test_the_stories_say_what_happens(laptop: Opened):
    """What a card claims holds in its run: who loses much, who loses little."""
    lost: dict[str, dict[str, float]] = {}
    for number, story in enumerate(STORIES):
        page = go(laptop, "")
        page.locator("#tabs button").nth(number).click()
        end = page.evaluate("id => playground.stories.find(story => story.id === id).end", story)
        page.evaluate("end => playground.app.goTo(end)", end)
        laptop.settle()
        lost[story] = {name: track["regret"][end - 1] for name, track in laptop.tracks().items()}
    for story in ("trap", "door", "far"):
        assert lost[story]["likely"] > 10.0 * lost[story]["biased"]
    assert lost["basin"]["biased"] > 3.0 * lost["basin"]["rival"]
    assert lost["much"]["biased"] > 2.0 * lost["much"]["rival"]
    assert lost["much"]["likely"] == 0.0
    assert 0.5 < lost["none"]["likely"] / lost["none"]["biased"] < 2.0


def test_the_address_restores_the_situation_exactly(laptop: Opened, browser: Browser, path: Path):
    page = go(laptop, "#world=desk&t=17&seed=9")
    page.locator("#schedule").select_option("log")
    page.locator("#scale").focus()
    page.keyboard.press("ArrowRight")
    page.locator("#rival").select_option("sqrt:1:local")
    page.locator("input[value=bias]").check(force=True)
    page.locator(".board.likely > button").click()
    page.locator(".truth").focus()
    page.keyboard.press("Shift+ArrowLeft")
    laptop.settle()
    page.locator(".board.biased .tile").nth(5).click()
    laptop.settle()
    for _ in range(4):
        page.locator("#forth").click()
    laptop.settle()
    there = Opened(browser, path, page.evaluate("location.hash"))
    assert there.at() == laptop.at()
    assert there.tracks() == laptop.tracks()
    for part in ("#sentence", "#clock", "#worlds", "#settings", "#marks"):
        assert there.page.locator(part).inner_text() == page.locator(part).inner_text()
    assert there.page.inner_html("#chart") == page.inner_html("#chart")
    pixels = "document.querySelector('#triangle canvas').toDataURL()"
    assert there.page.evaluate(pixels) == page.evaluate(pixels)
    assert laptop.at()["moves"] == {"17": 5}
    assert laptop.tracks()["sampling"]["steps"][17]["state"] == 5


@pytest.mark.parametrize(
    "address", ["#", "#world=moon", "#world=trap&truth=2,2,2&t=x&bias=a:b:c&watch=me&moves=1.99,,"]
)
def test_an_address_that_makes_no_sense_is_as_in_the_beginning(laptop: Opened, address: str):
    page = go(laptop, address)
    assert laptop.at()["world"] == "trap"
    assert laptop.at()["truth"] == [0.8, 0.1, 0.1]
    assert laptop.said == []
    assert page.locator("#sentence").inner_text()


def test_scrubbing_back_shows_what_was(laptop: Opened):
    page = go(laptop, "#world=river&t=8")
    then = page.locator("#stage").inner_html(), page.locator("#sentence").inner_text()
    for key in ("ArrowRight", "ArrowRight", "ArrowLeft", "ArrowLeft"):
        page.locator("body").press(key)
    laptop.settle()
    assert page.locator("#sentence").inner_text() == then[1]
    assert page.evaluate("playground.app.run.length") == 10
    page.locator("#scrub").fill("3")
    laptop.settle()
    assert laptop.at()["t"] == 3
    assert page.locator(".rest").count() > 0  # the rest of the curves is faint


def test_the_truth_can_be_dragged(laptop: Opened):
    page = go(laptop, "#world=desk&t=12")
    page.evaluate("scrollTo(0, 0)")
    star, triangle = page.locator(".truth").bounding_box(), page.locator("#triangle").bounding_box()
    assert star
    assert triangle
    page.mouse.move(star["x"] + star["width"] / 2, star["y"] + star["height"] / 2)
    page.mouse.down()
    page.mouse.move(
        triangle["x"] + triangle["width"] * 0.3, triangle["y"] + triangle["height"] * 0.8, steps=4
    )
    page.mouse.up()
    laptop.settle()
    at = laptop.at()
    assert at["truth"] != [0.1, 0.1, 0.8]
    assert sum(at["truth"]) == pytest.approx(1.0)
    assert at["t"] == 12  # the same luck, replayed under another truth


def test_every_control_has_a_name_and_is_reached_by_tab(laptop: Opened):
    page = go(laptop, "#world=lake&t=3")
    names = page.evaluate(
        """[...document.querySelectorAll("button, select, input, [role=slider], [role=button], [role=img]")]
        .filter(one => one.checkVisibility()).map(one => one.getAttribute("aria-label") || one.textContent.trim()
            || [...(one.labels ?? [])].map(label => label.textContent.trim()).join(" ")
            || "nameless: " + one.outerHTML)"""
    )
    assert [name for name in names if name.startswith("nameless")] == []
    page.evaluate("document.activeElement.blur()")
    reached = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.add(
            page.evaluate(
                "document.activeElement.id || document.activeElement.className?.baseVal || document.activeElement.name"
            )
        )
    controls = {
        "restart",
        "back",
        "play",
        "forth",
        "scrub",
        "speed",
        "world",
        "schedule",
        "scale",
        "search",
        "rival",
    }
    assert controls | {"seed", "share", "truth", "tile", "layer"} <= reached


def test_a_tile_can_be_picked_by_keyboard(laptop: Opened):
    page = go(laptop, "#world=river&t=0")
    page.locator(".board.biased .tile[tabindex='0']").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    laptop.settle()
    assert laptop.at()["moves"] == {"0": 2}
    assert "here now" in str(page.locator(".board.likely .tile").nth(2).get_attribute("aria-label"))


@pytest.mark.parametrize("world", WORLDS)
def test_everybody_can_read_it(browser: Browser, path: Path, world: str):
    """In light, in dark and on a phone, axe-core finds nothing."""
    opened = Opened(browser, path, f"#world={world}&t=30&seed=1", reduced_motion="reduce")
    assert violations(opened.page) == []
    opened.page.emulate_media(color_scheme="dark")
    assert violations(opened.page, rules="colours") == []
    opened.page.emulate_media(color_scheme="light")
    opened.page.set_viewport_size({"width": PHONE["width"], "height": PHONE["height"]})
    assert violations(opened.page) == []
    opened.page.close()


def test_space_plays_and_pauses(laptop: Opened):
    page = go(laptop, "#world=trap&t=0&speed=60")
    page.locator("body").press(" ")
    page.wait_for_function("playground.app.at.t > 5")
    assert page.locator("#play").inner_text() == "Pause"
    page.locator("body").press(" ")
    laptop.settle()
    assert page.locator("#play").inner_text() == "Play"
    assert 5 < laptop.at()["t"] <= 300


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_phone_nothing_is_cut_off(browser: Browser, path: Path, world: str, scheme: str):
    opened = Opened(browser, path, f"#world={world}&t=5", viewport=PHONE, color_scheme=scheme, has_touch=True)
    wide = opened.page.evaluate("document.documentElement.scrollWidth")
    assert wide <= PHONE["width"]
    tile = opened.page.locator(".board.biased .tile").first.bounding_box()
    assert tile
    assert tile["width"] >= 24  # WCAG 2.2, target size
    opened.page.locator(".board.biased .tile").last.tap()
    opened.settle()
    assert opened.at()["moves"]
    assert opened.said == []


def test_reduced_motion_jumps_to_the_answer(browser: Browser, path: Path):
    opened = Opened(browser, path, reduced_motion="reduce")
    opened.page.locator("#answers button").first.click()
    opened.settle()
    assert opened.page.locator("#answers .next").count() == 1
    assert (
        opened.page.evaluate("getComputedStyle(document.querySelector('.here')).transitionProperty") == "none"
    )


def contrast(one: list[int], other: list[int]) -> float:
    """The contrast of two colours by WCAG."""

    def light(colour: list[int]) -> float:
        linear = [c / 255 / 12.92 if c <= 10 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in colour]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((light(one), light(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read(browser: Browser, path: Path, scheme: str):
    """4.5 to 1 for words on the page; and the learners differ by shape and dash too, not by colour alone."""
    page = Opened(browser, path, color_scheme=scheme).page
    colours = page.evaluate(
        """["paper", "tint", "ink", "soft", "biased", "likely", "sampling", "rival", "gold"].reduce((all, name) => {
            const text = getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
            return { ...all, [name]: [1, 3, 5].map(at => parseInt(text.slice(at, at + 2), 16)) } }, {})"""
    )
    for name in ("ink", "soft", "biased", "likely", "sampling", "rival"):
        assert contrast(colours[name], colours["paper"]) >= 4.5, name
    assert contrast(colours["ink"], colours["gold"]) >= 3.0  # the signs in the tiles are large
    dashes = page.eval_on_selector_all(
        "#chart .curve", "all => all.map(curve => curve.getAttribute('stroke-dasharray'))"
    )
    assert len(set(dashes)) == len(dashes)


def test_a_step_on_the_largest_world_is_measured(laptop: Opened, record_property: Any):
    """How long steps take is written down, not asserted: that depends on the machine."""
    page = go(laptop, "#world=shop&t=100")
    spent = page.evaluate(
        """() => { const times = [], { app } = playground;
        for (let i = 0; i < 60; i++) {
            const start = performance.now();
            app.goTo(app.at.t + 1);
            times.push(performance.now() - start);
        }
        return times.sort((a, b) => a - b) }"""
    )
    laptop.settle()
    record_property("median milliseconds of a step with its drawing", spent[30])
    print(f"median {spent[30]:.1f} ms, slowest {spent[-1]:.1f} ms a step with its drawing")
    assert laptop.at()["t"] == 160


@pytest.mark.parametrize(("dimension", "live"), [(3, True), (5, False)])
def test_a_model_of_your_own_is_shown(browser: Browser, tmp_path: Path, dimension: int, live: bool):
    """Three base models live, any other number as a recorded run beside the live worlds."""
    import vbmle
    from vbmle.play import write
    from vbmle.play.scenes import own

    world = vbmle.worlds.random_network(9, 2, dimension, seed=2)
    models = [world.mdp.transition(corner) for corner in np.eye(dimension)]
    mdp = vbmle.LinearMixtureMDP.from_models(models, rng_reward(), 0.9)
    weights = np.full(dimension, 1 / dimension)
    opened = Opened(browser, write(tmp_path / "own.html", own(mdp, weights, "depot <b>")))
    assert opened.at()["world"] == "own"
    page = opened.page
    assert page.locator("#worlds-title").inner_text() == "depot <b>"
    assert page.locator(".truth").count() == int(live)
    page.locator(".scrub").fill("25")
    opened.settle()
    history = vbmle.simulate(vbmle.MaximumLikelihood(mdp), vbmle.World(mdp, weights), 25, seed=0)
    regret = page.evaluate("playground.app.run.tracks.likely.regret.slice(1, 26)")
    np.testing.assert_allclose(regret, history.regret, rtol=0, atol=1e-6)
    page.locator("#tabs button").first.click()
    opened.settle()
    assert page.locator(".truth").count() == 1
    assert opened.said == []


def rng_reward() -> Any:
    return np.random.default_rng(0).random((9, 2))


def test_a_story_can_be_read_by_keyboard_alone(laptop: Opened):
    """The focus stays with the answers: from the guess to the verdict, and on to the next story."""
    page = go(laptop, "")
    page.locator("#answers button").first.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("#answers .next")
    laptop.settle()
    assert page.evaluate("document.activeElement.className") == "next"
    page.keyboard.press("Enter")
    laptop.settle()
    assert laptop.at()["story"] == STORIES[1]


def test_another_truth_ends_the_story(laptop: Opened):
    """Its answer would not be about this situation."""
    page = go(laptop, "#world=trap&t=80&seed=1&story=trap&answer=1")
    assert page.locator("#verdict").inner_text()
    page.locator(".truth").focus()
    page.keyboard.press("ArrowUp")
    laptop.settle()
    assert laptop.at()["story"] is None
    assert page.locator("#verdict").inner_text() == ""
