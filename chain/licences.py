"""The licence of everything that the locks install, checked against the list of those that are allowed.

`python chain/licences.py` prints one line for each package, and fails where a licence is not on the list in
`licences.toml`, or where a package does not say what it has.
"""

from __future__ import annotations

import re
import sys
import tomllib
from importlib.metadata import Distribution, distribution
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from locks import Pin, plain, read_lock

ROOT = Path(__file__).resolve().parents[1]
RULES: dict[str, Any] = tomllib.loads((ROOT / "chain" / "licences.toml").read_text(encoding="utf-8"))


def pins() -> list[Pin]:
    """Everything that runs, tests and documents the package."""
    return read_lock((ROOT / "requirements.lock").read_text(encoding="utf-8"))[1]


def licence(package: Distribution) -> str:
    """What a package's metadata say, as an SPDX expression where they can be read as one; "" where they say nothing."""
    about = package.metadata
    name = plain(about["Name"])
    if name in RULES["looked_up"]:
        return str(RULES["looked_up"][name])
    if "License-Expression" in about:
        return str(about["License-Expression"])
    field = (about["License"] or "").strip() if "License" in about else ""
    if field in RULES["allowed"]:
        return field
    labels = [
        label.split(" :: ")[-1] for label in about.get_all("Classifier") or [] if label.startswith("License")
    ]
    told = [str(RULES["said"].get(label, label)) for label in labels or [field] if label]
    return " AND ".join(told)


def is_allowed(expression: str) -> bool:
    """Whether every part of an expression, or one side of each OR, is on the list; without nested OR within AND."""
    if not expression:
        return False
    inner = re.sub(r"[()]", "", expression)
    return any(
        all(part.strip() in RULES["allowed"] for part in choice.split(" AND "))
        for choice in inner.split(" OR ")
    )


def main() -> int:
    wrong = 0
    for pin in pins():
        found = licence(distribution(pin.name))
        fine = is_allowed(found)
        wrong += not fine
        print(
            f"{pin.name} {pin.version}: {found or 'says nothing'}{'' if fine else ', which is not on the list'}"
        )
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
