"""core/build.py as a module, and libraries of the core by whichever compiler a test asks for."""

import importlib.util
import re
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "core" / "build.py"
BUILT = ROOT / "core" / "build"


def loaded(path: Path) -> ModuleType:
    """A script as a module."""
    spec = importlib.util.spec_from_file_location(f"{path.stem}_in_tests", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


build = loaded(SCRIPT)


def clangs() -> list[int]:
    """The versions of clang on PATH that say which they are (clang++-19), newest first."""
    found = {
        int(match[1])
        for folder in {Path(path).parent for path in map(shutil.which, ("gcc", "python3", "make")) if path}
        | {Path("/usr/bin"), Path("/usr/local/bin")}
        for path in folder.glob("clang++-*")
        if (match := re.fullmatch(r"clang\+\+-(\d+)", path.name))
    }
    return sorted(found, reverse=True)


def compiler(name: str) -> Any:
    """A compiler by the name that tests have for it; None where this machine has none of that kind."""
    if name == "zig":
        return build.zig() if importlib.util.find_spec("ziglang") else None
    if name == "gcc":
        return build.Compiler(("g++",), ("gcc",)) if shutil.which("g++") else None
    place = {"the newest clang": 0, "the clang before it": 1}[name]
    if len(clangs()) <= place:
        return None
    version = clangs()[place]
    return build.Compiler((f"clang++-{version}",), (f"clang-{version}",))


def variants(by: Any) -> dict[str, Any]:
    """The copies of the library that this machine can run, by name."""
    return {each.name: each for each in build.variants(by) if each.name != "wide" or build.runs_wide()}


def made(by: Any, variant: Any, level: str, name: str) -> Path:
    """The library that a compiler makes of one copy at one level of optimisation, without a warning; beside it the one
    with the core's parts.
    """
    flags = tuple(level if flag in build.OPTIMISED else flag for flag in variant.flags)
    chosen = replace(variant, name=f"{name.replace(' ', '-')}{level}-{variant.name}", flags=flags)
    items, parts = build.objects(by, chosen), build.objects(by, chosen, build.PARTS)
    waiting = [item for item in (*items, *parts) if not item.is_current(True)]
    build.compile_all(waiting, True, build.processors())
    library: Path = build.link(by, chosen, items, BUILT / chosen.name)
    build.link(by, build.with_parts(chosen), [*items, *parts], library.parent)
    return library
