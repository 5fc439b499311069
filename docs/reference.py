"""The reference: docs/api.md lists the public names, in groups; classes, and the functions of a group, get pages."""

from __future__ import annotations

import inspect
import re
import tomllib
from functools import reduce
from pathlib import Path
from typing import Any, NamedTuple

DOCS = Path(__file__).parent
LIST = DOCS / "api.md"
FOLDER = "reference"


class Leaf(NamedTuple):
    """One page: its title, its address, and the names on it."""

    title: str
    path: str
    names: tuple[str, ...]


def named(name: str) -> Any:
    """The class or function of a dotted name, which begins with vbmle."""
    import vbmle

    return reduce(getattr, name.split(".")[1:], vbmle)


def groups(text: str) -> dict[str, list[str]]:
    """The names on the list, by the heading that they stand under."""
    _, *parts = re.split(r"^## (.+)$", text, flags=re.MULTILINE)
    return {
        title: re.findall(r"^::: (\S+)", body, re.MULTILINE)
        for title, body in zip(parts[::2], parts[1::2], strict=True)
    }


def leaves(title: str, names: list[str]) -> list[Leaf]:
    """The pages of a group: its functions together, then each of its classes."""
    classes = [name for name in names if isinstance(named(name), type)]
    functions = tuple(name for name in names if name not in classes)
    own = [
        Leaf(name.split(".")[-1], f"{FOLDER}/{name.removeprefix('vbmle.')}.md", (name,)) for name in classes
    ]
    if not functions:
        return own
    slug = re.sub(r"\W+", "-", title.lower()).strip("-")
    together = functions[0].split(".")[-1] if len(functions) == 1 else f"{title}: functions" if own else title
    return [Leaf(together, f"{FOLDER}/{slug}-functions.md", functions), *own]


def sources() -> dict[str, list[str]]:
    """What each agent's page cites, in full (docs/sources.toml)."""
    found: dict[str, list[str]] = {}
    for one in tomllib.loads((DOCS / "sources.toml").read_text(encoding="utf-8"))["source"]:
        for name in one["agents"]:
            found.setdefault(name, []).append(f"{one['text']} [{one['where']}]({one['link']}).")
    return found


def shared_methods(name: str) -> str:
    """What an agent has because every agent has it, or every one that learns from counts: a table."""
    from vbmle import Agent

    value = named(name)
    if not (isinstance(value, type) and issubclass(value, Agent) and value is not Agent):
        return ""
    plain = (
        "act",
        "observe",
        "observe_many",
        "policy",
        "last",
        "belief",
        "misfit",
        "confidence",
        "save",
        "load",
    )
    has = [member for member in plain if hasattr(value, member) and getattr(value, member).__doc__]
    rows = [f"| `{member}` | {first_sentence(f'{name}.{member}')} |" for member in has]
    there = "\n## Methods of every agent\n\nThey are documented on the page of [Agent](Agent.md).\n\n"
    return "\n".join([there + "| Name | What it does |", "|---|---|", *rows, ""])


def page_of(leaf: Leaf) -> str:
    """The text of a page."""
    if len(leaf.names) == 1:
        (name,) = leaf.names
        text = f"::: {name}\n    options:\n      heading_level: 1\n" + shared_methods(name)
        cited = sources().get(name.removeprefix("vbmle."))
        return text + ("\n## Source\n\n" + "\n\n".join(cited) + "\n" if cited else "")
    body = "\n".join(f"::: {name}\n    options:\n      heading_level: 2\n" for name in leaf.names)
    return f"# {leaf.title}\n\n{body}"


def first_sentence(name: str) -> str:
    """What a name is, in one sentence."""
    paragraph = (inspect.getdoc(named(name)) or "").split("\n\n")[0].replace("\n", " ")
    return re.split(r"(?<=[.])\s", paragraph)[0].replace("|", "\\|")


def overview(text: str) -> str:
    """The list as a page: a table for each group, with the first sentence of each name."""
    head = text.split("\n## ")[0]
    for title, names in groups(text).items():
        where = {name: leaf.path for leaf in leaves(title, names) for name in leaf.names}
        rows = [
            f"| [`{name.removeprefix('vbmle.')}`]({where[name]}#{name}) | {first_sentence(name)} |"
            for name in names
        ]
        head += "\n".join(["", f"## {title}", "", "| Name | What it is |", "|---|---|", *rows, ""])
    return head


def on_config(config: Any) -> Any:
    """Called by mkdocs with the configuration: the reference joins the navigation."""
    (reference,) = (item["Reference"] for item in config["nav"] if "Reference" in item)
    for title, names in groups(LIST.read_text(encoding="utf-8")).items():
        reference.append({title: [{leaf.title: leaf.path} for leaf in leaves(title, names)]})
    return config


def on_files(files: Any, config: Any) -> Any:
    """Called by mkdocs with the files that are there: those of the reference are made."""
    from mkdocs.structure.files import File

    for title, names in groups(LIST.read_text(encoding="utf-8")).items():
        for leaf in leaves(title, names):
            files.append(File.generated(config, leaf.path, content=page_of(leaf)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Called by mkdocs for the text of every page."""
    return overview(markdown) if page.file.src_uri == LIST.name else markdown
