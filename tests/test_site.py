"""The documentation as a site, opened from disk in a browser: one name for one page, search, and nobody left out."""

import importlib.util
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from accessible import LOOKS, looking, violations
from playwright.sync_api import Browser, sync_playwright

from vbmle.agents.catalogue import agents

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
NOTEBOOKS = ROOT / "examples" / "notebooks"
PATIENCE = 900
WHOLE = ("index.html", "start.html", "reference/VBMLE.html")
"""Pages that are examined with all that surrounds them; of the others, what is not the same everywhere."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, as `make docs` builds it."""
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-q", "-d", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])


def pages(site: Path) -> list[Path]:
    """All of them but the playground, which has tests of its own."""
    return [path for path in sorted(site.rglob("*.html")) if path.name != "playground-page.html"]


def test_everybody_can_read_it(site: Path, browser: Browser):
    """Colours do not depend on the width, nor the rest on the colours."""
    found = {}
    with looking(browser, LOOKS["light"]) as page:
        for path in pages(site):
            name = path.relative_to(site).as_posix()
            within = None if name in WHOLE else ".md-content"
            page.goto(path.as_uri())
            found["light", name] = violations(page, within)
            page.emulate_media(color_scheme="dark")
            found["dark", name] = violations(page, within, "colours")
            page.emulate_media(color_scheme="light")
            page.set_viewport_size({"width": LOOKS["phone"].width, "height": LOOKS["phone"].height})
            found["phone", name] = violations(page, within, "layout")
            page.set_viewport_size({"width": LOOKS["light"].width, "height": LOOKS["light"].height})
    assert len(found) > 3 * 80
    assert {where: lines for where, lines in found.items() if lines} == {}


def test_search_works_from_disk_and_asks_no_server(site: Path, browser: Browser):
    with looking(browser, LOOKS["light"]) as page:
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto((site / "index.html").as_uri())
        page.fill("input[name=query]", "certified")
        page.locator(".md-search-result__link").first.wait_for()
        assert "maximiser" in page.locator(".md-search-result__list").inner_text().lower()
        assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []


def test_it_holds_pages_and_no_code(site: Path):
    names = [path.relative_to(site).as_posix() for path in site.rglob("*")]
    assert [name for name in names if "__pycache__" in name or name.endswith((".py", ".toml", ".pyc"))] == []
    assert "404.html" not in names


def text_of(page: str) -> str:
    """A page of docs/; of the gallery, the first cell of its notebook."""
    if not page.startswith("gallery/"):
        return (DOCS / page).read_text()
    cells = json.loads((NOTEBOOKS / f"{Path(page).stem}.ipynb").read_text())["cells"]
    return "".join(cells[0]["source"])


def title(page: str) -> str:
    """The heading of a page."""
    found = re.search(r"^# (.+)$", text_of(page), re.MULTILINE)
    assert found, page
    return found[1]


LINK = re.compile(r"\[([^\]\[]+)\]\(([\w./-]+\.md)\)(?!\{)")
WRITTEN = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))


@pytest.mark.parametrize("page", WRITTEN)
def test_a_page_has_one_name(page: str):
    """What a link says is the heading of the page it leads to, or a phrase in small letters or code."""
    for said, target in LINK.findall((DOCS / page).read_text()):
        there = (DOCS / page).parent.joinpath(target).resolve().relative_to(DOCS.resolve()).as_posix()
        words = " ".join(said.split())
        if words[0].isupper():
            assert words == title(there), f"{page}: a link to {there}"


def test_every_page_is_in_the_navigation_by_its_heading_alone():
    text = (ROOT / "mkdocs.yml").read_text()
    listed = re.findall(r"^ +- (?:Home: )?([\w/-]+\.md)$", text, re.MULTILINE)
    gallery = [f"gallery/{path.stem}.md" for path in NOTEBOOKS.glob("*.ipynb")]
    assert sorted(listed) == sorted([*WRITTEN, *gallery])
    assert len(set(map(title, listed))) == len(listed)


@pytest.fixture(scope="module")
def reference() -> ModuleType:
    """docs/reference.py, which mkdocs runs."""
    spec = importlib.util.spec_from_file_location("docs_reference", DOCS / "reference.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_name_is_on_one_page_of_the_reference(reference: ModuleType, site: Path):
    listed = reference.groups((DOCS / "api.md").read_text())
    leaves = [leaf for title, names in listed.items() for leaf in reference.leaves(title, names)]
    paths = [leaf.path.lower() for leaf in leaves]
    assert len(set(paths)) == len(paths)
    names = [name for leaf in leaves for name in leaf.names]
    assert sorted(names) == sorted(name for names in listed.values() for name in names)
    for leaf in leaves:
        text = (site / leaf.path.replace(".md", ".html")).read_text()
        assert text.count("<h1") == 1
        for name in leaf.names:
            assert f'id="{name}"' in text
            assert "&gt;&gt;&gt;" in text, f"{name}: no example"


def test_every_agent_of_a_paper_cites_it_in_full(reference: ModuleType, site: Path):
    cited = reference.sources()
    assert set(agents()) - set(cited) == {"Oracle", "Random"}
    assert set(cited) <= set(agents())
    for name, texts in cited.items():
        page = (site / "reference" / f"{name}.html").read_text()
        for text in texts:
            assert re.search(r"\b(19|20)\d\d\b.*\]\(https://", text), text
            assert text.rsplit("[", 1)[1].split("]")[0] in page


def test_the_paper_is_cited_alike_everywhere():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    blocks = [
        re.findall(r"```bibtex\n(.*?)```", (ROOT / name).read_text(), re.DOTALL)
        for name in ("README.md", "docs/index.md")
    ]
    assert blocks[0] == blocks[1]
    assert f"version = {{{project['version']}}}" in blocks[0][0]
    cff = (ROOT / "CITATION.cff").read_text()
    assert f"\nversion: {project['version']}\n" in cff
    for text in (cff, blocks[0][0], project["urls"]["Paper"], (ROOT / "README.md").read_text()[:1500]):
        assert "2310.11515" in text
    for word in (
        "Hung",
        "Hsieh",
        "Mete",
        "Kumar",
        "Value-Biased Maximum Likelihood Estimation for Model-based",
    ):
        assert word in cff
        assert word in blocks[0][0]
