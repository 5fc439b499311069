"""The gallery: every notebook of examples/notebooks is run, and becomes a page with what it shows."""

from __future__ import annotations

import base64
import re
import tempfile
from pathlib import Path
from typing import Any

NOTEBOOKS = Path(__file__).parents[1] / "examples" / "notebooks"
MINUTES = 5
"""After which a cell is taken to hang."""

MATH = re.compile(r"(?<!\$)\$([^$\n]+)\$(?!\$)")
ANSI = re.compile(r"\x1b\[[0-9;]*m")


def executed(path: Path) -> Any:
    """A notebook with its outputs, run in a folder of its own; raises what a cell raises."""
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        where = {"metadata": {"path": folder}}
        NotebookClient(notebook, timeout=60 * MINUTES, resources=where).execute()
    return notebook


def page_of(notebook: Any, name: str) -> tuple[str, dict[str, bytes]]:
    """The page of a notebook that was run, and its pictures by name."""
    parts: list[str] = []
    pictures: dict[str, bytes] = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            parts.append(set_inline(cell["source"]))
            continue
        parts.append(f"```python\n{cell['source']}\n```")
        for output in cell["outputs"]:
            parts.append(_shown(output, name, pictures))
    parts.insert(1, f'<a href="{name}.ipynb" download>Download this notebook</a>')
    return "\n\n".join(part for part in parts if part) + "\n", pictures


def set_inline(markdown: str) -> str:
    """Formulas between single dollars as MathML."""
    from latex2mathml.converter import convert

    return MATH.sub(lambda found: convert(found[1], display="inline"), markdown)


def _shown(output: Any, name: str, pictures: dict[str, bytes]) -> str:
    """What a cell printed or returned."""
    if output["output_type"] == "stream":
        return f"```\n{ANSI.sub('', output['text']).rstrip()}\n```"
    data = output["data"]
    if "image/png" in data:
        picture = f"{name}-{len(pictures) + 1}.png"
        pictures[picture] = base64.b64decode(data["image/png"])
        return f"![]({picture})"
    if "text/html" in data:
        lines = (line.strip() for line in data["text/html"].splitlines())
        return f'<div class="shown">{" ".join(line for line in lines if line)}</div>'
    return f"```\n{data['text/plain']}\n```"


def on_files(files: Any, config: Any) -> Any:
    """Called by mkdocs with all files of the site: adds the pages of the gallery."""
    from mkdocs.structure.files import File

    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        page, pictures = page_of(executed(path), path.stem)
        files.append(File.generated(config, f"gallery/{path.stem}.md", content=page))
        files.append(File.generated(config, f"gallery/{path.name}", content=path.read_bytes()))
        for name, content in pictures.items():
            files.append(File.generated(config, f"gallery/{name}", content=content))
    return files
