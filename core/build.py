"""Builds the core: `python core/build.py`, with nothing but Python's own library.

Every `core/src/**/*.cpp` is compiled by the system's C++ compiler ($CXX, c++, g++, clang++), or by zig where there is
none (`pip install ziglang`), and linked by the matching *C* driver: the core needs no C++ run-time library, and the
linker refuses a core that does. On x86-64 the same sources make two libraries, one for every such processor and one
for wide vectors (x86-64-v3); `vbmle.core.library` takes the one that fits. `--here` makes just one, for the processor
of this machine. Only what an edit touched is compiled again.

Beside each library goes one for tests, which has the parts of the core (core/parts) as well and is never shipped.
Python's side of the interface is made on the way (core/binding.py).
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCES = HERE / "src"
PARTS = HERE / "parts"
OBJECTS = HERE / "build"
PACKAGE = HERE.parent / "src" / "vbmle" / "core"
BINDING = PACKAGE / "generated.py"

LANGUAGE = ("-std=c++20", "-fno-exceptions", "-fno-rtti", "-fno-threadsafe-statics", "-fvisibility=hidden")
# Lanes are passed between inlined functions only, so how they would be passed does not matter; a loop that a compiler
# leaves as it is, where it was told to write it out, is slower but right.
WARNINGS = ("-Wall", "-Wextra", "-Wconversion", "-Wdouble-promotion", "-Wno-psabi", "-Wno-pass-failed")
STRICT = "-Werror"
OPTIMISED = ("-O3",)
# What is written is what is computed, by every compiler: nothing is reordered, and nothing becomes one instruction that
# is not written so (core/src/common/lanes.hpp says where it is). Only flags that nobody reads are let go.
ARITHMETIC = ("-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math")
SANITIZERS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")

# What to install where there is no compiler.
ZIG = "ziglang>=0.13"
# The oldest C library that what zig builds runs with. A version named here, zig needs no system headers.
GLIBC = "2.17"
X86 = ("x86_64", "amd64")
# What x86-64-v3 asks of a processor beyond the baseline, as Linux names it.
WIDE = "pni ssse3 sse4_1 sse4_2 popcnt cx16 lahf_lm avx avx2 bmi1 bmi2 f16c fma abm movbe xsave"
ENDING = {"darwin": ".dylib", "win32": ".dll"}.get(sys.platform, ".so")


class BuildError(Exception):
    """The core cannot be built; the message is one line that says why and what to do."""


@dataclass(frozen=True)
class Compiler:
    """Two commands: what compiles C++, and the C driver that links."""

    compile: tuple[str, ...]
    link: tuple[str, ...]
    is_zig: bool = False

    def __str__(self) -> str:
        return "zig" if self.is_zig else shlex.join(self.compile)

    def processor(self, level: str) -> tuple[str, ...]:
        """The flag for a level of x86-64, which zig spells in its own way."""
        return (f"-march={level.replace('-', '_') if self.is_zig else level}",)


@dataclass(frozen=True)
class Variant:
    """One library of those made from the same sources."""

    name: str
    file: str
    flags: tuple[str, ...]
    link_flags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Object:
    """One source in one variant: what makes it, and where it goes."""

    source: Path
    path: Path
    command: tuple[str, ...]

    def is_current(self, strict: bool) -> bool:
        """Made by this very command, from files that are no younger; if strict, also without a warning."""
        record, made_from = self.path.with_suffix(".cmd"), self.path.with_suffix(".d")
        try:
            made_by, *warned = record.read_text(encoding="utf-8").splitlines()
            age = self.path.stat().st_mtime_ns
            young = any(path.stat().st_mtime_ns > age for path in dependencies(made_from))
        except (OSError, ValueError):
            return False
        return made_by == shlex.join(self.command) and not young and not (strict and warned)


# ---- The compiler ----


def find_compiler() -> Compiler:
    """The system's compiler, or zig."""
    found = system_compiler()
    if found is not None:
        return found
    if find_spec("ziglang") is None:
        raise BuildError("there is no C++20 compiler; install g++ or clang++, or run: pip install ziglang")
    return zig()


def system_compiler() -> Compiler | None:
    """$CXX if it is set, else the first of the usual names that can compile C++20."""
    chosen = shlex.split(os.environ.get("CXX", ""))
    if chosen:
        if not compiles(chosen):
            raise BuildError(f"$CXX is {os.environ['CXX']}, which cannot compile C++20; set another or none")
        return Compiler(tuple(chosen), c_driver(chosen))
    for name in ("c++", "g++", "clang++"):
        if shutil.which(name) and compiles([name]):
            return Compiler((name,), c_driver([name]))
    return None


def compiles(command: Sequence[str]) -> bool:
    """Whether a command compiles C++20, with the headers that come with it."""
    probe = [*command, "-std=c++20", "-fsyntax-only", "-x", "c++", "-"]
    try:
        done = subprocess.run(probe, input=b"#include <span>\n", capture_output=True, timeout=120)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def c_driver(cxx: Sequence[str]) -> tuple[str, ...]:
    """The C compiler that belongs to a C++ compiler: $CC, or gcc-12 for g++-12, and so on."""
    if os.environ.get("CC"):
        return tuple(shlex.split(os.environ["CC"]))
    *front, last = cxx
    folder, name = os.path.split(last)
    for theirs, ours in (("clang++", "clang"), ("g++", "gcc"), ("c++", "cc")):
        if theirs in name:
            match = os.path.join(folder, name.replace(theirs, ours))
            if shutil.which(match):
                return (*front, match)
    raise BuildError(f"there is no C compiler to go with {shlex.join(cxx)}; set $CC")


def zig(machine: str | None = None) -> Compiler:
    """The compiler of the package ziglang, which needs neither headers nor libraries of the system.

    machine: the processors to compile for, x86_64 or aarch64; by default those of this machine.
    """
    start = (sys.executable, "-m", "ziglang")
    target: tuple[str, ...] = ()
    machine = machine or ("x86_64" if is_x86() else platform.machine().lower())
    if sys.platform == "linux" and machine in ("x86_64", "aarch64"):
        libc = f"gnu.{GLIBC}" if platform.libc_ver()[0] == "glibc" else "musl"
        target = ("-target", f"{machine}-linux-{libc}")
    try:
        named: tuple[str, ...] = (
            f"-DVB_ZIG={version('ziglang')}",
        )  # as clang alone it would be hard to find again
    except PackageNotFoundError:
        named = ()
    # Optimised also when linking: zig then builds its run-time support in 5 s instead of 25.
    compile_by = (*start, "c++", *target, "-fno-sanitize=undefined", *named)
    return Compiler(compile_by, (*start, "cc", *target, "-O2"), True)


def is_x86() -> bool:
    return platform.machine().lower() in X86


# ---- What is built ----


def variants(compiler: Compiler, here: bool = False) -> list[Variant]:
    """The libraries for processors of this kind, or the one for this very machine."""
    if not is_x86():
        return [Variant("baseline", f"libvbmle{ENDING}", OPTIMISED)]
    baseline = Variant("baseline", f"libvbmle{ENDING}", (*OPTIMISED, *compiler.processor("x86-64")))
    wide = Variant("wide", f"libvbmle_wide{ENDING}", (*OPTIMISED, *compiler.processor("x86-64-v3")))
    if not here:
        return [baseline, wide]
    return [replace(wide, file=baseline.file) if runs_wide() else baseline]


def runs_wide() -> bool:
    """Whether this processor has wide vectors; False where it is not known."""
    try:
        described = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    found = re.search(r"^flags\s*:(.*)$", described, re.MULTILINE)
    return found is not None and set(found[1].split()) >= set(WIDE.split())


def sanitized(compiler: Compiler) -> Variant:
    """The library that ends the process at the first bad access or undefined operation."""
    flags = ("-O1", "-g", "-fno-omit-frame-pointer", *SANITIZERS)
    # gcc's checks are in a library of their own, which a process can load before ours; clang's are if one says so.
    apart = ("-shared-libasan",) if "clang" in str(compiler) else ()
    return Variant("sanitize", f"libvbmle{ENDING}", flags, (*SANITIZERS, *apart))


def with_parts(variant: Variant) -> Variant:
    """The library for tests that belongs to one."""
    name, ending = os.path.splitext(variant.file)
    return replace(variant, file=f"{name}_parts{ending}")


def sources(folder: Path = SOURCES) -> list[Path]:
    return sorted(folder.rglob("*.cpp"))


def objects(compiler: Compiler, variant: Variant, folder: Path = SOURCES) -> list[Object]:
    """All objects of a variant, or those of its parts."""
    shared = () if sys.platform == "win32" else ("-fPIC",)
    given = shlex.split(os.environ.get("CXXFLAGS", ""))
    base = (*compiler.compile, *given, *LANGUAGE, *WARNINGS, *ARITHMETIC, *shared, *variant.flags)
    found = []
    for source in sources(folder):
        name = source.relative_to(SOURCES if folder == SOURCES else HERE)
        path = (OBJECTS / variant.name / name).with_suffix(".o")
        seen = [f"-I{where}" for where in (HERE / "include", SOURCES, OBJECTS / "include", PARTS)]
        command = (*base, *seen, "-c", str(source))
        found.append(Object(source, path, command))
    return found


def dependencies(depfile: Path) -> list[Path]:
    """The files that an object was made from, as the compiler wrote them down."""
    _, _, names = depfile.read_text(encoding="utf-8").replace("\\\n", " ").partition(": ")
    return [Path(name.replace("\\ ", " ")) for name in re.split(r"(?<!\\)\s+", names.strip())]


# ---- Building ----


def build(
    out: Path = PACKAGE,
    *,
    sanitize: bool = False,
    here: bool = False,
    strict: bool = False,
    parts: bool = False,
    jobs: int | None = None,
) -> list[Path]:
    """Build the libraries into `out`, if `here` only the one for this machine; returns their paths, without those for
    tests, which are built where `parts` is true.
    """
    if not sources():
        raise BuildError(f"there are no sources in {SOURCES}")
    # Whatever is built bears the time of this moment: an edit made while compilers run is younger than all of it.
    started = time.time_ns()
    compiler = find_compiler()
    bind()
    chosen = [sanitized(compiler)] if sanitize else variants(compiler, here)
    found = {variant: objects(compiler, variant) for variant in chosen}
    tested = {variant: objects(compiler, variant, PARTS) for variant in chosen if parts and PARTS.exists()}
    wanted = [item for items in (*found.values(), *tested.values()) for item in items]
    waiting = [item for item in wanted if not item.is_current(strict)]
    if waiting:
        say(f"compiling {len(waiting)} of {len(wanted)} objects with {compiler}")
        compile_all(waiting, strict, jobs or processors())
        for item in waiting:
            os.utime(item.path, ns=(started, started))
    else:
        say(f"all {len(wanted)} objects are up to date")
    libraries = [link(compiler, variant, items, out) for variant, items in found.items()]
    for_tests = [
        link(compiler, with_parts(variant), [*found[variant], *items], out)
        for variant, items in tested.items()
    ]
    if here:  # what is left from another build does not go with this one; that for wide vectors would even be preferred
        for path in {*out.glob(f"libvbmle_*{ENDING}")} - {*for_tests}:
            path.unlink()
    for path in (*libraries, *for_tests):
        os.utime(path, ns=(started, started))
    return libraries


def bind() -> None:
    """Bring what is made from the headers up to date."""
    done = run([sys.executable, str(HERE / "binding.py")])
    if done.returncode != 0:
        raise BuildError(done.stderr.strip().removeprefix("core: "))


def compile_all(waiting: Sequence[Object], strict: bool, jobs: int) -> None:
    with ThreadPoolExecutor(jobs) as pool:
        failed = [name for name in pool.map(partial(compile_one, strict=strict), waiting) if name]
    if failed:
        more = f" and {len(failed) - 1} more" if len(failed) > 1 else ""
        raise BuildError(f"{failed[0]}{more} did not compile; the compiler says why above")


def compile_one(item: Object, strict: bool) -> str | None:
    """Compile one object; returns the name of its source if that failed."""
    item.path.parent.mkdir(parents=True, exist_ok=True)
    # Written aside, then renamed: what is there is always whole, whoever else is building.
    aside = item.path.with_suffix(f".{os.getpid()}.o")
    notes = aside.with_suffix(".d")
    command = [*item.command, *([STRICT] if strict else []), "-MMD", "-MF", str(notes), "-o", str(aside)]
    done = run(command)
    if done.stderr:
        print(done.stderr, file=sys.stderr, end="", flush=True)
    if done.returncode != 0:
        for path in (aside, notes):
            path.unlink(missing_ok=True)
        return item.source.relative_to(SOURCES if item.source.is_relative_to(SOURCES) else HERE).as_posix()
    warned = "\nwarned" if done.stderr else ""
    item.path.with_suffix(".cmd").write_text(shlex.join(item.command) + warned, encoding="utf-8")
    os.replace(notes, item.path.with_suffix(".d"))
    os.replace(aside, item.path)
    return None


def link(compiler: Compiler, variant: Variant, items: Sequence[Object], out: Path) -> Path:
    """Link a library from its objects, if one of them, or which of them there are, has changed."""
    target = out / variant.file
    record = OBJECTS / f"{variant.file}.link"
    flags = [*variant.link_flags, *link_flags(variant), *shlex.split(os.environ.get("LDFLAGS", "")), "-lm"]
    command = [*compiler.link, "-shared", *[str(item.path) for item in items], *flags, "-o"]
    if is_linked(target, record, command, items):
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    aside = target.with_name(f".{os.getpid()}.{target.name}")
    done = run([*command, str(aside)])
    if done.returncode != 0:
        aside.unlink(missing_ok=True)
        print(done.stderr, file=sys.stderr, end="", flush=True)
        raise BuildError(f"{target.name} could not be linked; the linker says why above")
    os.replace(aside, target)  # a process that runs the old library keeps it
    record.write_text(link_record(command, target), encoding="utf-8")
    say(f"linked {shown(target)}")
    return target


def link_flags(variant: Variant) -> tuple[str, ...]:
    """On Linux: the C interface alone is shown, and nothing may be left to a library that we do not name."""
    if sys.platform != "linux":
        return ()
    whole = () if variant.link_flags else ("-Wl,--no-undefined",)  # sanitizers arrive at run time
    return (f"-Wl,--version-script={HERE / 'exports.map'}", *whole)


def is_linked(target: Path, record: Path, command: Sequence[str], items: Sequence[Object]) -> bool:
    inputs = [HERE / "exports.map", *(item.path for item in items)]
    try:
        age = target.stat().st_mtime_ns
        same = record.read_text(encoding="utf-8") == link_record(command, target)
    except OSError:
        return False
    return same and all(path.stat().st_mtime_ns <= age for path in inputs)


def link_record(command: Sequence[str], target: Path) -> str:
    return shlex.join([*command, str(target)])


def run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    # zig keeps what it builds for itself beside our objects, not in the user's home.
    environ = {"ZIG_GLOBAL_CACHE_DIR": str(OBJECTS / "zig"), **os.environ}
    try:
        return subprocess.run(command, capture_output=True, text=True, env=environ, errors="replace")
    except OSError as error:
        raise BuildError(f"{command[0]} does not start ({error.strerror})") from error


def processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def shown(path: Path) -> str:
    """A path as seen from here, if it is below."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def say(line: str) -> None:
    print(f"core: {line}", flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Build the core's shared libraries.")
    parser.add_argument("--out", type=Path, metavar="DIR", help="where they go; by default into the package")
    parser.add_argument("--strict", action="store_true", help="warnings are errors")
    parser.add_argument("--here", action="store_true", help="only what this machine runs")
    parser.add_argument("--sanitize", action="store_true", help="with address and undefined-behaviour checks")
    parser.add_argument(
        "--jobs", type=int, metavar="N", help="compilers at a time; by default one a processor"
    )
    parser.add_argument("--needs", action="store_true", help="print what pip must install first, if anything")
    given = parser.parse_args(arguments)
    try:
        if given.needs:
            print("" if system_compiler() else ZIG)
            return 0
        out = given.out or (OBJECTS / "sanitize" if given.sanitize else PACKAGE)
        build(
            out.resolve(),
            sanitize=given.sanitize,
            here=given.here,
            strict=given.strict,
            parts=not given.here,
            jobs=given.jobs,
        )
    except BuildError as error:
        print(f"core: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
