"""The API page has every public name and no other, and mathematics is set as mathematics."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType
from typing import Any

API_PAGE = Path(__file__).with_name("api.md")
FORMULA = re.compile(r"^\$\$\n(.+?)\n\$\$$", re.MULTILINE | re.DOTALL)

VERBATIM = re.compile(
    r"(^```.*?^```$|`[^`\n]*`|^:::.*?$|<math.*?</math>|\]\([^)\s]*\)|<[a-z/!][^<>]*>)",
    re.MULTILINE | re.DOTALL,
)
"""What is left as it is: code, names to document, formulas, the targets of links, and tags."""

GROUP = r"\{[^{}]+\}"
SYMBOL = re.compile(
    rf"(?<![\w\\])(?P<letter>[^\W\d_][\u0300-\u036f]?'?)_(?P<low>{GROUP}|[A-Za-z0-9\u0391-\u03c9]+[*']?)"
    rf"|(?P<base>(?<![\w\\])(?:log|[^\W\d_]'?)|(?<=[\d)>]))\^(?P<high>{GROUP}|\([^()]+\)|[-\N{{MINUS SIGN}}]?\d*\.?\w+)"
)
"""A letter with an index, or something with a power, as in p_min, A_t^{-1} or log^2."""


def public_names() -> set[str]:
    """What the page must have: the names in `vbmle.__all__`; for a public module, those in its own."""
    import vbmle

    names: set[str] = set()
    for name in vbmle.__all__:
        if name.startswith("__"):
            continue
        value = getattr(vbmle, name)
        if isinstance(value, ModuleType):
            names |= {f"vbmle.{name}.{inner}" for inner in value.__all__}
        else:
            names.add(f"vbmle.{name}")
    return names


def page_names(text: str) -> list[str]:
    """Dotted names that the page documents, in its order."""
    return re.findall(r"^::: (\S+)", text, re.MULTILINE)


def problems(text: str) -> list[str]:
    """What is wrong with the API page, one sentence each."""
    named, public = page_names(text), public_names()
    twice = {name for name in named if named.count(name) > 1}
    return [
        *(f"{name} is public but not documented in docs/api.md" for name in sorted(public - set(named))),
        *(f"{name} is documented in docs/api.md but not public" for name in sorted(set(named) - public)),
        *(f"{name} is documented twice in docs/api.md" for name in sorted(twice)),
    ]


def set_formulas(markdown: str) -> str:
    """Formulas in LaTeX between lines of $$ as MathML, which browsers set without a script."""
    from latex2mathml.converter import convert

    return FORMULA.sub(lambda found: f"<p>{convert(found[1], display='block')}</p>", markdown)


def set_symbols(markdown: str) -> str:
    """Indices and powers in running text, written as in p_min or A_t^{-1}, below and above the line."""

    def typeset(found: re.Match[str]) -> str:
        text = (found["low"] or found["high"]).strip("{}()").replace("<", "&lt;")
        return f"{found['letter']}<sub>{text}</sub>" if found["low"] else f"{found['base']}<sup>{text}</sup>"

    parts = VERBATIM.split(markdown)
    for _ in ("an index", "the power of what has one"):
        parts[::2] = [SYMBOL.sub(typeset, text) for text in parts[::2]]
    return "".join(parts)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Called by mkdocs for the text of every page."""
    return set_symbols(set_formulas(markdown))


def on_page_content(html: str, **_: Any) -> str:
    """Called by mkdocs for every page as HTML: a corner of a table that names nothing is no heading."""
    return re.sub(r"<th([^>]*)></th>", r"<td\1></td>", html)


def on_post_page(output: str, **_: Any) -> str:
    """Called by mkdocs for every page as a whole: the theme's dialog gets a name."""
    return output.replace(
        'data-md-component="search" role="dialog"',
        'data-md-component="search" role="dialog" aria-label="Search"',
    )


def on_config(config: Any) -> Any:
    """Called by mkdocs with the configuration: pages for wrong addresses belong to servers."""
    config["theme"].static_templates.discard("404.html")
    return config


def on_pre_build(config: Any) -> None:
    """Called by mkdocs before it builds: stop where the page and the package disagree."""
    from mkdocs.exceptions import PluginError

    found = problems(API_PAGE.read_text())
    if found:
        raise PluginError("\n".join(found))
