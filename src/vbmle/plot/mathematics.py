"""Mathematics inside words: found once, then set by LaTeX, by matplotlib or on the page.

Texts of reports write symbols as plain characters (θ_t, d^1.3, p_min², ≥), which a terminal shows as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from html import escape

NAMES = {"θ": r"\theta", "β": r"\beta", "τ": r"\tau", "δ": r"\delta"}
SIGNS = {
    "≤": r"\leq",
    "≥": r"\geq",
    "·": r"\cdot",
    "±": r"\pm",
    "\N{MULTIPLICATION SIGN}": r"\times",
    "∞": r"\infty",
    "√": r"\surd",
    "~": r"\sim",
}

SYMBOL = re.compile(
    r"(?P<root>√)(?P<under>[A-Za-z])\b"
    r"|(?P<base>[θβτδ]|\b[pA](?=_)|\b[dTtSA](?=\^)|(?<=\bstep )t\b|(?<=\bat )[tT]\b|(?<=\bstates )S\b"
    r"|(?<=\bactions )A\b|(?<=\bdimension )d\b|(?<=\bat )d\b|\bd(?= √)|\b[SAdt](?= = \d))"
    r"(?P<star>\*)?(?:_(?P<sub>min|MLE|[a-z]))?"
    r"(?:\^(?P<power>-?\d+(?:\.\d+)?|b\b)|(?P<square>²))?"
    r"|(?P<sign>[≤≥·±\u00d7∞√]|(?<= )~(?= ))|(?P<two>²)"
)


def split(text: str, plain: Callable[[str], str], symbol: Callable[[re.Match[str]], str]) -> str:
    """Words by one function and symbols by another."""
    parts, end = [], 0
    for found in SYMBOL.finditer(text):
        parts += [plain(text[end : found.start()]), symbol(found)]
        end = found.end()
    return "".join([*parts, plain(text[end:])])


def in_tex(found: re.Match[str]) -> str:
    """A symbol between dollars, for LaTeX and for matplotlib."""
    part = found.groupdict()
    if part["root"]:
        return rf"$\sqrt{{{part['under']}}}$"
    if part["sign"]:
        return f"${SIGNS[part['sign']]}$"
    if part["two"]:
        return "$^2$"
    base, sub, power = part["base"], part["sub"], part["power"] or ("2" if part["square"] else "")
    upper = f"{'*' if part['star'] else ''}{power}"
    below = {"min": r"\min", "MLE": r"\mathrm{MLE}"}.get(sub or "", sub)
    return f"${NAMES.get(base, base)}{f'_{{{below}}}' if below else ''}{f'^{{{upper}}}' if upper else ''}$"


def for_matplotlib(text: str) -> str:
    """A label whose words stay as they are, dollars too."""
    return split(text, lambda words: words.replace("$", r"\$"), in_tex)


def for_page(text: str) -> str:
    """HTML."""
    return split(text, escape, _in_html)


def _in_html(found: re.Match[str]) -> str:
    part = found.groupdict()
    if part["base"] is None:
        return f"√<i>{part['under']}</i>" if part["root"] else found.group()
    base, sub = part["base"], part["sub"]
    power = f"{'*' if part['star'] else ''}{part['power'] or ('2' if part['square'] else '')}"
    shown = f"<i>{base}</i>"
    shown += f"<sub>{f'<i>{sub}</i>' if len(sub) == 1 else sub}</sub>" if sub else ""
    return shown + (f"<sup>{power}</sup>" if power else "")
