"""What is shipped is what is tested: the core by every compiler that may build it, optimised and not, and both copies.

Every library runs the tests that reach into the core and the contract of all agents, and answers a few questions. The
source alone says in which order numbers are added, and which products are fused with a sum, so the answers of one copy
are the same to the last bit whoever compiled it.
"""

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import emulated
import pytest
from builds import ROOT, build, compiler, made, variants

from vbmle.core import library

COMPILERS = ("gcc", "the newest clang", "the clang before it", "zig")
COPIES = ("baseline", "wide") if build.is_x86() else ("baseline",)
OURS = {"baseline": f"libvbmle{library.ENDING}", "wide": f"libvbmle_wide{library.ENDING}"}
REACHING = [
    *(f"tests/core/test_{name}.py" for name in ("certifying", "cholesky", "counts", "curvature", "factors")),
    *(f"tests/core/test_{name}.py" for name in ("handles", "known_model", "l1_balls", "linear_program")),
    *(f"tests/core/test_{name}.py" for name in ("linear_systems", "logarithm", "model", "objective")),
    *(f"tests/core/test_{name}.py" for name in ("optimism", "planning", "quadratic_program", "regression")),
    *(f"tests/core/test_{name}.py" for name in ("sampling", "solver", "solver_pool", "sparse_factors")),
    "tests/core/test_tabular.py",
]
"""The tests of `tests/core` that ask the core for numbers."""


def clean_environment(core: Path, **more: str) -> dict[str, str]:
    """For a process of its own that uses this library."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    return {**kept, library.CHOSEN: str(core), **more}


@cache
def answers(core: Path) -> dict[str, list[str]]:
    command = [sys.executable, str(ROOT / "tests" / "core" / "answers.py")]
    done = subprocess.run(command, env=clean_environment(core), capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    found: dict[str, list[str]] = json.loads(done.stdout)
    return found


def numbers(texts: list[str]) -> list[float]:
    return [float.fromhex(text) for text in texts]


def run_tests(core: Path, *tests: str) -> None:
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-n",
        "2",
        "--dist",
        "loadfile",
        "-p",
        "no:cacheprovider",
    ]
    done = subprocess.run(
        [*command, *tests],
        cwd=ROOT,
        env=clean_environment(core),
        capture_output=True,
        text=True,
        timeout=3600,
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
    assert " passed" in done.stdout


def test_the_tests_that_reach_into_the_core_are_all_of_them():
    """A new file of tests/core is in the list, or is about something else than numbers."""
    others = {"binding", "build", "compilers", "constants", "core_house", "leaks", "library"}
    names = {path.stem.removeprefix("test_") for path in (ROOT / "tests" / "core").glob("test_*.py")}
    assert names - others == {Path(path).stem.removeprefix("test_") for path in REACHING}


@pytest.mark.parametrize("copy", COPIES)
@pytest.mark.parametrize("level", ["-O3", "-O0"])
@pytest.mark.parametrize("name", COMPILERS)
def test_every_compiler_makes_the_same_core(name: str, level: str, copy: str):
    by = compiler(name)
    if by is None or copy not in variants(by):
        pytest.skip(f"there is no compiler here that tests call {name}, or no processor for the {copy} copy")
    core = made(by, variants(by)[copy], level, name)
    found = answers(core)
    assert ("gcc" if name == "gcc" else "zig" if name == "zig" else "clang") in found["built by"]
    assert numbers(found["objective"]) == pytest.approx(numbers(found["log likelihood"]), rel=1e-12)
    ours = Path(library.__file__).with_name(OURS[copy])
    assert {**found, "built by": ""} == {**answers(ours), "built by": ""}
    run_tests(core, *REACHING, "tests/agents/test_contract.py")


@pytest.mark.skipif(len(COPIES) == 1, reason="one copy for these processors")
def test_copies_differ_by_rounding_alone():
    """The wide copy fuses products with sums, the other cannot."""
    folder = Path(library.__file__).parent
    one, other = (answers(folder / OURS[copy]) for copy in COPIES)
    for name in ("objective", "biased objective", "plan, small", "plan, with factors"):
        assert numbers(one[name]) == pytest.approx(numbers(other[name]), rel=1e-12)


UNDER_EMULATION = [path for path in REACHING if not path.endswith(("test_handles.py",))]


def test_the_core_for_aarch64_by_zig():
    """Compiled here, run by Debian's Python for these processors under emulation."""
    by = build.zig("aarch64") if compiler("zig") else None
    if by is None or not emulated.is_possible():
        pytest.skip(f"this needs zig, apt-get and {emulated.QEMU}")
    core = made(by, build.Variant("aarch64", OURS["baseline"], build.OPTIMISED), "-O3", "zig")
    python, environ = emulated.python(), emulated.environment(core)

    def run(*command: str) -> str:
        done = subprocess.run(
            [*python, *command], cwd=ROOT, env=environ, capture_output=True, text=True, timeout=5400
        )
        assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
        return done.stdout

    found = json.loads(run("tests/core/answers.py"))
    ours = answers(Path(library.lib._name))
    assert "zig" in found["built by"]
    assert "aarch64" in found["built by"]
    assert numbers(found["objective"]) == pytest.approx(numbers(found["log likelihood"]), rel=1e-12)
    for name in ("objective", "biased objective", "plan, small", "plan, with factors"):
        assert numbers(found[name]) == pytest.approx(numbers(ours[name]), rel=1e-12)
    assert " passed" in run("-m", "pytest", "-q", "-p", "no:cacheprovider", *UNDER_EMULATION)
