"""A software bill of materials: `python chain/sbom.py FILE` writes it as CycloneDX 1.5, in JSON.

It lists what the locks pin, with the hashes of all files of each version, licences, and who needs whom; and what the
repository holds that others wrote. `required` is what runs experiments, `excluded` what only tests and documents them.
The same locks make the same file, byte for byte.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tomllib
import uuid
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

sys.path.insert(0, str(Path(__file__).parent))

from licences import ROOT, licence, pins
from locks import Pin, plain, read_lock

SPACE = uuid.UUID("6ba7b811-9dad-11d1-80b4-00c04fd430c8")  # of URLs, RFC 4122


def address(pin: Pin) -> str:
    """A package by its URL (purl)."""
    return f"pkg:pypi/{plain(pin.name)}@{pin.version}"


def component(pin: Pin, is_required: bool) -> dict[str, Any]:
    """One package of a lock."""
    return {
        "type": "library",
        "bom-ref": address(pin),
        "name": pin.name,
        "version": pin.version,
        "scope": "required" if is_required else "excluded",
        "hashes": [{"alg": "SHA-256", "content": digest} for digest in pin.hashes],
        "licenses": [{"expression": licence(distribution(pin.name))}],
        "purl": address(pin),
    }


def asset(about: dict[str, str]) -> dict[str, Any]:
    """Something that others wrote and the repository holds."""
    return {
        "type": "library",
        "bom-ref": about["origin"],
        "name": about["name"],
        "version": about["version"],
        "scope": about["scope"],
        "hashes": [{"alg": "SHA-256", "content": about["sha256"]}],
        "licenses": [{"expression": about["licence"]}],
        "purl": about["origin"],
    }


def needs(name: str, known: dict[str, str]) -> list[str]:
    """What a package needs of what is known, extras aside."""
    found = set()
    for line in distribution(name).requires or []:
        wanted = Requirement(line)
        if wanted.marker is None or wanted.marker.evaluate({"extra": ""}):
            found |= {known[plain(wanted.name)]} if plain(wanted.name) in known else set()
    return sorted(found)


def bill() -> dict[str, Any]:
    """The whole of it."""
    everything = pins()
    paper = {plain(pin.name) for pin in read_lock((ROOT / "requirements-paper.lock").read_text())[1]}
    held = tomllib.loads((ROOT / "chain" / "assets.toml").read_text(encoding="utf-8"))["asset"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    own = f"pkg:pypi/vbmle@{project['version']}"
    known = {plain(pin.name): address(pin) for pin in everything}
    direct = [known[plain(Requirement(line).name)] for line in project["dependencies"]]
    graph = [
        {
            "ref": own,
            "dependsOn": sorted([*direct, *(item["origin"] for item in held if item["scope"] == "required")]),
        }
    ]
    graph += [{"ref": address(pin), "dependsOn": needs(pin.name, known)} for pin in everything]
    found: dict[str, Any] = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": {
                "type": "library",
                "bom-ref": own,
                "name": "vbmle",
                "version": project["version"],
                "licenses": [{"expression": project["license"]}],
                "purl": own,
            }
        },
        "components": [component(pin, plain(pin.name) in paper) for pin in everything]
        + [asset(item) for item in held],
        "dependencies": graph,
    }
    digest = hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()
    return found | {"serialNumber": f"urn:uuid:{uuid.uuid5(SPACE, digest)}"}


def main(path: str) -> int:
    found = bill()
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(f"{path}: {len(found['components'])} components")
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python chain/sbom.py FILE")
    sys.exit(main(sys.argv[1]))
