"""The animation on the README's first page: the playground playing its first story, frame by frame.

    python docs/playground_animation.py [docs/images/playground.gif]

Needs Debian's chromium and playwright, as the browser tests do.
"""

from __future__ import annotations

import io
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import FloatRect, Page, ViewportSize, sync_playwright

from vbmle.play import write

CHROMIUM = "/usr/bin/chromium"
WINDOW: ViewportSize = {"width": 1366, "height": 768}
SHOWN = 960
"""Pixels across the animation."""

STEPS = (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 18, 20, 23, 26, 30, 34, 38, 42, 46, 50)
ADDRESS = "#world=river&seed=1&t=0&layer=sum"
HIDE = "#stories, #transport, #settings, footer { display: none !important } .here { transition: none !important }"
COLOURS = 255
LEARNERS = ("biased", "likely", "sampling", "plum", "gold")
"""Colours that the palette must have, by their names in the style sheet."""


def main(out: Path) -> None:
    """Write the animation: each situation once, the last one longer."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = write(Path(folder) / "playground.html")
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport=WINDOW)
        page.goto(path.as_uri() + ADDRESS)
        page.add_style_tag(content=HIDE)
        frames = [_frame(page, step) for step in STEPS]
        palette = _palette(page, frames)
        browser.close()
    plain = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
    pauses = [1500, *[380] * 10, *[260] * (len(plain) - 12), 4000]
    plain[0].save(out, save_all=True, append_images=plain[1:], duration=pauses, loop=0, optimize=True)


def _palette(page: Page, frames: list[Image.Image]) -> Image.Image:
    """The colours of the frames, with those of the learners in so large a share that none is merged with another."""
    wide, high = frames[0].size
    sheet = Image.new("RGB", (wide, 4 * high))
    for i, frame in enumerate((frames[0], frames[8], frames[-1])):
        sheet.paste(frame, (0, i * high))
    for i, name in enumerate(LEARNERS):
        colour = page.evaluate(
            "name => getComputedStyle(document.documentElement).getPropertyValue('--' + name)", name
        )
        sheet.paste(colour.strip(), (0, 3 * high + i * high // 5, wide, 3 * high + (i + 1) * high // 5))
    return sheet.quantize(COLOURS)


def _frame(page: Page, step: int) -> Image.Image:
    page.evaluate("step => playground.app.goTo(step)", step)
    page.wait_for_function("document.body.dataset.busy === 'false'")
    page.wait_for_timeout(80)
    below = page.locator("#sentence").bounding_box()
    assert below
    clip: FloatRect = {"x": 0, "y": 0, "width": WINDOW["width"], "height": below["y"] + 56}
    shot = Image.open(io.BytesIO(page.screenshot(clip=clip))).convert("RGB")
    return shot.resize((SHOWN, SHOWN * shot.height // shot.width), Image.Resampling.LANCZOS)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "images" / "playground.gif")
