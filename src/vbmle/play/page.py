"""The file: data and assets joined into one page that asks for nothing else."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from vbmle.play import encode, grid, recorded
from vbmle.play.scenes import Scene, scenes

LARGEST_PAGE = 1_500_000
"""Bytes of a page."""

SCRIPTS = (
    *("random", "linear", "grid", "model", "climb", "learners", "run"),  # what happens
    *("colours", "boards", "triangle", "chart", "recorded", "words"),  # what is seen
    *("stories", "address", "cards", "controls", "app", "main"),  # what can be done
)


def write(path: Path, own: Scene | None = None) -> Path:
    """Write the playground, with a scene of your own before the others if there is one."""
    shown = ([own] if own else []) + scenes()
    content = page([_data(scene) for scene in shown], shown[0].key)
    if len(content.encode()) > LARGEST_PAGE:
        raise ValueError(
            f"the page has {len(content.encode())} bytes; a model with fewer states makes it smaller"
        )
    path.write_text(content, encoding="utf-8")
    return path


def page(shown: Sequence[dict[str, Any]], first: str) -> str:
    """The text of the page."""
    assets = files("vbmle.play") / "assets"
    script = "\n".join((assets / f"{name}.js").read_text(encoding="utf-8") for name in SCRIPTS)
    # A "<" inside a text could end the script that holds it.
    data = json.dumps({"scenes": shown, "first": first}, separators=(",", ":")).replace("<", "\\u003c")
    parts = {"style": (assets / "page.css").read_text(encoding="utf-8"), "data": data, "script": script}
    text = (assets / "page.html").read_text(encoding="utf-8")
    return re.sub(r"{{ (\w+) }}", lambda slot: parts[slot[1]], text)


def _data(scene: Scene) -> dict[str, Any]:
    mdp = scene.world.mdp
    if grid.is_triangle(mdp) and mdp.num_states <= grid.LIVE_STATES:
        return {**scene.words(), "model": encode.model(mdp, grid.lay(mdp))}
    return {**scene.words(), **recorded.runs(scene)}
