"""The build of the core: which compiler, what is compiled again, what is linked, and what the wheel holds."""

import ctypes
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
from builds import ROOT, SCRIPT, build, loaded
from locks import read_lock

from vbmle.core import library

# ---- Which compiler ----


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is all of PATH."""
    folder = tmp_path / "tools"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    for name in ("CXX", "CC"):
        monkeypatch.delenv(name, raising=False)
    return folder


def put(folder: Path, *names: str, code: int = 0) -> None:
    """Commands that end with a code, whatever they are asked."""
    for name in names:
        (folder / name).write_text(f"#!/bin/sh\nexit {code}\n")
        (folder / name).chmod(0o755)


def test_the_systems_compiler_comes_first(tools: Path):
    put(tools, "g++", "gcc", "clang++", "clang")
    assert build.find_compiler() == build.Compiler(("g++",), ("gcc",))
    assert build.variants(build.find_compiler())[0].file == f"libvbmle{library.ENDING}"


def test_a_compiler_too_old_for_the_language_is_passed_over(tools: Path):
    put(tools, "c++", "cc", "g++", "gcc", code=1)
    put(tools, "clang++", "clang")
    assert build.find_compiler() == build.Compiler(("clang++",), ("clang",))


def test_the_users_choice_comes_before_all(tools: Path, monkeypatch: pytest.MonkeyPatch):
    put(tools, "c++", "cc", "mine-g++-14", "mine-gcc-14")
    monkeypatch.setenv("CXX", "mine-g++-14 -m64")
    monkeypatch.setenv("CC", "mine-gcc-14 -m64")
    assert build.find_compiler() == build.Compiler(("mine-g++-14", "-m64"), ("mine-gcc-14", "-m64"))


def test_a_choice_that_does_not_work_is_said(tools: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CXX", "nonsense++")
    with pytest.raises(build.BuildError, match=r"^\$CXX is nonsense\+\+, which cannot compile C\+\+20"):
        build.find_compiler()


@pytest.mark.parametrize(
    ("cxx", "cc"),
    [
        ("c++", "cc"),
        ("g++-12", "gcc-12"),
        ("clang++-17", "clang-17"),
        ("x86_64-conda-linux-gnu-c++", "x86_64-conda-linux-gnu-cc"),
    ],
)
def test_the_c_driver_is_the_compilers_own(tools: Path, cxx: str, cc: str):
    put(tools, cc)
    assert build.c_driver([cxx]) == (cc,)
    assert build.c_driver([str(tools / cxx)]) == (str(tools / cc),)


def test_without_its_c_driver_a_compiler_cannot_link(tools: Path):
    with pytest.raises(build.BuildError, match=r"no C compiler to go with g\+\+; set \$CC"):
        build.c_driver(["g++"])


def test_zig_where_the_system_has_none(tools: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(build, "find_spec", lambda name: object())
    chosen = build.find_compiler()
    assert chosen.is_zig
    assert chosen.compile[:4] == (sys.executable, "-m", "ziglang", "c++")
    assert chosen.link[:4] == (sys.executable, "-m", "ziglang", "cc")


def test_neither_compiler_nor_zig(tools: Path):
    done = subprocess.run([sys.executable, "-S", SCRIPT], capture_output=True, text=True)
    advice = "install g++ or clang++, or run: pip install ziglang"
    assert (done.returncode, done.stderr) == (1, f"core: there is no C++20 compiler; {advice}\n")


def test_pip_is_asked_for_zig_where_it_is_needed(tools: Path):
    hook = loaded(ROOT / "hatch_build.py").CoreHook
    asked = hook.dependencies(None)
    needed = subprocess.run([sys.executable, SCRIPT, "--needs"], capture_output=True, text=True, check=True)
    assert asked == [build.ZIG] == needed.stdout.split()
    put(tools, "c++", "cc")
    assert hook.dependencies(None) == []
    needed = subprocess.run([sys.executable, SCRIPT, "--needs"], capture_output=True, text=True, check=True)
    assert needed.stdout.split() == []


# ---- What is compiled again ----

ONE = '#include "vbmle.h"\n#include "two.hpp"\nextern "C" VB_API int vb_one();\nint vb_one() { return two(); }\n'
TWO = '#include "two.hpp"\nint two() { return 2; }\n'
THREE = "int three() { return 3; }\n"
VARIANTS = len(build.variants(build.zig()))


class Small:
    """A core of three files."""

    def __init__(self, folder: Path) -> None:
        self.source = folder / "core" / "src"
        self.source.mkdir(parents=True)
        self.script = shutil.copy(SCRIPT, folder / "core")
        shutil.copy(SCRIPT.with_name("binding.py"), folder / "core")
        shutil.copy(ROOT / "core" / "exports.map", folder / "core")
        shutil.copytree(ROOT / "core" / "include", folder / "core" / "include")
        for name, text in {
            "one.cpp": ONE,
            "two.cpp": TWO,
            "three.cpp": THREE,
            "two.hpp": "int two();\n",
        }.items():
            (self.source / name).write_text(text)
        self.out = folder / "out"

    def build(self, *options: str) -> tuple[int, str, str]:
        command = [sys.executable, self.script, "--out", str(self.out), *options]
        done = subprocess.run(command, capture_output=True, text=True, timeout=900)
        return done.returncode, done.stdout, done.stderr

    def compiled(self, *options: str) -> int:
        """Build; how many objects were compiled."""
        code, out, err = self.build(*options)
        assert code == 0, err
        found = re.search(r"compiling (\d+) of", out)
        return int(found.group(1)) if found else 0


@pytest.fixture
def small(tmp_path: Path) -> Small:
    return Small(tmp_path)


def test_only_what_an_edit_touched_is_compiled_again(small: Small):
    assert small.compiled() == 3 * VARIANTS
    assert small.compiled() == 0
    # Into the past, so that what is edited now is younger.
    for path in [*small.source.parent.rglob("*"), *small.out.iterdir()]:
        when = path.stat().st_mtime_ns - 3600 * 10**9
        os.utime(path, ns=(when, when))
    assert small.compiled() == 0
    (small.source / "three.cpp").write_text(THREE)
    assert small.compiled() == VARIANTS
    (small.source / "two.hpp").write_text("int two();  // used in one.cpp and two.cpp\n")
    assert small.compiled() == 2 * VARIANTS
    (small.source / "three.cpp").unlink()
    code, out, _ = small.build()
    assert code == 0
    assert out.count("linked") == VARIANTS


TELLS_WIDTH = """#include "vbmle.h"
extern "C" VB_API int vb_is_wide();
#ifdef __AVX2__
int vb_is_wide() { return 1; }
#else
int vb_is_wide() { return 0; }
#endif
"""


def test_a_library_for_this_machine_alone_and_back(small: Small):
    """One library, compiled for the best that this processor has; whoever asks for all of them afterwards gets all."""
    (small.source / "three.cpp").write_text(TELLS_WIDTH)
    only = small.out / f"libvbmle{library.ENDING}"

    def is_wide() -> int:
        fresh = shutil.copy(
            only, small.out.parent / f"{len(list(small.out.parent.iterdir()))}{library.ENDING}"
        )
        return int(ctypes.CDLL(str(fresh)).vb_is_wide())

    for first, compiled in ((True, 3), (False, 0)):
        assert small.compiled("--here") == compiled
        assert list(small.out.iterdir()) == [only]
        assert is_wide() == library.lib.vb_runs_wide()
        assert small.compiled() == (3 * (VARIANTS - 1) if first else 0)
        assert len(list(small.out.iterdir())) == VARIANTS
        assert is_wide() == 0


def test_an_error_is_shown_and_named(small: Small):
    (small.source / "two.cpp").write_text("int two() { return nonsense; }\n")
    code, _, err = small.build()
    assert code == 1
    assert "nonsense" in err
    assert re.search(
        r"^core: two\.cpp( and 1 more)? did not compile; the compiler says why above$", err, re.M
    )


def test_a_warning_is_an_error_for_us_and_not_for_users(small: Small):
    (small.source / "two.cpp").write_text("static int unused() { return 1; }\n" + TWO)
    assert small.compiled() == 3 * VARIANTS
    assert small.compiled() == 0
    code, _, err = small.build("--strict")
    assert code == 1
    assert "core: two.cpp" in err


def test_a_core_that_needs_a_run_time_library_is_refused(small: Small):
    (small.source / "two.cpp").write_text(
        '#include "two.hpp"\nint* kept;\nint two() { kept = new int(2); return *kept; }\n'
    )
    code, _, err = small.build()
    assert code == 1
    assert err.endswith("could not be linked; the linker says why above\n")


# ---- What is linked ----


def symbols(path: Path, *options: str) -> set[str]:
    done = subprocess.run(["nm", "-D", *options, path], capture_output=True, text=True, check=True)
    return {line.split()[-1].partition("@")[0] for line in done.stdout.splitlines()}


@pytest.mark.parametrize(
    "path", sorted(Path(library.__file__).parent.glob("libvbmle*")), ids=lambda path: path.name
)
def test_the_library_needs_no_cpp_run_time_library_and_shows_its_interface_alone(path: Path):
    needed = symbols(path, "--undefined-only")
    # __cxa_finalize and __cxa_atexit are the C library's.
    foreign = {name for name in needed if re.match(r"_Z|__gxx|_Unwind|__cxa_(?!finalize|atexit)", name)}
    assert foreign == set()
    shown = symbols(path, "--defined-only")
    assert {"vb_interface", "vb_status_text", "vb_runs_wide"} <= shown
    assert {name for name in shown if not name.startswith("vb_")} == set()


@pytest.mark.parametrize("compiler", [build.zig(), build.Compiler(("g++",), ("gcc",))], ids=str)
def test_no_flag_lets_a_compiler_compute_something_else(compiler: Any):
    """NaN and infinity keep their meaning, nothing is reordered, and a product and a sum are two operations."""
    flags = {flag for item in build.objects(compiler, build.variants(compiler)[0]) for flag in item.command}
    assert "-ffp-contract=off" in flags
    assert not flags & {
        "-ffast-math",
        "-Ofast",
        "-ffinite-math-only",
        "-funsafe-math-optimizations",
        "-fassociative-math",
        "-freciprocal-math",
        "-fno-signed-zeros",
    }


# ---- The wheel ----


def run(*command: str | Path, cwd: Path, **environ: str) -> str:
    """What a command says that must succeed."""
    done = subprocess.run(
        command, cwd=cwd, env={**os.environ, **environ}, capture_output=True, text=True, timeout=3600
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


LEAN = 250e6
"""Bytes that an installation with nothing but what an agent in a loop needs may take."""


def example() -> str:
    """The first page's example."""
    block = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert block
    return block.group(1)


def pinned(folder: Path) -> Path:
    """The versions of our locks, without hashes: a wheel made just now cannot have one there."""
    locks = [(ROOT / name).read_text() for name in ("requirements.lock", "requirements-compiler.lock")]
    pins = [f"{pin.name}=={pin.version}\n" for lock in locks for pin in read_lock(lock)[1]]
    (folder / "versions").write_text("".join(pins))
    return folder / "versions"


def taken(packages: Path) -> float:
    """Bytes of what is installed, and at most of what Python compiles from it."""
    sizes = {path: path.stat().st_size for path in packages.rglob("*") if path.is_file()}
    return sum(size * (2.5 if path.suffix == ".py" else 1.0) for path, size in sizes.items())


def test_without_any_compiler_the_sdist_makes_a_wheel_by_zig_that_needs_none(tmp_path: Path):
    """pip alone, nothing on PATH: it is asked for zig, and agents keep the contract with the core that zig makes."""
    run(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", tmp_path, cwd=ROOT)
    (sdist,) = tmp_path.glob("vbmle-*.tar.gz")
    with tarfile.open(sdist) as file:
        assert [name for name in file.getnames() if re.search(r"libvbmle|generated\.py", name)] == []

    versions, bare = pinned(tmp_path), {"PATH": str(tmp_path), "CXX": "", "CC": "", "PIP_NO_COMPILE": "1"}
    alike = {"PIP_CONSTRAINT": str(versions), "PIP_BUILD_CONSTRAINT": str(versions)}
    wheels = (sys.executable, "-m", "pip", "wheel", "-v", "--no-deps", "-w", tmp_path)
    said = run(*wheels, sdist, cwd=tmp_path, **bare, **alike)
    assert re.search(r"^ *core: compiling \d+ of \d+ objects with zig$", said, re.MULTILINE)
    (wheel,) = tmp_path.glob("*.whl")
    assert re.fullmatch(r"vbmle-[\d.]+-py3-none-(?!any)\w+\.whl", wheel.name)
    with zipfile.ZipFile(wheel) as file:
        names = [Path(name) for name in file.namelist()]
    # No bench, no chain of supply ...
    assert {re.sub(r"-[\d.]+\.dist-info", "", name.parts[0]) for name in names} == {"vbmle"}
    # ... and of the core what Python speaks to, without the parts for tests.
    made = [name.name for name in names if name.name.startswith(("libvbmle", "generated"))]
    assert sorted(made) == ["generated.py", *(one.file for one in build.variants(build.zig()))]

    run(sys.executable, "-m", "venv", "--without-pip", tmp_path / "empty", cwd=tmp_path)
    python = tmp_path / "empty" / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--python", python)
    run(*pip, "install", "-q", "--no-compile", "-c", versions, wheel, cwd=tmp_path)
    said = run(python, "-c", example(), cwd=tmp_path, PATH=str(python.parent))
    assert said.strip() in (ROOT / "README.md").read_text()  # what the first page says that it prints
    (packages,) = (tmp_path / "empty" / "lib").glob("python*/site-packages")
    assert taken(packages) < LEAN

    asks = "from vbmle.core import library; print(library.__file__, library.built_by())"
    found, builder = run(python, "-c", asks, cwd=tmp_path).split(maxsplit=1)
    assert Path(found).is_relative_to(packages)
    assert builder.startswith("zig ")
    run(
        *pip,
        "install",
        "-q",
        "-c",
        versions,
        f"vbmle[experiments] @ {wheel.as_uri()}",
        "pytest",
        "hypothesis",
        cwd=tmp_path,
    )
    said = run(
        python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/agents/test_contract.py", cwd=ROOT
    )
    assert " passed" in said
