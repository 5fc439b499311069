"""The playground that docs/playground.md embeds: written into the site when it is built."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def on_post_build(config: Any) -> None:
    """Called by mkdocs after it has built."""
    from vbmle.play import write

    write(Path(config["site_dir"]) / "playground-page.html")
