"""What Python believes of the core's C interface, against its headers as a compiler reads them."""

import ctypes
import re
import shutil
import subprocess
from pathlib import Path
from types import ModuleType
from typing import Any

import parts
import pytest
from builds import ROOT, build, loaded
from parts import generated as parts_generated

from vbmle.core import generated, library

CORE = ROOT / "core"
MADE = Path(generated.__file__)


binding = loaded(CORE / "binding.py")


# ---- Layout


def structs(module: ModuleType) -> dict[str, type[ctypes.Structure]]:
    """The structs that a module defines."""
    found = {name: kind for name, kind in vars(module).items() if name.startswith("vb_")}
    return {
        name: kind
        for name, kind in found.items()
        if issubclass(kind, ctypes.Structure) and kind.__module__ == module.__name__
    }


def layout(kind: type[ctypes.Structure]) -> list[str]:
    """Size of a struct, then place and size of each field, as ctypes has them."""
    fields = [(name, getattr(kind, name)) for name, *_ in kind._fields_]
    lines = [f"{kind.__name__} {ctypes.sizeof(kind)}"]
    return lines + [f"{kind.__name__}.{name} {field.offset} {field.size}" for name, field in fields]


def program(kinds: dict[str, type[ctypes.Structure]]) -> str:
    """A C program that prints the same as the compiler has it."""
    lines = ["#include <stddef.h>", "#include <stdio.h>", '#include "parts.h"', "int main(void) {"]
    for name, kind in kinds.items():
        lines.append(f'    printf("{name} %zu\\n", sizeof({name}));')
        lines += [
            f'    printf("{name}.{field} %zu %zu\\n", offsetof({name}, {field}), sizeof((({name}*)0)->{field}));'
            for field, *_ in kind._fields_
        ]
    return "\n".join([*lines, "    return 0;", "}", ""])


def test_structs_lie_in_memory_as_the_compiler_lays_them(tmp_path: Path):
    kinds = structs(generated) | structs(parts_generated)
    assert len(kinds) >= 26
    (tmp_path / "layout.c").write_text(program(kinds))
    try:
        compiler = build.find_compiler()
    except build.BuildError:
        pytest.skip("there is no compiler to ask")
    ends = (
        f"-I{CORE / 'include'}",
        f"-I{CORE / 'parts'}",
        "-o",
        str(tmp_path / "layout"),
        str(tmp_path / "layout.c"),
    )
    subprocess.run([*compiler.link, "-Wall", "-Wextra", "-Werror", *ends], check=True, timeout=900)
    said = subprocess.run([tmp_path / "layout"], capture_output=True, text=True, check=True).stdout
    assert said.splitlines() == [line for kind in kinds.values() for line in layout(kind)]


# ---- Versions


def test_library_binding_and_headers_agree():
    assert library.lib.vb_interface() == generated.INTERFACE == binding.core().version
    assert parts.lib.vb_part_interface() == parts_generated.INTERFACE == binding.parts().version
    assert set(generated.FUNCTIONS) == set(binding.core().functions)


def test_every_function_of_the_interface_is_called():
    """What nobody calls, or only tests do, does not belong there."""
    code = "".join(path.read_text() for path in Path(library.__file__).parent.glob("*.py") if path != MADE)
    kinds = re.findall(r'Handle\("(\w+)"', code)
    called = set(re.findall(r"\bvb_\w+", code))
    called |= {f"vb_{kind}_{what}" for kind in kinds for what in ("new", "free", "look")}
    called |= {f"vb_{kind}_{how}" for kind, how in re.findall(r'Handle\("(\w+)"[^)\n]*how="(\w+)"', code)}
    assert set(generated.FUNCTIONS) - called == set()


@pytest.fixture
def headers(tmp_path: Path) -> list[Path]:
    """A copy of the core's headers."""
    shutil.copytree(CORE / "include", tmp_path / "include")
    return sorted((tmp_path / "include").rglob("*.h"))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("int64_t state;", "int32_t state;"),
        ("VB_STALLED = 1", "VB_STALLED = 2"),
        ("int64_t times);", "int64_t times, int64_t more);"),
        ("double ridge;", "double radius;"),
    ],
)
def test_a_change_that_callers_see_makes_another_version(headers: list[Path], before: str, after: str):
    (one,) = [
        path for path in headers if path.name in ("library.h", "solver.h") and before in path.read_text()
    ]
    one.write_text(one.read_text().replace(before, after, 1))
    assert binding.version_of(headers) != generated.INTERFACE


def test_comments_and_layout_make_no_other_version(headers: list[Path]):
    for path in headers:
        path.write_text(
            "/* Another word. */\n" + path.read_text().replace("    ", "  ").replace("\n\n", "\n\n\n")
        )
    assert binding.version_of(headers) == generated.INTERFACE


# ---- Reading headers


def read(tmp_path: Path, text: str) -> str:
    """The module that a header becomes."""
    (tmp_path / "small.h").write_text(text)
    return str(binding.module(binding.read([tmp_path / "small.h"]), "A small header"))


def test_a_header_becomes_a_module(tmp_path: Path):
    made: dict[str, Any] = {}
    text = """
    enum vb_ends { VB_GOOD = 0, VB_BAD = -2 };
    typedef struct vb_thing vb_thing;
    typedef struct vb_pair { const double* x; int64_t n; vb_thing* thing; } vb_pair;
    VB_API vb_status vb_thing_new(const vb_pair* pair, int32_t kind, vb_thing** thing);
    VB_API const char* vb_word(void);
    """
    exec(read(tmp_path, text), made)
    pair, ends, calls = made["vb_pair"], made["vb_ends"], made["FUNCTIONS"]
    assert [one.value for one in ends] == [0, -2]
    assert [name for name, _ in pair._fields_] == ["x", "n", "thing"]
    assert pair.arrays == {"x": "float64"}
    given = [ctypes.POINTER(pair), ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p)]
    assert calls == {"vb_thing_new": (ctypes.c_int32, given), "vb_word": (ctypes.c_char_p, [])}


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("#define VB_FEW 3\n", "#define VB_FEW 3"),
        ("VB_API void vb_f(float x);\n", "the type float"),
        ("VB_API void vb_f(double x[2]);\n", "double x[2]"),
        ("typedef union vb_u { double x; } vb_u;\n", "typedef union vb_u"),
        ("enum vb_e { VB_A };\n", "VB_A"),
    ],
)
def test_what_is_not_understood_is_refused(tmp_path: Path, text: str, named: str):
    with pytest.raises(binding.BindingError) as error:
        read(tmp_path, text)
    assert named in str(error.value)
    assert "\n" not in str(error.value)
