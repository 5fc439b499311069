"""The gallery: every notebook runs, shows no more than a screen at a time, and becomes a page of the documentation."""

import importlib.util
import json
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))
SCREEN = 30
"""Lines of text, or rows of a table."""


@pytest.fixture(scope="module")
def hook() -> ModuleType:
    spec = importlib.util.spec_from_file_location("notebook_hook", ROOT / "docs" / "notebook_hook.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def stored(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def test_there_are_enough_and_the_documentation_lists_them():
    assert len(NOTEBOOKS) >= 12
    gallery, nav = (ROOT / "docs" / "gallery.md").read_text(), (ROOT / "mkdocs.yml").read_text()
    for path in NOTEBOOKS:
        title = stored(path)["cells"][0]["source"][0].removeprefix("# ").strip()
        assert f"[{title}](gallery/{path.stem}.md)" in gallery
        assert f"gallery/{path.stem}.md" in nav


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_no_output_is_stored(path: Path):
    for cell in stored(path)["cells"]:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None


def lines_of(output: Any) -> int:
    if output["output_type"] == "stream":
        return str(output["text"]).count("\n")
    data = output["data"]
    return max(data.get("text/html", "").count("<tr>"), data.get("text/plain", "").count("\n"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_becomes_a_page(path: Path, hook: ModuleType):
    notebook = hook.executed(path)
    outputs = [output for cell in notebook["cells"] for output in cell.get("outputs", [])]
    assert max(map(lines_of, outputs)) <= SCREEN
    assert not [output for output in outputs if output.get("name") == "stderr"]  # a warning is shown there
    page, pictures = hook.page_of(notebook, path.stem)
    assert len(pictures) >= 2
    for name, content in pictures.items():
        assert f"]({name})" in page
        assert content.startswith(b"\x89PNG")
    drawn = [
        cell["source"]
        for cell in notebook["cells"]
        if "plot." in cell["source"] and cell["cell_type"] == "code"
    ]
    assert len(pictures) >= len(drawn)
    assert f'href="{path.name}"' in page
    assert not re.search(r"\$[^$\n`]+\$", re.sub(r"```.*?```", "", page, flags=re.DOTALL))


def test_a_sweep_shows_one_bar(hook: ModuleType, tmp_path: Path):
    """One line of HTML that is written over, however many trials there are."""
    code = [
        "import vbmle",
        "sweep = vbmle.Sweep(worlds=['riverswim'], agents=['Random'], trials=3, horizon=5)",
        "sweep.run(jobs=1);",
    ]
    cell: dict[str, Any] = {
        "cell_type": "code",
        "id": "a",
        "metadata": {},
        "execution_count": None,
        "outputs": [],
    }
    notebook = {
        "cells": [cell | {"source": "\n".join(code)}],
        "metadata": {},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    (tmp_path / "one.ipynb").write_text(json.dumps(notebook))
    (output,) = hook.executed(tmp_path / "one.ipynb")["cells"][0]["outputs"]
    assert output["data"]["text/plain"] == "sweep: 3 of 3 trials"
    assert '<progress value="3" max="3">' in output["data"]["text/html"]
