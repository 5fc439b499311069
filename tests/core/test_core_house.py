"""The core's own rules: functions that can be read at a glance, and no room for what does not belong there."""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

CORE = Path(__file__).parents[2] / "core"
HEADERS = sorted((CORE / "include").rglob("*.h"))
PARTS = CORE / "parts" / "parts.h"
FILES = [*sorted(CORE.glob("src/**/*.[ch]pp")), *sorted(CORE.glob("parts/*.cpp")), *HEADERS, PARTS]
LINES_OF_A_FUNCTION, PARAMETERS = 60, 6
HEAD = re.compile(r"^(?!namespace|struct|class|enum|extern|template|using|//|#|\}|\s)[\w:<>,&*\s]+\(")


def parameters(signature: str) -> int:
    """How many parameters stand between the outer brackets."""
    inside, depth = signature[signature.index("(") + 1 : signature.rindex(")")], 0
    count = 1 if inside.strip() else 0
    for letter in inside:
        depth += (letter in "<(") - (letter in ">)")
        count += letter == "," and depth == 0
    return count


def functions(text: str) -> list[tuple[str, int, int]]:
    """Every function that is defined at the left margin: its head, its lines, its parameters."""
    lines, found, i = text.split("\n"), [], 0
    while i < len(lines):
        if HEAD.match(lines[i]):
            last, head = i, lines[i]
            while not head.rstrip().endswith(("{", ";", "}")):
                last += 1
                head += " " + lines[last].strip()
            if head.rstrip().endswith("{"):
                end = next(k for k in range(last, len(lines)) if lines[k].startswith("}"))
                found.append((head, end - i + 1, parameters(head)))
                i = end
        i += 1
    return found


def test_functions_are_seen():
    text = "int f(int a,\n      Grid<int, 2> b) {\n    return a;\n}\n\nvoid g();\n"
    assert functions(text) == [("int f(int a, Grid<int, 2> b) {", 4, 2)]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(CORE)))
def test_functions_can_be_read_at_a_glance(path: Path):
    found = functions(path.read_text())
    long = [head for head, lines, count in found if lines > LINES_OF_A_FUNCTION or count > PARAMETERS]
    assert long == []


def test_the_climb_is_a_short_loop_over_named_phases():
    heads = {head: lines for head, lines, _ in functions((CORE / "src/climbing/climb.cpp").read_text())}
    (lines,) = [n for head, n in heads.items() if head.startswith("Outcome climb(")]
    assert lines <= 30


def test_every_function_of_the_interface_has_a_sentence():
    """In the manual: each declaration stands under a comment, alone or with its kin."""
    blocks = [block for path in (*HEADERS, PARTS) for block in path.read_text().split("\n\n")]
    blocks = [block for block in blocks if "VB_API vb_" in block or "VB_API void" in block]
    assert len(blocks) > 20
    assert [block for block in blocks if "/*" not in block] == []


def functions_of(headers: Sequence[Path]) -> set[str]:
    return {name for path in headers for name in re.findall(r"VB_API [\w* ]+?\b(vb_\w+)\(", path.read_text())}


def defined_in(folder: Path) -> set[str]:
    head = re.compile(r"^\w[\w* ]+?\b(vb_\w+)\(", re.MULTILINE)
    return {name for path in folder.glob("*.cpp") for name in head.findall(path.read_text())}


def test_the_interface_is_all_its_headers():
    """vbmle.h includes each of them, and every function that the library shows is declared in one."""
    text = (CORE / "include" / "vbmle.h").read_text()
    included = re.findall(r'#include "vbmle/(\w+\.h)"', text)
    assert sorted(included) == sorted(path.name for path in HEADERS if path.parent.name == "vbmle")
    assert functions_of(HEADERS) == defined_in(CORE / "src" / "api")


def test_the_core_has_nothing_for_tests_alone():
    """That is the parts' interface, which a library of its own shows."""
    assert functions_of([PARTS]) == defined_in(CORE / "parts")
    assert {name for name in functions_of(HEADERS) if "_part_" in name} == set()
