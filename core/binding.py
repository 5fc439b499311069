"""Makes Python's side of the C interface from its headers: `python core/binding.py`, as every build of the core does.

The interface of the core (core/include) and that of its parts, for tests (core/parts), become a Python module
`generated.py` each: enums, structs as ctypes has them, what functions take and return, and INTERFACE, a hash of the
headers without their comments and layout. The libraries are compiled with the same numbers (interface.hpp), so that a
binding and a library that do not belong together are told apart.

The headers are plain C: enums that state their values, structs of numbers and pointers, functions. Whatever else
stands in them is refused.
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
MADE = HERE / "build" / "include"
"""Where the compiler finds interface.hpp."""

NUMBERS = {name: f"c_{name.removesuffix('_t')}" for name in ("int64_t", "uint64_t", "int32_t", "uint8_t")}
NUMBERS |= {"double": "c_double", "vb_status": "c_int32"}
ARRAYS = {"double": "float64", "int64_t": "int64", "int32_t": "int32", "uint8_t": "uint8"}
"""What the elements of an array are for NumPy."""

COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
CPLUSPLUS = re.compile(r"^#ifdef __cplusplus\n.*?^#endif\n", re.DOTALL | re.MULTILINE)
DIRECTIVE = re.compile(r"^#.*$", re.MULTILINE)
CONSTANT = re.compile(r"#define (?!VB_API\b)\w+ +\S.*")
DECLARATION = re.compile(
    r"enum (?P<enum>\w+) \{ (?P<values>[^}]*)\};"
    r"|typedef struct (?P<struct>\w+) \{ (?P<fields>[^}]*)\} (?P=struct);"
    r"|VB_API (?P<returns>[\w *]+) (?P<function>vb_\w+)\((?P<parameters>[^()]*)\);"
    r"|typedef struct (?P<handle>\w+) (?P=handle);"
    r"|typedef int32_t vb_status;"
)
VALUE = re.compile(r"(?P<name>\w+) = (?P<number>-?\d+)")
PARAMETER = re.compile(r"(?:const )?(?P<type>\w+) ?(?P<stars>\**) ?(?P<name>\w+)")


class BindingError(Exception):
    """A header is not understood; the message is one line that says which, and what in it."""


@dataclass
class Interface:
    """What headers declare."""

    version: int
    enums: dict[str, dict[str, int]] = field(default_factory=dict)
    structs: dict[str, list[tuple[str, str]]] = field(default_factory=dict)  # fields: C type, name
    functions: dict[str, tuple[str, list[str]]] = field(default_factory=dict)  # C types: returned, taken


def core() -> Interface:
    """The interface of the core."""
    return read(sorted((HERE / "include").rglob("*.h")))


def parts() -> Interface:
    """The interface of the core's parts alone; its version is that of both."""
    own = [HERE / "parts" / "parts.h"]
    found = read(own)
    found.version = version_of([*own, *sorted((HERE / "include").rglob("*.h"))])
    return found


# ---- Reading headers ----


def version_of(headers: Iterable[Path]) -> int:
    """A hash of what the headers say to a compiler."""
    total = hashlib.sha256()
    for path in headers:
        plain = " ".join(COMMENT.sub(" ", path.read_text(encoding="utf-8")).split())
        total.update(f"{path.name}\0{plain}\0".encode())
    return int.from_bytes(total.digest()[:8], "big")


def read(headers: list[Path]) -> Interface:
    """All that the headers declare."""
    found = Interface(version_of(headers))
    for path in headers:
        try:
            declare(path.read_text(encoding="utf-8"), found)
        except BindingError as error:
            raise BindingError(f"{path.name}: {error}") from None
    return found


def declare(header: str, found: Interface) -> None:
    """Add what one header declares."""
    text = COMMENT.sub(" ", header)
    if constant := CONSTANT.search(text):
        raise BindingError(f"{constant[0]}: constants are values of enums here")
    text = " ".join(DIRECTIVE.sub("", CPLUSPLUS.sub("", text)).split())
    place = 0
    while place < len(text):
        one = DECLARATION.match(text, place)
        if one is None:
            raise BindingError(f"not understood: {text[place : place + 60]} ...")
        if one["enum"]:
            found.enums[one["enum"]] = dict(valued(item) for item in one["values"].split(",") if item.strip())
        elif one["struct"]:
            found.structs[one["struct"]] = [split(item) for item in one["fields"].split(";") if item.strip()]
        elif one["function"]:
            given = [] if one["parameters"] == "void" else one["parameters"].split(",")
            found.functions[one["function"]] = (one["returns"], [split(item)[0] for item in given])
        place = one.end() + text[one.end() : one.end() + 1].count(" ")


def valued(declared: str) -> tuple[str, int]:
    """The name and the number of a value of an enum."""
    one = VALUE.fullmatch(declared.strip())
    if one is None:
        raise BindingError(f"not understood: {declared.strip()}")
    return one["name"], int(one["number"])


def split(declared: str) -> tuple[str, str]:
    """The C type, without const, and the name of a field or parameter."""
    one = PARAMETER.fullmatch(declared.strip())
    if one is None:
        raise BindingError(f"not understood: {declared.strip()}")
    return one["type"] + one["stars"], one["name"]


# ---- Writing Python ----


def module(interface: Interface, source: str, known: Interface | None = None) -> str:
    """The text of a Python module; `known` is an interface whose structs functions may take as well."""
    theirs = known.structs if known else {}
    structs = interface.structs | theirs
    rows = [
        f'    "{name}": ({returned(kind)}, [{", ".join(taken(one, structs) for one in given)}]),'
        for name, (kind, given) in interface.functions.items()
    ]
    borrowed = sorted(name for name in theirs if any(f"({name})" in row for row in rows))
    lines = [
        f'"""{source}: made by core/binding.py, anew with every build; what it all means is said there."""',
        "",
        f"from ctypes import POINTER, Structure, c_char_p, {', '.join(sorted(set(NUMBERS.values())))}, c_void_p",
        "from enum import IntEnum",
        "from typing import Any",
        "",
        *([f"from vbmle.core.generated import {', '.join(borrowed)}", ""] if borrowed else []),
        f"INTERFACE = 0x{interface.version:016X}",
        '"""What the library that belongs to this says of itself."""',
    ]
    for name, values in interface.enums.items():
        lines += [
            "",
            "",
            f"class {name}(IntEnum):",
            *(f"    {one} = {value}" for one, value in values.items()),
        ]
    for name, fields in interface.structs.items():
        arrays = {field: ARRAYS[kind[:-1]] for kind, field in fields if kind[:-1] in ARRAYS}
        lines += ["", "", f"class {name}(Structure):", "    _fields_ = ("]
        lines += [f'        ("{field}", {stored(kind)}),' for kind, field in fields]
        lines += ["    )", f"    arrays: dict[str, str] = {arrays}"]
    return "\n".join([*lines, "", "", "FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {", *rows, "}", ""])


def stored(kind: str) -> str:
    """What ctypes calls a field of a C type: all pointers are addresses."""
    return "c_void_p" if kind.endswith("*") else number(kind)


def returned(kind: str) -> str:
    """The same of what a function returns."""
    return {"void": "None", "const char*": "c_char_p"}.get(kind) or number(kind)


def taken(kind: str, structs: Iterable[str]) -> str:
    """The same of what it takes: a pointer to a struct must be to that struct."""
    if kind.endswith("**"):
        return "POINTER(c_void_p)"
    if kind.endswith("*"):
        return f"POINTER({kind[:-1]})" if kind[:-1] in structs else "c_void_p"
    return number(kind)


def number(kind: str) -> str:
    if kind not in NUMBERS:
        raise BindingError(f"not understood: the type {kind}")
    return NUMBERS[kind]


# ---- Files ----


def write() -> None:
    """Bring everything that is made from the headers up to date; what is current stays untouched."""
    whole = core()
    defined = {"VB_INTERFACE": whole.version}
    put(ROOT / "src" / "vbmle" / "core" / "generated.py", module(whole, "The C interface, core/include"))
    if (HERE / "parts").exists():
        tested = parts()
        defined["VB_PART_INTERFACE"] = tested.version
        put(ROOT / "tests" / "parts" / "generated.py", module(tested, "Parts of the core, core/parts", whole))
    lines = [f"#define {name} 0x{value:016X}u" for name, value in defined.items()]
    put(MADE / "interface.hpp", "// Made by core/binding.py from the headers.\n" + "\n".join(lines) + "\n")


def put(path: Path, text: str) -> None:
    """Write a file unless it says this already."""
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def main() -> int:
    try:
        write()
    except BindingError as error:
        print(f"core: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
