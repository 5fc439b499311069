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
from playwright.sync_api import Page, sync_playwright

from vbmle.play import write

CHROMIUM = "/usr/bin/chromium"
WINDOW = {"width": 1180, "height": 640}
SHOWN = 900
"""Pixels across the animation."""

STEPS = (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 18, 20, 23, 26, 30, 34, 38, 42, 46, 50)
ADDRESS = "#world=desk&seed=1&t=0&layer=sum"
HIDE = "#stories, #transport, #settings, footer { display: none !important } .here { transition: none !important }"
COLOURS = 96


def main(out: Path) -> None:
    """Write the animation: each situation once, the last one longer."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = write(Path(folder) / "playground.html")
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport=WINDOW)  # type: ignore[arg-type]
        page.goto(path.as_uri() + ADDRESS)
        page.add_style_tag(content=HIDE)
        frames = [_frame(page, step) for step in STEPS]
        browser.close()
    palette = frames[-1].quantize(COLOURS)
    plain = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
    pauses = [1500, *[380] * 10, *[260] * (len(plain) - 12), 4000]
    plain[0].save(out, save_all=True, append_images=plain[1:], duration=pauses, loop=0, optimize=True)


def _frame(page: Page, step: int) -> Image.Image:
    page.evaluate("step => playground.app.goTo(step)", step)
    page.wait_for_function("document.body.dataset.busy === 'false'")
    page.wait_for_timeout(80)
    shot = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    return shot.resize((SHOWN, SHOWN * shot.height // shot.width), Image.Resampling.LANCZOS)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "images" / "playground.gif")
