"""Hashes for the locks: `python chain/locks.py INDEX LOCK...` writes them anew for the versions that each LOCK names.

INDEX is the address of a simple index (PEP 503) that gives SHA-256 hashes, such as the one that pip asks by default.
Every file of a version is named, sdists and the wheels of all platforms, so that one lock fits every machine. Which
versions a lock has is up to its first lines; a version that the index does not know is an error.
"""

from __future__ import annotations

import re
import sys
import urllib.request
from collections.abc import Iterable
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urldefrag

ENDINGS = (".whl", ".tar.gz", ".zip", ".tar.bz2")


class Pin(NamedTuple):
    """One package at one version, and the hashes of its files."""

    name: str
    version: str
    hashes: tuple[str, ...]


def plain(name: str) -> str:
    """A name as indexes spell it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def read_lock(text: str) -> tuple[list[str], list[Pin]]:
    """The first lines, which are comments, and what is pinned; ValueError for a line of any other kind."""
    head = [line for line in text.splitlines() if line.startswith("#")]
    body = [line for line in text.replace("\\\n", " ").splitlines() if line and not line.startswith("#")]
    pins = []
    for line in body:
        pinned, *rest = line.split()
        name, equal, version = pinned.partition("==")
        hashes = [part.removeprefix("--hash=sha256:") for part in rest]
        if not equal or not all(re.fullmatch("[0-9a-f]{64}", digest) for digest in hashes):
            raise ValueError(
                f"{line[:80]!r} is no pin; it needs NAME==VERSION and --hash=sha256:... of its files"
            )
        pins.append(Pin(name, version, tuple(hashes)))
    return head, pins


def write_lock(head: Iterable[str], pins: Iterable[Pin]) -> str:
    """A lock as pip reads it."""
    lines = list(head)
    for pin in pins:
        parts = [f"{pin.name}=={pin.version}", *(f"    --hash=sha256:{digest}" for digest in pin.hashes)]
        lines += [f"{part} \\" for part in parts[:-1]] + [parts[-1]]
    return "\n".join(lines) + "\n"


class _Links(HTMLParser):
    """The addresses on a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value for name, value in attrs if tag == "a" and name == "href" and value]


def is_of_version(file: str, name: str, version: str) -> bool:
    """Whether a file is a wheel or an sdist of that version."""
    ending = next((ending for ending in ENDINGS if file.endswith(ending)), None)
    if ending is None:
        return False
    stem = file.removesuffix(ending)
    if ending == ".whl":
        project, found = stem.split("-")[:2]
        return plain(project) == plain(name) and found == version
    project, _, found = stem.rpartition("-")
    return plain(project) == plain(name) and found == version


def hashes_on(page: str, name: str, version: str) -> tuple[str, ...]:
    """The hashes of all files of a version, in order."""
    links = _Links()
    links.feed(page)
    found = set()
    for link in links.found:
        address, fragment = urldefrag(link)
        if is_of_version(unquote(address.rsplit("/", 1)[-1]), name, version):
            kind, _, digest = fragment.partition("=")
            if kind != "sha256":
                raise ValueError(f"{name} {version}: {address} has no SHA-256 hash")
            found.add(digest)
    if not found:
        raise ValueError(f"{name} {version}: the index has no file of it")
    return tuple(sorted(found))


def main(index: str, paths: list[str]) -> int:
    known: dict[tuple[str, str], tuple[str, ...]] = {}
    for path in map(Path, paths):
        head, pins = read_lock(path.read_text(encoding="utf-8"))
        for name, version, _ in pins:
            if (name, version) not in known:
                with urllib.request.urlopen(f"{index.rstrip('/')}/{plain(name)}/", timeout=120) as answer:
                    known[name, version] = hashes_on(answer.read().decode(), name, version)
        made = [Pin(name, version, known[name, version]) for name, version, _ in pins]
        path.write_text(write_lock(head, made), encoding="utf-8")
        print(f"{path}: {len(made)} packages, {sum(len(pin.hashes) for pin in made)} files")
    return 0


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit("usage: python chain/locks.py INDEX LOCK...")
    sys.exit(main(sys.argv[1], sys.argv[2:]))
